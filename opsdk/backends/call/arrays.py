"""The frontends of bare arrays: an op called on those of NumPy, or of a device, runs its kernel and gives arrays."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from opsdk.backends.call.constant import as_constant, dtype_beside, dtype_for, is_comparison
from opsdk.backends.call.overlap import check_changeable
from opsdk.backends.call.plan import CallPlan, attrs_key, keep, make_plan
from opsdk.backends.memory.device import HOST, Memory, check_places, is_device_array, memory_of
from opsdk.core.dtype import as_native
from opsdk.core.errors import DTypeError, InPlaceError
from opsdk.core.nested import each, flat
from opsdk.core.place import CPU, Place
from opsdk.define.call import check_inputs
from opsdk.define.frontend import register_frontend
from opsdk.define.opdef import OpDef

_HELD = (np.ndarray, np.generic)


# Any, in this file: arrays of NumPy or of a device, scalars, lists of them; attribute values.
def as_arrays(opdef: OpDef, inputs: Sequence[Any], memory: Memory = HOST) -> list[Any]:
    """Returns the inputs with every constant as an array of a memory; beside a device's, NumPy arrays stay."""
    check_inputs(opdef, inputs)
    kinds = [decl.kind for decl in opdef.schema.inputs]
    items = (v for kind, value in zip(kinds, inputs, strict=True) for v in (value if kind == "list" else (value,)))
    first = dtype_beside(value.dtype for value in items if isinstance(value, _HELD) or is_device_array(value))
    compared = is_comparison(opdef)
    constant = as_constant if memory is HOST else partial(_constant_at, memory)
    arrays: list[Any] = []
    for decl, value in zip(opdef.schema.inputs, inputs, strict=True):
        subject, like = f"{opdef.subject}, input {decl.name!r}", dtype_for(decl, first)
        if decl.kind == "list":
            items = (None if item is None else constant(item, like, subject, compared=compared) for item in value)
            arrays.append(list(items))
        else:
            arrays.append(None if value is None else constant(value, like, subject, compared=compared))
    return arrays


def _constant_at(
    memory: Memory, value: Any, beside: np.dtype[np.generic] | None, subject: str, *, compared: bool
) -> Any:
    """Returns a value beside arrays of a device as an array; numbers go there, NumPy arrays stay where they are."""
    if isinstance(value, np.ndarray) or is_device_array(value):
        return value
    return memory.from_host(as_constant(value, beside, subject, DeviceArrays.name, compared=compared))


def array_key(arrays: Sequence[Any], attrs: Mapping[str, Any]) -> tuple[Any, ...]:
    """Returns the key of a call on arrays: dtypes, and what the attributes decide."""
    kinds = [_listed_dtypes(a) if isinstance(a, list) else None if a is None else a.dtype for a in arrays]
    return (*kinds, *attrs_key(attrs)) if attrs else tuple(kinds)


def _listed_dtypes(arrays: Sequence[Any]) -> tuple[Any, ...]:
    return tuple([None if array is None else array.dtype for array in arrays])


def run(opdef: OpDef, arrays: Sequence[Any], attrs: Mapping[str, Any], place: Place = CPU) -> Any:
    """Runs an op on arrays of a place: the array it makes where it makes one, else a tuple.

    Kernels see this machine's byte order only; no plan is kept for another.
    """
    key: Hashable = array_key(arrays, attrs) if place is CPU else (place, *array_key(arrays, attrs))
    plan: CallPlan | None = opdef.plans.get(key)
    if plan is not None:
        return plan.run(arrays, attrs)
    if not all(array.dtype.isnative for array in flat(arrays)):
        return run(opdef, each(arrays, as_native), attrs)
    plan = make_plan(opdef, arrays, attrs, place=place)
    result = plan.run_checked(arrays, attrs)
    keep(opdef, key, plan)  # only now: a call that failed is checked in full again
    return result


