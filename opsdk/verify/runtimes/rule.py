"""The gradient rule driven by hand: what goes into the gradient op, and which gradient belongs to which input."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from opsdk.backends.call.application import Application
from opsdk.backends.call.buffers import asked_specs
from opsdk.core.errors import ShapeError
from opsdk.define.kernel.kernel import Kernel
from opsdk.define.opdef import GradRule, OpDef
from opsdk.ops.reduction import sum_to
from opsdk.verify.inputs.calls import Call, Values, each, flat, is_float
from opsdk.verify.kernels.launch import launch


def carriers(opdef: OpDef) -> tuple[int, ...]:
    """Returns the positions of the outputs that carry a gradient."""
    return tuple(i for i, d in enumerate(opdef.schema.outputs) if d.name not in opdef.traits.nondifferentiable)


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


def applied(
    opdef: OpDef, rule: GradRule, call: Call, cotangents: Values, mask: Sequence[bool] | None = None
) -> Application:
    """Returns the rule, applied to a call by hand: its targets are the inputs whose gradients are asked for."""
    asked = mask or [True] * len(call.inputs)
    targets = [value if flag else None for value, flag in zip(call.inputs, asked, strict=True)]
    return Application(opdef, rule, call.attrs, cotangents, targets)


def gradient_call(
    opdef: OpDef,
    rule: GradRule,
    call: Call,
    outputs: Values,
    cotangents: Values,
    mask: Sequence[bool] | None = None,
) -> Call:
    """Returns the call of the gradient op that belongs to a call of the op."""
    pools = {"input": call.inputs, "output": outputs}
    saved = [pools[source.kind][source.position] for source in rule.sources if source.kind != "cotangent"]
    application = applied(opdef, rule, call, cotangents, mask)
    attrs = application.op_attrs()
    attrs.pop(rule.given or "", None)  # by hand every cotangent is there
    attrs.update(asked_specs(rule.op.opdef, call.inputs))
    inputs = application.op_inputs(saved, lambda position, number: None)
    return Call(inputs, attrs, call.reason, call.declared, call.extra, call.invented)


def gradients(
    opdef: OpDef,
    rule: GradRule,
    row: Kernel | None,
    call: Call,
    outputs: Values,
    cotangents: Values,
    mask: Sequence[bool] | None = None,
) -> list[Any]:
    """Runs a row of the gradient op; returns one entry per input of the op, None where it gives no gradient.

    Raises:
        ArityError: a variadic input got the wrong number of gradients.
        ShapeError: a gradient cannot be summed to its input's shape.
    """
    given = gradient_call(opdef, rule, call, outputs, cotangents, mask)
    made = launch(rule.op.opdef, row, given.inputs, given.attrs)
    routed = applied(opdef, rule, call, cotangents, mask).route(
        made, lambda position, like, gradient: _summed(rule, gradient, like)
    )
    return [None if isinstance(v, list) and all(item is None for item in v) else v for v in routed]


def _summed(rule: GradRule, gradient: np.ndarray | None, like: np.ndarray) -> np.ndarray | None:
    if gradient is None or not rule.reduces:
        return gradient
    try:
        summed = gradient if gradient.shape == like.shape else sum_to(gradient, like.shape).copy()
    except ShapeError:
        return gradient  # whoever compares shapes says more about it
    return summed.astype(like.dtype) if is_float(summed) and is_float(like) else summed


def undeclared_none(opdef: OpDef, rule: GradRule, call: Call, given: Values) -> list[str]:
    """Returns the names of the inputs that got None although it was not declared that nothing depends on them."""
    names = []
    for position in rule.wrt:
        value, gradient = call.inputs[position], given[position]
        wanted = [v for v in flat([value]) if is_float(v)]
        missing = gradient is None or (isinstance(gradient, list) and any(item is None for item in gradient))
        if wanted and missing and position not in rule.disconnected:
            names.append(opdef.schema.inputs[position].name)
    return names


def gradients_by_leaf(opdef: OpDef, call: Call, outputs: Values, cotangents: Values) -> list[Any]:
    """Returns the gradient of every floating input, flat, on the row that a runtime would take; None where none is."""
    assert opdef.grad is not None
    floating = [any(is_float(array) for array in flat([value])) for value in call.inputs]
    mask = [flag and i in opdef.differentiable_inputs() for i, flag in enumerate(floating)]
    routed = gradients(opdef, opdef.grad, None, call, outputs, cotangents, mask=mask)
    listed: list[Any] = []
    for value, gradient in zip(call.inputs, routed, strict=True):
        if isinstance(value, list):
            given = gradient if gradient is not None else [None] * len(value)
            listed += [g for v, g in zip(value, given, strict=True) if is_float(v)]
        elif is_float(value):
            listed.append(gradient)
    return listed
