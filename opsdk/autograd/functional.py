"""grad: gradients as values, recorded where they are to be differentiated again."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from opsdk.autograd.engine import ArrayAlgebra, check_root, run, seed_of
from opsdk.autograd.gradients import freed, gradient_attrs, gradient_inputs, missing_backward, route, unchanged
from opsdk.autograd.hooks import Hooks, run_hooks
from opsdk.autograd.modes import set_grad_enabled
from opsdk.autograd.node import GradNode
from opsdk.autograd.tensor import Tensor
from opsdk.core.errors import ArityError, DerivativeOrderError, GraphError
from opsdk.define.op import Op
from opsdk.ops.elementwise import elementwise_add
from opsdk.ops.sum_to import sum_to_like

# Any, in this file: tensors, lists of them, None.


class TensorAlgebra:
    """Gradients as tensors: each gradient op is called, and so recorded, like any other op."""

    def step(self, node: GradNode, cotangents: Sequence[Any]) -> Sequence[Any]:
        """Calls the gradient op of a node on tensors."""
        plan = node.plan
        if plan.rule is None or plan.gradient is None:
            raise missing_backward(node)
        if node.saved is None:
            raise freed(node)
        unchanged(node, node.saved)
        inputs = gradient_inputs(node, plan.rule, saved_tensors(node), cotangents, _zeros)
        gradient = plan.gradient
        if gradient.grad is None and not gradient.is_composite and _followed(gradient, inputs):
            raise opaque(node)
        handle = plan.rule.op
        made = handle(*inputs, **gradient_attrs(node, plan.rule)) if isinstance(handle, Op) else None
        return route(node, plan.rule, made, _sum_to)

    def add(self, left: Any, right: Any) -> Any:
        """Adds two contributions, recorded."""
        return elementwise_add(left, right)

    def hooked(self, hooks: Hooks, value: Any) -> Any:
        """Calls the hooks."""
        return run_hooks(hooks, value)


class Blocked:
    """An algebra that sends nothing to some tensors, as if they were constants."""

    def __init__(self, algebra: Any, tensors: Sequence[Tensor]) -> None:
        self.add = algebra.add
        self.hooked = algebra.hooked
        self._step = algebra.step
        self._keys = {(id(t), -1) if t._edge is None else (id(t._edge[0]), t._edge[1]) for t in tensors}

    def step(self, node: GradNode, cotangents: Sequence[Any]) -> Sequence[Any]:
        """Takes a step, and drops what would go to a blocked tensor."""
        gradients = self._step(node, cotangents)
        return [
            None if edge is not None and (id(edge[0]), edge[1]) in self._keys else value
            for edge, value in zip(node.edges, gradients, strict=True)
        ]


def saved_tensors(node: GradNode) -> list[Any]:
    """Returns what a node saved as tensors in their place in the graph, so that gradients flow on through them."""
    saved = node.saved or ()
    layout = node.layout or (None,) * len(node.plan.opdef.schema.inputs)
    starts = [0]
    for count in layout:
        starts.append(starts[-1] + (1 if count is None else count))
    values: list[Any] = []
    for i, (is_input, position) in enumerate(node.plan.saves):
        value = saved[3 * i]
        if value is None:
            values.append(None)
        elif not is_input:
            values.append(_in_graph(value, (node, position)) if not node.plan.stops[position] else Tensor(value))
        elif isinstance(value, list):
            edges = node.edges[starts[position] : starts[position + 1]]
            values.append([_in_graph(item, edge) for item, edge in zip(value, edges, strict=True)])
        else:
            values.append(_in_graph(value, node.edges[starts[position]]))
    return values


def _in_graph(array: np.ndarray, edge: Any) -> Tensor:
    if edge is None:
        return Tensor(array)
    target, index = edge
    return target if index < 0 else Tensor(array, False, edge)


def _zeros(shape: Sequence[int], dtype: np.dtype[Any]) -> Tensor:
    return Tensor(np.zeros(shape, dtype))


def _sum_to(value: Tensor, shape: Sequence[int]) -> Any:
    return sum_to_like(value, Tensor(np.empty(shape, value.dtype)))


def _followed(gradient: Any, inputs: Sequence[Any]) -> bool:
    """Whether any differentiable input of a gradient op is one whose gradient can be asked for."""
    for position in gradient.differentiable_inputs():
        value = inputs[position]
        for tensor in value if isinstance(value, list) else (value,):
            if tensor is not None and not tensor.stop_gradient:
                return True
    return False


def opaque(node: GradNode) -> DerivativeOrderError:
    """Returns the error of a second derivative through code that cannot be seen into."""
    rule = node.plan.rule
    assert rule is not None
    gradient = rule.op.opdef
    forward = node.plan.opdef.schema.name
    return DerivativeOrderError(
        f"op {gradient.name!r}: a derivative of it was asked for, but it is NumPy code that opsdk cannot see into; "
        "give it a backward",
        at=node.used_at or "",
        defined=str(gradient.origin),
        help=f"@{gradient.schema.name}.backward (order 2, any NumPy), or @{forward}.backward(composite=True) with "
        "opsdk ops only (any order)",
    )


def grad(
    outputs: Tensor | Sequence[Tensor],
    inputs: Tensor | Sequence[Tensor],
    grad_outputs: Any = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    only_inputs: bool = True,
    allow_unused: bool = False,
    no_grad_vars: Sequence[Tensor] | None = None,
) -> list[Any]:
    """Returns the gradients of the sum of `outputs` with respect to `inputs`; no `grad` attribute is touched.

    Args:
        outputs: one tensor or several.
        inputs: leaves or interior tensors.
        grad_outputs: the cotangent of each output, None for ones.
        retain_graph: keeps the graph; as `create_graph` unless given.
        create_graph: records the gradients' own computation, so that they can be differentiated.
        only_inputs: True; other leaves never receive gradients here.
        allow_unused: gives None for an input that the outputs do not depend on, instead of an error.
        no_grad_vars: tensors to treat as constants.

    Raises:
        GraphError: an input does not appear in the graph of the outputs.
        DerivativeOrderError: `create_graph` meets a backward that is opaque NumPy code.
        ShapeError, DTypeError: a cotangent does not fit its output.

    Example:
        >>> from opsdk.autograd.creation import to_tensor
        >>> x = to_tensor([3.0], stop_gradient=False)
        >>> (dx,) = grad(x * x, x, create_graph=True)
        >>> grad(dx, x)[0].numpy()
        array([2.], dtype=float32)
    """
    roots = [outputs] if isinstance(outputs, Tensor) else list(outputs)
    targets = [inputs] if isinstance(inputs, Tensor) else list(inputs)
    given = [grad_outputs] if grad_outputs is None or isinstance(grad_outputs, Tensor) else list(grad_outputs)
    cotangents = given * len(roots) if given == [None] else given
    if len(cotangents) != len(roots):
        raise ArityError(f"grad: expected one grad_outputs per output, {len(roots)}, got {len(cotangents)}")
    if not only_inputs:
        raise GraphError("grad: only_inputs=False expected backward(), which gives every leaf its gradient")
    for root in roots:
        check_root(root, "grad")
    keep = create_graph if retain_graph is None else retain_graph
    algebra: Any = TensorAlgebra() if create_graph else ArrayAlgebra(Tensor)
    seeds = [_seed(root, value, create_graph) for root, value in zip(roots, cotangents, strict=True)]
    wanted = {t._edge: i for i, t in enumerate(targets) if t._edge is not None}
    if no_grad_vars:
        algebra = Blocked(algebra, no_grad_vars)
    with set_grad_enabled(create_graph):
        leaves, captured = run(roots, seeds, algebra, keep, wanted)
    found = []
    for i, target in enumerate(targets):
        entry = leaves.get(id(target), (None, None))[1] if target._edge is None else captured.get(wanted[target._edge])
        if entry is None and not allow_unused:
            raise GraphError(
                f"grad: input {i} of shape {tuple(target.shape)} does not appear in the graph of the outputs, expected "
                "one that they were computed from; pass allow_unused=True for None"
            )
        found.append(entry if entry is None or create_graph else Tensor(entry))
    return found


def _seed(root: Tensor, value: Any, create_graph: bool) -> Any:
    array = seed_of(root, value)
    if not create_graph:
        return array
    return value if isinstance(value, Tensor) else Tensor(array)
