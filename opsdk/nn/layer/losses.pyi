"""Losses as layers, each made from the function that it calls, whose options it keeps.

Written by `python -m tests.contracts.stubs`.
"""

from typing import Any

from opsdk.nn.layer.layer import Layer

class BCELoss(Layer):
    """`functional.binary_cross_entropy`, with its options."""

    def __init__(self, weight: Any = None, reduction: str = 'mean', name: str | None = None) -> None:
        ...

    def forward(self, input: Any, label: Any) -> Any:
        """Returns the loss of what the function compares. Differentiable."""

class BCEWithLogitsLoss(Layer):
    """`functional.binary_cross_entropy_with_logits`, with its options."""

    def __init__(self, weight: Any = None, reduction: str = 'mean', pos_weight: Any = None, name: str | None = None) -> None:
        ...

    def forward(self, logit: Any, label: Any) -> Any:
        """Returns the loss of what the function compares. Differentiable."""

class CrossEntropyLoss(Layer):
    """`functional.cross_entropy`, with its options."""

    def __init__(self, weight: Any = None, ignore_index: int = -100, reduction: str = 'mean', soft_label: bool = False, axis: int = -1, use_softmax: bool = True) -> None:
        ...

    def forward(self, input: Any, label: Any) -> Any:
        """Returns the loss of what the function compares. Differentiable."""

class HingeEmbeddingLoss(Layer):
    """`functional.hinge_embedding_loss`, with its options."""

    def __init__(self, margin: float = 1.0, reduction: str = 'mean', name: str | None = None) -> None:
        ...

    def forward(self, input: Any, label: Any) -> Any:
        """Returns the loss of what the function compares. Differentiable."""

class HuberLoss(Layer):
    """`functional.huber_loss`, with its options."""

    def __init__(self, reduction: str = 'mean', delta: float = 1.0) -> None:
        ...

    def forward(self, input: Any, label: Any) -> Any:
        """Returns the loss of what the function compares. Differentiable."""

class KLDivLoss(Layer):
    """`functional.kl_div`, with its options."""

    def __init__(self, reduction: str = 'mean', log_target: bool = False, name: str | None = None) -> None:
        ...

    def forward(self, input: Any, label: Any) -> Any:
        """Returns the loss of what the function compares. Differentiable."""

class L1Loss(Layer):
    """`functional.l1_loss`, with its options."""

    def __init__(self, reduction: str = 'mean', name: str | None = None) -> None:
        ...

    def forward(self, input: Any, label: Any) -> Any:
        """Returns the loss of what the function compares. Differentiable."""

class MarginRankingLoss(Layer):
    """`functional.margin_ranking_loss`, with its options."""

    def __init__(self, margin: float = 0.0, reduction: str = 'mean', name: str | None = None) -> None:
        ...

    def forward(self, input: Any, other: Any, label: Any) -> Any:
        """Returns the loss of what the function compares. Differentiable."""

class MSELoss(Layer):
    """`functional.mse_loss`, with its options."""

    def __init__(self, reduction: str = 'mean') -> None:
        ...

    def forward(self, input: Any, label: Any) -> Any:
        """Returns the loss of what the function compares. Differentiable."""

class NLLLoss(Layer):
    """`functional.nll_loss`, with its options."""

    def __init__(self, weight: Any = None, ignore_index: int = -100, reduction: str = 'mean', name: str | None = None) -> None:
        ...

    def forward(self, input: Any, label: Any) -> Any:
        """Returns the loss of what the function compares. Differentiable."""

class SmoothL1Loss(Layer):
    """`functional.smooth_l1_loss`, with its options."""

    def __init__(self, reduction: str = 'mean', delta: float = 1.0, is_huber: bool = True, name: str | None = None, *, beta: float | None = None) -> None:
        ...

    def forward(self, input: Any, label: Any) -> Any:
        """Returns the loss of what the function compares. Differentiable."""

class SoftMarginLoss(Layer):
    """`functional.soft_margin_loss`, with its options."""

    def __init__(self, reduction: str = 'mean', name: str | None = None) -> None:
        ...

    def forward(self, input: Any, label: Any) -> Any:
        """Returns the loss of what the function compares. Differentiable."""
