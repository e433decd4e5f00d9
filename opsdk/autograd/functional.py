"""grad: gradients as values, recorded where they are to be differentiated again."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from opsdk.autograd.device_tensor import tensor_of
from opsdk.autograd.engine import (
    ArrayAlgebra,
    WideSum,
    check_root,
    edge_of,
    free,
    has_hooks,
    run,
    run_backward,
    seed_of,
)
from opsdk.autograd.gradients import applied, gradient_op, holding, is_leaf, unchanged
from opsdk.autograd.hooks import Hooks, Kept, run_hooks
from opsdk.autograd.narrowed import Narrowed
from opsdk.autograd.nesting import ACTIVE, MANY, elsewhere, is_deep
from opsdk.autograd.node import GradNode
from opsdk.autograd.tensor import Tensor
from opsdk.backends.call.application import opaque_gradient
from opsdk.backends.call.normalise import shares
from opsdk.backends.memory.arena import is_leased
from opsdk.backends.memory.device import memory_of, zeros_at
from opsdk.core.dtype import computed_in
from opsdk.core.errors import ArityError, DerivativeOrderError, GraphError
from opsdk.core.modes import GradMode, is_grad_enabled
from opsdk.core.traceback import trimming
from opsdk.define.op import Op
from opsdk.define.opdef import OpDef
from opsdk.ops.elementwise import elementwise_add
from opsdk.ops.reduction import sum_to_like

# Any, in this file: tensors, lists of them, None.


class TensorAlgebra:
    """Gradients as tensors: each gradient op is called, and so recorded, like any other op."""

    def step(self, node: GradNode, cotangents: Sequence[Any], edges: Sequence[Any] | None = None) -> Sequence[Any]:
        """Calls the gradient op of a node on tensors."""
        gradient_op(node)
        plan = node.plan
        application = applied(node, cotangents, node.edges if edges is None else edges)
        saved = saved_tensors(node)
        if not application.leave_unreached(is_leaf):
            return [None] * len(node.edges)
        assert plan.call is not None
        zeros = zeros_at(plan.call.place)
        inputs = application.op_inputs(saved, lambda *output: tensor_of(zeros(*node.spec_of(*output))))
        handle = application.rule.op
        assert isinstance(handle, Op)
        gradient = handle.opdef  # as it is now: its call is recorded now
        if gradient.grad is None and not gradient.is_composite and _followed(gradient, inputs):
            raise _opaque(node, gradient)
        made = application.gradients(lambda attrs: handle(*inputs, **attrs, **node.specs))
        return node.by_edge(application.route(made, holding(application, _sum_to)))

    def add(self, left: Any, right: Any) -> Any:
        """Adds two contributions, recorded; those of 16 bits in float32, rounded once when all have come."""
        if left.__class__ is WideSum:
            return left.add(right)
        if computed_in(right.dtype) is not right.dtype:
            return WideSum(left, right)
        return elementwise_add(left, right)

    def hooked(self, hooks: Hooks, value: Any, kept: Kept) -> Any:
        """Calls the hooks."""
        return run_hooks(hooks, value, kept)


def saved_tensors(node: GradNode) -> list[Any]:
    """Returns what a node saved as tensors in their place in the graph, so that gradients flow on through them.

    Raises:
        VersionError: one was changed in place.
    """
    saved = node.saved or ()
    edges, outputs = node.by_input(node.edges), node.by_output([(node, i) for i in range(node.width)])
    values: list[Any] = []
    for i, ((is_input, position), value) in enumerate(zip(node.plan.saves, unchanged(node, saved), strict=True)):
        box = saved[3 * i + 1]
        is_cut = not is_input and node.plan.stops[position]
        place = edges[position] if is_input else outputs[position]
        if value is None:
            values.append(None)
        elif isinstance(value, list):
            rows = zip(value, [None] * len(value) if is_cut else place, box.boxes, strict=True)
            values.append([_in_graph(item, edge, counter) for item, edge, counter in rows])
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


def _followed(gradient: Any, inputs: Sequence[Any]) -> bool:
    """Whether any differentiable input of a gradient op is one whose gradient can be asked for."""
    for position in gradient.differentiable_inputs():
        value = inputs[position]
        for tensor in value if isinstance(value, list) else (value,):
            if tensor is not None and not tensor.stop_gradient:
                return True
    return False


def _opaque(node: GradNode, gradient: OpDef) -> DerivativeOrderError:
    """Returns the error of a second derivative through code that cannot be seen into."""
    return opaque_gradient(
        gradient,
        node.used_at or "",
        f"@{gradient.schema.name}.backward (order 2, any NumPy), or @{node.plan.opdef.schema.name}.backward("
        "composite=True) with opsdk ops only (any order)",
    )


@trimming
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
        inputs: leaves or interior tensors; hooks of interior ones are called, those of leaves only by `backward`, as in
            Paddle; PyTorch calls both.
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
    if len(ACTIVE) > MANY and is_deep():
        given = (outputs, inputs, grad_outputs, retain_graph, create_graph, only_inputs, allow_unused, no_grad_vars)
        return elsewhere(grad, *given)
    roots, targets = _tensors(outputs, "grad: outputs"), _tensors(inputs, "grad: inputs")
    cotangents = _one_each(grad_outputs, len(roots), "grad: expected one grad_outputs per output")
    if not only_inputs:
        raise GraphError("grad: only_inputs=False expected backward(), which gives every leaf its gradient")
    for root in roots:
        check_root(root, "grad")
    keep = create_graph if retain_graph is None else retain_graph
    algebra: Any = TensorAlgebra() if create_graph else ArrayAlgebra(tensor_of)
    seeds = [_seed(root, value, create_graph) for root, value in zip(roots, cotangents, strict=True)]
    wanted = {t._edge: i for i, t in enumerate(targets) if t._edge is not None}
    narrowed = Narrowed(algebra, roots, targets, no_grad_vars or ())
    ACTIVE.append(None)
    try:
        with GradMode(create_graph or is_grad_enabled()):  # as it is for kernels that record and go back
            leaves, captured, visited, _ = run([edge_of(root) for root in roots], seeds, narrowed, wanted)
    finally:
        ACTIVE.pop()
    found: list[Any] = []
    handed = [value._array if create_graph else value for value in seeds]  # arrays that belong to somebody already
    for i, target in enumerate(targets):
        entry = leaves.get(id(target), (None, None))[1] if target._edge is None else captured.get(wanted[target._edge])
        if entry is None and not allow_unused:
            raise GraphError(
                f"grad: input {i} of shape {tuple(target.shape)} does not appear in the graph of the outputs, expected "
                "one that they were computed from; pass allow_unused=True for None"
            )
        if entry is not None and not create_graph:
            is_view = entry.base is not None and not is_leased(entry, handed)
            is_shared = target._edge is not None or is_view or any(entry is held for held in handed)
            handed.append(entry)
            entry = tensor_of(entry.copy() if is_shared else entry)
        elif entry is not None:
            if any(shares(entry._array, held) for held in handed) or has_hooks(target):
                with GradMode(True):  # under no_grad too the gradients lead to what they were computed from
                    entry = entry.clone()
            handed.append(entry._array)
        found.append(entry)
    if not keep:
        free([node for node in visited if narrowed.leads(node)])
    return found


def _seed(root: Tensor, value: Any, create_graph: bool) -> Any:
    array = seed_of(root, value)
    if not create_graph:
        return array
    if not isinstance(value, Tensor):
        return tensor_of(array)
    return value.clone() if has_hooks(root) else value


@trimming
def backward(tensors: Tensor | Sequence[Tensor], grad_tensors: Any = None, retain_graph: bool = False) -> None:
    """Adds the gradients of several tensors to `grad` of every leaf, in one pass.

    Args:
        tensors: one tensor or several.
        grad_tensors: the cotangent of each, None for ones.
        retain_graph: keeps what was saved, so that backward can run again.

    Raises:
        ArityError: not one cotangent per tensor.
        GraphError, ShapeError, DTypeError, GradientMissingError, VersionError: as `Tensor.backward` raises them.
    """
    roots = [tensors] if isinstance(tensors, Tensor) else list(tensors)
    cotangents = _one_each(grad_tensors, len(roots), "backward: expected one grad_tensors per tensor")
    seeds = [seed_of(root, value) for root, value in zip(roots, cotangents, strict=True)]
    run_backward([edge_of(root) for root in roots], seeds, ArrayAlgebra(tensor_of), retain_graph)


def _one_each(given: Any, count: int, expected: str) -> list[Any]:
    """Returns one cotangent per root; None stands for None for each."""
    if given is None:
        return [None] * count
    cotangents = list(given) if isinstance(given, (list, tuple)) else [given]
    if len(cotangents) != count:
        raise ArityError(f"{expected}, {count}, got {len(cotangents)}")
    return cotangents


# Any: whatever a user passes.
def _tensors(values: Any, subject: str) -> list[Tensor]:
    """Returns one tensor or several as a list.

    Raises:
        GraphError: something else is among them.
    """
    is_one = isinstance(values, (Tensor, str, np.ndarray)) or not hasattr(values, "__iter__")
    listed = [values] if is_one else list(values)
    for value in listed:
        if not isinstance(value, Tensor):
            raise GraphError(f"{subject} expected tensors, got {type(value).__name__}")
    return listed
