"""Dims: the lengths of an array's axes as a domain declares them, fixed ones and named ones that arrays share.

A name that stands for several axes, `"*B"`, is known by how many they are; each has a length of its own, called
`*B[0]`, `*B[1]` and so on, so that whatever draws, changes or compares lengths knows of lengths alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from gradcheck.errors import UsageError

ANY = "..."
_MANY = "*"
_FORM = re.compile(r"(?:([0-9]+)\s*\*\s*)?(\w+)(?:\s*([+-])\s*([0-9]+))?")
# The whole numbers that names have, and where they were met first, in words that follow the number.
Known: TypeAlias = "dict[str, tuple[int, str]]"


@dataclass(frozen=True)
class Length:
    """A length that has a name, or is a multiple of such a one, plus or minus a whole number.

    Args:
        name: of the length.
        factor: from 1 on.
        shift: what is added to the multiple.
    """

    name: str
    factor: int = 1
    shift: int = 0

    @classmethod
    def read(cls, text: str) -> Length | None:
        """Reads `[factor*]NAME[+/-whole]`; None where it is something else."""
        found = _FORM.fullmatch(text)
        if found is None or not found[2].isidentifier() or (found[1] is not None and int(found[1]) < 1):
            return None
        return cls(found[2], int(found[1] or 1), int(f"{found[3] or ''}{found[4] or 0}"))

    @property
    def least(self) -> int:
        """The least length of that name with which this one is from 0 on."""
        return max(0, -(self.shift // self.factor))

    def at(self, named: int) -> int:
        """Gives the length where that of the name is known; below 0 where there is none."""
        return self.factor * named + self.shift

    def solved(self, length: int) -> int | None:
        """Gives the length of the name where this one is known; None where no whole number from 0 on is right."""
        named, left = divmod(length - self.shift, self.factor)
        return None if left or named < 0 else named

    def __str__(self) -> str:
        factor = f"{self.factor}*" if self.factor > 1 else ""
        return f"{factor}{self.name}{f'{self.shift:+d}' if self.shift else ''}"


# What one axis is to be: a fixed length, a named one, or None for any.
Axis: TypeAlias = "int | Length | None"
# In their place, once: "..." or "*NAME" for any number of axes.
Size: TypeAlias = "Axis | str"


@dataclass(frozen=True)
class Dims:
    """What the shape of an array is to be.

    Args:
        sizes: one for each axis; "..." or "*NAME" once, where there may be any others.
    """

    sizes: tuple[Size, ...]

    @classmethod
    def of(cls, sizes: Iterable[Any]) -> Dims:  # Any: what an author wrote
        """Reads what an author declares: lengths, names, multiples of them and sums, None, `...`, and `"*B"`.

        Raises:
            UsageError: one is something else, or two of them stand for any number of axes.
        """
        made = tuple(map(_read, sizes))
        if sum(isinstance(size, str) for size in made) > 1:
            given = ", ".join(map(_text, made))
            raise UsageError(f'shape: expected ... or "*B" once, got ({given}); name the axes of one of them')
        return cls(made)

    @property
    def rest(self) -> str | None:
        """What stands for any number of axes: `...`, or a name with a star; None where nothing does."""
        return next((size for size in self.sizes if isinstance(size, str)), None)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of lengths, and of what stands for several, each once."""
        every = (size.name if isinstance(size, Length) else size for size in self.sizes)
        return tuple(dict.fromkeys(name for name in every if isinstance(name, str) and name != ANY))

    def axes(self, ndim: int) -> tuple[Axis, ...] | None:
        """Gives what each axis of an array of so many is to be; None where no array of so many is right."""
        plain = [size for size in self.sizes if not isinstance(size, str)]
        rest, more = self.rest, ndim - len(plain)
        if rest is None or more < 0:
            return None if more else tuple(plain)
        at = self.sizes.index(rest)
        between = [None] * more if rest == ANY else map(Length, names_within(rest, more))
        return (*plain[:at], *between, *plain[at:])

    def holding(self, lengths: Mapping[str, object]) -> Dims:
        """Gives the dims with the names of whole numbers, such as attributes, fixed at these."""
        return Dims(tuple(_fixed(size, lengths) for size in self.sizes))

    def shape(self, lengths: Mapping[str, int]) -> tuple[int, ...] | None:
        """Gives a shape of this kind, of lengths by name; None where there is none.

        Args:
            lengths: by name; of "*B" how many axes they are. An axis that may have any length gets 2, `...` is none.
        """
        rest = self.rest
        ndim = len(self.sizes) if rest is None else len(self.sizes) - 1 + lengths.get(rest, 0)
        made = tuple(
            axis.at(lengths[axis.name]) if isinstance(axis, Length) else 2 if axis is None else axis
            for axis in self.axes(ndim) or ()
        )
        return None if min(made, default=0) < 0 else made

    def wrong(self, shape: Iterable[Any], name: str, known: Known) -> str:
        """Says what a shape is expected to be; nothing where it is right, and `known` then holds what it tells.

        Args:
            shape: sizes; whatever is no whole number is one that nobody knows yet (any).
            name: of the array.
            known: the lengths that names have so far.
        """
        sizes, rest = tuple(shape), self.rest
        axes = self.axes(len(sizes))
        if axes is not None and rest not in (None, ANY):
            rank = len(sizes) - len(self.sizes) + 1
            axes = axes if known.setdefault(f"{rest}", (rank, f" as of {name!r}"))[0] == rank else None
        if axes is None:
            return f"{self}{self._so_far(known)}"
        for axis, size in zip(axes, sizes, strict=True):
            if axis is None or not isinstance(size, int):
                continue
            if isinstance(axis, int):
                told = "" if size == axis else f"{self}"
            else:
                told = self._differs(axis, size, name, known)
            if told:
                return told
        return ""

    def _differs(self, axis: Length, size: int, name: str, known: Known) -> str:
        """Says what is expected where an axis of a named length differs; else the name has what follows from it."""
        if axis.name not in known:
            named = axis.solved(size)
            if named is None:
                return f"{self} with a whole {axis.name} from {axis.least} on"
            told = f" as of {name!r}" if axis == Length(axis.name) else f", as {axis} = {size} in {name!r}"
            known[axis.name] = (named, told)
            return ""
        named, of = known[axis.name]
        if axis.at(named) == size:
            return ""
        if axis.name.startswith(_MANY):
            return f"{self}{self._so_far(known, of)}"
        if axis.at(named) < 0:
            return f"{self} with {axis.name} from {axis.least} on, but {axis.name} = {named}{of}"
        return f"{self} with {axis.name} = {named}{of}"

    def _so_far(self, known: Known, of: str = "") -> str:
        """Says what is known of the axes that a name with a star stands for."""
        rest = f"{self.rest}"
        if rest not in known:
            return ""
        rank, told = known[rest]
        lengths = [f"{known[one][0]}" if one in known else "?" for one in names_within(rest, rank)]
        return f" with {rest} = ({', '.join(lengths)}{',' * (rank == 1)}){of or told}"

    def __str__(self) -> str:
        texts = [_text(size) for size in self.sizes]
        return f"({', '.join(texts)}{',' if len(texts) == 1 and self.rest is None else ''})"


