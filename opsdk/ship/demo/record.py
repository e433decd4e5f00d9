"""Records of runs: what was trained, how it went, and the parameters that came out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

Tick = Callable[[int], None]  # told after each epoch how many are done


@dataclass(frozen=True)
class Epoch:
    """The mean training loss over an epoch's batches, and the test accuracy after it."""

    loss: float
    accuracy: float


@dataclass(frozen=True)
class Run:
    """One training.

    Args:
        mode: `dynamic` or `static`.
        relu: `custom` or `built-in`.
        row: the language of the kernel row that ran.
        epochs: in order.
        seconds: of training, tests included.
        parameters: the final ones, in the order of the initial ones.
    """

    mode: str
    relu: str
    row: str
    epochs: tuple[Epoch, ...]
    seconds: float
    parameters: tuple[np.ndarray, ...]

    @property
    def name(self) -> str:
        """Mode, ReLU and row."""
        return f"{self.mode}, {self.relu} ({self.row})"

    @property
    def last(self) -> Epoch:
        """The last epoch."""
        return self.epochs[-1]


def same_bits(first: Run, second: Run) -> bool:
    """Whether two runs ended with the same parameters, byte for byte."""
    pairs = zip(first.parameters, second.parameters, strict=True)
    return all(a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes() for a, b in pairs)


def largest_difference(first: Run, second: Run) -> float:
    """Returns the greatest absolute difference between the final parameters of two runs."""
    pairs: Sequence[tuple[np.ndarray, np.ndarray]] = list(zip(first.parameters, second.parameters, strict=True))
    return max(float(np.abs(a - b).max()) for a, b in pairs)
