"""Metric: what a measure over many batches is; a user's own derive from it."""

from __future__ import annotations

from typing import Any


# Any, in this file: tensors or arrays, and what measures are.
class Metric:
    """A measure over many batches: `update` takes what `compute` gave of a batch, `accumulate` gives the measure.

    A subclass defines `reset`, `update`, `accumulate` and `name`; `compute` passes on what it is given unless it does
    otherwise.
    """

    def reset(self) -> None:
        """Forgets all batches."""
        raise self._undefined("reset")

    def update(self, *args: Any) -> Any:
        """Adds a batch."""
        raise self._undefined("update")

    def accumulate(self) -> Any:
        """Returns the measure over all batches."""
        raise self._undefined("accumulate")

    def name(self) -> str | list[str]:
        """Returns the name under which it is reported."""
        raise self._undefined("name")

    def compute(self, *args: Any) -> Any:
        """Returns what `update` takes of a batch."""
        return args

    def _undefined(self, method: str) -> NotImplementedError:
        return NotImplementedError(f"metric {type(self).__name__}: expected it to define {method}")
