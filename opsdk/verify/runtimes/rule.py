"""The gradient rule driven by hand: what goes into the gradient op, and which gradient belongs to which input."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from opsdk.backends.call.application import Application
from opsdk.backends.call.buffers import asked_specs
from opsdk.core.errors import ShapeError
from opsdk.define.kernel.kernel import Kernel
from opsdk.define.opdef import GradRule, OpDef
from opsdk.ops.sum_to import sum_to
from opsdk.verify.inputs.calls import Call, Values, each, flat, is_float
from opsdk.verify.kernels.launch import launch


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


def _applied(opdef: OpDef, call: Call, cotangents: Values, mask: Sequence[bool] | None) -> Application:
    """Returns the rule, applied to a call by hand: its targets are the inputs whose gradients are asked for."""
    asked = mask or [True] * len(call.inputs)
    targets = [value if flag else None for value, flag in zip(call.inputs, asked, strict=True)]
    return Application(opdef, rule_of(opdef), call.attrs, cotangents, targets)


def gradient_call(
    opdef: OpDef, call: Call, outputs: Values, cotangents: Values, mask: Sequence[bool] | None = None
) -> Call:
    """Returns the call of the gradient op that belongs to a call of the op."""
    application = _applied(opdef, call, cotangents, mask)
    rule, pools = application.rule, {"input": call.inputs, "output": outputs}
    saved = [pools[source.kind][source.position] for source in rule.sources if source.kind != "cotangent"]
    attrs = application.op_attrs()
    attrs.pop(rule.given or "", None)  # by hand every cotangent is there
    attrs.update(asked_specs(rule.op.opdef, call.inputs))
    inputs = application.op_inputs(saved, lambda position, number: None)
    return replace(call, inputs=inputs, attrs=attrs)


def gradients(
    opdef: OpDef,
    kernel: Kernel | None,
    call: Call,
    outputs: Values,
    cotangents: Values,
    mask: Sequence[bool] | None = None,
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
        arrays = flat([value])
        pairs += zip(arrays, gradient if isinstance(gradient, list) else [gradient] * len(arrays), strict=True)
    return pairs


def undeclared_none(opdef: OpDef, call: Call, given: Values) -> list[str]:
    """Returns the names of the inputs that got None although it was not declared that nothing depends on them."""
    rule = rule_of(opdef)
    return [
        opdef.schema.inputs[i].name
        for i in rule.wrt
        if i not in rule.disconnected
        and any(is_float(a) for a in flat([call.inputs[i]]))
        and any(gradient is None for _, gradient in by_array([call.inputs[i]], [given[i]]))
    ]


def gradients_by_leaf(opdef: OpDef, call: Call, outputs: Values, cotangents: Values) -> list[Any]:
    """Returns the gradient of every floating input, flat, on the kernel that a runtime would take; None without one."""
    asked = wanted(opdef, call)
    mask = [i in asked for i in range(len(call.inputs))]
    routed = gradients(opdef, None, call, outputs, cotangents, mask)
    return [gradient for array, gradient in by_array(call.inputs, routed) if is_float(array)]
