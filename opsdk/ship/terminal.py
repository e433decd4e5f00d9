"""The terminal: how wide it is, whether it is one, and which words get a colour."""

from __future__ import annotations

import os
import shutil
import sys
from typing import TextIO

OFF_TERMINAL_WIDTH = 100
_COLOURS = {"pass": "32", "yes": "32", "FAIL": "31", "no": "31", "inconclusive": "33"}


def is_terminal(stream: TextIO) -> bool:
    """Whether a stream shows what is written to it to a person who can see it move."""
    return bool(getattr(stream, "isatty", lambda: False)()) and os.environ.get("TERM") != "dumb"


def has_colour(stream: TextIO) -> bool:
    """Whether verdict words are coloured: on terminals, unless NO_COLOR is set; FORCE_COLOR insists."""
    if os.environ.get("NO_COLOR"):
        return False
    return bool(os.environ.get("FORCE_COLOR")) or is_terminal(stream)


def width() -> int:
    """Returns the columns that a line may take on standard output."""
    return shutil.get_terminal_size().columns if is_terminal(sys.stdout) else OFF_TERMINAL_WIDTH


def painted(text: str) -> str:
    """Returns the text with its verdict words coloured, where standard output has colours."""
    if not has_colour(sys.stdout):
        return text
    for word, colour in _COLOURS.items():
        if text == word:
            return f"\x1b[{colour}m{text}\x1b[0m"
    return text


def verdict_word(verdict: str) -> str:
    """Returns how a verdict is printed."""
    return "FAIL" if verdict == "fail" else verdict


def narrate(text: str) -> None:
    """Says something that is not the command's result: it goes to standard error."""
    print(text, file=sys.stderr, flush=True)
