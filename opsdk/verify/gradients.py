"""Gradients of an op as functions of arrays: the rule driven by hand, the tape, and the pairs that gradcheck judges."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any

import numpy as np

from gradcheck.model.dtypes import resolution
from opsdk.autograd.derivatives import grad
from opsdk.autograd.tensor import Tensor
from opsdk.backends.call.application import Application
from opsdk.backends.call.buffers import asked_specs
from opsdk.core.errors import ShapeError
from opsdk.core.modes import enable_grad
from opsdk.define.kernel.kernel import Kernel
from opsdk.define.op import Op
from opsdk.define.opdef import GradRule, OpDef
from opsdk.ops.reduction import sum_to
from opsdk.verify.inputs.calls import Call, Values, each, flat, is_float, outputs_of, refill
from opsdk.verify.kernels.launch import Outputs, launch

Arrays = Sequence[np.ndarray]
Forward = Callable[..., tuple[np.ndarray, ...]]
Vjp = Callable[[Arrays, Arrays, Arrays], tuple[Any, ...]]
Mask = Sequence[bool]  # per input whether its gradient is asked for


def carriers(opdef: OpDef) -> tuple[int, ...]:
    """Returns the positions of the outputs that carry a gradient."""
    return tuple(i for i, d in enumerate(opdef.schema.outputs) if d.name not in opdef.traits.nondifferentiable)


def carried(opdef: OpDef, values: Values) -> list[Any]:
    """Returns those of one entry per output that belong to outputs which carry a gradient, flat."""
    return flat([values[i] for i in carriers(opdef)])


def wanted(opdef: OpDef, call: Call) -> list[int]:
    """Returns the positions of the floating inputs that a gradient is asked for."""
    return [i for i in opdef.differentiable_inputs() if any(map(is_float, flat([call.inputs[i]])))]


def rule_of(opdef: OpDef) -> GradRule:
    """Returns the rule of an op that has one."""
    assert opdef.grad is not None, opdef.name
    return opdef.grad


def draw_cotangents(opdef: OpDef, outputs: Values, rng: np.random.Generator) -> list[Any]:
    """Returns a random cotangent per output; zeros for an output that is not floating."""

    def draw(array: np.ndarray) -> np.ndarray:
        if array.dtype.kind == "c":
            parts = rng.standard_normal((2, *array.shape))
            return np.asarray(parts[0] + 1j * parts[1]).astype(array.dtype)
        if not is_float(array):
            return np.zeros(array.shape, array.dtype)
        return np.asarray(rng.standard_normal(array.shape)).astype(array.dtype)

    return each(outputs, draw)


def _applied(opdef: OpDef, call: Call, cotangents: Values, mask: Mask | None) -> Application:
    """Returns the rule, applied to a call by hand: its targets are the inputs whose gradients are asked for."""
    asked = mask or [True] * len(call.inputs)
    targets = [value if flag else None for value, flag in zip(call.inputs, asked, strict=True)]
    return Application(opdef, rule_of(opdef), call.attrs, cotangents, targets)


def wrt_of(opdef: OpDef) -> list[int]:
    """Returns the positions of the inputs that its rule gives gradients of, without those that it only moves with."""
    return [i for i in rule_of(opdef).wrt if i < len(opdef.schema.inputs)]


def gradient_call(opdef: OpDef, call: Call, outputs: Values, cotangents: Values, mask: Mask | None = None) -> Call:
    """Returns the call of the gradient op that belongs to a call of the op."""
    application = _applied(opdef, call, cotangents, mask)
    rule = application.rule
    pools = {"input": call.inputs, "output": outputs, "object": [call.attrs.get(n) for n in opdef.schema.attr_names]}
    if opdef.schema.residuals:
        kept = outputs if isinstance(outputs, Outputs) else launch_reference(opdef, call)
        pools["residual"] = kept.residuals
    saved = [pools[source.kind][source.position] for source in rule.saved]
    attrs = application.op_attrs()
    attrs.pop(rule.given or "", None)  # by hand every cotangent is there
    attrs.update(asked_specs(rule.op.opdef, call.inputs) | rule.objects_in(saved))
    attrs.update({name: call.attrs[name] for name, _ in getattr(rule.op.opdef.infer, "asks", ()) if name in call.attrs})
    inputs = application.op_inputs(saved, lambda position, number: _absent(opdef, call, position))

    made = replace(call, inputs=inputs, attrs=attrs, remade=None)

    def in_dtype(dtype: np.dtype[Any]) -> Call:  # of residuals there is none but that of a call in the dtype
        own = made.float_dtype
        is_finer = own is not None and is_float(np.empty(0, dtype)) and resolution(dtype) < resolution(own)
        if is_finer and not rule.objects:
            return made.cast(dtype)  # but numbers that a kernel was given are the same in more digits
        there = call.cast(dtype)
        entering = there.cast_values(cotangents, dtype)
        return gradient_call(opdef, there, launch_reference(opdef, there), entering, mask)

    return replace(made, remade=in_dtype if rule.op.opdef.reads else None)


def _absent(opdef: OpDef, call: Call, position: int) -> np.ndarray | None:
    """Returns what enters for an output, or a hole, that a call does not give: of an absent gradient zeros."""
    return None if opdef.schema.outputs[position].may_lack else np.zeros_like(flat(call.inputs)[0])


def launch_reference(opdef: OpDef, call: Call) -> Outputs:
    """Runs a call on the reference of its op."""
    return launch(opdef, opdef.kernels.reference(), call.inputs, call.attrs)


def by_rule(
    opdef: OpDef, kernel: Kernel | None, call: Call, outputs: Values, cotangents: Values, mask: Mask | None = None
) -> list[Any]:
    """Runs a kernel of the gradient op; returns one entry per input of the op, None where it gives no gradient.

    Raises:
        ArityError: a variadic input got the wrong number of gradients.
        ShapeError: a gradient cannot be summed to its input's shape.
    """
    rule = rule_of(opdef)

    def summed(position: int, like: np.ndarray, gradient: np.ndarray | None) -> np.ndarray | None:
        if gradient is None or not rule.reduces:
            return gradient
        try:
            made = gradient if gradient.shape == like.shape else sum_to(gradient, like.shape).copy()
        except ShapeError:
            return gradient  # whoever compares shapes says more about it
        return made.astype(like.dtype) if is_float(made) and is_float(like) else made

    given = gradient_call(opdef, call, outputs, cotangents, mask)
    made = launch(rule.op.opdef, kernel, given.inputs, given.attrs)
    routed = _applied(opdef, call, cotangents, mask).route(made, summed)
    return [None if isinstance(v, list) and all(item is None for item in v) else v for v in routed]


def by_array(inputs: Values, made: Values) -> list[tuple[np.ndarray, Any]]:
    """Returns every array of the inputs with its gradient, of one entry per input; None where it has none."""
    pairs: list[tuple[np.ndarray, Any]] = []
    for value, gradient in zip(inputs, made, strict=True):
        values = value if isinstance(value, list) else [value]
        given = gradient if isinstance(gradient, list) else [gradient] * len(values)
        pairs += [(array, its) for array, its in zip(values, given, strict=True) if array is not None]
    return pairs


def undeclared_none(opdef: OpDef, call: Call, given: Values) -> list[str]:
    """Returns the names of the inputs that got None although it was not declared that nothing depends on them."""
    rule = rule_of(opdef)
    return [
        opdef.schema.inputs[i].name
        for i in wrt_of(opdef)
        if i not in rule.disconnected
        and any(is_float(a) for a in flat([call.inputs[i]]))
        and any(gradient is None for _, gradient in by_array([call.inputs[i]], [given[i]]))
    ]


def by_leaf(opdef: OpDef, call: Call, outputs: Values, cotangents: Values) -> list[Any]:
    """Returns the gradient of every floating input, flat, on the kernel that a runtime would take; None without one."""
    asked = wanted(opdef, call)
    mask = [i in asked for i in range(len(call.inputs))]
    routed = by_rule(opdef, None, call, outputs, cotangents, mask)
    return [gradient for array, gradient in by_array(call.inputs, routed) if is_float(array)]


# Any, in these: tensors, or None.
def call_on_tape(opdef: OpDef, inputs: Values, attrs: Mapping[str, Any]) -> list[Any]:
    """Calls an op on tensors; returns those of its outputs that are judged, flat."""
    made = outputs_of(opdef, _handle(opdef)(*inputs, **attrs))
    return flat([made[i] for i in judged(opdef)])


@lru_cache(maxsize=16)
def _handle(opdef: OpDef) -> Op:
    """Returns an op to call; a new one forgets all plans, and a derivative takes thousands of calls of one kind."""
    return Op(opdef)


def without_leaves(opdef: OpDef, inputs: Values) -> list[Any]:
    """Returns the inputs of a call on values of a runtime with a copy of each that it changes: no leaf is changed.

    The copy is in the graph unless no output passes its gradient on.
    """

    def copied(position: int) -> Any:
        flows = position in opdef.passed_on()

        def cloned(value: Any) -> Any:
            return value.clone() if flows else value.detach().clone()

        return each([inputs[position]], cloned)[0]

    changed = opdef.schema.mutated_inputs
    return [copied(i) if i in changed else value for i, value in enumerate(inputs)]


def not_passed(opdef: OpDef) -> set[int]:
    """Returns the positions of the inputs that are changed and whose gradient no output passes on."""
    return set(opdef.schema.mutated_inputs).difference(opdef.passed_on())


def not_passed_on(opdef: OpDef, call: Call) -> list[str]:
    """Returns the names of the inputs with a derivative of which no runtime can ask, since no output passes it on."""
    return [opdef.schema.input_names[i] for i in wanted(opdef, call) if i in not_passed(opdef)]


def pulled_back(ys: Sequence[Any], dys: Sequence[Any], xs: Sequence[Any], *, create_graph: bool = False) -> list[Any]:
    """Returns the gradients, by tensor, of those outputs that carry one; None where a tensor has none."""
    pairs = [(y, dy) for y, dy in zip(ys, dys, strict=True) if y is not None and not y.stop_gradient]
    entering = [dy if isinstance(dy, Tensor) else Tensor(np.array(dy)) for _, dy in pairs]
    return grad([y for y, _ in pairs], xs, entering, create_graph=create_graph, allow_unused=True)


def array_of(gradient: Tensor | None, tensor: Tensor) -> np.ndarray | None:
    """Returns a gradient as an array, zeros where there is none; None where nobody asked for it."""
    if tensor.stop_gradient:
        return None
    return np.zeros(tensor.shape, tensor.dtype) if gradient is None else gradient.numpy().copy()


def through_tape(opdef: OpDef, call: Call, cotangents: Arrays) -> tuple[Any, ...]:
    """Returns the gradients of a call as the tape gives them, one per flat input; None where there is none."""
    with enable_grad():
        tensors = [Tensor(np.array(array), not is_float(array)) for array in flat(call.inputs)]
        made = call_on_tape(opdef, without_leaves(opdef, refill(call.inputs, tensors)), call.attrs)
        found = pulled_back(made, cotangents, tensors)
    return tuple(None if gradient is None else gradient.numpy().copy() for gradient in found)


def judged(opdef: OpDef) -> tuple[int, ...]:
    """The outputs that are judged: those that carry a gradient; all, where none does."""
    return carriers(opdef) or tuple(range(len(opdef.schema.outputs)))


def placed(values: Values, positions: Sequence[int], arrays: Sequence[Any]) -> list[Any]:
    """Returns `values` with the flat `arrays` at some positions."""
    filled = dict(zip(positions, refill([values[i] for i in positions], arrays), strict=True))
    return [filled.get(i, value) for i, value in enumerate(values)]
