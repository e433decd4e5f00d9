"""The numbers under which containers keep their entries."""

from __future__ import annotations

import operator
from collections.abc import Container, Sized
from typing import Any, Protocol


class Names(Sized, Container[str], Protocol):
    """Names that are taken."""


def free_number(names: Names, start: int | None = None) -> str:
    """Returns the lowest number from `start`, or from their count, that is not among the names."""
    number = len(names) if start is None else start
    while str(number) in names:
        number += 1
    return str(number)


# Any: what a user writes between square brackets.
def as_position(index: Any, length: int, subject: str) -> int:
    """Returns an index as a position in [0, length); negative ones count from the end.

    Raises:
        IndexError: there is no entry at that index.
        TypeError: the index is no integer.
    """
    position = operator.index(index)
    if not -length <= position < length:
        raise IndexError(f"{subject}: index expected in [{-length}, {length}), got {position}")
    return position % length


# Any: as for `as_position`.
def as_gap(index: Any, length: int, subject: str) -> int:
    """Returns where something is put in, as a position in [0, length]; negative ones count from the end.

    Raises:
        IndexError: there is no entry before that index, and it is not the end.
        TypeError: the index is no integer.
    """
    position = operator.index(index)
    if not -length <= position <= length:
        raise IndexError(f"{subject}: index to insert at expected in [{-length}, {length}], got {position}")
    return position if position >= 0 else position + length
