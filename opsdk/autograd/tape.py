"""The tape: the frontends of dynamic tensors, in host memory and at a device.

It runs a call's kernel and records what the backward will need.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from opsdk.autograd.device_tensor import DeviceTensor, tensor_of
from opsdk.autograd.fast_path import connected
from opsdk.autograd.node import TapePlan
from opsdk.autograd.on_arrays import on_arrays
from opsdk.autograd.recording import arrays_of, placed, record
from opsdk.autograd.tensor import Tensor
from opsdk.autograd.tensor_state import about_to_change, check_changes
from opsdk.autograd.views import follow, share
from opsdk.backends.call.buffers import infer
from opsdk.backends.call.constant import lifted
from opsdk.backends.call.normalise import as_outputs, check_specs, shares
from opsdk.backends.call.plan import attrs_key, keep, make_plan
from opsdk.backends.memory.device import HOST, Memory, check_places, is_device_array, memory_of
from opsdk.core.dtype import is_differentiable
from opsdk.core.errors import MutationError, ReturnError
from opsdk.core.fast import FAST
from opsdk.core.flags import FLAGS
from opsdk.core.modes import OFF, is_grad_enabled
from opsdk.core.nested import each, flat
from opsdk.core.place import CPU, Place
from opsdk.define.call import body_attrs, check_inputs, cut_off, given
from opsdk.define.frontend import at_once, register_frontend, register_values
from opsdk.define.opdef import OpDef


# Any, in this file: the values of a call are tensors, lists of them, None or constants; attribute values.
class Tape:
    """The runtime of dynamic tensors."""

    name = "dynamic tensors"

    def accepts(self, value: Any) -> bool:
        """Whether a value is a tensor in host memory."""
        return isinstance(value, Tensor) and value.place is CPU

    def apply(self, opdef: OpDef, inputs: Sequence[Any], attrs: Mapping[str, Any]) -> Any:
        """Runs a call and, where a gradient may be asked for, records it."""
        repeat = opdef.plans.repeat
        if repeat is not None:
            made = repeat(inputs, attrs)
            if made is not None:
                return made
        arrays: list[Any] = []
        key: list[Any] = [not OFF or is_grad_enabled()]
        try:
            for value in inputs:  # one loop, since this is on the way of every call of several inputs
                if value is None:
                    arrays.append(None)
                    key.append(None)
                else:
                    array = value._array
                    arrays.append(array)
                    key.append(array.dtype)
                    key.append(value._stop)
        except AttributeError:  # a constant or a list among the inputs
            inputs = lift(opdef, inputs)
            arrays = [arrays_of(value) for value in inputs]
            key = [is_grad_enabled(), *map(kind_of, inputs)]
        if attrs:
            key += attrs_key(attrs)
        kind = tuple(key)
        plan = opdef.plans.get(kind)
        if plan is None:
            return _first_call(opdef, kind, inputs, arrays, attrs)
        if not plan.plain or plan.call is None:
            return launch(plan, plan.call and plan.call.run, inputs, arrays, attrs)
        out = Tensor(plan.call.run(arrays, attrs))
        if plan.record:
            record(plan, inputs, attrs, (out,))
        return out


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
        first = next(value for value in flat(inputs) if isinstance(value, DeviceTensor))
        inputs = lift(opdef, inputs, memory_of(first._array))
        arrays = [arrays_of(value) for value in inputs]
        place = check_places(opdef, arrays)
        kind = (place, is_grad_enabled(), *map(kind_of, inputs), *attrs_key(attrs))
        plan: TapePlan | None = opdef.plans.get(kind)
        if plan is None:
            return _first_call(opdef, kind, inputs, arrays, attrs, place)
        return launch(plan, plan.call and plan.call.run, inputs, arrays, attrs)


def _first_call(
    opdef: OpDef, kind: tuple[Any, ...], inputs: Sequence[Any], arrays: list[Any], attrs: Any, place: Place = CPU
) -> Any:
    """Runs a call of a new kind with every check, and keeps its plan when it succeeded."""
    check_inputs(opdef, inputs)
    wanted = is_grad_enabled() and is_wanted(opdef, inputs)
    kept = opdef.whole if wanted else opdef  # with the residuals, or without
    call = None if opdef.is_composite and wanted else make_plan(kept, arrays, attrs, place=place)
    plan = TapePlan(opdef, call, wanted, arrays)
    result = launch(plan, call and call.run_checked, inputs, arrays, attrs)
    keep(opdef, kind, plan)
    is_unary = [decl.kind for decl in opdef.schema.inputs] == ["tensor"]
    if FAST is not None and call is not None and call.is_fast and plan.plain and is_unary:
        carries = call.dtype is not None and is_differentiable(call.dtype)
        saves_one = plan.saves_output or plan.saves_input
        if ((carries and saves_one and not plan.asks) or not wanted) and plan.stops[0] is not wanted:
            kinds = opdef.plans.recorded if wanted else opdef.plans.plain
            if wanted or inputs[0]._stop or not is_grad_enabled():
                kinds[arrays[0].dtype] = FAST.Kind(call, plan)
    if call is not None and place is CPU and plan.plain and not wanted and not FLAGS.debug:
        opdef.plans.repeat = call.repeat(Tensor)
    opdef.usage.in_graph = opdef.usage.in_graph or wanted
    return result


def is_wanted(opdef: OpDef, inputs: Sequence[Any]) -> bool:
    """Whether a gradient can be asked for of any input."""
    wanted = (inputs[i] for i in opdef.differentiable_inputs())
    return any(not t._stop and is_differentiable(t._array.dtype) for value in wanted for t in flat(value))


def lift(opdef: OpDef, inputs: Sequence[Any], memory: Memory = HOST) -> list[Any]:
    """Returns the inputs with every constant as a tensor in a memory, arrays as copies: their owner may change them."""

    def made(value: Any, array: Any) -> Tensor:
        if memory is HOST:
            return Tensor(array.copy() if isinstance(value, np.ndarray) and is_grad_enabled() else array)
        if not is_device_array(array):
            return DeviceTensor(memory.from_host(array))
        return DeviceTensor(array.copy() if is_grad_enabled() else array)

    return lifted(opdef, inputs, Tensor, Tape.name if memory is HOST else DeviceTape.name, made, memory)


def kind_of(value: Any) -> Any:
    """Returns what a plan's key holds of a tensor."""
    if isinstance(value, list):
        return tuple(kind_of(item) for item in value)
    return None if value is None else (value._array.dtype, value._stop)


