"""grad: gradients as values, recorded where they are to be differentiated again."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from itertools import islice
from typing import Any

import numpy as np

from opsdk.autograd import engine
from opsdk.autograd.device_tensor import tensor_of
from opsdk.autograd.engine import ArrayAlgebra, edge_of, seed_of
from opsdk.autograd.node import GradNode
from opsdk.autograd.recorded import TensorAlgebra
from opsdk.autograd.tensor import Tensor
from opsdk.autograd.transform.leveled import Leveled, Transform
from opsdk.backends.call.constant import as_constant
from opsdk.backends.call.normalise import shares
from opsdk.backends.memory.arena import is_leased
from opsdk.core.dtype import is_differentiable
from opsdk.core.errors import ArityError, GraphError, UnusedInputError
from opsdk.core.modes import GradMode, is_grad_enabled
from opsdk.core.origin import trimming
from opsdk.define.interceptors import Interceptor, active, outside
from opsdk.define.vjp import register_vjp
from opsdk.ops.creation import fill_any_like

# Any, in this file: tensors, lists of them, None.


class Ways:
    """The ways backward that lead to targets, past no blocked tensor: gradients go along these, and nowhere else.

    What lies below a target and leads to no other is neither computed nor freed; an op there may have no backward.

    Args:
        roots: where the pass starts.
        targets: tensors whose gradients are wanted.
        blocked: tensors that are taken as constants.
    """

    def __init__(self, roots: Sequence[Tensor], targets: Sequence[Tensor], blocked: Sequence[Tensor]) -> None:
        self._targets = {(id(target), index) for target, index in map(edge_of, targets)}
        self._blocked = {(id(target), index) for target, index in map(edge_of, blocked)}
        self._leading: set[GradNode] = set()
        for node in sorted(_below(roots), key=lambda node: node.sequence):  # an earlier node is decided first
            if any(self(node)):
                self._leading.add(node)

    def __call__(self, node: GradNode) -> list[Any]:
        """Returns the edges of a node, with None for each that leads to no target; empty where none does."""
        edges = [edge if edge is not None and self._is_open(edge) else None for edge in node.edges]
        return edges if any(edges) else []

    def _is_open(self, edge: tuple[Any, int]) -> bool:
        target, index = edge
        place = (id(target), index)
        return place not in self._blocked and (place in self._targets or (index >= 0 and target in self._leading))


def _below(roots: Sequence[Tensor]) -> Iterator[GradNode]:
    """Yields each node that can be reached, in no particular order; without recursion, since graphs are deep."""
    seen: set[GradNode] = set()
    waiting = [root._edge[0] for root in roots if root._edge is not None]
    while waiting:
        node = waiting.pop()
        if node in seen:
            continue
        seen.add(node)
        yield node
        waiting += [edge[0] for edge in node.edges if edge is not None and edge[1] >= 0]


@trimming
def grad(
    outputs: Tensor | Sequence[Tensor],
    inputs: Tensor | Sequence[Tensor],
    grad_outputs: Any = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    only_inputs: bool = True,
    allow_unused: bool = False,
    no_grad_vars: Tensor | Collection[Tensor] | None = None,
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
        no_grad_vars: a tensor or several to treat as constants.

    Raises:
        UnusedInputError: an input does not appear in the graph of the outputs, or only as what passes no gradient on.
        GraphError: no graph was recorded, or something else than tensors is given.
        DerivativeOrderError: `create_graph` meets a backward that is opaque NumPy code.
        ShapeError, DTypeError: a cotangent does not fit its output.

    Example:
        >>> from opsdk.autograd.creation import to_tensor
        >>> x = to_tensor([3.0], stop_gradient=False)
        >>> (dx,) = grad(x * x, x, create_graph=True)
        >>> grad(dx, x)[0].numpy()
        array([2.], dtype=float32)
    """
    if len(engine.ACTIVE) > engine.MANY and engine.is_deep():
        given = (outputs, inputs, grad_outputs, retain_graph, create_graph, only_inputs, allow_unused, no_grad_vars)
        return engine.elsewhere(grad, *given)
    roots, targets = _tensors(outputs, "grad: outputs"), _tensors(inputs, "grad: inputs")
    cotangents = _one_each(grad_outputs, len(roots), "grad: expected one grad_outputs per output")
    if not only_inputs:
        raise GraphError("grad: only_inputs=False expected backward(), which gives every leaf its gradient")
    for root in roots:
        engine.check_root(root, "grad")
    blocked = [] if no_grad_vars is None else _tensors(no_grad_vars, "grad: no_grad_vars")
    leveled = [value for value in (*roots, *targets, *cotangents) if isinstance(value, Leveled)]
    if leveled:
        run = max((value._owner for value in leveled), key=lambda owner: owner.level)
        blocked = run.beneath(blocked)
        more = {"retain_graph": retain_graph, "allow_unused": allow_unused, "no_grad_vars": blocked}
        with outside(run):
            return run.grad(roots, targets, cotangents, create_graph=create_graph, **more)
    keep = create_graph if retain_graph is None else retain_graph
    algebra = (TensorAlgebra if create_graph else ArrayAlgebra)(tensor_of)
    seeds: list[Any] = [seed_of(root, value) for root, value in zip(roots, cotangents, strict=True)]
    if create_graph:  # a cotangent that is a tensor keeps its place in the graph
        for i, (root, value) in enumerate(zip(roots, cotangents, strict=True)):
            if not isinstance(value, Tensor):
                seeds[i] = tensor_of(seeds[i])
            else:
                seeds[i] = value.clone() if engine.has_hooks(root) else value
    wanted = {t._edge: i for i, t in enumerate(targets) if t._edge is not None}
    ways = Ways(roots, targets, blocked)
    engine.ACTIVE.append(None)
    try:
        with GradMode(create_graph or is_grad_enabled()):  # as it is for kernels that record and go back
            leaves, captured, visited, _ = engine.run(list(map(edge_of, roots)), seeds, algebra, wanted, ways)
    finally:
        engine.ACTIVE.pop()
    found: list[Any] = []
    handed = [value._array if create_graph else value for value in seeds]  # arrays that belong to somebody already
    for i, target in enumerate(targets):
        entry = leaves.get(id(target), (None, None))[1] if target._edge is None else captured.get(wanted[target._edge])
        if entry is None and not allow_unused:
            raise UnusedInputError(f"grad: input {i} of shape {tuple(target.shape)} {_unused(target, visited)}")
        if entry is not None and not create_graph:
            is_view = entry.base is not None and not is_leased(entry, handed)
            is_shared = target._edge is not None or is_view or any(entry is held for held in handed)
            handed.append(entry)
            entry = tensor_of(entry.copy() if is_shared else entry)
        elif entry is not None:
            if any(shares(entry._array, held) for held in handed) or engine.has_hooks(target):
                with GradMode(True):  # under no_grad too the gradients lead to what they were computed from
                    entry = entry.clone()
            handed.append(entry._array)
        found.append(entry)
    if not keep:
        for node in filter(ways, visited):
            node.saved = None
    return found


