"""Narrowed: a pass backward that goes only where somebody asked."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from opsdk.autograd.engine import Algebra
from opsdk.autograd.node import GradNode
from opsdk.autograd.tensor import Tensor

# Any, in this file: a value is an array, or a tensor where the backward is itself recorded.


class Narrowed:
    """An algebra that sends gradients along the ways that lead to targets, and nothing to blocked tensors.

    What lies below a target and leads to no other is neither computed nor freed; an op there may have no backward.

    Args:
        algebra: computes the gradients.
        roots: where the pass starts.
        targets: tensors whose gradients are wanted.
        blocked: tensors that are taken as constants.
    """

    def __init__(
        self, algebra: Algebra, roots: Sequence[Tensor], targets: Sequence[Tensor], blocked: Sequence[Tensor]
    ) -> None:
        self.add = algebra.add
        self.hooked = algebra.hooked
        self._step = algebra.step
        self._targets = {_place(tensor) for tensor in targets}
        self._blocked = {_place(tensor) for tensor in blocked}
        self._leading: set[GradNode] = set()
        for node in sorted(_below(roots), key=lambda node: node.sequence):  # an earlier node is decided first
            if any(edge is not None and self._is_open(edge) for edge in node.edges):
                self._leading.add(node)

    def leads(self, node: GradNode) -> bool:
        """Whether a target lies below a node."""
        return node in self._leading

    def step(self, node: GradNode, cotangents: Sequence[Any], edges: Sequence[Any] | None = None) -> Sequence[Any]:
        """Takes a step, where it leads to a target."""
        if node not in self._leading:
            return [None] * len(node.edges)
        every = node.edges if edges is None else edges
        return self._step(node, cotangents, [edge if edge and self._is_open(edge) else None for edge in every])

    def _is_open(self, edge: tuple[Any, int]) -> bool:
        target, index = edge
        place = (id(target), index)
        return place not in self._blocked and (place in self._targets or (index >= 0 and target in self._leading))


def _place(tensor: Tensor) -> tuple[int, int]:
    return (id(tensor), -1) if tensor._edge is None else (id(tensor._edge[0]), tensor._edge[1])


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
