"""The frontend of bare device arrays: an op called on CuPy arrays runs its CUDA row, or its reference, on them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from opsdk.backends.call.arrays import with_mutated
from opsdk.backends.call.constant import as_constant, dtype_for, is_comparison
from opsdk.backends.call.device_plan import run_on_device
from opsdk.backends.call.overlap import check_changeable
from opsdk.backends.memory.device import Memory, check_places, is_device_array, memory_of
from opsdk.define.call import check_inputs
from opsdk.define.frontend import register_frontend
from opsdk.define.opdef import OpDef
from opsdk.define.schema.schema import InputDecl


# Any, in this file: device arrays, NumPy arrays, numbers, lists of them; attribute values.
class DeviceArrays:
    """The runtime of bare arrays in device memory."""

    name = "CUDA arrays"

    def accepts(self, value: Any) -> bool:
        """Whether a value is an array in device memory."""
        return is_device_array(value)

    def apply(self, opdef: OpDef, inputs: Sequence[Any], attrs: Mapping[str, Any]) -> Any:
        """Runs the row.

        Raises:
            PlaceError: the arrays live at several places; NumPy arrays are in host memory.
            InPlaceError: elements of one that the op changes share memory.
        """
        check_inputs(opdef, inputs)
        entries = [list(entry) if isinstance(entry, (list, tuple)) else entry for entry in inputs]
        flat = [item for entry in entries for item in (entry if isinstance(entry, list) else [entry])]
        first = next(item for item in flat if is_device_array(item))
        memory = memory_of(first)
        arrays = [
            [_array(item, first, memory, opdef, decl) for item in entry]
            if isinstance(entry, list)
            else _array(entry, first, memory, opdef, decl)
            for decl, entry in zip(opdef.schema.inputs, entries, strict=True)
        ]
        check_places(opdef, arrays)
        for i in opdef.schema.mutated_inputs:
            for array in arrays[i] if isinstance(arrays[i], list) else [arrays[i]]:
                if array is not None:
                    check_changeable(array, f"{opdef.subject}, input {opdef.schema.input_names[i]!r}")
        return with_mutated(opdef, run_on_device(opdef, arrays, attrs, memory.place), arrays)


def _array(value: Any, first: Any, memory: Memory, opdef: OpDef, decl: InputDecl) -> Any:
    """Returns a value of a call as an array; numbers go to the device, NumPy arrays stay where they are."""
    if value is None or is_device_array(value) or isinstance(value, np.ndarray):
        return value
    subject, like = f"{opdef.subject}, input {decl.name!r}", dtype_for(decl, first.dtype)
    return memory.from_host(as_constant(value, like, subject, DeviceArrays.name, compared=is_comparison(opdef)))


DEVICE_ARRAYS = DeviceArrays()
register_frontend(DEVICE_ARRAYS)
