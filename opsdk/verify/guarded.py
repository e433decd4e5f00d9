"""Guarded outputs: a C row run into memory with a margin around it, where a loop that leaves its array shows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from opsdk.backends.c_frame import Frame
from opsdk.backends.c_library import library_of
from opsdk.define.kernel import Kernel
from opsdk.define.opdef import OpDef

_MARGIN = 4096  # bytes on either side; far enough for any index that is wrong by one, or by a row
_MARK = 0xA5


# Any: one entry per input and per output, an array or a list of arrays; attribute values.
def run_guarded(opdef: OpDef, kernel: Kernel, inputs: Sequence[Any], attrs: Mapping[str, Any], fill: int) -> list[Any]:
    """Runs a C row into outputs that hold `fill` and returns them.

    Raises:
        IndexError: the row wrote beside an output.
    """
    lent: list[tuple[np.ndarray, int]] = []

    def allocate(shape: tuple[int, ...], dtype: np.dtype[Any]) -> np.ndarray:
        size = int(np.prod(shape, dtype=np.int64)) * dtype.itemsize
        memory = np.full(size + 2 * _MARGIN, _MARK, np.uint8)
        array: np.ndarray = np.ndarray(shape, dtype, memory, _MARGIN)
        array[...] = fill
        lent.append((memory, size))
        return array

    frame = Frame(opdef, kernel, library_of(opdef, kernel))
    frame.allocate = allocate
    made = frame.run(inputs, attrs)
    for memory, size in lent:
        for side, margin in (("before", memory[:_MARGIN]), ("behind", memory[_MARGIN + size :])):
            touched = int((margin != _MARK).sum())
            if touched:
                raise IndexError(f"it wrote {touched} bytes {side} an output")
    return list(made) if isinstance(made, tuple) else [made]
