"""Guarded memory: a C row run with a margin around all that it writes, where a loop that leaves its array shows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from opsdk.backends.c.frame import Frame
from opsdk.backends.c.library import library_of
from opsdk.define.kernel.kernel import Kernel
from opsdk.define.opdef import OpDef

_MARGIN = 4096  # bytes on either side; far enough for any index that is wrong by one, or by a row
_MARK = 0xA5


# Any: one entry per input and per output, an array or a list of arrays; attribute values.
def run_guarded(opdef: OpDef, kernel: Kernel, inputs: Sequence[Any], attrs: Mapping[str, Any], fill: int) -> list[Any]:
    """Runs a C row into outputs that hold `fill` and returns them, one entry for each that it makes.

    Raises:
        IndexError: the row wrote beside an output, or beside an input that it changes.
    """
    lent: list[tuple[str, np.ndarray, int]] = []
    schema = opdef.schema

    def allocate(shape: tuple[int, ...], dtype: np.dtype[Any], what: str = "an output") -> np.ndarray:
        size = int(np.prod(shape, dtype=np.int64)) * dtype.itemsize
        memory = np.full(size + 2 * _MARGIN, _MARK, np.uint8)
        array: np.ndarray = np.ndarray(shape, dtype, memory, _MARGIN)
        array[...] = fill
        lent.append((what, memory, size))
        return array

    def guarded(array: Any, name: str) -> Any:
        if array is None or not array.flags.c_contiguous:  # of others the row sees a copy, or what lies between
            return array
        copy = allocate(array.shape, array.dtype, f"input {name!r}")
        copy[...] = array
        return copy

    inputs = list(inputs)
    for i in schema.mutated_inputs:
        name = schema.input_names[i]
        given = inputs[i]
        inputs[i] = [guarded(item, name) for item in given] if isinstance(given, list) else guarded(given, name)
    frame = Frame(opdef, kernel, library_of(opdef, kernel))
    frame.allocate = allocate
    made = frame.run(inputs, attrs)
    for what, memory, size in lent:
        for side, margin in (("before", memory[:_MARGIN]), ("behind", memory[_MARGIN + size :])):
            touched = int((margin != _MARK).sum())
            if touched:
                raise IndexError(f"it wrote {touched} bytes {side} {what}")
    return list(made) if isinstance(made, tuple) else [made] if schema.fresh_outputs else []
