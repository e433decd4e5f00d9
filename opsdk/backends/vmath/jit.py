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


def njit(**options: Any) -> Callable[[Callable[..., Any]], Any]:  # Any: Numba's options and dispatchers
    """Returns `numba.njit`'s decorator, which makes a function one that Numba's compiler calls."""

    def compiled(function: Callable[..., Any]) -> Any:
        made = numba.njit(**options)(function)
        return CPUDispatcher(function, targetoptions={"nopython": True, **options}) if made is function else made

    return compiled


@contextmanager
def enabled() -> Iterator[None]:
    """Lets Numba's compiler compile what it overloads functions with; hold its lock around this."""
    held = config.DISABLE_JIT
    config.DISABLE_JIT = 0
    try:
        yield
    finally:
        config.DISABLE_JIT = held
