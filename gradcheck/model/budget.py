"""The number of forward calls, or the time, that a run may take."""

from __future__ import annotations

import time
from dataclasses import dataclass, field

import numpy as np

from gradcheck.errors import UsageError

# Half of it measures 64 elements of each of five inputs, by ladders of 42 calls; a twentieth, some at other values.
_DEFAULT = 30_000
# Numbers that a call may take and give before there are fewer calls, down to a tenth: with more it takes longer than
# what is done around it, and a tenth still measures some elements.
_SMALL = 10_000
_LEAST_SHARE = 10
# Half of it measures two elements, by ladders of 42 calls.
_LEAST = 200
# Seconds buy at most so many times the default, which is more than all elements that are ever measured need.
_MOST_TIMES = 100


@dataclass
class Budget:
    """A count of forward calls, and how many are meant to be made, at the latest until when.

    Args:
        total: forward calls.
        used: those made.
        seconds: for all of them; None means any time.
        is_default: nobody chose it.
    """

    total: int
    used: int = 0
    seconds: float | None = None
    is_default: bool = False
    started: float = field(default_factory=lambda: time.perf_counter())

    @classmethod
    def read(cls, budget: float | None) -> Budget:
        """Reads the caller's budget.

        Raises:
            UsageError: it is neither seconds > 0 nor a count that is enough for one derivative with an error bar.
        """
        if budget is None:
            return cls(_DEFAULT, is_default=True)
        if isinstance(budget, float):
            if not 0 < budget < np.inf:
                raise UsageError(f"budget: expected seconds > 0, got {budget!r}; an integer counts forward calls")
            return cls(_DEFAULT, seconds=budget)
        if isinstance(budget, bool) or not isinstance(budget, (int, np.integer)) or budget < _LEAST:
            raise UsageError(f"budget: expected an integer >= {_LEAST} forward calls or None, got {budget!r}; raise it")
        return cls(int(budget))

    @property
    def is_spent(self) -> bool:
        """Whether no calls, or no time, are left."""
        elapsed = time.perf_counter() - self.started
        return self.used >= self.total or (self.seconds is not None and elapsed >= self.seconds)

    def pace(self, seconds_each: float, numbers: int = 0) -> None:
        """Turns seconds into a number of calls that take so long each; the clock then only ends what took longer.

        The default becomes less where inputs and outputs together have many numbers, as then each call takes longer.
        """
        if self.is_default:
            self.total = int(np.clip(_DEFAULT * _SMALL / max(numbers, 1), _DEFAULT // _LEAST_SHARE, _DEFAULT))
        if self.seconds is not None:
            self.total = int(np.clip(self.seconds / max(seconds_each, 1e-9), _LEAST, _MOST_TIMES * _DEFAULT))

    def elements(self, most: int, calls_each: int, share: float) -> int:
        """Gives how many elements can be measured singly, at `calls_each` calls, with a share of the total."""
        return int(np.clip(share * self.total / calls_each, 2, most))
