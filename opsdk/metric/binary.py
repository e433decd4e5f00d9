"""Precision and recall of a yes or no, over many batches."""

from __future__ import annotations

from typing import Any

import numpy as np

from opsdk.core.errors import AttributeValueError, ShapeError
from opsdk.metric.metric import Metric
from opsdk.ops.numpy_protocol import values_of


class _Counted(Metric):
    """Counts of what was said and what was so; a subclass says which share of them it is."""

    def __init__(self, name: str | None = None) -> None:
        self._name = name or type(self).__name__.lower()
        self.reset()

    def reset(self) -> None:
        """Forgets all batches."""
        self.tp = self.fp = self.fn = 0

    # Any: tensors or arrays.
    def update(self, preds: Any, labels: Any) -> None:
        """Adds a batch.

        Args:
            preds: probabilities of yes, in [0, 1], of shape (rows,) or (rows, 1); above 0.5 is yes.
            labels: 1 or 0, of as many rows.

        Raises:
            ShapeError: not one label for each probability; nothing was counted.
            AttributeValueError: a label is neither 0 nor 1, or a prediction is no probability.
        """
        said, so = np.asarray(values_of(preds)), np.asarray(values_of(labels))
        subject = type(self).__name__
        if any(each.ndim > 2 or each.shape[1:] not in ((), (1,)) for each in (said, so)) or len(said) != len(so):
            raise ShapeError(
                f"{subject}: expected one probability and one label per row, got shapes {said.shape} and {so.shape}"
            )
        said, so = said.reshape(-1), so.reshape(-1)
        if not np.isin(so, (0, 1)).all() or not ((said >= 0) & (said <= 1)).all():
            raise AttributeValueError(f"{subject}: expected probabilities in [0, 1] and labels 0 or 1, got others")
        yes, true = said > 0.5, so == 1
        self.tp += int((yes & true).sum())
        self.fp += int((yes & ~true).sum())
        self.fn += int((~yes & true).sum())

    def name(self) -> str:
        """Returns the name under which it is reported."""
        return self._name


class Precision(_Counted):
    """The share of those that were said yes to that are.

    Args:
        name: under which it is reported.
    """

    def accumulate(self) -> float:
        """Returns the share over all batches; 0 where yes was never said."""
        return self.tp / max(self.tp + self.fp, 1)


class Recall(_Counted):
    """The share of those that are, that were said yes to.

    Args:
        name: under which it is reported.
    """

    def accumulate(self) -> float:
        """Returns the share over all batches; 0 where none was."""
        return self.tp / max(self.tp + self.fn, 1)
