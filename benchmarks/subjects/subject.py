"""Subject: one way to do a piece of work, as text to be timed and as a function whose result is checked.

This file and its neighbours run inside workers, under interpreters that may not have opsdk: each imports its own
framework and NumPy only.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

SIZE = 16
SEED = 7


@dataclass(frozen=True)
class Subject:
    """One implementation of a custom or native ReLU.

    Args:
        name: what the tables call it.
        build: makes the names that the statements use (any: each framework's own objects).
        statements: statement by work: `forward`, `both`, `both_sum`; a work that is missing cannot be done.
        result: runs forward and backward once on the given names; returns value and gradient as arrays.
    """

    name: str
    build: Callable[[np.ndarray, np.ndarray], dict[str, Any]]
    statements: Mapping[str, str]
    result: Callable[[dict[str, Any]], tuple[np.ndarray, np.ndarray]]
    topic: str = "relu"

    def names(self) -> dict[str, Any]:
        """Returns the names of the statements."""
        return self.build(*arrays())

    def problem(self) -> str:
        """Returns what is wrong with the results, or nothing; a wrong one is not timed."""
        return problem_of(self)


def arrays() -> tuple[np.ndarray, np.ndarray]:
    """Returns the input and the cotangent that every subject gets, float32."""
    generator = np.random.default_rng(SEED)
    return generator.standard_normal(SIZE).astype(np.float32), generator.standard_normal(SIZE).astype(np.float32)


def problem_of(subject: Subject) -> str:
    """Returns what is wrong with a subject's results, or nothing; a wrong one is not timed."""
    x, dy = arrays()
    value, gradient = subject.result(subject.build(x.copy(), dy.copy()))
    if not np.array_equal(value, np.maximum(x, 0)):
        return f"wrong value: expected {np.maximum(x, 0)}, got {value}"
    if not np.array_equal(gradient, dy * (x > 0)):
        return f"wrong gradient: expected {dy * (x > 0)}, got {gradient}"
    return ""
