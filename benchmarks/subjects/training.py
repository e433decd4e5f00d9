"""What a training loop adds to forward and backward: gradients arrive, a step is made, they are cleared."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

RATE = 1e-3
SEED = 13
TOLERANCE = 1e-6


@dataclass(frozen=True)
class Trained:
    """Parameters of one size, and the optimizer that changes them.

    Args:
        optimizer: `SGD`, `Momentum` of 0.9, or `Adam`.
        count: how many parameters.
        size: float32 elements of each.
    """

    optimizer: str
    count: int
    size: int

    @property
    def work(self) -> str:
        """What is measured."""
        of = f"{self.count} parameters of {self.size}" if self.count > 1 else "a parameter of 1 M"
        return f"{self.optimizer}, {of}"


SMALL = 100
WORKS = tuple(
    Trained(optimizer, count, size)
    for count, size in ((1, 1 << 20), (SMALL, 16))
    for optimizer in ("SGD", "Momentum", "Adam")
)
TOGETHER = "give(); optimizer.step(); clear()"  # in every framework


def arrays(work: Trained) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """Returns parameters and their gradients."""
    generator = np.random.default_rng(SEED)
    made = generator.standard_normal((2, work.count, work.size), dtype=np.float32)
    return [*made[0].copy()], [*made[1].copy()]


def expected(work: Trained) -> np.ndarray:
    """Returns the first parameter behind a first step, in float64."""
    params, grads = arrays(work)
    grad = grads[0].astype(np.float64)
    return params[0] - RATE * (grad / (np.abs(grad) + 1e-8) if work.optimizer == "Adam" else grad)


@dataclass(frozen=True)
class Loop:
    """One way to do a work.

    Args:
        name: what the tables call it.
        trained: the work.
        build: makes the names of the statement from parameters and gradients (any: each framework's own objects).
        statement: what is timed.
        value: returns the first parameter; None where the statement makes no step.
    """

    name: str
    trained: Trained
    build: Callable[[Trained, list[np.ndarray], list[np.ndarray]], dict[str, Any]]
    statement: str
    value: Callable[[dict[str, Any]], np.ndarray] | None = None
    topic: str = "training"

    @property
    def statements(self) -> Mapping[str, str]:
        """The statement by work."""
        return {self.trained.work: self.statement}

    def names(self) -> dict[str, Any]:
        """Returns the names of the statement."""
        return self.build(self.trained, *arrays(self.trained))

    def problem(self) -> str:
        """Returns what is wrong with a first step, or nothing."""
        if self.value is None:
            return ""
        names, wanted = self.names(), expected(self.trained)
        exec(self.statement, names)
        found = self.value(names)
        apart = float(np.max(np.abs(found - wanted)))
        return "" if apart <= TOLERANCE else f"{self.trained.work}: a first step is {apart:.1e} from the formula's"
