"""Alternatives for a name that was not found: the one that was likely meant, or all, nearest first, at most eight."""

from __future__ import annotations

from collections.abc import Iterable

from opsdk.core.lazy import slow

LIMIT = 8


def alternatives(wanted: str, known: Iterable[str]) -> str:
    """Returns the known names for a message, those most like `wanted` first."""
    names = sorted(known)
    if not names:
        return "none"
    near = slow("difflib").get_close_matches(wanted, names, n=LIMIT, cutoff=0.6)
    ordered = near + [name for name in names if name not in near]
    rest = len(ordered) - LIMIT
    return ", ".join(ordered[:LIMIT]) + (f" and {rest} more" if rest > 0 else "")


def nearest(wanted: str, known: Iterable[str]) -> str:
    """Returns the known name most like `wanted`; empty where none is like it."""
    near: list[str] = slow("difflib").get_close_matches(wanted, sorted(known), n=1, cutoff=0.6)
    return near[0] if near else ""


def meant(wanted: str, known: Iterable[str]) -> str:
    """Returns "did you mean 'name'? " for the known name most like `wanted`; empty where none is like it."""
    near = nearest(wanted, known)
    return f"did you mean {near!r}? " if near else ""
