"""A backward that is recorded: gradients as tensors, each of which a call of a gradient op gave."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial
from typing import Any

import numpy as np

from opsdk.autograd.device_tensor import tensor_of
from opsdk.autograd.engine import ArrayAlgebra
from opsdk.autograd.gradients import applied, gradient_op, holding, is_leaf, unchanged
from opsdk.autograd.hooks import Hooks, Kept, run_hooks
from opsdk.autograd.node import GradNode
from opsdk.autograd.tensor import Tensor
from opsdk.backends.call.application import Application, opaque_gradient
from opsdk.backends.memory.device import memory_at, memory_of
from opsdk.core.nested import each, flat
from opsdk.core.spec import TensorSpec
from opsdk.define.op import Op
from opsdk.ops.elementwise import elementwise_add
from opsdk.ops.reduction import sum_to_like

# Any, in this file: tensors, lists of them, None.


class TensorAlgebra(ArrayAlgebra):
    """Gradients as tensors: each gradient op is called, and so recorded, like any other op."""

    records = True
    _sum = staticmethod(elementwise_add)

    def step(self, node: GradNode, cotangents: Sequence[Any], edges: Sequence[Any]) -> Sequence[Any]:
        """Calls the gradient op of a node on tensors."""
        gradient_op(node)
        plan = node.plan
        application = applied(node, cotangents, edges)
        saved = saved_tensors(node)
        if not application.leave_unreached(is_leaf):
            return [None] * len(node.edges)
        zeros = memory_at(plan.place, "zeros").zeros
        inputs = application.op_inputs(saved, partial(node.zeros_of, lambda *spec: tensor_of(zeros(*spec))))
        handle = application.rule.op
        assert isinstance(handle, Op)
        gradient = handle.opdef  # as it is now: its call is recorded now
        followed = (tensor for i in gradient.differentiable_inputs() for tensor in flat(inputs[i]))
        is_closed = gradient.grad is None and not gradient.is_composite
        if is_closed and (gradient.moving or not all(t.stop_gradient for t in followed)):
            raise opaque_gradient(
                gradient,
                node.used_at or "",
                f"@{gradient.schema.name}.backward (order 2, any NumPy), or @{plan.opdef.schema.name}.backward("
                "composite=True) with opsdk ops only (any order)",
            )
        given = {**node.specs, **application.rule.objects_in(saved)}
        edges = _unread_edges(node) if gradient.grad is not None else ()
        if edges:
            _need_a_node(inputs, application)
        made = application.gradients(lambda attrs: handle(*inputs, **attrs, **given))
        if edges:
            _lead_on(flat(made), edges)
        return node.by_edge(application.route(made, holding(application, _sum_to)))

    def hooked(self, hooks: Hooks, value: Any, kept: Kept) -> Any:
        """Calls the hooks."""
        return run_hooks(hooks, value, kept)


def _unread_edges(node: GradNode) -> list[Any]:
    """Returns where the gradient goes of each input that the gradient op of a node does not read, but moves with.

    Empty where nobody wants any.
    """
    unread = () if node.plan.rule is None else node.plan.rule.unread
    every = node.by_input(node.edges) if unread else ()
    edges = [every[i] if i < len(every) else None for i in unread]
    return edges if any(edge is not None for edge in edges) else []


def _need_a_node(inputs: list[Any], application: Application) -> None:
    """Sees that the call of a gradient op is recorded, also where no tensor that it is given is in a graph."""

    def needing(value: Any) -> Any:
        is_plain = value is not None and value.stop_gradient
        return tensor_of(value._array, stop_gradient=False) if is_plain else value

    at = [i for i, source in enumerate(application.rule.sources) if source.kind == "cotangent"]
    for i in at[:1]:
        inputs[i] = each(inputs[i], needing)


def _lead_on(made: Iterable[Tensor | None], edges: Sequence[Any]) -> None:
    """Gives the node of a recorded gradient op the edges of the inputs that it moves with, behind those of its own."""
    node = next((value._edge[0] for value in made if value is not None and value._edge is not None), None)
    if node is None:  # nothing came back
        return
    count = len(node.by_input(node.edges))
    asked = {i - count: name for name, i in node.plan.asks if i >= count}
    node.specs = {**node.specs, **{name: _spec_at(edges[k]) for k, name in asked.items() if edges[k] is not None}}
    node.edges = (*node.edges, *edges)
    if node.layout:
        node.layout = (*node.layout, *[None] * len(edges))


def _spec_at(edge: Any) -> TensorSpec:
    target, index = edge
    return TensorSpec.of(target._array) if index < 0 else TensorSpec(*target.spec(index))


def saved_tensors(node: GradNode) -> list[Any]:
    """Returns what a node saved as tensors in their place in the graph, so that gradients flow on through them.

    Raises:
        VersionError: one was changed in place.
    """
    saved = node.saved or ()
    width = 1 if node.outputs is None else len(node.outputs)
    edges, outputs = node.by_input(node.edges), node.by_output([(node, i) for i in range(width)])
    values: list[Any] = []
    tensors = len(node.plan.saves) - (0 if node.plan.rule is None else len(node.plan.rule.objects))
    for i, ((kind, position), value) in enumerate(zip(node.plan.saves, unchanged(node, saved), strict=True)):
        if kind in ("residual", "object"):
            values.append(tensor_of(value) if i < tensors else value)
            continue
        box = saved[3 * i + 1]
        is_cut = kind == "output" and node.plan.stops[position]
        place = edges[position] if kind == "input" else outputs[position]
        if value is None:
            values.append(None)
        elif isinstance(value, list):
            rows = zip(value, [None] * len(value) if is_cut else place, box.boxes, strict=True)
            values.append([None if item is None else _in_graph(item, *where) for item, *where in rows])
        else:
            values.append(_in_graph(value, None if is_cut else place, box))
    return values


def _in_graph(array: np.ndarray, edge: Any, counter: list[Any]) -> Tensor:
    """Returns an array as a tensor at its place in the graph; it counts changes together with the tensor saved."""
    target, index = (None, 0) if edge is None else edge
    if index < 0:
        return target  # type: ignore[return-value]
    made = tensor_of(array, edge is None, edge)
    made._version = counter
    return made


def _sum_to(value: Tensor, shape: Sequence[int]) -> Any:
    return sum_to_like(value, tensor_of(memory_of(value._array).empty(shape, value.dtype)))
