"""The two exceptions of the package, and notes on exceptions for every supported Python."""

from __future__ import annotations


class UsageError(ValueError):
    """The check was called in a way that it cannot work with; the subject was not judged."""


class GradcheckError(AssertionError):
    """The subject was judged and found wrong (or, through the thin door, could not be judged)."""


def attach_note(error: BaseException, note: str) -> None:
    """Adds a line below the traceback of `error`; Python 3.10 has no `add_note`, there its list is filled by hand."""
    if hasattr(error, "add_note"):
        error.add_note(note)
    else:
        error.__dict__.setdefault("__notes__", []).append(note)
