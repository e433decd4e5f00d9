"""Floor 3: questions of CUDA devices, in PyTorch's words."""

from __future__ import annotations

from opsdk.backends.cuda.runtime import cupy, is_simulated
from opsdk.core.errors import MissingDependencyError, PlaceError
from opsdk.core.random import seed
from opsdk.core.spellings import point

point(globals(), "opsdk.cuda")


def device_count() -> int:
    """Returns how many CUDA devices tensors can be moved to; a simulated one counts."""
    if is_simulated():
        return 1
    try:
        return int(cupy("opsdk.cuda").cuda.runtime.getDeviceCount())
    except (PlaceError, MissingDependencyError):
        return 0


def is_available() -> bool:
    """Whether tensors can be moved to a CUDA device: there is one, and CuPy, which holds its memory."""
    return device_count() > 0


def synchronize() -> None:
    """Waits until the current device has done all that it was given; does nothing where there is none."""
    if is_available() and not is_simulated():
        cupy("opsdk.cuda.synchronize").cuda.Device().synchronize()


def manual_seed(value: int) -> None:
    """Sets the global seed, `opsdk.seed`: draws are equal at all places."""
    seed(value)


manual_seed_all = manual_seed

__all__ = ["device_count", "is_available", "manual_seed", "manual_seed_all", "synchronize"]
