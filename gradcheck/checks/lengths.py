"""Lengths that may change: which axes change together, and whether the lengths of the outputs follow.

Axes whose lengths a domain names change as it says, those of `K-1` with those of `K`; of the others those of equal
length do.

A length of an output follows where it is that of an input, or a product of such, or where one law of small numbers
says it at every length that was tried: a rounded quotient, as of a stride, a multiple, or a sum. What follows no law
is computed from something else, such as a weight inside forward, and nothing is said of such a length.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from gradcheck.judge.variation import Shape
from gradcheck.model.dims import Length, least_lengths
from gradcheck.model.dtypes import Array
from gradcheck.model.protocol import Subject

# Input and axis, or output and axis.
Axis = tuple[int, int]
# Strides, multiples and paddings of kernels are small numbers.
_FACTORS = range(2, 9)
_SHIFTS = range(-16, 17)


@dataclass(frozen=True)
class Group:
    """Axes of inputs that change together.

    Args:
        length: that all of them have, but for those with a form of their own: of those it is the named one.
        axes: the input and the axis of each.
        forms: what the lengths of some axes are, by the axis.
    """

    length: int
    axes: frozenset[Axis]
    forms: tuple[tuple[Axis, Length], ...] = ()

    @property
    def least(self) -> int:
        """The least length that the group may have."""
        return max(least_lengths(form for _, form in self.forms).values(), default=0)

    def at(self, length: int) -> dict[Axis, int]:
        """Gives the length of each axis where that of the group is another one."""
        return dict.fromkeys(self.axes, length) | {axis: form.at(length) for axis, form in self.forms}


def groups_of(subject: Subject, inputs: Sequence[object], shapes: Sequence[Shape | None], most: int) -> list[Group]:
    """Gives the first few groups of equal lengths of 2 or more, but of one that an integer input holds as a value.

    Axes of a declared name are a group of their own; what has its length, and no name, changes with the first of them.
    """
    lengths = _lengths(shapes)
    groups = _groups(declared(subject, shapes), shapes)
    held = {int(value) for value in inputs if isinstance(value, int) and not isinstance(value, bool)}
    for k, value in enumerate(inputs):
        if isinstance(value, np.ndarray) and value.dtype.kind in "iu" and k not in subject.ruled:
            held |= {group.length for group in groups if (value == group.length).any()}
    free = [group for group in groups if group.length >= 2 and group.length not in held]
    return sorted(free, key=lambda group: lengths.index(length_of(shapes, min(group.axes))))[:most]


def single_axes(
    shapes: Sequence[Shape | None], most: int, told: Mapping[Axis, int | Length | None] = {}
) -> list[Group]:
    """Gives the first few axes of length 1, each by itself, and all of them together where they are several.

    Those of which a domain tells something, as `declared` gives it, are left as they are.
    """
    axes = sorted(axis for axis in axes_of(shapes, 1) if told.get(axis) is None)
    alone = [Group(1, frozenset({axis})) for axis in axes[:most]]
    return [*alone, Group(1, frozenset(axes))] if len(axes) > 1 else alone


def declared(subject: Subject, shapes: Sequence[Shape | None]) -> dict[Axis, int | Length | None]:
    """Gives for axes of which a domain says how long they are a fixed length or a named one; None for any."""
    return {
        (k, axis): size
        for k, (where, shape) in enumerate(zip(subject.domain, shapes, strict=True))
        if where.dims is not None and shape is not None
        for axis, size in enumerate(where.dims.axes(len(shape)) or ())
    }


def _groups(told: Mapping[Axis, int | Length | None], shapes: Sequence[Shape | None]) -> list[Group]:
    """Gives a group for each name, and for each length of axes of which nothing is told that no named axis has."""
    free = {axis: n for n in _lengths(shapes) for axis in axes_of(shapes, n) if told.get(axis) is None}
    named: dict[str, dict[Axis, Length]] = {}
    for axis, size in sorted(told.items(), key=lambda item: item[0]):
        if isinstance(size, Length):
            named.setdefault(size.name, {})[axis] = size
    groups = []
    for forms in named.values():
        by_length: dict[int, Length] = {}
        for axis, form in forms.items():
            by_length.setdefault(length_of(shapes, axis), form)
        length = next(form.solved(n) for n, form in by_length.items())
        forms |= {axis: by_length[n] for axis, n in free.items() if n > 1 and n in by_length}
        free = {axis: n for axis, n in free.items() if axis not in forms}
        if length is not None:
            others = tuple((axis, form) for axis, form in forms.items() if form != Length(form.name))
            groups.append(Group(length, frozenset(forms), others))
    alone = (frozenset(axis for axis, n in free.items() if n == length) for length in dict.fromkeys(free.values()))
    return [*groups, *(Group(length_of(shapes, min(axes)), axes) for axes in alone)]


def _lengths(shapes: Sequence[Shape | None]) -> list[int]:
    return list(dict.fromkeys(n for shape in shapes for n in shape or ()))


def length_of(shapes: Sequence[Shape | None], axis: Axis) -> int:
    """Gives the length of an axis of one of the shapes."""
    return (shapes[axis[0]] or ())[axis[1]]


def axes_of(shapes: Sequence[Shape | None], length: int) -> frozenset[Axis]:
    """Gives the axes of a length."""
    return frozenset((k, axis) for k, shape in enumerate(shapes) for axis, n in enumerate(shape or ()) if n == length)


def changed(shapes: Sequence[Shape | None], lengths: Mapping[Group, int]) -> list[Shape | None]:
    """Gives the shapes with other lengths for some groups; of two with an axis in common the later one counts."""
    new = {axis: n for group, length in lengths.items() for axis, n in group.at(length).items()}
    return [
        None if shape is None else tuple(new.get((k, axis), n) for axis, n in enumerate(shape))
        for k, shape in enumerate(shapes)
    ]


def partners(group: Group, shapes: Sequence[Shape | None]) -> list[int]:
    """Gives lengths that a single axis was broadcast to: those of other inputs at its place from the end."""
    found: dict[int, None] = {}
    for k, axis in group.axes:
        behind = len(shapes[k] or ()) - axis
        for other, shape in enumerate(shapes):
            if other != k and shape is not None and len(shape) >= behind and shape[-behind] > 1:
                found[shape[-behind]] = None
    return list(found)


def follow(
    old: Sequence[Shape],
    outputs: Sequence[Array],
    before: Sequence[Shape | None],
    after: Sequence[Shape | None],
    allowed: Mapping[int, tuple[int, ...]],
) -> list[Axis] | None:
    """Gives the axes of outputs that did not follow an input's length or a product; None where the form is another."""
    if len(old) != len(outputs) or any(len(was) != out.ndim for was, out in zip(old, outputs, strict=True)):
        return None
    lengths = {length for shape in before for length in shape or ()}
    products: dict[int, set[int]] = {}
    for given, made in zip(before, after, strict=True):
        for start, end in combinations(range(len(given or ()) + 1), 2):
            if end - start > 1:
                products.setdefault(math.prod((given or ())[start:end]), set()).add(math.prod((made or ())[start:end]))

    def follows(was: int, now: int) -> bool:
        if now in products.get(was, ()):
            return True
        return now in allowed.get(was, (was,)) if was in lengths else now == was

    return [
        (position, axis)
        for position, (was, out) in enumerate(zip(old, outputs, strict=True))
        for axis, length in enumerate(was)
        if not follows(length, out.shape[axis])
    ]