def _unused(target: Tensor, visited: Iterable[GradNode]) -> str:
    """Returns why no gradient arrives at a tensor: nothing was computed from it, or nothing that passes one on."""
    held, output = target._edge or (target, -1)
    for node in visited:
        if node.plan is None:  # of no op
            continue
        opdef = node.plan.opdef
        sizes = node.layout or (None,) * len(opdef.schema.inputs)
        edges = iter(node.edges)
        for decl, size in zip(opdef.schema.inputs, sizes, strict=True):
            for edge in islice(edges, 1 if size is None else size):
                is_it = edge is not None and edge[0] is held and edge[1] == output
                if is_it and decl.name in opdef.traits.nondifferentiable:
                    declared = "constant" if decl.name in opdef.traits.constant else "nondifferentiable"
                    return (
                        f"has no gradient, as {opdef.subject} takes it as {decl.name!r}, which is declared {declared}; "
                        "take that out and return its gradient from the backward, or pass allow_unused=True for None"
                    )
    return (
        "does not appear in the graph of the outputs, expected one that they were computed from, and not as what an op "
        "declares nondifferentiable or constant; pass allow_unused=True for None"
    )


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
    roots = _tensors(tensors, "backward: tensors")
    cotangents = _one_each(grad_tensors, len(roots), "backward: expected one grad_tensors per tensor")
    seeds = [seed_of(root, value) for root, value in zip(roots, cotangents, strict=True)]
    engine.run_backward([edge_of(root) for root in roots], seeds, ArrayAlgebra(tensor_of), retain_graph)


def _pulled(
    function: Callable[..., list[Any]], inputs: Sequence[Any], given: Sequence[Any] | None, create_graph: bool | None
) -> tuple[list[Any], list[Any]]:
    """Returns outputs and gradients of a function of tensors, as `vjp` does."""
    values = [value if isinstance(value, Tensor) else tensor_of(as_constant(value, None, "vjp")) for value in inputs]
    entering = [] if given is None else [value for value in given if isinstance(value, Tensor)]
    is_recorded = create_graph
    if is_recorded is None:
        is_recorded = is_grad_enabled() and not all(value.stop_gradient for value in (*values, *entering))
    with GradMode(True):
        taken = [apart(value, is_recorded) for value in values]
        outputs = function(*taken)
        cotangents = [None] * len(outputs) if given is None else given
        ends = [(y, dy) for y, dy in zip(outputs, cotangents, strict=True) if not _is_cut(y)]
        targets = [tensor for tensor in taken if not tensor.stop_gradient]
        found: Any = iter([None] * len(targets))
        if ends and targets:
            roots, seeds = [y for y, _ in ends], [dy for _, dy in ends]
            found = iter(grad(roots, targets, seeds, create_graph=is_recorded, allow_unused=True))
    gradients = [None if tensor.stop_gradient else next(found) for tensor in taken]
    pairs = zip(gradients, taken, strict=True)
    filled = [fill_any_like(x) if dx is None and not x.stop_gradient else dx for dx, x in pairs]
    return [y.detach() if isinstance(y, Tensor) and not is_recorded else y for y in outputs], filled


def _spreads(interceptor: Interceptor) -> bool:
    return isinstance(interceptor, Transform) and interceptor.spreads


def _is_cut(value: Any) -> bool:
    return not isinstance(value, Tensor) or value.stop_gradient


def apart(value: Tensor, is_recorded: bool) -> Tensor:
    """Returns a value as one that a gradient is asked of and nothing before it; in the graph where that is recorded."""
    run = value._owner if isinstance(value, Leveled) else next(filter(_spreads, active()), None)
    if isinstance(run, Transform):
        with outside(run):
            return run.apart(value, is_recorded)
    if is_recorded and not value.stop_gradient:
        return value.clone()
    made = tensor_of(value._array, not is_differentiable(value.dtype))
    made._version = value._version
    return made


for _values in ("dynamic tensors", "CUDA tensors"):
    register_vjp(_values, _pulled)


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
    if not listed and "no_grad" not in subject:
        raise GraphError(f"{subject} expected at least one tensor, got none")
    return listed
