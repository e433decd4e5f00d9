"""The backward engine: cotangents flow from the latest recorded call to the earliest, each node visited once."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from contextvars import copy_context
from heapq import heappop, heappush
from operator import add
from typing import Any, TypeVar

import numpy as np

from opsdk.autograd.accumulate import accumulate
from opsdk.autograd.gradients import step
from opsdk.autograd.hooks import Hooks, Kept, run_hooks
from opsdk.autograd.node import GradNode
from opsdk.core.dtype import computed_in
from opsdk.core.errors import DTypeError, GraphError, PlaceError, ShapeError
from opsdk.core.fast import FAST

T = TypeVar("T")

ACTIVE: list[None] = []  # one entry per backward under way in any thread; few, and so quick to ask, nearly always
MANY = 12  # where there are more, the stack is looked at; each takes ten frames or so


# Any, in this file: a value is an array, or a tensor where the backward is itself recorded.
class WideSum:
    """Contributions of 16 bits that wait for more: added in float32, and rounded once when all have come."""

    __slots__ = ("_dtype", "_total")

    def __init__(self, first: Any, second: Any) -> None:
        self._dtype = first.dtype
        self._total = first.astype(computed_in(first.dtype))
        self.add(second)

    def add(self, value: Any) -> WideSum:
        """Adds another contribution."""
        self._total = self._total + value.astype(self._total.dtype)
        return self

    def rounded(self) -> Any:
        """Returns the sum in the dtype of what was added."""
        with np.errstate(over="ignore"):
            made = self._total.astype(self._dtype)
        return np.asarray(made) if isinstance(made, np.generic) else made


class ArrayAlgebra:
    """How the engine computes with gradients: as bare arrays, so that the backward is not recorded."""

    records = False
    step: Callable[[GradNode, Sequence[Any], Sequence[Any]], Sequence[Any]] = staticmethod(step)
    _sum: Callable[[Any, Any], Any] = staticmethod(add)

    def __init__(self, wrap: Callable[[np.ndarray], Any]) -> None:
        self.wrap = wrap

    def add(self, left: Any, right: Any) -> Any:
        """Adds out of place, since a contribution may be the buffer of somebody else; those of 16 bits as `WideSum`."""
        if left.__class__ is WideSum:
            return left.add(right)
        if computed_in(right.dtype) is not right.dtype:
            return WideSum(left, right)
        total = self._sum(left, right)
        return np.asarray(total) if isinstance(total, np.generic) else total  # the sum of two 0-d arrays is a scalar

    def hooked(self, hooks: Hooks, value: Any, kept: Kept) -> Any:
        """Calls the hooks on the gradient as a tensor."""
        return run_hooks(hooks, self.wrap(value), kept)._array


def edge_of(tensor: Any) -> tuple[Any, int]:
    """Returns where a gradient of a tensor goes: to the call that made it, and which output it is; `(leaf, -1)`."""
    return tensor._edge or (tensor, -1)


def run(
    starts: Sequence[Any],
    seeds: Sequence[Any],
    algebra: ArrayAlgebra,
    wanted: Mapping[Any, int] | None = None,
    ways: Callable[[GradNode], Sequence[Any]] | None = None,
    visited: Sequence[GradNode] = (),
) -> tuple[dict[int, tuple[Any, Any]], dict[int, Any], list[GradNode], Kept]:
    """Sends cotangents backward. Nothing is changed, so that after an error all is as it was.

    Args:
        starts: the edges along which they go first, as `edge_of` gives them.
        seeds: one cotangent per start, values of the algebra.
        algebra: how values are computed with.
        wanted: by `(node, output)` a number, for interior values whose gradients are asked for.
        ways: gives the edges of a node with None for those that nobody asked for, nothing where that is all of them;
            every edge is gone along unless given.
        visited: nodes that were visited before, by the fast path.

    Returns:
        By id of a leaf the leaf and its complete gradient, before its hooks; by the numbers of `wanted` the gradients
        of interior values, after theirs; the nodes that were visited; what `retain_grads` is to keep.
    """
    pending: dict[GradNode, list[Any]] = {}
    queue: list[tuple[int, GradNode]] = []
    leaves: dict[int, tuple[Any, Any]] = {}
    captured: dict[int, Any] = {}
    visited = list(visited)
    kept: Kept = []
    along = None if FAST is None or ways is not None or algebra.step is not step else FAST.along
    for edge, seed in zip(starts[1:], seeds[1:], strict=True):
        _send(edge, seed, pending, queue, leaves, algebra)
    edges: Sequence[Any] = starts[:1]
    gradients: Sequence[Any] = seeds
    while True:
        if len(edges) == 1 and not queue:  # a chain: there is only one place to go, and nothing to wait for
            edge, value = edges[0], gradients[0]
            if along is not None and edge is not None:
                edge, value = along(edge, value, visited)
            if edge is None or value is None:
                break
            node, index = edge
            if index < 0:
                if leaves:
                    _send(edge, value, pending, queue, leaves, algebra)
                else:
                    leaves[id(node)] = (node, value)
                break
            cotangents = [value] if node.outputs is None else _slots(node, index, value)
        else:
            for edge, value in zip(edges, gradients):  # noqa: B905 - `step` gives one gradient an edge
                if edge is not None and value is not None:
                    _send(edge, value, pending, queue, leaves, algebra)
            if not queue:
                break
            node = heappop(queue)[1]
            cotangents = pending.pop(node)
            for index, value in enumerate(cotangents):
                if value.__class__ is WideSum:
                    cotangents[index] = value.rounded()
        visited.append(node)
        if node.hooks is not None:
            for index, hooks in node.hooks.items():
                if cotangents[index] is not None:
                    cotangents[index] = algebra.hooked(hooks, cotangents[index], kept)
        if wanted:
            for index, value in enumerate(cotangents):
                if value is not None and (node, index) in wanted:
                    captured[wanted[node, index]] = value
        edges = node.edges if ways is None else ways(node)
        if not edges:
            gradients = ()
        elif node.__class__ is GradNode:
            gradients = algebra.step(node, cotangents, edges)
        else:
            gradients = node.step(algebra, cotangents, edges)
    for key, (leaf, value) in leaves.items():
        if value.__class__ is WideSum:
            leaves[key] = leaf, value.rounded()
    return leaves, captured, visited, kept


def _send(
    edge: tuple[Any, int],
    value: Any,
    pending: dict[GradNode, list[Any]],
    queue: list[tuple[int, GradNode]],
    leaves: dict[int, tuple[Any, Any]],
    algebra: ArrayAlgebra,
) -> None:
    """Adds a contribution to where an edge leads."""
    target, index = edge
    if index < 0:
        key = id(target)
        leaves[key] = (target, algebra.add(leaves[key][1], value) if key in leaves else value)
    elif target not in pending:
        pending[target] = _slots(target, index, value)
        heappush(queue, (-target.sequence, target))
    else:
        slots = pending[target]
        slots[index] = value if slots[index] is None else algebra.add(slots[index], value)


def _slots(node: GradNode, index: int, value: Any) -> list[Any]:
    """Returns the cotangents of a node's outputs, of which one has arrived."""
    if node.outputs is None:
        return [value]
    slots: list[Any] = [None] * len(node.outputs)
    slots[index] = value
    return slots