class Laws:
    """What is known of the lengths of outputs that are computed from those of inputs, group by group.

    Args:
        old: the shapes of the outputs as given.
    """

    def __init__(self, old: Sequence[Shape]) -> None:
        self._old = old
        self._known: dict[tuple[Group, Axis], list[Callable[[int], int]]] = {}

    def learn(self, group: Group, seen: Mapping[int, Sequence[Array]]) -> bool:
        """Finds laws for every axis of the outputs from what was seen at some lengths; says whether all have one."""
        rows = list(seen.values())
        if any(len(row) != len(self._old) for row in rows):
            return False
        found: dict[tuple[Group, Axis], list[Callable[[int], int]]] = {}
        for position, was in enumerate(self._old):
            if any(row[position].ndim != len(was) for row in rows):
                return False
            for axis, length in enumerate(was):
                points = {group.length: length, **{n: row[position].shape[axis] for n, row in seen.items()}}
                laws = [law for law in _laws(group.length, length) if all(law(n) == m for n, m in points.items())]
                if not laws:
                    return False
                found[group, (position, axis)] = laws
        self._known |= found
        return True

    def rule(self, group: Group) -> bool:
        """Says whether laws were needed to explain what forward makes of a group."""
        return any(known is group for known, _ in self._known)

    def allow(self, axis: Axis, length: int, lengths: Mapping[Group, int]) -> bool:
        """Says whether an axis of an output has a length that its laws say; of several groups, to one."""
        position, place = axis
        was = self._old[position][place]
        possible, count = {was}, 0
        for group, new in lengths.items():
            laws = self._known.get((group, axis))
            if laws is not None:
                count += 1
                possible = {base + law(new) - was for base in possible for law in laws}
        return bool(count) and any(abs(length - n) <= (count > 1) for n in possible)


def _laws(given: int, made: int) -> Iterator[Callable[[int], int]]:
    """Yields the laws that say of the length as given what forward made of it."""
    yield lambda n: made
    yield lambda n: n + made - given
    yield lambda n: made - (n - given)
    for factor in _FACTORS:
        yield lambda n, factor=factor: made + factor * (n - given)  # type: ignore[misc]
        for shift in _SHIFTS:
            if (given + shift) // factor == made:
                yield lambda n, factor=factor, shift=shift: (n + shift) // factor  # type: ignore[misc]