def launch(
    plan: TapePlan,
    run: Any,
    inputs: Sequence[Any],
    arrays: Sequence[Any],
    attrs: Mapping[str, Any],
) -> Any:
    """Runs any kind of call, and records it: several outputs, lists, in-place, aliases, composites.

    Args:
        plan: the kind of call.
        run: launches its kernel; None for a composite, which is recorded through the ops that it is made of.
        inputs: tensors, lists of them, None.
        arrays: their arrays.
        attrs: those given.
    """
    opdef = plan.opdef
    if run is None:
        assert opdef.body is not None
        complete = body_attrs(opdef, attrs)
        if opdef.check is not None:
            opdef.check(arrays, complete)
        counts = [tensor._version[0] for tensor in _unchanged(opdef, inputs)]
        if opdef.schema.mutated_inputs:
            check_changes(plan, inputs)
        raw = at_once(opdef.body, *cut_off(opdef, inputs), **complete)  # recorded op by op
        values = given(
            opdef,
            _held(opdef, as_outputs(opdef, raw), arrays, complete),
            inputs,
            lambda left, right: shares(left._array, right._array),
            lambda tensor: tensor._edge is not None,  # another may be one that the op's author keeps
        )
        if counts != [tensor._version[0] for tensor in _unchanged(opdef, inputs)]:
            raise MutationError(
                f"{opdef.subject}: expected to leave its inputs as they are, its body changed one in place; "
                "declare it, Tensor(a!), or change a clone()"
            )
        return values[0] if len(values) == 1 else tuple(values)
    schema = opdef.schema
    changed = [tensor for i in schema.mutated_inputs for tensor in flat(inputs[i])]
    if changed:
        check_changes(plan, inputs)
        about_to_change(changed)
    before = {id(tensor._version): tensor._version[0] for tensor in changed}
    try:
        made = run(arrays, attrs)
    finally:  # a kernel that fails may have written by then
        for tensor in changed:
            tensor._version[0] += 1
    wrap = Tensor if plan.place is CPU else tensor_of
    is_one = len(schema.fresh_outputs) + (len(schema.residuals) if plan.record else 0) == 1
    fresh = iter((made,) if is_one else made)
    outputs: list[Any] = []
    for position, decl in enumerate(schema.outputs):
        if decl.mutated:
            outputs.append(inputs[schema.mutated_source(position)])
            continue
        value = next(fresh)
        if value is None:  # a gradient that nobody wants, or that was declared disconnected
            outputs.append(None)
        else:
            listed = value if decl.kind == "list" else (value,)
            outs = [None if array is None else wrap(array) for array in listed]
            sources = [tensor for i in plan.aliased[position] for tensor in flat(inputs[i])]
            for source in sources:
                for out in outs:
                    if out is not None and shares(out._array, source._array):
                        share(source, out)
            outputs.append(outs if decl.kind == "list" else outs[0])
    if plan.record:
        where = outputs if opdef.gradient_of is None else placed(plan, inputs, attrs, outputs)
        record(plan, inputs, attrs, where, before, tuple(fresh))
    for tensor in changed:
        follow(tensor)
    return outputs[0] if len(outputs) == 1 else tuple(outputs)


def _unchanged(opdef: OpDef, inputs: Sequence[Any]) -> list[Tensor]:
    """Returns the tensors that an op must leave as they are."""
    changed = opdef.schema.mutated_inputs
    return [tensor for i, value in enumerate(inputs) if i not in changed for tensor in flat(value)]


def _held(opdef: OpDef, outputs: Sequence[Any], arrays: Sequence[Any], attrs: Mapping[str, Any]) -> Sequence[Any]:
    """Returns what the body of a composite gave, held to the infer rule; gradients are held where they arrive.

    Raises:
        ReturnError: something else than tensors.
        ArityError, ShapeError, DTypeError: tensors of other shapes or dtypes.
    """
    if opdef.gradient_of is not None:
        return outputs
    for position, value in zip(opdef.schema.fresh_outputs, outputs, strict=True):
        decl, is_list = opdef.schema.outputs[position], isinstance(value, (list, tuple))
        may_lack = decl.holes if is_list else decl.kind == "optional"
        for item in value if is_list else (value,):
            if not isinstance(item, Tensor) and not (item is None and may_lack):
                raise ReturnError(
                    f"{opdef.subject}, output {decl.name!r}: expected its body to return a tensor, got "
                    f"{type(item).__name__}; compute it from the inputs with ops"
                )
    check_specs(opdef, each(outputs, lambda tensor: tensor._array), infer(opdef, arrays, attrs))
    return outputs


TAPE = Tape()
fast = connected(TAPE.apply)
register_frontend(TAPE, Tensor, fast=fast)
DEVICE_TAPE = DeviceTape()
register_frontend(DEVICE_TAPE, DeviceTensor)
register_values(on_arrays)
