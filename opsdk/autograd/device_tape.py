"""The tape's frontend for tensors at a CUDA place: rows of that place, the same record for the backward."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from opsdk.autograd.device_tensor import DeviceTensor, tensor_of
from opsdk.autograd.tape import arrays_of, is_wanted, kind_of, launch
from opsdk.autograd.tape_plan import TapePlan
from opsdk.autograd.tensor import Tensor
from opsdk.backends.call.constant import as_constant, changes_copy, dtype_beside, dtype_for, is_comparison
from opsdk.backends.call.device_plan import make_device_plan
from opsdk.backends.call.plan import attrs_key, keep
from opsdk.backends.memory.device import check_places, is_device_array, memory_of
from opsdk.core.modes import is_grad_enabled
from opsdk.core.place import Place
from opsdk.define.call import check_inputs
from opsdk.define.frontend import register_frontend
from opsdk.define.opdef import OpDef
from opsdk.define.schema.schema import InputDecl


# Any, in this file: tensors, lists of them, None or constants; arrays; attribute values.
class DeviceTape:
    """The runtime of dynamic tensors in device memory."""

    name = "CUDA tensors"

    def accepts(self, value: Any) -> bool:
        """Whether a value is a tensor in device memory."""
        return isinstance(value, DeviceTensor)

    def apply(self, opdef: OpDef, inputs: Sequence[Any], attrs: Mapping[str, Any]) -> Any:
        """Runs a call and, where a gradient may be asked for, records it.

        Raises:
            PlaceError: the tensors of the call live at several places.
        """
        inputs, place = _on_device(opdef, inputs)
        arrays = [arrays_of(value) for value in inputs]
        kind = (place, is_grad_enabled(), *map(kind_of, inputs), attrs_key(attrs))
        plan: TapePlan | None = opdef.plans.get(kind)
        if plan is not None:
            return launch(plan, plan.call and plan.call.run, inputs, arrays, attrs, tensor_of)
        record = is_grad_enabled() and is_wanted(opdef, inputs)
        call = None if opdef.is_composite and record else make_device_plan(opdef, arrays, attrs, place)
        plan = TapePlan(opdef, call, record, arrays)
        result = launch(plan, call and call.run_checked, inputs, arrays, attrs, tensor_of)
        keep(opdef, kind, plan)
        opdef.usage.in_graph = opdef.usage.in_graph or record
        return result


def _on_device(opdef: OpDef, inputs: Sequence[Any]) -> tuple[list[Any], Place]:
    """Returns the inputs with every constant as a tensor at the place of the tensors, and that place."""
    check_inputs(opdef, inputs)
    flat = [item for value in inputs for item in (value if isinstance(value, (list, tuple)) else (value,))]
    first = next(item for item in flat if isinstance(item, DeviceTensor))
    beside = dtype_beside(item.dtype for item in flat if isinstance(item, DeviceTensor))
    memory = memory_of(first._array)

    def one(value: Any, decl: InputDecl) -> Any:
        if value is None or isinstance(value, Tensor):
            return value
        subject = f"{opdef.subject}, input {decl.name!r}"
        if is_device_array(value):
            array = value
        else:
            like = dtype_for(decl, beside)
            array = as_constant(value, like, subject, DeviceTape.name, compared=is_comparison(opdef))
        if decl.mutated:
            raise changes_copy(subject, value, DeviceTape.name)
        if array is value and is_device_array(value):
            return DeviceTensor(value.copy() if is_grad_enabled() else value)
        return DeviceTensor(memory.from_host(np.asarray(array)))

    values = [
        [one(item, decl) for item in value] if decl.kind == "list" else one(value, decl)
        for decl, value in zip(opdef.schema.inputs, inputs, strict=True)
    ]
    check_inputs(opdef, values)  # of the dtypes of constants too
    return values, check_places(opdef, [arrays_of(value) for value in values])


DEVICE_TAPE = DeviceTape()
register_frontend(DEVICE_TAPE, DeviceTensor)
