"""Turns for kernels that run on Numba's own threads (`parallel=True`).

Numba has one pool of threads for all kernels. On two of its layers a wrong use ends the process: `workqueue` runs one
kernel at a time and aborts when a second thread starts another, and GNU OpenMP aborts in a forked child.

Imported only when something has to be compiled, since it imports Numba.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from functools import wraps
from typing import Any

from numba.np.ufunc import parallel

from opsdk.backends.c.openmp import short_waits
from opsdk.backends.numba.reading import Reading
from opsdk.core.errors import ForkError
from opsdk.core.lazy import slow

_turn = threading.RLock()
_dead = ""  # the layer of a parent that used it, where this process cannot


# Any: kernels of any signature.
def guarded(function: Callable[..., Any], subject: str) -> Callable[..., Any]:
    """Returns a compiled function that waits for its turn where it has to; the function itself where none is needed.

    Args:
        function: a Numba dispatcher.
        subject: the kernel, for messages.
    """
    if not Reading(function).is_parallel:
        return function

    @wraps(function)
    def call(*arguments: Any) -> Any:
        if _dead:
            raise ForkError(
                f"{subject}: compiled with parallel=True, expected a process that did not fork from one which had used "
                f"Numba's layer {_dead!r}, got a child of such a process; start children with 'spawn' or "
                "'forkserver', or set NUMBA_THREADING_LAYER=workqueue"
            )
        layer = parallel._threading_layer
        if layer is None:  # the first time, which starts the threads: until then none runs beside another
            with _turn, short_waits():
                return function(*arguments)
        if layer != "workqueue":
            return function(*arguments)
        with _turn:
            return function(*arguments)

    return call


def _forked() -> None:
    global _turn, _dead
    _turn = threading.RLock()  # a thread that had the turn does not exist in the child
    if parallel._threading_layer == "omp" and slow("numba.np.ufunc.omppool").openmp_vendor == "GNU":
        _dead = "omp"


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forked)
