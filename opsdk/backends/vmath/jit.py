"""Numba for opsdk's own functions, which NUMBA_DISABLE_JIT=1 leaves compiled: that is for a user's kernels.

Left to Numba they would be Python functions, which what is compiled ahead, as an expression is, cannot call.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numba
from numba.core import config
from numba.core.registry import CPUDispatcher

# Of functions that are compiled into kernels: Numba would make entries for Python and for C with each of them, which
# take a quarter of the time and which nobody calls.
INLINE: dict[str, Any] = {
    "forceinline": True,
    "error_model": "numpy",
    "boundscheck": False,
    "no_cfunc_wrapper": True,
    "no_cpython_wrapper": True,
}


def njit(**options: Any) -> Callable[[Callable[..., Any]], Any]:  # Any: Numba's options and dispatchers
    """Returns `numba.njit`'s decorator, which makes a function one that Numba's compiler calls."""

    def compiled(function: Callable[..., Any]) -> Any:
        made = numba.njit(**options)(function)
        return CPUDispatcher(function, targetoptions={"nopython": True, **options}) if made is function else made

    return compiled


class _Inner(CPUDispatcher):
    """A function that kernels alone call: it has no entry for Python."""

    def add_overload(self, compiled: Any) -> None:  # Any, in both: Numba's results, arguments of any kind
        self.overloads[tuple(compiled.signature.args)] = compiled

    def _compile_for_args(self, *arguments: Any, **named: Any) -> Any:
        raise TypeError(f"{self.py_func.__name__}: expected to be called in a kernel, got a call from Python")


def inner(**options: Any) -> Callable[[Callable[..., Any]], Any]:  # Any: Numba's options and dispatchers
    """Returns the decorator of what kernels inline, with Numba's options beside those of all such functions."""
    return lambda function: _Inner(function, targetoptions={"nopython": True, **INLINE, **options})


@contextmanager
def enabled() -> Iterator[None]:
    """Lets Numba's compiler compile what it overloads functions with; hold its lock around this."""
    held = config.DISABLE_JIT
    config.DISABLE_JIT = 0
    try:
        yield
    finally:
        config.DISABLE_JIT = held
