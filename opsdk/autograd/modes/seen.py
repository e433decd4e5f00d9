"""Recorded calls that a mode has looked at: what they saved is packed, or their way back is watched.

Modes know nodes by what a call gave: `new_nodes`. A node that one of them has changed is of another class, so that the
fast path leaves it to Python, and the engine asks it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from opsdk.autograd.device_tensor import tensor_of
from opsdk.autograd.layer_node import LayerNode
from opsdk.autograd.node import Boxes, GradNode
from opsdk.autograd.tensor import Tensor
from opsdk.backends.memory.device import memory_of
from opsdk.core.errors import AnomalyError, HookError, attach_note
from opsdk.core.nested import flat


# Any, in this file: arrays and tensors; what a user's hook packs; how the engine computes, `engine.ArrayAlgebra`.
class Packed:
    """What stands for an array that a call saved.

    Args:
        array: the array.
        box: its version counter, None of what nobody else holds.
        pack: takes it as a tensor, and gives what is kept.
        unpack: takes that, and gives a tensor of the same shape, dtype and place.
    """

    __slots__ = ("_held", "_like", "_unpack")

    def __init__(
        self, array: Any, box: list[Any] | None, pack: Callable[[Tensor], Any], unpack: Callable[[Any], Any]
    ) -> None:
        tensor = tensor_of(array)
        if box is not None:
            tensor._version = box
        version = tensor._version[0]
        self._held, self._unpack = pack(tensor), unpack
        self._like = (array.shape, array.dtype, memory_of(array).place)
        if tensor._version[0] != version:
            raise HookError("saved_tensors_hooks: pack expected to leave its tensor as it is, it changed it in place")

    def array(self) -> Any:
        """Returns what was saved.

        Raises:
            HookError: unpack gives something else than a tensor like the one that was packed.
        """
        made = self._unpack(self._held)
        shape, dtype, place = self._like
        if not isinstance(made, Tensor):
            raise HookError(f"saved_tensors_hooks: unpack expected to return a Tensor, got {type(made).__name__}")
        if (made._array.shape, made._array.dtype, made.place) != self._like:
            raise HookError(
                f"saved_tensors_hooks: unpack expected to return a tensor of shape {shape} and {dtype} at {place}, as "
                f"was packed, got {made._array.shape} and {made._array.dtype} at {made.place}"
            )
        return made._array


class _Seen:
    """What is added to a node: it unpacks what it saved, and says where it was called if its backward fails.

    Attributes:
        finds_nan: whether a gradient with nan is an error.
    """

    __slots__ = ()
    used_at: str | None
    finds_nan = False

    def unpacked(self, values: Sequence[Any]) -> list[Any]:
        """Returns what was saved, as arrays."""
        return [unpacked(value) for value in values]

    def step(self, algebra: Any, cotangents: Sequence[Any], edges: Sequence[Any]) -> Sequence[Any]:
        """Goes back through the call.

        Raises:
            AnomalyError: a gradient has nan, and that is looked for.
        """
        if self.used_at is None:
            return super().step(algebra, cotangents, edges)  # type: ignore[misc]
        start = number()
        try:
            gradients: Sequence[Any] = super().step(algebra, cotangents, edges)  # type: ignore[misc]
        except Exception as error:
            attach_note(error, f"  {'at':<8} {self.used_at}, in the backward of {self.subject}")  # type: ignore[attr-defined]
            raise
        if algebra.records:
            for node in new_nodes(gradients, start):
                if node.used_at is not None:
                    node.used_at += f", in the backward of {self.subject} called at {self.used_at}"  # type: ignore[attr-defined]
        for i, value in enumerate(gradients if self.finds_nan else ()):
            if _has_nan(value) and not any(map(_has_nan, cotangents)):
                raise AnomalyError(
                    f"{self.subject}: backward gave nan in gradient {i}, of shape {tuple(value.shape)}; "  # type: ignore[attr-defined]
                    f"the call was made at {self.used_at}"
                )
        return gradients


class SeenNode(_Seen, GradNode):
    """A recorded call of an op that a mode has looked at."""

    __slots__ = ()


class SeenLayerNode(_Seen, LayerNode):
    """A recorded call of a PyLayer that a mode has looked at."""


def see(node: GradNode) -> None:
    """Makes a node one that a mode has looked at."""
    if node.__class__ is GradNode:
        node.__class__ = SeenNode
    elif node.__class__ is LayerNode:
        node.__class__ = SeenLayerNode


def pack_saved(node: GradNode, pack: Callable[[Tensor], Any], unpack: Callable[[Any], Any]) -> None:
    """Puts what a hook makes of it in the place of each array that a node saved."""
    saved = node.saved
    if not saved:
        return
    made: list[Any] = []
    for i in range(0, len(saved), 3):
        value, box, count = saved[i : i + 3]
        boxes = box.boxes if box.__class__ is Boxes else [box]
        if isinstance(value, list):
            value = [
                item if item is None else _packed(item, one, pack, unpack)
                for item, one in zip(value, boxes, strict=True)
            ]
        elif is_array(value) and not isinstance(value, Packed):
            value = _packed(value, box, pack, unpack)
        made += (value, box, count)
    see(node)
    node.saved = tuple(made)


def _packed(array: Any, box: Any, pack: Callable[[Tensor], Any], unpack: Callable[[Any], Any]) -> Any:
    return array if isinstance(array, Packed) else Packed(array, box, pack, unpack)


def unpacked(value: Any) -> Any:
    """Returns a value that was saved, with arrays in place of what is packed."""
    if isinstance(value, list):
        return [unpacked(item) for item in value]
    return value.array() if isinstance(value, Packed) else value


def number() -> int:
    """Returns a number that all later calls are above."""
    return GradNode(None, (), ()).sequence  # type: ignore[arg-type]


def new_nodes(values: Any, start: int) -> Iterator[GradNode]:
    """Yields the nodes that values were computed by since a number was taken."""
    waiting = [value._edge[0] for value in flat(values) if isinstance(value, Tensor) and value._edge is not None]
    seen: set[GradNode] = set()
    while waiting:
        node = waiting.pop()
        if node not in seen and node.sequence > start:
            seen.add(node)
            yield node
            waiting += [edge[0] for edge in node.edges if edge is not None and edge[1] >= 0]


def is_array(value: Any) -> bool:
    """Whether a value that a node saved is an array."""
    return hasattr(value, "dtype") and hasattr(value, "shape")


def _has_nan(value: Any) -> bool:
    array = getattr(value, "_array", value)
    if array is None or array.dtype.kind not in "fcV":
        return False
    host = memory_of(array).to_host(array)
    return bool((host != host).any())
