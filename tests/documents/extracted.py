"""The programs that the documents hold, taken from their text as it stands; the text has lost its indentation."""

import re
from pathlib import Path

import pytest


def lines_of(number):
    """The lines of a document; the test is skipped where the documents are not."""
    for folder in Path(__file__).resolve().parents:
        if found := sorted(folder.glob(f"shared/seeds/{number}_*.txt")):
            return found[0].read_text(encoding="utf-8").splitlines()
    pytest.skip(f"the document is not there: shared/seeds/{number}_*.txt")


def part(lines, first, depths, which=0, edits=()):
    """A part of a document's program, and the line behind it.

    Args:
        lines: of the document.
        first: the line that it begins with.
        depths: for each of its lines, how deep it is.
        which: of the lines like the first.
        edits: pairs, each a text of the document and what stands for it.
    """
    start = [place for place, line in enumerate(lines) if line == first][which]
    taken = zip(depths, lines[start : start + len(depths)], strict=True)
    return edited("\n".join("    " * int(depth) + line for depth, line in taken), edits), start + len(depths)


def edited(text, edits):
    """A text with its edits; one that changes nothing of any part is a mistake of the table."""
    for old, new in edits:
        text = text.replace(old, new)
    return text


def is_like(printed, wanted):
    """Whether a program printed what a document shows, but for spaces; there `...` is the rest of something."""
    pattern = r"\s*".join(re.escape(word) for line in wanted for word in re.findall(r"\.\.\.|\w+|\S", line))
    return re.fullmatch(r"\s*" + pattern.replace(r"\.\.\.", ".*?") + r"\s*", printed, re.DOTALL) is not None


def unfolded(text, statements, end):
    """A program whose line breaks are lost as well.

    Args:
        text: that holds it.
        statements: how deep each one is, and what it begins with, in their order.
        end: the text behind the last one.
    """
    places = []
    for _, beginning in statements:
        places.append(text.index(beginning, places[-1] + 1 if places else 0))
    stops = [*places[1:], text.index(end, places[-1])]
    cut = zip(statements, places, stops, strict=True)
    return "\n".join("    " * depth + text[start:stop].strip() for (depth, _), start, stop in cut)
