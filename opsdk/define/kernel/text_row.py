"""Text rows: kernel rows whose source is a text or the name of a file, and the languages that have such rows."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import Any

from opsdk.core.errors import DefinitionError
from opsdk.core.origin import Origin, caller, registrar
from opsdk.define.giving import add_kernel
from opsdk.define.kernel.kernel import Kernel, KernelKey
from opsdk.define.opdef import OpDef
from opsdk.define.schema.binding import name_of

# Takes op, source, options (any: what the caller of `kernel` wrote) and the place of that call; returns source and
# options as the language wants to find them. It reads no file and compiles nothing.
ReadText = Callable[[OpDef, str, Mapping[str, Any], Origin], tuple[str, Mapping[str, Any]]]

READERS: dict[str, ReadText] = {}  # by language; backends enter theirs


def add_text_row(
    opdef: OpDef,
    key: KernelKey,
    language: str,
    source: str | os.PathLike[str] | None,
    function: Callable[..., Any] | None,
    options: Mapping[str, Any],
    *,
    replace: bool = False,
) -> Callable[[Any], Any]:
    """Adds a row in a language that is not Python; returns what refuses to decorate a function.

    Raises:
        DefinitionError: a function, or nothing, in place of a source; or what the language refuses.
    """
    expected = f"{opdef.subject}: language {language!r} expected source=, a file or its text, got"

    def refuse(function: Any) -> Any:
        raise DefinitionError(f"{expected} the Python function {name_of(function)}; call kernel(...) by itself")

    if function is not None:
        refuse(function)
    if not isinstance(source, (str, os.PathLike)):
        raise DefinitionError(f"{expected} {'nothing' if source is None else repr(source)}")
    origin = caller()
    text, held = READERS[language](opdef, os.fspath(source), options, origin)
    schema = opdef.schema
    filled = [schema.output_names[i] for i in schema.fresh_outputs]
    names = (*schema.input_names, *filled, *schema.attr_names)
    row = Kernel(key, language, text, origin, names, held, owner=registrar(origin))
    add_kernel(opdef, row, replace=replace)
    return refuse
