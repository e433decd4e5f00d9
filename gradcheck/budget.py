"""The number of forward calls a run may make."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gradcheck.errors import UsageError

_DEFAULT = 30_000
_LEAST = 200


@dataclass
class Budget:
    """A count of forward calls, and how many are meant to be made."""

    total: int
    used: int = 0

    @classmethod
    def read(cls, budget: int | None) -> Budget:
        """Reads the caller's budget.

        Raises:
            UsageError: it is not an integer, or too small for one derivative with an error bar.
        """
        if budget is None:
            return cls(_DEFAULT)
        if isinstance(budget, bool) or not isinstance(budget, (int, np.integer)) or budget < _LEAST:
            raise UsageError(f"budget: expected an integer >= {_LEAST} forward calls or None, got {budget!r}; raise it")
        return cls(int(budget))

    @property
    def is_spent(self) -> bool:
        """Whether no calls are left."""
        return self.used >= self.total

    def elements(self, most: int, calls_each: int, share: float) -> int:
        """Gives how many elements can be measured singly, at `calls_each` calls, with a share of the total."""
        return int(np.clip(share * self.total / calls_each, 2, most))
