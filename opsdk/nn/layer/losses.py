"""Losses as layers, each made from the function that it calls, whose options it keeps."""

from __future__ import annotations

from collections.abc import Callable
from inspect import Parameter, Signature, signature
from typing import Any

from opsdk.nn import elementwise_loss as elementwise
from opsdk.nn import loss
from opsdk.nn.layer.layer import Layer

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
def _layer(name: str, function: Callable[..., Any]) -> type[Layer]:
    taken = signature(function).parameters.values()
    options = Signature([each for each in taken if each.default is not Parameter.empty], return_annotation=None)
    values = Signature([each for each in taken if each.default is Parameter.empty], return_annotation="Any")
    kept = [option for option in options.parameters if option != "name"]

    def start(self: Layer, *args: Any, **given: Any) -> None:
        bound = options.bind(*args, **given)
        bound.apply_defaults()
        Layer.__init__(self, bound.arguments.get("name"))
        reduction = bound.arguments["reduction"]
        if not (reduction == "batchmean" and function is elementwise.kl_div):
            loss.check_reduction(reduction, name)
        for option in kept:
            setattr(self, option, bound.arguments[option])

    def forward(self: Layer, *args: Any, **given: Any) -> Any:
        return function(*args, **given, **{option: getattr(self, option) for option in kept})

    about = f"`functional.{function.__name__}`, with its options."
    members: dict[str, Any] = {"__module__": __name__, "__doc__": about}
    of_layer = Parameter("self", Parameter.POSITIONAL_OR_KEYWORD)
    for method, called, takes, doc in (
        (start, "__init__", options, ""),
        (forward, "forward", values, "Returns the loss of what the function compares. Differentiable."),
    ):
        method.__name__, method.__qualname__, method.__doc__ = called, f"{name}.{called}", doc
        shown = takes.replace(parameters=[of_layer, *takes.parameters.values()])
        members[called], vars(method)["__signature__"] = method, shown
    return type(name, (Layer,), members)


_layers = {name: _layer(name, function) for name, function in FUNCTIONS.items()}
globals().update(_layers)

__all__ = [*_layers]
