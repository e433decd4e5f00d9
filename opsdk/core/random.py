"""The global seed: where ops that draw random numbers get theirs when the user gives none."""

from __future__ import annotations

import threading

import numpy as np

from opsdk.core.errors import AttributeValueError

_lock = threading.Lock()
_generators: list[np.random.Generator] = []  # one, once it is asked for: importing numpy.random costs 7 ms


def seed(value: int) -> None:
    """Sets the global seed, so that everything random that follows can be repeated.

    Args:
        value: integer ≥ 0.

    Raises:
        AttributeValueError: the value is not a non-negative integer.
    """
    if not isinstance(value, (int, np.integer)) or isinstance(value, bool) or value < 0:
        raise AttributeValueError(f"seed: expected an integer ≥ 0, got {value!r}")
    with _lock:
        _generators[:] = [np.random.default_rng(int(value))]


def next_seed() -> int:
    """Returns a seed drawn from the global generator; a random op carries its seed as an attribute, to be replayed."""
    with _lock:
        if not _generators:
            _generators.append(np.random.default_rng())
        return int(_generators[0].integers(1, 2**31 - 1))
