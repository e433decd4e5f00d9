"""Losses as layers, each made from the function that it calls, whose options it keeps."""

from __future__ import annotations

from collections.abc import Callable
from inspect import Signature, signature
from typing import Any

from opsdk.nn import elementwise_loss as elementwise
from opsdk.nn import loss
from opsdk.nn.layer.layer import Layer
from opsdk.nn.layer.made import SELF, made

FUNCTIONS = {
    "BCELoss": elementwise.binary_cross_entropy,
    "BCEWithLogitsLoss": elementwise.binary_cross_entropy_with_logits,
    "CrossEntropyLoss": loss.cross_entropy,
    "HingeEmbeddingLoss": elementwise.hinge_embedding_loss,
    "HuberLoss": elementwise.huber_loss,
    "KLDivLoss": elementwise.kl_div,
    "L1Loss": elementwise.l1_loss,
    "MarginRankingLoss": elementwise.margin_ranking_loss,
    "MSELoss": loss.mse_loss,
    "NLLLoss": loss.nll_loss,
    "SmoothL1Loss": elementwise.smooth_l1_loss,
    "SoftMarginLoss": elementwise.soft_margin_loss,
}


# Any, in this file: tensors, variables or arrays, and the same out; options, and functions of any signature.
class _Loss(Layer):
    _takes_batchmean: bool

    def _begin(self, *, name: str | None = None, **told: Any) -> None:
        super().__init__(name)
        if not (told["reduction"] == "batchmean" and self._takes_batchmean):
            loss.check_reduction(told["reduction"], type(self).__name__)
        self._kept = tuple(told)
        for option, value in told.items():
            setattr(self, option, value)


def _layer(name: str, function: Callable[..., Any]) -> Any:
    taken = signature(function).parameters.values()
    options = [each for each in taken if each.default is not each.empty]
    values = [each for each in taken if each.default is each.empty]

    def forward(self: Any, *values: Any, **named: Any) -> Any:
        """Returns the loss of what the function compares. Differentiable."""
        return function(*values, **named, **{option: getattr(self, option) for option in self._kept})

    forward.__signature__ = Signature([SELF, *values], return_annotation="Any")  # type: ignore[attr-defined]
    doc = f"`functional.{function.__name__}`, with its options."
    own = {"forward": forward, "_takes_batchmean": function is elementwise.kl_div}
    return made(__name__, name, (_Loss,), Signature(options), doc, **own)


_layers = {name: _layer(name, function) for name, function in FUNCTIONS.items()}
globals().update(_layers)

__all__ = [*_layers]
