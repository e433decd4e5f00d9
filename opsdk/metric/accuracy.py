"""Accuracy: the share of rows whose label is among the greatest scores."""

from __future__ import annotations

from typing import Any

import numpy as np

from opsdk.core.errors import AttributeValueError, ShapeError
from opsdk.metric.metric import Metric
from opsdk.ops import loss
from opsdk.ops.numpy_protocol import values_of


# Any, in this file: tensors, Program variables or arrays.
def accuracy(input: Any, label: Any, k: int = 1) -> Any:
    """Returns the share of rows whose label is among the k greatest scores.

    Args:
        input: float scores of shape (rows, classes).
        label: integer classes of shape (rows,) or (rows, 1).
        k: how many of the greatest count, ≥ 1.

    Returns:
        A 0-d float32 value. Not differentiable.

    Raises:
        AttributeValueError: k below 1.
        ShapeError: not one label per row.
    """
    return loss.among_best(input, label, k)


class Accuracy(Metric):
    """Accuracy over many batches, for one k or several.

    Args:
        topk: how many of the greatest scores count.
        name: under which it is reported.
    """

    def __init__(self, topk: tuple[int, ...] = (1,), name: str = "acc") -> None:
        if not topk or min(topk) < 1:
            raise AttributeValueError(f"Accuracy: topk expected numbers ≥ 1, got {topk}")
        self.topk = tuple(topk)
        self._name = name
        self.reset()

    def reset(self) -> None:
        """Forgets all batches."""
        self._hits = [0] * len(self.topk)
        self._rows = 0

    def compute(self, pred: Any, label: Any) -> np.ndarray:
        """Returns per row and rank whether the score of that rank is the label's.

        Args:
            pred: scores of shape (rows, classes), tensor or array.
            label: integer classes of shape (rows,) or (rows, 1).

        Returns:
            bool array of shape (rows, max(topk)).

        Raises:
            ShapeError: not one label per row.
        """
        scores, labels = np.asarray(values_of(pred)), np.asarray(values_of(label))
        classes = labels.reshape(-1, 1)
        if scores.ndim != 2 or classes.shape[0] != scores.shape[0]:
            raise ShapeError(
                f"Accuracy: expected scores (rows, classes) and one label per row, got {scores.shape} and "
                f"{labels.shape}"
            )
        best = loss.best_first(scores)[:, : max(self.topk)]
        return np.asarray(best == classes)

    def update(self, correct: Any) -> float | list[float]:
        """Adds a batch, as `compute` returns it; returns that batch's accuracy."""
        hits = np.asarray(values_of(correct))
        found = [int(hits[:, :k].any(axis=1).sum()) for k in self.topk]
        self._hits = [total + number for total, number in zip(self._hits, found, strict=True)]
        self._rows += len(hits)
        return _single([number / max(len(hits), 1) for number in found])

    def accumulate(self) -> float | list[float]:
        """Returns the accuracy over all batches; 0 before the first."""
        return _single([number / max(self._rows, 1) for number in self._hits])

    def name(self) -> str | list[str]:
        """Returns the name, with the ks where there are several."""
        return self._name if len(self.topk) == 1 else [f"{self._name}_top{k}" for k in self.topk]


def _single(values: list[float]) -> float | list[float]:
    return values[0] if len(values) == 1 else values
