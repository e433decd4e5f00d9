"""Bounded: a dictionary that keeps what came last, for caches whose keys users choose."""

from __future__ import annotations

import threading
from typing import TypeVar

K = TypeVar("K")
V = TypeVar("V")


class Bounded(dict[K, V]):
    """A dictionary of at most `limit` entries; a new one takes the place of the oldest.

    Look-ups cost what those of a dictionary cost. Several threads may enter, look up and clear.

    Args:
        limit: how many entries it holds, > 0.
    """

    __slots__ = ("_lock", "limit")

    def __init__(self, limit: int) -> None:
        super().__init__()
        self.limit = limit
        self._lock = threading.Lock()

    def __setitem__(self, key: K, value: V) -> None:
        with self._lock:
            if key not in self and len(self) >= self.limit:
                super().__delitem__(next(iter(self)))
            super().__setitem__(key, value)

    def clear(self) -> None:
        """Forgets every entry."""
        with self._lock:
            super().clear()
