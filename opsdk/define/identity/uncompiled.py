"""Functions as Python runs them, where some of what they call was compiled."""

from __future__ import annotations

from types import CellType, FunctionType
from typing import Any

from opsdk.define.identity.digest import is_dispatcher
from opsdk.define.identity.referents import with_inner


# Any: functions, and what they name.
def uncompiled(function: Any, known: dict[Any, Any]) -> Any:
    """Returns a function as Python runs it, and with it every compiled one that it calls by name, and these call.

    Args:
        function: any callable; what is no function of Python is returned as it is.
        known: what was made of each function so far, which is filled: one that calls itself is made once.
    """
    if not isinstance(function, FunctionType):
        return function
    if function not in known:
        values, cells = dict(function.__globals__), tuple(CellType() for _ in function.__closure__ or ())
        made = FunctionType(function.__code__, values, function.__name__, function.__defaults__, cells or None)
        made.__kwdefaults__ = function.__kwdefaults__
        known[function] = made
        for name in {name for code in with_inner(function.__code__) for name in code.co_names}:
            if is_dispatcher(values.get(name)):
                values[name] = uncompiled(values[name].py_func, known)
        for cell, of in zip(cells, function.__closure__ or (), strict=True):
            try:
                held = of.cell_contents
            except ValueError:  # nothing yet
                continue
            cell.cell_contents = uncompiled(held.py_func, known) if is_dispatcher(held) else held
    return known[function]