def names_within(rest: str, rank: int) -> list[str]:
    """Gives the names of the lengths of so many axes that a name with a star stands for."""
    return [f"{rest}[{i}]" for i in range(rank)]


def least_lengths(sizes: Iterable[object]) -> dict[str, int]:
    """Gives by name the least length with which all that is made of it is from 0 on.

    Args:
        sizes: what axes are to be, or go by; what is no `Length` counts for nothing.
    """
    found: dict[str, int] = {}
    for size in sizes:
        if isinstance(size, Length):
            found[size.name] = max(found.get(size.name, 0), size.least)
    return found


def _read(size: Any) -> Size:  # Any: what an author wrote
    if size is None or (isinstance(size, int) and not isinstance(size, bool) and size >= 0):
        return size
    if size is Ellipsis:
        return ANY
    if isinstance(size, str):
        if size == ANY or (size.startswith(_MANY) and size[1:].isidentifier()):
            return size
        length = Length.read(size)
        if length is not None:
            return length
    raise UsageError(
        f'shape: expected lengths from 0 on, names of lengths, "K-1" or "2*K+1" of a name K, None, ... or "*B", got '
        f'{size!r}; write shape("N", 3)'
    )


def _text(size: Size) -> str:
    return "any" if size is None else str(size)


def _fixed(size: Size, lengths: Mapping[str, object]) -> Size:
    held = lengths.get(size.name) if isinstance(size, Length) else None
    return size.at(held) if isinstance(size, Length) and isinstance(held, int) and not isinstance(held, bool) else size


def mismatch(arrays: Iterable[tuple[str, Dims, tuple[Any, ...]]], known: Known) -> tuple[str, str] | None:
    """Gives the name of the first array that is not of the shape that it is to have, and that; None if all are.

    Args:
        arrays: name, dims and shape of each (any: sizes that nobody knows yet).
        known: lengths by name, and where each is from; those that the arrays tell are added.
    """
    for name, dims, shape in arrays:
        wanted = dims.wrong(shape, name, known)
        if wanted:
            return name, wanted
    return None
