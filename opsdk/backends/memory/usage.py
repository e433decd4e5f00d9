"""Memory for outputs, seen from outside: what the arena has, and how to make it give that up.

The flag `arena_limit_bytes` bounds what is held.
"""

from __future__ import annotations

from opsdk.backends.memory.arena import ARENA, MemoryStats

__all__ = ["MemoryStats", "release", "stats"]


def stats() -> MemoryStats:
    """Returns how much memory outputs use and how much is held for later ones.

    Example:
        >>> _ = release()
        >>> stats().held
        0
    """
    return ARENA.stats()


def release() -> int:
    """Gives all free blocks back to the OS; returns how many bytes that were."""
    return ARENA.release()
