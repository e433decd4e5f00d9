"""Unique names: `relu_0`, `relu_1`, … counted per prefix, with a guard that starts afresh."""

from __future__ import annotations

import threading
from collections import Counter
from contextlib import AbstractContextManager

from opsdk.core.current import Current

_lock = threading.Lock()
_counter: Current[Counter[str]] = Current("names", Counter())


def unique_name(prefix: str) -> str:
    """Returns `prefix_N` with the lowest N not yet given out under this prefix."""
    counter = _counter.get()
    with _lock:
        number = counter[prefix]
        counter[prefix] += 1
    return f"{prefix}_{number}"


def name_guard() -> AbstractContextManager[None]:
    """Counts from zero inside the `with` block, in this thread or task, and goes on where it was after it."""
    return _counter.held(Counter())
