"""The thread's floating-point modes, kept while a library is opened."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

from opsdk.core.lazy import slow

_ROOM = 256  # bytes; C's fenv_t has 32 at most where CPython runs


@contextmanager
def kept_modes() -> Iterator[None]:
    """Undoes what a library changes of rounding and subnormal numbers when it is loaded.

    GCC links into a library that is built with -ffast-math code that has its loader flush subnormal numbers to zero, in
    all that this thread computes from then on, and in the threads that it starts.
    """
    if os.name != "posix":
        yield
        return
    ctypes = slow("ctypes")
    library, modes = ctypes.CDLL(None), ctypes.create_string_buffer(_ROOM)
    is_known = hasattr(library, "fegetenv") and library.fegetenv(modes) == 0
    try:
        yield
    finally:
        if is_known:
            library.fesetenv(modes)
