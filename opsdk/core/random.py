"""The global seed: where ops that draw random numbers get theirs when the user gives none; and a seed per draw."""

from __future__ import annotations

import threading

import numpy as np

from opsdk.core.errors import AttributeValueError

_lock = threading.Lock()
_generators: list[np.random.Generator] = []  # one, once it is asked for: importing numpy.random costs 7 ms


def seed(value: int) -> None:
    """Sets the global seed, so that everything random that follows can be repeated.

    It starts the one stream of seeds that calls take theirs from, in both runtimes: equal calls in equal order draw
    equal numbers, a Program's in its first run in a Scope.

    Args:
        value: integer ≥ 0.

    Raises:
        AttributeValueError: the value is not a non-negative integer.
    """
    if not isinstance(value, (int, np.integer)) or isinstance(value, bool) or value < 0:
        raise AttributeValueError(f"seed: expected an integer ≥ 0, got {value!r}")
    with _lock:
        _generators[:] = [np.random.default_rng(int(value))]


_LOW = (1 << 31) - 1


def drawn(seed: int, count: int) -> int:
    """Returns the seed of one of many draws from one seed: the first has the seed itself, later ones others.

    Counter-based: it depends on nothing but the two, and 2³¹ draws from one seed have as many seeds. A seed of 31 bits
    gives seeds of 31 bits, which every generator takes.

    Args:
        seed: the key, ≥ 0.
        count: the number of the draw, from 0.
    """
    key = (seed ^ seed >> 31) * 0x9E3779B97F4A7C15 >> 17 & _LOW
    return seed ^ _scattered(key + count) ^ _scattered(key)


def _scattered(value: int) -> int:
    """Returns another number below 2³¹ for each: every step can be undone (the finalizer of MurmurHash3)."""
    value &= _LOW
    value = (value ^ value >> 16) * 0x05EBCA6B & _LOW
    value = (value ^ value >> 13) * 0x42B2AE35 & _LOW
    return value ^ value >> 16


def next_seed() -> int:
    """Returns a seed drawn from the global generator; a random op carries its seed as an attribute, to be replayed."""
    with _lock:
        if not _generators:
            _generators.append(np.random.default_rng())
        return int(_generators[0].integers(1, 2**31 - 1))
