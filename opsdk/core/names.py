"""Unique names: `relu_0`, `relu_1`, … counted per prefix, with a guard that starts afresh."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

_lock = threading.Lock()
_shared: Counter[str] = Counter()


class _Guards(threading.local):
    """The counters of the guards that this thread is inside of, innermost last."""

    def __init__(self) -> None:
        self.counters: list[Counter[str]] = []


_guards = _Guards()


def unique_name(prefix: str) -> str:
    """Returns `prefix_N` with the lowest N not yet given out under this prefix."""
    counter = _guards.counters[-1] if _guards.counters else _shared
    with _lock:
        number = counter[prefix]
        counter[prefix] += 1
    return f"{prefix}_{number}"


@contextmanager
def name_guard() -> Iterator[None]:
    """Counts from zero inside the `with` block, in this thread, and goes on where it was after it."""
    _guards.counters.append(Counter())
    try:
        yield
    finally:
        _guards.counters.pop()
