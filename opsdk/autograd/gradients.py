"""Between a node and its gradient op: what goes in, and what must come out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy import ndarray

from opsdk.autograd.node import GradNode
from opsdk.backends.call import arrays
from opsdk.backends.call.application import Application, missing_gradient
from opsdk.backends.call.plan import CallPlan, keep
from opsdk.backends.memory.arena import empty
from opsdk.backends.memory.device import memory_at
from opsdk.core.errors import VersionError
from opsdk.core.fast import FAST
from opsdk.core.place import CPU
from opsdk.define.opdef import OpDef
from opsdk.ops.reduction import sum_to

# Any, in this file: a value is an array, or a tensor where the backward is itself recorded.


def step(node: GradNode, cotangents: Sequence[Any], edges: Sequence[Any]) -> Sequence[Any]:
    """Returns the gradients of a node's inputs as arrays, one per edge.

    Args:
        node: the call.
        cotangents: one per output; None where none arrived.
        edges: the node's own, with None where nobody wants the gradient.
    """
    opdef = gradient_op(node)
    application = None
    kind = opdef.plans.get(node.plan)
    if kind is not None and node.__class__ is GradNode:
        made: Sequence[Any] = (FAST.gradient(kind, node, cotangents[0]),)
    else:
        application = applied(node, cotangents, edges)
        if not application.leave_unreached(is_leaf):
            return [None] * len(edges)
        made = application.gradients(partial(_computed, node, application))
        if application.rule.passes:
            return _in_own_memory(application.route(made, holding(application, sum_to)), cotangents, edges)
    if len(edges) == 1 and made[0].__class__ is ndarray:  # an array of the right kind needs no routing
        target, index = edges[0]
        if index < 0:
            like = target._array
            if made[0].dtype is like.dtype and made[0].shape == like.shape:
                return made
        elif (made[0].shape, made[0].dtype) == target.spec(index):
            return made
    application = application or applied(node, cotangents, edges)
    return node.by_edge(application.route(made, holding(application, sum_to)))


# Any: what a gradient's kernel gave; the gradient, or None where it was declared disconnected.
def routed(node: GradNode, made: Any) -> Any:
    """Returns the one gradient of a node, checked as `step` checks it."""
    application = applied(node, (), node.edges)
    return application.route((made,), holding(application, sum_to))[0]


def gradient_op(node: GradNode) -> OpDef:
    """Returns the gradient op of a node that can be gone back through.

    Raises:
        GradientMissingError: its op has no backward.
        GraphError: its graph was freed.
    """
    opdef = node.plan.gradient
    if opdef is None:
        forward, schema = node.plan.opdef, node.plan.opdef.schema
        if forward.refusal:
            raise missing_gradient(forward, node.used_at or "")
        name = schema.inputs[forward.differentiable_inputs()[0]].name
        raise missing_gradient(
            forward,
            node.used_at or "(set OPSDK_DEBUG=1 for where it was used)",
            f"@{schema.name}.backward  def {schema.name}_grad({name}, d{schema.output_names[0]}): ...",
        )
    if node.saved is None:
        raise node.freed()
    return opdef


def applied(node: GradNode, cotangents: Sequence[Any], edges: Sequence[Any]) -> Application:
    """Returns the rule of a node, applied to its call; its targets are edges."""
    rule = node.plan.rule
    assert rule is not None
    return Application(node.plan.opdef, rule, node.attrs, node.by_output(cotangents), node.by_input(edges))


def is_leaf(edge: tuple[Any, int]) -> bool:
    """Whether an edge leads to a leaf, where a pass ends."""
    return edge[1] < 0


def holding(application: Application, sum_to: Callable[..., Any]) -> Callable[[int, Any, Any], Any]:
    """Returns what holds a gradient to the shape and dtype of where its edge leads, summed by `sum_to`."""

    def hold(position: int, edge: tuple[Any, int], value: Any) -> Any:
        target, index = edge
        shape, dtype = (target._array.shape, target._array.dtype) if index < 0 else target.spec(index)
        return application.unbroadcast(position, value, shape, dtype, sum_to)

    return hold


def _in_own_memory(routed: list[Any], cotangents: Sequence[Any], edges: Sequence[Any]) -> list[Any]:
    """Returns gradients of which some are cotangents as they are, with copies where they need memory of their own."""
    passed = {id(cotangent) for cotangent in cotangents}
    for i, (value, edge) in enumerate(zip(routed, edges, strict=True)):
        # A leaf keeps what it gets, and a hook may change it.
        if value is not None and id(value) in passed and (edge[1] < 0 or edge[0].hooks is not None):
            routed[i] = _copy(value)
    return routed


def _copy(array: Any) -> Any:
    if array.__class__ is not ndarray:
        return array.copy()
    made = empty(array.shape, array.dtype)
    np.copyto(made, array)
    return made


def _computed(node: GradNode, application: Application, attrs: dict[str, Any]) -> Any:
    """Returns what the gradient op of a node gives for attributes."""
    plan = node.plan
    opdef = plan.gradient
    assert opdef is not None
    assert node.saved is not None
    zeros = np.zeros if plan.place is CPU else memory_at(plan.place, "zeros").zeros
    saved = unchanged(node, node.saved)
    inputs = application.op_inputs(saved, partial(node.zeros_of, zeros))
    attrs.update(node.specs)
    attrs.update(application.rule.objects_in(saved))
    made = arrays.run(opdef, inputs, attrs, plan.place)
    saves_one = plan.saves_output or plan.saves_input
    if FAST is not None and plan.place is CPU and plan.bare and saves_one:
        call: CallPlan = opdef.plans[arrays.array_key(inputs, attrs)]
        takes_two = [decl.kind for decl in opdef.schema.inputs] == ["tensor", "tensor"]  # what is saved, a cotangent
        if call.is_fast and takes_two and opdef.schema.outputs[0].kind == "tensor":
            keep(opdef, plan, FAST.Kind(call, plan))
    return made


def unchanged(node: GradNode, saved: Sequence[Any]) -> list[Any]:
    """Returns the values that a node saved.

    Raises:
        VersionError: one was changed in place.
    """
    values = []
    for i in range(0, len(saved), 3):
        box = saved[i + 1]
        if box is not None and box[0] != saved[i + 2]:
            rule = node.plan.rule
            assert rule is not None
            named = zip(rule.op.opdef.schema.input_names, rule.sources, strict=True)
            name = [name for name, source in named if source.kind != "cotangent"][i // 3]
            raise VersionError(
                f"{node.plan.opdef.subject}: backward needs {name!r} as it was at version {saved[i + 2]}, it was "
                f"changed in place since, to version {box[0]}; change a copy instead"
            )
        values.append(saved[i])
    return values if node.__class__ is GradNode else node.unpacked(values)
