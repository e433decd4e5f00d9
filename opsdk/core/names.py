"""Unique names: `relu_0`, `relu_1`, … counted per prefix, with a guard that starts afresh."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

_lock = threading.Lock()
_counters: list[Counter[str]] = [Counter()]


def unique_name(prefix: str) -> str:
    """Returns `prefix_N` with the lowest N not yet given out under this prefix."""
    with _lock:
        number = _counters[-1][prefix]
        _counters[-1][prefix] += 1
    return f"{prefix}_{number}"


@contextmanager
def name_guard() -> Iterator[None]:
    """Counts from zero inside the `with` block, and goes on where it was after it."""
    with _lock:
        _counters.append(Counter())
    try:
        yield
    finally:
        with _lock:
            _counters.pop()
