"""How arrays lie in memory: what compiled code can read as it is, and a copy of anything else."""

from __future__ import annotations

import numpy as np

C_ALIGNED = 0x101  # of `flags.num`: C-contiguous and aligned


def is_plain(array: np.ndarray, *, contiguous: bool) -> bool:
    """Whether compiled code can read an array where it lies."""
    flags = array.flags
    if flags.num & C_ALIGNED == C_ALIGNED:
        return array.dtype.isnative
    if contiguous or not flags.aligned or not array.dtype.isnative:
        return False
    return not any(stride % array.itemsize for stride in array.strides)


def is_truth(array: np.ndarray) -> bool:
    """Whether the bytes of an array, where it is of bools, are those that compiled code has for them: 0 and 1."""
    return array.dtype.kind != "b" or bool(array.view(np.uint8).max(initial=0) <= 1)


def plain(array: np.ndarray) -> np.ndarray:
    """Returns a C-contiguous, aligned copy in the byte order of the machine; of bools 0 and 1, whatever is true."""
    if array.dtype.kind == "b":
        return np.array(array.view(np.uint8) != 0, order="C")
    dtype = array.dtype if array.dtype.isnative else array.dtype.newbyteorder("=")
    return np.array(array, dtype=dtype, order="C", copy=True)
