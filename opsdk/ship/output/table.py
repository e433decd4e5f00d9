"""Text tables whose columns never wrap, they are elided or dropped to fit the width; and labelled text, which wraps."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass

from opsdk.ship.cli.terminal import painted

GAP = "  "
LONGEST = 40  # columns that a cell may take before its middle is elided, unless a table says otherwise


@dataclass(frozen=True)
class Column:
    """One column.

    Args:
        title: its heading.
        right: numbers, aligned to the right.
        drop: the order in which columns go when there is no room, 1 first; 0 stays.
    """

    title: str
    right: bool = False
    drop: int = 0


def render(columns: Sequence[Column], rows: Sequence[Sequence[str]], width: int, longest: int = LONGEST) -> str:
    """Returns a table of at most `width` columns.

    Args:
        columns: the headings, in order.
        rows: one text per column each.
        width: columns of the terminal.
        longest: columns that a cell may take.
    """
    cells = [[elided(cell, longest) for cell in row] for row in rows]
    kept = list(range(len(columns)))
    sizes = [max(len(column.title), *(len(row[i]) for row in cells), 0) for i, column in enumerate(columns)]
    droppable = sorted((i for i in kept if columns[i].drop), key=lambda i: columns[i].drop)
    while sum(sizes[i] for i in kept) + len(GAP) * (len(kept) - 1) > width and droppable:
        kept.remove(droppable.pop(0))
    lines = []
    for row in ([column.title for column in columns], *cells):
        padded = []
        for i in kept:
            padding = " " * (sizes[i] - len(row[i]))
            text = painted(row[i])  # painted after it is measured: escape sequences take no room
            padded.append(padding + text if columns[i].right else text + padding)
        lines.append(GAP.join(padded).rstrip())
    return "\n".join(lines)


def elided(text: str, longest: int) -> str:
    """Returns the text, without its middle where it is longer than `longest`."""
    if len(text) <= longest:
        return text
    head = (longest - 1) // 2
    return f"{text[:head]}…{text[len(text) - (longest - 1 - head) :]}"


def wrapped(label: str, text: str, width: int) -> list[str]:
    """Returns the lines of a text behind its label; words are never broken."""
    return textwrap.wrap(
        text,
        width,
        initial_indent=label,
        subsequent_indent=" " * len(label),
        break_long_words=False,
        break_on_hyphens=False,
    )
