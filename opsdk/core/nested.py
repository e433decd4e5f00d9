"""Nested values: what stands for the inputs or outputs of a call, one entry each: a leaf, a list of leaves, or None.

A leaf is an array, a tensor, a Variable or a spec. None stands for what is absent, a list or tuple for what a variadic
input holds. All that walks over such values does it here, so that an absent entry and a list mean the same everywhere.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any


# Any, in this file: leaves of one kind, lists of them, None.
def flat(value: Any) -> Sequence[Any]:
    """Returns the leaves of an entry, or of all entries of a call, in order; what is absent is left out."""
    if isinstance(value, (list, tuple)):
        return [leaf for item in value for leaf in flat(item)]
    return () if value is None else (value,)


def each(value: Any, function: Callable[[Any], Any]) -> Any:
    """Returns an entry, or all entries of a call in a list, with a function applied to every leaf."""
    if isinstance(value, (list, tuple)):
        return [each(item, function) for item in value]
    return None if value is None else function(value)


def refill(value: Any, leaves: Iterator[Any]) -> Any:
    """Returns an entry, or all entries of a call in a list, with the next leaves in place of its own."""
    return each(value, lambda _: next(leaves))


def named(name: str, value: Any) -> list[tuple[str, Any]]:
    """Returns the leaves of an entry, each with what it is called: those of a list are numbered, as in `x[0]`."""
    if isinstance(value, (list, tuple)):
        return [pair for i, item in enumerate(value) for pair in named(f"{name}[{i}]", item)]
    return [] if value is None else [(name, value)]
