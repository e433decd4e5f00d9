"""The terminal: how wide it is, whether it is one, and which words get a colour."""

from __future__ import annotations

import codecs
import io
import os
import shutil
import sys
from typing import TextIO

OFF_TERMINAL_WIDTH = 100
AUTO, ALWAYS, NEVER = COLOUR_CHOICES = ("auto", "always", "never")
_choice = AUTO
# What stands for a character in an encoding that lacks it; every other one becomes `?`.
_PLAIN = {"·": "-", "–": "-", "…": "...", "×": "x", "∞": "inf", "±": "+-", "→": "->", "≤": "<=", "≥": ">=", "µ": "u"}
_COLOURS = {"pass": "32", "yes": "32", "FAIL": "31", "no": "31", "inconclusive": "33"}


def is_terminal(stream: TextIO) -> bool:
    """Whether a stream shows what is written to it to a person who can see it move."""
    return bool(getattr(stream, "isatty", lambda: False)()) and os.environ.get("TERM") != "dumb"


def choose_colour(choice: str) -> None:
    """Sets whether verdict words are coloured: `always`, `never`, or `auto`, which leaves it to `has_colour`."""
    global _choice
    _choice = choice


def has_colour(stream: TextIO) -> bool:
    """Whether verdict words are coloured: on terminals, unless NO_COLOR is set; FORCE_COLOR and `--color` insist."""
    if _choice != AUTO:
        return _choice == ALWAYS
    if os.environ.get("NO_COLOR"):
        return False
    return bool(os.environ.get("FORCE_COLOR")) or is_terminal(stream)


def write_plainly(stream: TextIO) -> None:
    """Has a stream write what its encoding lacks in letters that it has."""
    codecs.register_error("opsdk.plain", _plain)
    if isinstance(stream, io.TextIOWrapper):
        stream.reconfigure(errors="opsdk.plain")


def _plain(error: UnicodeError) -> tuple[str, int]:
    assert isinstance(error, UnicodeEncodeError)
    missing = error.object[error.start : error.end]
    return "".join(_PLAIN.get(letter, "?") for letter in missing), error.end


def width() -> int:
    """Returns the columns that a line may take on standard output."""
    return shutil.get_terminal_size().columns if is_terminal(sys.stdout) else OFF_TERMINAL_WIDTH


def painted(text: str) -> str:
    """Returns the text with its verdict words coloured, where standard output has colours."""
    colour = _COLOURS.get(text) if has_colour(sys.stdout) else None
    return f"\x1b[{colour}m{text}\x1b[0m" if colour else text


def narrate(text: str) -> None:
    """Says something that is not the command's result: it goes to standard error."""
    print(text, file=sys.stderr, flush=True)


def narrate_error(error: Exception) -> None:
    """Says an error as it is printed: the sentence, then its notes."""
    narrate("\n".join([str(error), *getattr(error, "__notes__", [])]))
