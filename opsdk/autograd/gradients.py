"""Between a node and its gradient op: what goes in, and what must come out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy import ndarray

from opsdk.autograd.node import GradNode
from opsdk.backends.call import arrays
from opsdk.backends.call.conform import check_count, conform
from opsdk.backends.call.device_plan import run_on_device
from opsdk.backends.call.plan import CallPlan, keep
from opsdk.backends.memory.arena import empty
from opsdk.backends.memory.device import zeros_at
from opsdk.core.errors import GradientMissingError, OpsdkError, VersionError
from opsdk.core.fast import FAST
from opsdk.core.place import CPU
from opsdk.define.opdef import GradRule, OpDef
from opsdk.ops.sum_to import sum_to

# Any, in this file: a value is an array, or a tensor where the backward is itself recorded.


def missing_backward(node: GradNode) -> OpsdkError:
    """Returns the error of a gradient that is asked of an op without a backward."""
    opdef = node.plan.opdef
    if opdef.refusal:
        return GradientMissingError(opdef.refusal, at=node.used_at or "", defined=str(opdef.origin))
    names = [opdef.schema.inputs[i].name for i in opdef.differentiable_inputs()]
    output = opdef.schema.output_names[0]
    return GradientMissingError(
        f"{opdef.subject}: no backward, and {names[0]} needs a gradient; write @{opdef.schema.name}.backward "
        f'or declare nondifferentiable=("{names[0]}",)',
        at=node.used_at or "(set OPSDK_DEBUG=1 for where it was used)",
        defined=str(opdef.origin),
        help=f"@{opdef.schema.name}.backward  def {opdef.schema.name}_grad({names[0]}, d{output}): ...",
    )


def step(node: GradNode, cotangents: Sequence[Any], edges: Sequence[Any] | None = None) -> Sequence[Any]:
    """Returns the gradients of a node's inputs as arrays, one per edge.

    Args:
        node: the call.
        cotangents: one per output; None where none arrived.
        edges: the node's own, with None where nobody wants the gradient; the node's own unless given.
    """
    plan = node.plan
    opdef = plan.gradient
    if opdef is None:
        raise missing_backward(node)
    saved = node.saved
    if saved is None:
        raise node.freed()
    if edges is None:
        edges = node.edges
    kind = opdef.plans.get(plan)
    if kind is not None:
        made = FAST.gradient(kind, node, cotangents[0])
    else:
        rule = plan.rule
        assert rule is not None
        if rule.given is not None:
            edges = reached_edges(node, rule, cotangents, edges)
            if not any(edges):
                return edges
        if rule.passes:
            return _handed_on(node, rule, saved, cotangents, edges)
        made = _step_any(node, saved, cotangents, gradient_attrs(node, rule, cotangents, edges))
    if len(edges) == 1 and made.__class__ is ndarray:  # an array of the right kind needs no routing
        target, index = edges[0]
        if index < 0:
            like = target._array
            if made.dtype is like.dtype and made.shape == like.shape:
                return (made,)
        elif (made.shape, made.dtype) == target.spec(index):
            return (made,)
    assert plan.rule is not None
    return route(node, plan.rule, made, sum_to, edges)


# Any: what a gradient's kernel gave; the gradient, or None where it was declared disconnected.
def routed(node: GradNode, made: Any) -> Any:
    """Returns the one gradient of a node, checked as `route` checks it."""
    assert node.plan.rule is not None
    return route(node, node.plan.rule, made, sum_to, node.edges)[0]


def _handed_on(
    node: GradNode, rule: GradRule, saved: Sequence[Any], cotangents: Sequence[Any], edges: Sequence[Any]
) -> list[Any]:
    """Returns the gradients of an op for which a cotangent is a gradient as it is; only the others are computed."""
    made = with_passed(node, rule, cotangents, edges, lambda attrs: _step_any(node, saved, cotangents, attrs))
    routed = route(node, rule, made, sum_to, edges)
    passed = {id(cotangent) for cotangent in cotangents}
    for i, (value, edge) in enumerate(zip(routed, edges, strict=True)):
        # A leaf keeps what it gets, and a hook may change it: both need memory of their own.
        if value is not None and id(value) in passed and (edge[1] < 0 or edge[0].hooks is not None):
            routed[i] = _copy(value)
    return routed


def with_passed(
    node: GradNode,
    rule: GradRule,
    cotangents: Sequence[Any],
    edges: Sequence[Any],
    compute: Callable[[dict[str, Any]], Any],
) -> Any:
    """Returns what the gradient op gives, with the cotangents themselves where they are the gradients.

    Args:
        node: the call.
        rule: its rule.
        cotangents: those of its outputs.
        edges: where its gradients go, None for those that nobody wants.
        compute: runs the gradient op with attributes.
    """
    passed = [None if output is None else cotangents[output] for output in rule.passes]
    wanted = needed(node, edges)
    missing = {i for i, value in zip(rule.wrt, passed, strict=True) if value is None and wanted[i]}
    if not missing:
        return passed if len(passed) > 1 else passed[0]
    attrs = gradient_attrs(node, rule, cotangents, edges)
    if rule.mask is not None:
        attrs[rule.mask] = tuple(i in missing for i in range(len(wanted)))
    made = compute(attrs)
    made = made if len(passed) > 1 else (made,)
    every = [m if p is None else p for m, p in zip(made, passed, strict=True)]
    return every if len(every) > 1 else every[0]


def _copy(array: Any) -> Any:
    if array.__class__ is not ndarray:
        return array.copy()
    made = empty(array.shape, array.dtype)
    np.copyto(made, array)
    return made


def _step_any(node: GradNode, saved: Sequence[Any], cotangents: Sequence[Any], attrs: dict[str, Any]) -> Any:
    plan = node.plan
    rule, opdef = plan.rule, plan.gradient
    assert rule is not None
    assert opdef is not None
    values = unchanged(node, saved)
    assert plan.call is not None
    place = plan.call.place
    if place is not CPU:
        inputs = gradient_inputs(node, rule, values, cotangents, zeros_at(place))
        return run_on_device(opdef, inputs, attrs, place)
    inputs = gradient_inputs(node, rule, values, cotangents, np.zeros)
    made = arrays.run(opdef, inputs, attrs)
    if FAST is not None and plan.bare and (plan.saves_output or plan.saves_input) and _are_tensors(opdef):
        call: CallPlan = opdef.plans[arrays.array_key(inputs, attrs)]
        if call.is_short:
            keep(opdef, plan, FAST.Kind(call, plan))
    return made


def _are_tensors(opdef: OpDef) -> bool:
    """Whether an op takes two tensors and gives one."""
    schema = opdef.schema
    kinds = [decl.kind for decl in schema.inputs], [decl.kind for decl in schema.outputs]
    return kinds == (["tensor", "tensor"], ["tensor"])


def unchanged(node: GradNode, saved: Sequence[Any]) -> list[Any]:
    """Returns the values that a node saved.

    Raises:
        VersionError: one was changed in place.
    """
    values = []
    for i in range(0, len(saved), 3):
        box = saved[i + 1]
        if box is not None and box[0] != saved[i + 2]:
            raise changed(node, i // 3)
        values.append(saved[i])
    return values


def changed(node: GradNode, position: int) -> VersionError:
    """Returns the error of a saved value, given by its position among those saved, that was changed in place."""
    rule, saved = node.plan.rule, node.saved
    assert rule is not None
    assert saved is not None
    names = [n for n, s in zip(rule.op.opdef.schema.input_names, rule.sources, strict=True) if s.kind != "cotangent"]
    return VersionError(
        f"{node.plan.opdef.subject}: backward needs {names[position]!r} as it was at version "
        f"{saved[3 * position + 2]}, it was changed in place since, to version {saved[3 * position + 1][0]}; "
        "change a copy instead"
    )


def gradient_inputs(
    node: GradNode, rule: GradRule, saved: Sequence[Any], cotangents: Sequence[Any], zeros: Callable[..., Any]
) -> list[Any]:
    """Returns the tensor inputs of the gradient op: what was saved, and the cotangents that arrived."""
    values = iter(saved)
    inputs: list[Any] = []
    for source in rule.sources:
        if source.kind != "cotangent":
            inputs.append(next(values))
            continue
        is_list = node.plan.opdef.schema.outputs[source.position].kind == "list"
        arrived = [
            zeros(*node.spec(i)) if cotangents[i] is None and (is_list or rule.materialize) else cotangents[i]
            for i in node.places(source.position)
        ]
        inputs.append(arrived if is_list else arrived[0])
    return inputs


def gradient_attrs(
    node: GradNode, rule: GradRule, cotangents: Sequence[Any], edges: Sequence[Any]
) -> dict[str, Any]:
    """Returns the attributes of the gradient op: those of the forward, what is wanted, and what has arrived."""
    attrs = {name: node.attrs[name] for name in rule.attrs if name in node.attrs}
    if rule.mask is not None:
        attrs[rule.mask] = needed(node, edges)
    if rule.given is not None:
        attrs[rule.given] = tuple([cotangent is not None for cotangent in cotangents])
    if node.specs:
        attrs.update(node.specs)
    return attrs


def reached_edges(
    node: GradNode, rule: GradRule, cotangents: Sequence[Any], edges: Sequence[Any]
) -> Sequence[Any]:
    """Returns the edges with None where no cotangent that has arrived reaches the input; leaves are given zeros."""
    reached = rule.is_reached(node.attrs, [cotangent is not None for cotangent in cotangents])
    return [
        edge if edge is None or edge[1] < 0 or reached.get(i, True) else None for i, edge in enumerate(edges)
    ]


def needed(node: GradNode, edges: Sequence[Any]) -> tuple[bool, ...]:
    """Returns per input of the op whether anybody wants its gradient."""
    flags: list[bool] = []
    start = 0
    for count in _layout(node):
        width = 1 if count is None else count
        flags.append(any(edge is not None for edge in edges[start : start + width]))
        start += width
    return tuple(flags)


def _layout(node: GradNode) -> Sequence[int | None]:
    return node.layout or (None,) * len(node.edges)


def route(
    node: GradNode, rule: GradRule, made: Any, sum_to: Callable[..., Any], edges: Sequence[Any]
) -> list[Any]:
    """Returns one checked gradient per edge, None where that is None.

    Raises:
        ArityError, ShapeError, DTypeError: as `conform` raises them.
    """
    gradients = made if len(rule.wrt) > 1 else (made,)
    by_input = dict(zip(rule.wrt, gradients, strict=True))
    routed: list[Any] = []
    for position, count in enumerate(_layout(node)):
        value = by_input.get(position)
        here = edges[len(routed) : len(routed) + (1 if count is None else count)]
        if count is None:
            routed.append(_conform(node, rule, position, here[0], value, sum_to))
            continue
        if value is None and not any(here):
            routed += [None] * count
            continue
        items = list(value) if value is not None else [None] * count
        check_count(node.plan.opdef, position, count, items)
        routed.extend(_conform(node, rule, position, e, v, sum_to) for e, v in zip(here, items, strict=True))
    return routed


def _conform(node: GradNode, rule: GradRule, position: int, edge: Any, value: Any, sum_to: Callable[..., Any]) -> Any:
    if edge is None or position not in rule.wrt:
        return None
    target, index = edge
    shape, dtype = (target._array.shape, target._array.dtype) if index < 0 else target.spec(index)
    return conform(node.plan.opdef, rule, position, value, shape, dtype, sum_to)
