"""Alternatives for a name that was not found: nearest first, at most eight, then a count."""

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