def run_backward(
    starts: Sequence[Any],
    seeds: Sequence[Any],
    algebra: ArrayAlgebra,
    retain_graph: bool,
    visited: Sequence[GradNode] = (),
) -> None:
    """Adds gradients to `grad` of all leaves; nothing is added or freed if any step fails.

    Args:
        starts: as for `run`.
        seeds: arrays, as for `run`.
        algebra: makes tensors of arrays.
        retain_graph: keeps what was saved.
        visited: as for `run`.
    """
    if len(ACTIVE) > MANY and is_deep():
        return elsewhere(run_backward, starts, seeds, algebra, retain_graph, visited)
    wrap = algebra.wrap
    ACTIVE.append(None)
    try:
        leaves, _, visited, kept = run(starts, seeds, algebra, visited=visited)
        for key, (leaf, value) in leaves.items():
            if isinstance(value, np.ndarray) is not isinstance(leaf._array, np.ndarray):
                raise PlaceError(
                    f"backward: expected a leaf where the forward saw it, got one that was moved to {leaf.place} "
                    "since; call the forward again"
                )
            if leaf._hooks:
                hooked = run_hooks(leaf._hooks, wrap(value), kept)
                leaves[key] = leaf, hooked._array.copy()  # a hook may keep what it gives
    finally:
        ACTIVE.pop()
    leaf = value = None  # nothing but `leaves` refers to the gradients: their memory may be taken over
    accumulate(leaves, wrap)
    for hook, grad in kept:
        hook.keep(grad)
    if not retain_graph:
        for node in visited:
            node.saved = None


