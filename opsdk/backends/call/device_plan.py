"""DevicePlan: a row bound to one kind of call on arrays of a CUDA place.

The row is one of place `cuda`. Where an op has none, its reference runs on the device's arrays themselves: NumPy
functions hand them on to the module that they are of.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from opsdk.backends.call import settle
from opsdk.backends.call.arrays import array_key
from opsdk.backends.call.blame import blame
from opsdk.backends.call.buffers import infer
from opsdk.backends.call.checked import compare
from opsdk.backends.call.overlap import apart
from opsdk.backends.call.plan import CallPlan, Run, keep
from opsdk.backends.memory.device import check_places, is_device_array, memory_at
from opsdk.core.errors import KernelNotFoundError, OpsdkError, ReturnError, attach_note
from opsdk.core.flags import FLAGS
from opsdk.core.place import Place
from opsdk.define.call import check_inputs, complete_attrs
from opsdk.define.kernel.kernel import Kernel
from opsdk.define.opdef import OpDef


# Any, in this file: one entry per input, an array of the device, a list of them or None; attribute values.
class DevicePlan(CallPlan):
    """One row, bound to one kind of call at one place."""

    __slots__ = ("memory", "place")

    def __init__(
        self, opdef: OpDef, kernel: Kernel, inputs: Sequence[Any], attrs: Mapping[str, Any], place: Place
    ) -> None:
        self.place = place
        self.memory = memory_at(place, opdef.subject)
        super().__init__(opdef, kernel, inputs, attrs)

    def _choose(self) -> Run:
        return self.run_checked if FLAGS.debug else self.run_any

    @property
    def is_short(self) -> bool:
        """Never: what a device gives is looked at in every call."""
        return False

    def run_checked(self, inputs: Sequence[Any], attrs: Mapping[str, Any]) -> Any:
        """Runs with every check; inputs are compared with copies, since device memory has no read-only views."""
        opdef = self.opdef
        check_inputs(opdef, inputs)
        check_places(opdef, inputs)
        inputs = apart(opdef, inputs)
        complete = complete_attrs(opdef, attrs)
        before = [_copies(value) for value in inputs]
        try:
            raw = self.launch(*inputs, **complete)
        except Exception as error:
            blame(self, error)
            self._explain(error)
            raise
        compare(opdef, inputs, before, set(opdef.schema.mutated_inputs))
        if self.loose:
            outputs = self.settled(raw, inputs)
        else:
            inferred = infer(opdef, inputs, complete)
            outputs = self.settled(raw, inputs, self._dtypes_of(inferred))
            settle.check_specs(opdef, outputs, inferred)
        return outputs[0] if self.single else tuple(outputs)

    def _explain(self, error: Exception) -> None:
        """Notes on an error of a reference what it ran on: it may read host memory, which a device's is not."""
        if self.kernel.key.place != self.place.kind and not isinstance(error, OpsdkError):
            attach_note(
                error,
                f"  {self.opdef.subject} has no row for {self.place.kind}; its reference ran on arrays at {self.place}"
                f". Add a row: @{self.opdef.schema.name}.kernel({self.place.kind!r}, language='numba', launch=...)",
            )

    def one(self, raw: Any, inputs: Sequence[Any], attrs: Mapping[str, Any] | None = None) -> Any:
        """Returns what a row of one output returned, settled."""
        return self.settled(raw, inputs)[0]

    def _one(
        self, position: int, dtype: np.dtype[Any] | None, value: Any, inputs: Sequence[Any], before: Sequence[Any]
    ) -> Any:
        opdef = self.opdef
        output = opdef.schema.output_names[position]
        if value is None and self.loose:
            return None
        if isinstance(value, (np.generic, bool, int, float, complex)):
            return self.memory.from_host(settle.as_array(opdef, output, value, dtype))
        if not is_device_array(value):
            raise ReturnError(
                f"{opdef.subject}, output {output!r}: expected an array at {self.memory.place} like its inputs, "
                f"got {type(value).__name__}",
                at=str(self.kernel.origin),
            )
        settle.check_dtype(opdef, output, value, dtype)
        array = settle.separate(opdef, position, value, inputs)
        if self.loose and any(array is other for other in before):
            array = array.copy()
        return array


def run_on_device(opdef: OpDef, arrays: Sequence[Any], attrs: Mapping[str, Any], place: Place) -> Any:
    """Runs an op on arrays of one place: the array it makes where it makes one, else a tuple.

    Raises:
        PlaceError: the arrays live at several places.
    """
    key = (place, *array_key(arrays, attrs))
    plan: DevicePlan | None = opdef.plans.get(key)
    if plan is None:
        check_places(opdef, arrays)
        plan = make_device_plan(opdef, arrays, attrs, place)
        result = plan.run_checked(arrays, attrs)
        keep(opdef, key, plan)
        return result
    return plan.run(arrays, attrs)


def make_device_plan(opdef: OpDef, inputs: Sequence[Any], attrs: Mapping[str, Any], place: Place) -> DevicePlan:
    """Returns the plan of a kind of call at a place, on its CUDA row, else on its reference.

    Raises:
        KernelNotFoundError: the op has neither.
    """
    flat = [item for entry in inputs for item in (entry if isinstance(entry, list) else [entry]) if item is not None]
    dtypes = [array.dtype for array in flat]
    deciding = opdef.schema.deciding(inputs)
    dtype = None if deciding is None else deciding.dtype
    kernel = opdef.kernels.select(place.kind, dtype, dtypes) or opdef.kernels.reference()
    if kernel is None:
        rows = ", ".join(str(row.key) for row in opdef.kernels) or "none"
        raise KernelNotFoundError(
            f"{opdef.subject}: no kernel for ({place.kind}, {dtype}), and no reference that "
            f"could run there; registered: {rows}; add a row: @{opdef.schema.name}.kernel('cuda', language='numba')"
        )
    return DevicePlan(opdef, kernel, inputs, attrs, place)


def _copies(value: Any) -> Any:
    if value is None:
        return None
    return [item.copy() for item in value] if isinstance(value, list) else value.copy()
