"""Random numbers of `opsdk.vmath` in CUDA kernels: the text of `core/philox.py`, with libdevice's logarithm and cosine.

In Numba's simulator kernels call the functions themselves, which compute with NumPy.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from opsdk.backends.cuda.math import device_function, functions
from opsdk.backends.cuda.runtime import is_simulated, numba_cuda
from opsdk.backends.vmath.draws import bodies, is_whole
from opsdk.core.lazy import optional
from opsdk.core.once import once
from opsdk.expr import vmath


@once
def teach_draws() -> None:
    """Makes the functions known to Numba's CUDA compiler; a second call does nothing."""
    if is_simulated() or not hasattr(numba_cuda("CUDA functions"), "libdevice"):
        return  # Numba alone, without numba-cuda, has no such library where no device is, and compiles nothing
    subject = "vmath in CUDA kernels"
    own = getattr(optional("numba.cuda.extending", extra="cuda", subject=subject), "overload", None)
    overload = own or partial(optional("numba.extending", extra="cuda", subject=subject).overload, target="cuda")
    tables = {name: functions(name) for name in ("float32", "float64")}
    for name, body in bodies(device_function, tables, _drawn).items():
        overload(getattr(vmath, name), strict=False)(body)


# Any: Numba's types and dispatchers, which have no annotations.
def _drawn(function: Any, result: Any, key: Any, i: Any) -> Any:
    """Returns what draws the number of two integers; None for other types."""
    if not (is_whole(key) and is_whole(i)):
        return None
    return device_function(lambda key, i: function(np.uint64(key), np.uint64(i)))
