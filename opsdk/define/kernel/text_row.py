"""Text rows: kernel rows whose source is a text or the name of a file."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import Any

from opsdk.core.errors import DefinitionError
from opsdk.core.origin import caller, registrar
from opsdk.define.giving import add_kernel
from opsdk.define.kernel.kernel import Kernel, KernelKey
from opsdk.define.kernel.notation import Notation
from opsdk.define.opdef import OpDef
from opsdk.define.schema.binding import name_of


def add_text_row(
    opdef: OpDef,
    key: KernelKey,
    notation: Notation,
    source: str | os.PathLike[str] | None,
    function: Callable[..., Any] | None,
    options: Mapping[str, Any],
    *,
    replace: bool = False,
) -> Callable[[Any], Any]:
    """Adds a row in a language that is not Python; returns what refuses to decorate a function.

    Raises:
        DefinitionError: a function, or nothing, in place of a source; or what the notation refuses.
    """
    expected = f"{opdef.subject}: language {notation.name!r} expected source=, a file or its text, got"

    def refuse(function: Any) -> Any:
        raise DefinitionError(f"{expected} the Python function {name_of(function)}; call kernel(...) by itself")

    if function is not None:
        refuse(function)
    if not isinstance(source, (str, os.PathLike)):
        raise DefinitionError(f"{expected} {'nothing' if source is None else repr(source)}")
    origin = caller()
    text, held = notation.text(os.fspath(source), options, opdef, origin)
    schema = opdef.schema
    filled = [schema.output_names[i] for i in schema.fresh_outputs] if notation.fills else []
    names = (*schema.input_names, *filled, *schema.attr_names)
    row = Kernel(key, notation.name, text, origin, names, held, owner=registrar(origin))
    add_kernel(opdef, row, replace=replace)
    return refuse
