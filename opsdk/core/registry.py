"""Registry: a thread-safe table from names to values that never overwrites silently."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Generic, TypeVar

T = TypeVar("T")


class Registry(Generic[T]):
    """Names and what they stand for. Who may replace what is decided by the caller, under `lock`."""

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self._entries: dict[str, T] = {}
        self._scopes: list[list[Any]] = []  # of each block that is under way, in order, what it puts back at its end

    def get(self, name: str) -> T | None:
        """Returns the value of a name, or None."""
        return self._entries.get(name)

    def put(self, name: str, value: T) -> None:
        """Sets the value of a name."""
        with self.lock:
            self._entries = {**self._entries, name: value}  # readers keep a consistent table without locking

    def names(self) -> list[str]:
        """Returns all names, sorted."""
        return sorted(self._entries)

    def __iter__(self) -> Iterator[T]:
        entries = self._entries
        return iter([entries[name] for name in sorted(entries)])

    def __len__(self) -> int:
        return len(self._entries)

    def __contains__(self, name: object) -> bool:
        return name in self._entries

    @contextmanager
    def scoped(self) -> Iterator[None]:
        """Forgets, at the end of the `with` block, everything that was registered inside it.

        Of blocks that overlap, in several threads, the first to end forgets for those that began after it as well.
        """
        with self.lock:
            began = [self._state()]
            self._scopes.append(began)
        try:
            yield
        finally:
            with self.lock:
                self._put_back(began[0])
                at = next(i for i, one in enumerate(self._scopes) if one is began)
                for later in self._scopes[at + 1 :]:
                    later[:] = began
                del self._scopes[at]

    def _state(self) -> Any:
        """Returns what `_put_back` needs (any: a subclass has more to put back)."""
        return self._entries

    def _put_back(self, state: Any) -> None:
        self._entries = state
