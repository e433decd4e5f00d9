"""The Python frame of a C call: it bears the row's name and place, for whoever reads the stack of a crash."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from types import FunctionType
from typing import Any

from opsdk.core.origin import Origin

# Any, in this file: a function of cffi, and what it takes.
_CODE = (lambda function, arguments: function(*arguments)).__code__


@cache
def call_at(origin: Origin, name: str) -> Callable[[Any, Sequence[Any]], Any]:
    """Returns a function that calls another, and looks in every stack as if it stood where a row was registered.

    A C function has no frame of its own: what faulthandler or a profiler shows is the Python code that called it, which
    is opsdk's and the same for every row.

    Args:
        origin: the place.
        name: what the frame is called.
    """
    code = _CODE.replace(co_filename=origin.file, co_firstlineno=origin.line, co_name=name)
    return FunctionType(code, {}, name)