def _check_changed(opdef: OpDef, inputs: Sequence[Any]) -> None:
    """Checks that the arrays that the op changes in place can be, without a conversion, which gives a copy.

    Raises:
        DTypeError: one has the other byte order.
        InPlaceError: one is read-only, its elements share memory, or it is a list or a number, which has no memory.
    """
    for i in opdef.schema.mutated_inputs:
        decl = opdef.schema.inputs[i]
        subject = f"{opdef.subject}, input {decl.name!r}"
        is_listed = decl.kind == "list" and isinstance(inputs[i], (list, tuple))
        for value in inputs[i] if is_listed else (inputs[i],):
            if isinstance(value, (bool, int, float, complex, np.generic, list, tuple)):
                raise InPlaceError(
                    f"{subject}: expected an array, since the op changes it in place, got {type(value).__name__}, "
                    "which would stay as it is; give np.array(…) and keep it"
                )
            if not isinstance(value, np.ndarray) and not is_device_array(value):
                continue
            if not value.dtype.isnative:
                raise DTypeError(
                    f"{subject}: expected this machine's byte order, since the op changes it in place, got "
                    f"{value.dtype.str}; convert it with x.astype(x.dtype.newbyteorder('='))"
                )
            check_changeable(value, subject)


def with_mutated(opdef: OpDef, made: Any, inputs: Sequence[Any]) -> Any:
    """Returns all outputs of an op: those the kernel made, and mutated inputs where they are results."""
    schema = opdef.schema
    if len(schema.fresh_outputs) == len(schema.outputs):
        return made
    fresh = iter((made,) if len(schema.fresh_outputs) == 1 else made)
    every = tuple(
        inputs[schema.mutated_source(i)] if decl.mutated else next(fresh) for i, decl in enumerate(schema.outputs)
    )
    return every[0] if len(every) == 1 else every


class Arrays:
    """The runtime of bare arrays; it takes every call that has no other runtime's value."""

    name = "NumPy arrays"

    def accepts(self, value: Any) -> bool:
        """Whether a value is an array."""
        return isinstance(value, (np.ndarray, np.generic))

    def apply(self, opdef: OpDef, inputs: Sequence[Any], attrs: Mapping[str, Any]) -> Any:
        """Runs the kernel."""
        if opdef.schema.mutated_inputs:
            _check_changed(opdef, inputs)
        arrays = inputs if _are_arrays(opdef, inputs) else as_arrays(opdef, inputs)
        return with_mutated(opdef, run(opdef, arrays, attrs), arrays)


def _are_arrays(opdef: OpDef, inputs: Sequence[Any]) -> bool:
    """Whether the inputs are ones that a plan exists for already, so that nothing about them needs to be made right."""
    if not opdef.plans:
        return False
    for value in inputs:  # noqa: SIM110 - a loop, since this is on the way of every call on arrays
        if value.__class__ is not np.ndarray and value is not None:
            return False
    return True


def fast(opdef: OpDef, value: np.ndarray) -> Any:
    """Applies an op to one array."""
    plan: CallPlan | None = opdef.plans.get((value.dtype,))
    if plan is None or opdef.schema.mutated_inputs:
        return ARRAYS.apply(opdef, (value,), {})
    return plan.run((value,), {})


class DeviceArrays:
    """The runtime of bare arrays in device memory."""

    name = "CUDA arrays"

    def accepts(self, value: Any) -> bool:
        """Whether a value is an array in device memory."""
        return is_device_array(value)

    def apply(self, opdef: OpDef, inputs: Sequence[Any], attrs: Mapping[str, Any]) -> Any:
        """Runs the op's CUDA kernel, or its reference.

        Raises:
            PlaceError: the arrays live at several places; NumPy arrays are in host memory.
            InPlaceError: elements of one that the op changes share memory, or it is a list or a number.
        """
        if opdef.schema.mutated_inputs:
            _check_changed(opdef, inputs)
        memory = memory_of(next(value for value in flat(inputs) if is_device_array(value)))
        arrays = as_arrays(opdef, inputs, memory)
        return with_mutated(opdef, run(opdef, arrays, attrs, check_places(opdef, arrays)), arrays)


ARRAYS = Arrays()
register_frontend(ARRAYS, np.ndarray, fast=fast, is_fallback=True)
DEVICE_ARRAYS = DeviceArrays()
register_frontend(DEVICE_ARRAYS)
