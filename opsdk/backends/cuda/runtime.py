"""The CUDA runtime as found here: Numba's CUDA target, CuPy, a device, or Numba's simulator in place of all three."""

from __future__ import annotations

import ctypes
import os
import sys
from functools import cache
from types import ModuleType
from typing import Any

from opsdk.core.errors import PlaceError
from opsdk.core.lazy import optional

SIMULATOR = "NUMBA_ENABLE_CUDASIM"  # what Numba reads when it is imported


def is_simulated() -> bool:
    """Whether kernels run in Numba's CUDA simulator; decided once, when Numba is imported."""
    numba = sys.modules.get("numba")
    if numba is not None:
        return bool(numba.config.ENABLE_CUDASIM)
    return os.environ.get(SIMULATOR, "0") not in ("", "0")


def numba_cuda(subject: str) -> Any:  # Any: a module without types
    """Returns `numba.cuda`: the package numba-cuda puts itself there; Numba's own is deprecated, and serves as well.

    Raises:
        MissingDependencyError: Numba is not installed.
    """
    return optional("numba.cuda", extra="cuda", subject=subject)


def cupy(subject: str) -> ModuleType:
    """Returns CuPy, whose arrays hold device memory.

    Raises:
        PlaceError: there is no driver or no device.
        MissingDependencyError: there is one, but CuPy is not installed.
    """
    problem = missing_device()
    if problem:
        raise PlaceError(
            f"{subject}: expected a CUDA device, {problem}; run where there is one, or simulate one: set {SIMULATOR}=1 "
            "before Numba is imported"
        )
    return optional("cupy", extra="cuda", subject=subject)


def can_run() -> bool:
    """Whether CUDA kernels can be launched here, on a device or in the simulator."""
    return is_simulated() or not missing_device()


@cache
def missing_device() -> str:
    """Returns why there is no device here, as its driver says it; empty where there is one."""
    name = "nvcuda.dll" if sys.platform == "win32" else "libcuda.so.1"
    try:
        driver = ctypes.CDLL(name)
    except OSError:
        return f"found no driver ({name})"
    count = ctypes.c_int(0)
    for call, arguments in ((driver.cuInit, (0,)), (driver.cuDeviceGetCount, (ctypes.byref(count),))):
        status = call(*arguments)
        if status:
            return f"its driver answers with error {status}"
    return "" if count.value else "its driver finds none"
