"""The global seed: where ops that draw random numbers get theirs when the user gives none."""

from __future__ import annotations

import threading

import numpy as np

from opsdk.core.errors import AttributeValueError

_lock = threading.Lock()
_generator = np.random.default_rng(np.random.SeedSequence().entropy)


def seed(value: int) -> None:
    """Sets the global seed, so that everything random that follows can be repeated.

    Args:
        value: integer ≥ 0.

    Raises:
        AttributeValueError: the value is not a non-negative integer.
    """
    global _generator
    if not isinstance(value, (int, np.integer)) or isinstance(value, bool) or value < 0:
        raise AttributeValueError(f"seed: expected an integer ≥ 0, got {value!r}")
    with _lock:
        _generator = np.random.default_rng(int(value))


def next_seed() -> int:
    """Returns a seed drawn from the global generator; random ops carry theirs as an attribute, and so can be replayed."""
    with _lock:
        return int(_generator.integers(1, 2**31 - 1))
