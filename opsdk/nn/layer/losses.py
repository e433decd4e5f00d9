"""Losses as layers, each of the function that it calls and the options that it keeps for it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from opsdk.nn import elementwise_loss as functions
from opsdk.nn.layer.layer import Layer
from opsdk.nn.loss import check_reduction, nll_loss


# Any, in this file: tensors, variables or arrays, and the same out.
class _Loss(Layer):
    _function: Callable[..., Any]

    def __init__(self, name: str | None, **options: Any) -> None:
        super().__init__(name)
        if not (options["reduction"] == "batchmean" and type(self) is KLDivLoss):
            check_reduction(options["reduction"], type(self).__name__)
        self._names = tuple(options)
        for option, value in options.items():
            setattr(self, option, value)

    def forward(self, *values: Any) -> Any:
        """Returns the loss of what the function compares. Differentiable."""
        return type(self)._function(*values, **{name: getattr(self, name) for name in self._names})


class BCELoss(_Loss):
    """`functional.binary_cross_entropy`, with its arguments."""

    _function = staticmethod(functions.binary_cross_entropy)

    def __init__(self, weight: Any = None, reduction: str = "mean", name: str | None = None) -> None:
        super().__init__(name, weight=weight, reduction=reduction)


class BCEWithLogitsLoss(_Loss):
    """`functional.binary_cross_entropy_with_logits`, with its arguments."""

    _function = staticmethod(functions.binary_cross_entropy_with_logits)

    def __init__(
        self, weight: Any = None, reduction: str = "mean", pos_weight: Any = None, name: str | None = None
    ) -> None:
        super().__init__(name, weight=weight, reduction=reduction, pos_weight=pos_weight)


class L1Loss(_Loss):
    """`functional.l1_loss`, with its arguments."""

    _function = staticmethod(functions.l1_loss)

    def __init__(self, reduction: str = "mean", name: str | None = None) -> None:
        super().__init__(name, reduction=reduction)


class SmoothL1Loss(_Loss):
    """`functional.smooth_l1_loss`, with its arguments."""

    _function = staticmethod(functions.smooth_l1_loss)

    def __init__(
        self,
        reduction: str = "mean",
        delta: float = 1.0,
        is_huber: bool = True,
        name: str | None = None,
        *,
        beta: float | None = None,
    ) -> None:
        super().__init__(name, reduction=reduction, delta=delta, is_huber=is_huber, beta=beta)


class HuberLoss(_Loss):
    """`functional.huber_loss`, with its arguments."""

    _function = staticmethod(functions.huber_loss)

    def __init__(self, reduction: str = "mean", delta: float = 1.0) -> None:
        super().__init__(None, reduction=reduction, delta=delta)


class KLDivLoss(_Loss):
    """`functional.kl_div`, with its arguments."""

    _function = staticmethod(functions.kl_div)

    def __init__(self, reduction: str = "mean", log_target: bool = False) -> None:
        super().__init__(None, reduction=reduction, log_target=log_target)


class NLLLoss(_Loss):
    """`functional.nll_loss`, with its arguments."""

    _function = staticmethod(nll_loss)

    def __init__(
        self, weight: Any = None, ignore_index: int = -100, reduction: str = "mean", name: str | None = None
    ) -> None:
        super().__init__(name, weight=weight, ignore_index=ignore_index, reduction=reduction)


class HingeEmbeddingLoss(_Loss):
    """`functional.hinge_embedding_loss`, with its arguments."""

    _function = staticmethod(functions.hinge_embedding_loss)

    def __init__(self, margin: float = 1.0, reduction: str = "mean", name: str | None = None) -> None:
        super().__init__(name, margin=margin, reduction=reduction)


class SoftMarginLoss(_Loss):
    """`functional.soft_margin_loss`, with its arguments."""

    _function = staticmethod(functions.soft_margin_loss)

    def __init__(self, reduction: str = "mean", name: str | None = None) -> None:
        super().__init__(name, reduction=reduction)


class MarginRankingLoss(_Loss):
    """`functional.margin_ranking_loss`, with its arguments."""

    _function = staticmethod(functions.margin_ranking_loss)

    def __init__(self, margin: float = 0.0, reduction: str = "mean", name: str | None = None) -> None:
        super().__init__(name, margin=margin, reduction=reduction)


LAYERS = (
    BCELoss,
    BCEWithLogitsLoss,
    L1Loss,
    SmoothL1Loss,
    HuberLoss,
    KLDivLoss,
    NLLLoss,
    HingeEmbeddingLoss,
    SoftMarginLoss,
    MarginRankingLoss,
)
