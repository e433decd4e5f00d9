"""Functions that are made from an entry of a table, and look as if somebody had written each of them."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import Any

from opsdk.core.origin import Origin


# Any: functions of any signature.
def written(
    function: Any,
    name: str,
    annotations: Mapping[str, str],
    *,
    module: str,
    doc: str,
    self: bool = False,
    defaults: Sequence[Any] = (),
    origin: Origin | None = None,
) -> Any:
    """Returns a made function under a name of its own, of which errors, `help` and pickles speak.

    Args:
        function: made anew for each name, with as many parameters as there are names for.
        name: what it is called in its module, that of its class in front.
        annotations: by name of a parameter, in order, and of `return`, the types.
        module: where it is found.
        doc: its docstring.
        self: whether it is a method, of which the first parameter is the object.
        defaults: of the last parameters.
        origin: where its entry stands, which counts as its source.
    """
    parameters = (("self",) if self else ()) + tuple(name for name in annotations if name != "return")
    code = function.__code__
    others = code.co_varnames[len(parameters) :]
    function.__code__ = code.replace(co_name=name.rpartition(".")[2], co_varnames=(*parameters, *others))
    if origin is not None:
        function.__code__ = function.__code__.replace(co_filename=origin.file, co_firstlineno=origin.line)
    function.__name__, function.__qualname__ = name.rpartition(".")[2], name
    function.__module__, function.__doc__ = module, doc
    function.__annotations__ = dict(annotations)
    function.__defaults__ = tuple(defaults) or None
    return function


def entry() -> Origin:
    """Returns where the function that asks was called: the line of a table's entry."""
    frame = sys._getframe(2)
    return Origin(frame.f_code.co_filename, frame.f_lineno, frame.f_globals["__name__"])
