"""Launches: one kernel run on one call, in stages, so that a fault is known by the stage that found it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from opsdk.backends.call.arrays import array_key, with_mutated
from opsdk.backends.call.plan import CallPlan, make_plan, will_forget
from opsdk.core.errors import AliasError, DTypeError, OpsdkError
from opsdk.core.origin import origin_of
from opsdk.define.kernel.kernel import REFERENCE, Kernel, KernelKey, PlanCache
from opsdk.define.opdef import OpDef
from opsdk.define.schema.binding import reorder
from opsdk.define.schema.scalars import OBJECT
from opsdk.verify.inputs.calls import Values, alike, copies, each, flat, flat_names, only_changed, outputs_of

# A derivative takes thousands of calls of one kind; their plan is made once, as the runtimes make it. A kernel's key
# does not lead to these plans, so they are kept apart from the op's own.
_PLANS: WeakKeyDictionary[OpDef, PlanCache] = WeakKeyDictionary()


def plan_of(opdef: OpDef, kernel: Kernel | None, values: Values, attrs: Mapping[str, Any]) -> CallPlan:
    """Returns the plan of a kernel for a call.

    Raises:
        DTypeError: the kernel is for another dtype; what forces a kernel must not force a dtype on it.
    """
    first = opdef.schema.deciding(values)
    if kernel is not None and kernel.key.dtype is not None and first is not None and first.dtype != kernel.key.dtype:
        whole = _of_whole_numbers(opdef, values, first)
        raise DTypeError(f"{opdef.subject}, kernel {kernel}: expected {kernel.key.dtype}, got {first.dtype}{whole}")
    plans = _PLANS.get(opdef)
    if plans is None:
        plans = _PLANS[opdef] = PlanCache()
        opdef.kernels.plans.add(plans)  # a kernel that is added later may serve these calls
        will_forget(opdef)
    key = (kernel, array_key(values, attrs))
    if key not in plans:
        plans[key] = make_plan(opdef, values, attrs, row=kernel).unguarded()
    plan: CallPlan = plans[key]
    return plan


def _of_whole_numbers(opdef: OpDef, values: Values, first: np.ndarray) -> str:
    """Returns which input decided the dtype of a call, where it holds whole numbers and was not declared to."""
    if first.dtype.kind not in "biu":
        return ""
    names = zip(flat_names(opdef.schema.input_names, values), flat(values), strict=True)
    name = next(name for name, array in names if array is first)
    return f" of {name!r}, which decides as the first; declare it as Tensor<int> {name}"


class Outputs(list[Any]):
    """The outputs of a call, and the residuals that came with them.

    Any: arrays, lists of them, objects of Python.
    """

    residuals: Sequence[Any] = ()


def launch(opdef: OpDef, kernel: Kernel | None, values: Values, attrs: Mapping[str, Any]) -> Outputs:
    """Runs a kernel, or the kernel that serves the call, on copies; returns one entry per output."""
    whole, count = opdef.whole, len(opdef.schema.outputs)
    made = _made(whole, kernel, inputs := _own(whole, values), attrs)
    every = outputs_of(whole, with_mutated(whole, made, inputs))
    outputs = Outputs(_arrays(opdef, every[:count]))
    outputs.residuals = every[count:]
    return outputs


def results(opdef: OpDef, kernel: Kernel | None, values: Values, attrs: Mapping[str, Any]) -> list[Any]:
    """Runs a kernel as `launch` does; returns what `result_names` names."""
    return results_of(opdef, _made(opdef, kernel, inputs := _own(opdef, values), attrs), inputs)


# Any: a function of any signature.
def stand_in(opdef: OpDef, function: Callable[..., Any]) -> Kernel:
    """Returns a surrogate as a kernel of its op; as the identity does, it may hand on what it is given."""
    names = opdef.schema.input_names
    ordered = reorder(function, names)
    return Kernel(
        KernelKey("cpu"), REFERENCE, lambda *v, **attrs: deepcopy(ordered(*v, **attrs)), origin_of(function), names
    )


def _own(opdef: OpDef, values: Values) -> list[Any]:
    """Returns copies of values; of one array that is two inputs, as in f(x, x), one copy, unless one is changed."""
    if opdef.schema.mutated_inputs:
        return each(values, _apart)
    arrays = flat(values)
    if len(set(map(id, arrays))) == len(arrays):
        return copies(values)
    made = {id(array): alike(array) for array in arrays}
    return each(values, lambda array: made[id(array)])


def _made(opdef: OpDef, kernel: Kernel | None, inputs: Values, attrs: Mapping[str, Any]) -> Any:
    return plan_of(opdef, kernel, inputs, attrs).run(inputs, attrs)


def _apart(array: np.ndarray) -> np.ndarray:
    """Returns a copy whose elements lie apart, as of what is changed they have to; laid out alike if the array's do."""
    low, high = np.lib.array_utils.byte_bounds(array)
    return alike(array) if high - low >= array.nbytes else np.array(array)


# Any: what a plan gave, an array or a tuple.
def results_of(opdef: OpDef, made: Any, inputs: Values) -> list[Any]:
    """Returns what `result_names` names, of what a kernel made and the inputs that it changed; None for an object."""
    values = _arrays(opdef, outputs_of(opdef, with_mutated(opdef, made, inputs)))
    return [*values, *[inputs[i] for i in only_changed(opdef)]]


def _arrays(opdef: OpDef, outputs: Sequence[Any]) -> list[Any]:
    """Returns the outputs with None for objects of Python, which nobody can compare."""
    return [None if d.kind == OBJECT else v for d, v in zip(opdef.schema.outputs, outputs, strict=True)]


def refusing(error: OpsdkError) -> str:
    """Returns the check that a refusal of what a kernel returned is a finding of."""
    if isinstance(error, AliasError):
        return "alias"
    return "infer" if "expected a NumPy array" not in str(error) else "runs"
