"""Functions as Python runs them, or as they are compiled another time, where some of what they call was compiled."""

from __future__ import annotations

from collections.abc import Callable
from types import CellType, FunctionType
from typing import Any

from opsdk.define.identity.digest import is_dispatcher
from opsdk.define.identity.referents import with_inner


# Any: functions, and what they name.
def uncompiled(function: Any, known: dict[Any, Any], compile_anew: Callable[[Any], Any] | None = None) -> Any:
    """Returns a function as Python runs it, and with it every compiled one that it calls by name, and these call.

    Args:
        function: any callable; what is no function of Python is returned as it is.
        known: what was made of each function so far, which is filled: one that calls itself is made once.
        compile_anew: what each is handed to in the end; they stay as they are unless given.
    """
    if not isinstance(function, FunctionType):
        return function
    if function not in known:
        values, cells = dict(function.__globals__), tuple(CellType() for _ in function.__closure__ or ())
        made = FunctionType(function.__code__, values, function.__name__, function.__defaults__, cells or None)
        made.__kwdefaults__ = function.__kwdefaults__
        known[function] = made if compile_anew is None else compile_anew(made)
        for name in {name for code in with_inner(function.__code__) for name in code.co_names}:
            if is_dispatcher(values.get(name)):
                values[name] = uncompiled(values[name].py_func, known, compile_anew)
        for cell, of in zip(cells, function.__closure__ or (), strict=True):
            try:
                held = of.cell_contents
            except ValueError:  # nothing yet
                continue
            cell.cell_contents = uncompiled(held.py_func, known, compile_anew) if is_dispatcher(held) else held
    return known[function]