def check_root(tensor: Any, subject: str) -> None:
    """Checks that a tensor has a graph to go back through.

    Raises:
        GraphError: it has none.
    """
    if tensor._stop:
        raise GraphError(
            f"{subject}: expected a tensor that was computed from one with stop_gradient=False, "
            f"got shape {tuple(tensor.shape)} {tensor.dtype} with stop_gradient=True; inputs that an op declares "
            "constant or non-differentiable, and integers, pass no gradient on"
        )


def seed_of(tensor: Any, grad: Any) -> np.ndarray:
    """Returns the cotangent to start from, ones unless given.

    Raises:
        GraphError: the tensor has no graph, or is complex and got no cotangent.
        ShapeError: the cotangent has another shape than the tensor.
        DTypeError: it has another dtype, or is no tensor or array.
    """
    if tensor._stop:
        check_root(tensor, "backward")
    array: np.ndarray = tensor._array
    if grad is None:
        if array.dtype.kind == "c":
            raise GraphError(
                f"backward: expected a real tensor, since a complex one is no loss, got {array.dtype} of shape "
                f"{array.shape}; take abs, real or imag of it first, or pass its cotangent"
            )
        if array.__class__ is not np.ndarray:
            return np.ones_like(array)
        ones = np.empty(array.shape, array.dtype)
        ones.fill(1)
        return ones
    value = getattr(grad, "_array", grad)
    if not isinstance(value, array.__class__):
        where = "" if isinstance(array, np.ndarray) else f" at {tensor.place}"
        raise DTypeError(f"backward: cotangent expected a tensor or array{where}, got {type(grad).__name__}")
    if value.shape != array.shape:
        raise ShapeError(f"backward: cotangent expected shape {array.shape} like the tensor, got {value.shape}")
    if value.dtype is not array.dtype and value.dtype != array.dtype:  # `is` first, which is quick to ask
        raise DTypeError(f"backward: cotangent expected dtype {array.dtype} like the tensor, got {value.dtype}")
    return value.copy() if has_hooks(tensor) else value  # a hook may keep what it gets, and change it later


def has_hooks(tensor: Any) -> bool:
    """Whether hooks see the gradient of a tensor that is no leaf."""
    return tensor._edge is not None and bool(tensor._edge[0].hooks)


def is_deep() -> bool:
    """Whether half of the stack that Python allows is in use in this thread."""
    left = sys.getrecursionlimit() // 2
    frame = sys._getframe()
    while left:
        if frame.f_back is None:
            return False
        frame, left = frame.f_back, left - 1
    return True


# Any: arguments of the function.
def elsewhere(function: Callable[..., T], *args: Any) -> T:
    """Returns what a function gives on a fresh stack: that of another thread, for which this one waits.

    Context variables, and so grad mode, are those of this thread; what the function raises is raised here.

    Raises:
        GraphError: no further thread starts.
    """
    context = copy_context()
    made: list[T] = []
    raised: list[BaseException] = []

    def work() -> None:
        try:
            made.append(context.run(function, *args))
        except BaseException as error:  # also SystemExit: it ends this thread's caller, as it would without the thread
            raised.append(error)

    thread = threading.Thread(target=work, name="opsdk-nested-backward")
    try:
        thread.start()
    except RuntimeError as error:
        raise GraphError(
            f"backward: expected fewer backwards inside of one another, got {len(ACTIVE)}, each of which waits for the "
            "next, and no further thread starts for their stack; compute the gradient in one backward"
        ) from error
    thread.join()
    if raised:
        raise raised[0]
    return made[0]
