"""Losses as layers."""

from __future__ import annotations

from typing import Any

from opsdk.nn import functional
from opsdk.nn.layer.layer import Layer


# Any, in this file: tensors, variables or arrays.
class CrossEntropyLoss(Layer):
    """Softmax and cross entropy in one; the arguments are those of `functional.cross_entropy`."""

    def __init__(
        self,
        weight: Any = None,
        ignore_index: int = -100,
        reduction: str = "mean",
        soft_label: bool = False,
        axis: int = -1,
        use_softmax: bool = True,
    ) -> None:
        super().__init__()
        self.weight = weight
        self.ignore_index = ignore_index
        self.reduction = reduction
        self.soft_label = soft_label
        self.axis = axis
        self.use_softmax = use_softmax

    def forward(self, input: Any, label: Any) -> Any:
        """Returns the loss. Differentiable in the input."""
        return functional.cross_entropy(
            input,
            label,
            self.weight,
            self.ignore_index,
            self.reduction,
            self.soft_label,
            self.axis,
            self.use_softmax,
        )


class MSELoss(Layer):
    """Mean squared error.

    Args:
        reduction: mean, sum or none.
    """

    def __init__(self, reduction: str = "mean") -> None:
        super().__init__()
        self.reduction = reduction

    def forward(self, input: Any, label: Any) -> Any:
        """Returns the loss. Differentiable in both."""
        return functional.mse_loss(input, label, self.reduction)
