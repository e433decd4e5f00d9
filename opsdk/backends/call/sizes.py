"""Buffers whose sizes data decide: made when these are known, held to what the kernel filled, cut to that.

Of a device each check reads what lies there, so that a call waits for its kernel.

A loop and the function that counts for it may disagree, and compiled code that writes beyond its buffer ends the
process later, or worse. So a kernel says how many it filled, and behind each buffer lies a guard that no right kernel
touches. There is room behind it for whatever the inputs could fill, up to 64 KiB; in the first call of a kind, in calls
2, 4, 8 and so on, and in debug mode up to 64 MiB.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import count
from typing import Any

import numpy as np

from opsdk.backends.memory import arena
from opsdk.backends.memory.device import on_host
from opsdk.core.errors import ShapeError, SizeError
from opsdk.core.flags import FLAGS
from opsdk.core.nested import flat, named, refill
from opsdk.core.spec import TensorSpec
from opsdk.define.infer import Inferred
from opsdk.define.kernel.kernel import Kernel
from opsdk.define.kernel.sizes import SizeFunction, size_function
from opsdk.define.opdef import OpDef
from opsdk.define.schema.binding import called_by_name

_GUARD = 4096  # bytes behind each buffer
_MARK = 0xA5
_MARKS = bytes([_MARK]) * _GUARD
_ROOM = 64 << 10  # bytes behind a buffer at most
_WATCHED_ROOM = 64 << 20  # likewise in calls that are watched; what is not touched costs addresses only


# Any, in this file: arrays, lists of them, None; attribute values; what a size function or a kernel returned.
class Sized:
    """What makes the buffers of one kernel, for calls of one kind.

    Args:
        opdef: the op.
        kernel: one that has `sizes=` or `bound=`.
        decides: that.
        is_exact: whether buffers end where they should, since whoever makes them watches what lies behind.
    """

    def __init__(self, opdef: OpDef, kernel: Kernel, decides: SizeFunction, *, is_exact: bool = False) -> None:
        self.opdef = opdef
        self.decides = decides
        self.subject = f"{opdef.subject}, {kernel.language} kernel"
        self.at = str(kernel.origin)
        self._call = None if isinstance(decides.function, str) else called_by_name(decides.function)
        self._numbers = count(1)
        self._guard = 0 if is_exact else _GUARD

    def room(
        self,
        inputs: Sequence[Any],
        attrs: Mapping[str, Any],
        inferred: Inferred,
        ask: Callable[[int], Any] | None = None,
        empty: Callable[..., Any] = arena.empty,
    ) -> Room:
        """Returns the buffers of a call; nothing has changed where it raises.

        Args:
            inputs: those of the call, as the kernel gets them.
            attrs: all attributes.
            inferred: what the infer rule gives.
            ask: asks the size function, where that is no Python, for a number of sizes.
            empty: makes an array of a shape and dtype.

        Raises:
            ShapeError: the infer rule leaves no size open, or does not say how many dimensions an output has.
            SizeError: what decides the sizes gave none, or no memory has room for them.
        """
        entries = [inferred[i] for i in self.opdef.schema.fresh_outputs]
        names = [self.opdef.schema.output_names[i] for i in self.opdef.schema.fresh_outputs]
        leaves = self._leaves(names, entries)
        count = sum([spec.shape.count(None) for _, spec in leaves])
        if not count:
            raise ShapeError(
                f"{self.subject}: {self.decides} expected a size that the infer rule leaves open, got "
                f"{', '.join(f'{name} {spec}' for name, spec in leaves)}; let the rule give None for it, or leave "
                f"{self.decides.option}= out",
                at=self.at,
            )
        if self._call is not None:
            given = self._call({**dict(zip(self.opdef.schema.input_names, inputs, strict=True)), **attrs})
        else:
            assert ask is not None, self.decides
            given = ask(count)
        sizes = self.whole(given, count, leaves, self.decides)
        number = next(self._numbers)
        is_watched = FLAGS.debug or not number & (number - 1)
        most = 0 if not self._guard else _WATCHED_ROOM if is_watched else _ROOM
        elements = sum([array.size for array in flat(inputs)])
        shapes = list(_closed([spec.shape for _, spec in leaves], sizes))
        try:
            around = (self._guard, most)
            memory = [
                _Guarded(shape, spec, elements, around, empty) for shape, (_, spec) in zip(shapes, leaves, strict=True)
            ]
        except (MemoryError, ValueError, OverflowError) as error:
            raise SizeError(
                f"{self.subject}: {self.decides} expected sizes that memory has room for, got "
                f"{', '.join(f'{size} for {place}' for place, size in zip(_places(leaves), sizes, strict=True))} "
                f"({error})",
                at=self.at,
            ) from error
        changed = [inputs[i] for i in self.opdef.schema.mutated_inputs]
        return Room(self, entries, leaves, sizes, memory, changed, empty)

    def _leaves(self, names: Sequence[str], entries: Sequence[Any]) -> list[tuple[str, TensorSpec]]:
        for name, entry in zip(names, entries, strict=True):
            if entry is None:
                raise ShapeError(
                    f"{self.subject}, output {name!r}: expected an infer rule that says how many dimensions it has, "
                    f"got None; give opsdk.TensorSpec with None for each size that {self.decides} decides",
                    at=self.at,
                )
        return [pair for name, entry in zip(names, entries, strict=True) for pair in named(name, entry)]

    def whole(self, given: Any, count: int, leaves: Sequence[tuple[str, TensorSpec]], who: object) -> list[int]:
        """Returns one size for each that is open: what was given, or for all the one number that was.

        Raises:
            SizeError: it is no whole number from 0 on, or another number of them.
        """
        if given.__class__ is int and given >= 0:
            return [given] * count
        given = [on_host(item) for item in given] if isinstance(given, (tuple, list)) else on_host(given)
        many = isinstance(given, (tuple, list)) or (isinstance(given, np.ndarray) and given.ndim == 1)
        items = list(given) if many else [given] * count
        wanted = " and ".join(_places(leaves))
        if len(items) != count:
            raise SizeError(
                f"{self.subject}: {who} expected {count} sizes, of {wanted}, or one number for all, "
                f"got {len(items)}, {given!r}",
                at=self.at,
            )
        sizes = []
        for item in items:
            try:
                size = -1 if isinstance(item, (bool, np.bool_)) else operator.index(item)
            except TypeError:
                size = -1
            if size < 0:
                raise SizeError(
                    f"{self.subject}: {who} expected whole numbers from 0 on, of {wanted}, got {given!r}", at=self.at
                )
            sizes.append(size)
        return sizes


class Room:
    """The buffers of one call.

    Attributes:
        buffers: what the kernel fills, one entry per output that it makes.
        count: how many open sizes there are.
    """

    def __init__(
        self,
        sized: Sized,
        entries: Sequence[Any],
        leaves: Sequence[tuple[str, TensorSpec]],
        sizes: Sequence[int],
        memory: Sequence[_Guarded],
        changed: Sequence[Any],
        empty: Callable[..., Any],
    ) -> None:
        self._sized, self._leaves, self._sizes = sized, leaves, sizes
        self._memory, self._entries, self._empty = memory, entries, empty
        buffers = iter([one.buffer for one in memory])
        self.buffers: list[Any] = [refill(entry, buffers) for entry in entries]
        self.count = len(sizes)
        self._before = [(array, array.copy()) for array in flat(changed)]

    def results(self, returned: Any) -> list[Any]:
        """Returns what the kernel filled, in memory of its own, one entry per output.

        Args:
            returned: how many it filled, as it says.

        Raises:
            SizeError: it says nothing, or another number than there are, or wrote beyond a buffer. What it changed in
                place is put back.
        """
        try:
            filled = self._filled(returned)
        except SizeError:
            for array, copy in self._before:
                array[...] = copy
            raise
        shapes = _closed([spec.shape for _, spec in self._leaves], filled)
        made = iter([one.cut(shape, self._empty) for one, shape in zip(self._memory, shapes, strict=True)])
        return [refill(entry, made) for entry in self._entries]

    def _filled(self, returned: Any) -> list[int]:
        sized, decides = self._sized, self._sized.decides
        for (name, _), memory in zip(self._leaves, self._memory, strict=True):
            if memory.is_left():
                raise SizeError(
                    f"{sized.subject}: expected it to stay inside output {name!r}, of shape {memory.buffer.shape} as "
                    f"{decides} has it, got writes behind it (the kernel says it filled {returned!r}); "
                    f"{decides.option}= counts too few, or the kernel writes too many",
                    at=sized.at,
                )
        if returned is None:
            raise SizeError(
                f"{sized.subject}: expected it to say how many it filled, of {' and '.join(_places(self._leaves))}, "
                "got None; return the number at its end",
                at=sized.at,
            )
        filled = sized.whole(returned, self.count, self._leaves, "what the kernel says it filled")
        for i, (size, most) in enumerate(zip(filled, self._sizes, strict=True)):
            if size > most or (size < most and decides.option == "sizes"):
                word = "at most " if decides.option == "bound" else ""
                raise SizeError(
                    f"{sized.subject}: expected {word}{most} for {_places(self._leaves)[i]}, which {decides} gave, got "
                    f"{size} filled; one of the two counts wrong",
                    at=sized.at,
                )
        return filled


class _Guarded:
    """One buffer, with a guard behind it."""

    def __init__(
        self,
        shape: tuple[int, ...],
        spec: TensorSpec,
        elements: int,
        around: tuple[int, int],
        empty: Callable[..., Any],
    ) -> None:
        guard, most = around
        size, item = math.prod(shape), spec.dtype.itemsize
        row = item * math.prod(dim for dim in spec.shape if dim is not None)
        behind = max(guard, min(elements * row, most))
        self._is_much = 4 * behind > size * item
        self._memory = empty((size - (-behind // item),), spec.dtype)
        self._guard = self._memory[size:].view(np.uint8)[:guard]
        self._guard[...] = _MARK
        self.buffer = self._memory[:size].reshape(shape)

    def is_left(self) -> bool:
        """Whether something was written behind the buffer."""
        return bool(self._guard.tobytes() != _MARKS[: self._guard.size])

    def cut(self, shape: tuple[int, ...], empty: Callable[..., Any]) -> Any:
        """Returns the beginning of the buffer in memory of its own: a full one as it is, where the arena lent it.

        What has much room behind it is copied, so that no result holds on to that.
        """
        is_lent = not self._is_much and self._memory.base.__class__ is arena.Lease
        if is_lent and shape == self.buffer.shape:
            return np.ndarray(shape, self.buffer.dtype, self._memory.base)
        made = empty(shape, self.buffer.dtype)
        made[...] = self.buffer[tuple(map(slice, shape))]
        return made


def _places(leaves: Sequence[tuple[str, TensorSpec]]) -> list[str]:
    """Returns what the open sizes are called."""
    return [f"{name}.shape[{i}]" for name, spec in leaves for i, dim in enumerate(spec.shape) if dim is None]


def _closed(shapes: Sequence[tuple[int | None, ...]], sizes: Sequence[int]) -> Iterator[tuple[int, ...]]:
    """Yields shapes with the next size in the place of each None."""
    left = iter(sizes)
    for shape in shapes:
        yield tuple([next(left) if dim is None else dim for dim in shape])


def sized_of(opdef: OpDef, kernel: Kernel, *, is_exact: bool = False) -> Sized | None:
    """Returns what makes a kernel's buffers, where data decide their sizes; None where the inputs' shapes do.

    `is_exact` is as for `Sized`.
    """
    decides = size_function(kernel)
    return None if decides is None else Sized(opdef, kernel, decides, is_exact=is_exact)
