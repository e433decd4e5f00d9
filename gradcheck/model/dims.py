"""Dims: the lengths of an array's axes as a domain declares them, fixed ones and named ones that arrays share."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from gradcheck.errors import UsageError

# A fixed length, the name of one, or None for any; "..." for any number of axes.
Size: TypeAlias = "int | str | None"
ANY = "..."
# The lengths that names have, and where they were met first.
Known: TypeAlias = "dict[str, tuple[int, str]]"


@dataclass(frozen=True)
class Dims:
    """What the shape of an array is to be.

    Args:
        sizes: one for each axis; "..." once, where there may be any others.
    """

    sizes: tuple[Size, ...]

    @classmethod
    def of(cls, sizes: Iterable[Any]) -> Dims:  # Any: what an author wrote
        """Reads what an author declares: lengths, names, None, and `...`.

        Raises:
            UsageError: one is something else, or `...` stands there twice.
        """
        made = tuple(ANY if size is Ellipsis else size for size in sizes)
        for size in made:
            is_length = isinstance(size, int) and not isinstance(size, bool) and size >= 0
            is_name = isinstance(size, str) and (size.isidentifier() or size == ANY)
            if not (is_length or is_name or size is None):
                raise UsageError(
                    f"shape: expected lengths from 0 on, names of lengths, None or ..., got {size!r}; "
                    'write shape("N", 3)'
                )
        if made.count(ANY) > 1:
            raise UsageError(f"shape: expected ... once, got {made}; name the axes of one of them")
        return cls(made)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of lengths, each once."""
        return tuple(dict.fromkeys(size for size in self.sizes if isinstance(size, str) and size != ANY))

    def axes(self, ndim: int) -> tuple[Size, ...] | None:
        """Gives what each axis of an array of so many is to be; None where no array of so many is right."""
        if ANY not in self.sizes:
            return self.sizes if len(self.sizes) == ndim else None
        at, more = self.sizes.index(ANY), ndim - len(self.sizes) + 1
        return None if more < 0 else (*self.sizes[:at], *(None,) * more, *self.sizes[at + 1 :])

    def holding(self, lengths: Mapping[str, object]) -> Dims:
        """Gives the dims with the names of whole numbers, such as attributes, fixed at these."""
        return Dims(tuple(_fixed(size, lengths) for size in self.sizes))

    def shape(self, lengths: Mapping[str, int]) -> tuple[int, ...]:
        """Gives a shape of this kind, of lengths by name; an axis that may have any gets length 2."""
        return tuple(
            lengths[size] if isinstance(size, str) else 2 if size is None else size
            for size in self.sizes
            if size != ANY
        )

    def wrong(self, shape: Iterable[Any], name: str, known: Known) -> str:
        """Says what a shape is expected to be; nothing where it is right, and `known` then holds what it tells.

        Args:
            shape: sizes; whatever is no whole number is one that nobody knows yet (any).
            name: of the array.
            known: the lengths that names have so far.
        """
        sizes = tuple(shape)
        axes = self.axes(len(sizes))
        if axes is None:
            return self._text(known)
        for axis, size in zip(axes, sizes, strict=True):
            if axis is None or not isinstance(size, int):
                continue
            if size != (axis if isinstance(axis, int) else known.setdefault(axis, (size, name))[0]):
                return self._text(known, axis)
        return ""

    def _text(self, known: Known, which: Size = None) -> str:
        """Gives the dims, and what the name is that was not met."""
        if not isinstance(which, str):
            return f"{self}"
        length, of = known[which]
        return f"{self} with {which} = {length}{of and f' as of {of!r}'}"

    def __str__(self) -> str:
        texts = ["any" if size is None else str(size) for size in self.sizes]
        return f"({', '.join(texts)}{',' if len(texts) == 1 else ''})"


def _fixed(size: Size, lengths: Mapping[str, object]) -> Size:
    held = lengths.get(size) if isinstance(size, str) else None
    return held if isinstance(held, int) and not isinstance(held, bool) else size


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
