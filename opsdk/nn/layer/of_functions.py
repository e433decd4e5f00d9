"""Layers without parameters, each a line of a table: the function that it calls, with the options that it keeps."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any

from opsdk.nn import elementwise_loss, functional
from opsdk.nn.functions import gates, images, margin_loss, words
from opsdk.nn.layer.layer import Layer
from opsdk.nn.loss import check_reduction, cross_entropy, mse_loss, nll_loss
from opsdk.nn.windows import FORMATS

_KEYWORD = inspect.Parameter.KEYWORD_ONLY
_OWN = ("name", "target", "training")  # parameters of a function that no layer keeps


# Any, in this file: tensors, variables or arrays, and the same out; options of every kind.
def _layer(
    name: str,
    function: Callable[..., Any],
    taken: int = 1,
    order: str = "",
    fixed: Mapping[str, Any] = {},
    shown: bool = True,
    **defaults: Any,
) -> type[Layer]:
    """Returns a layer.

    Args:
        name: what it is called.
        function: what it calls.
        taken: how many of the function's first parameters a call of the layer gives; it is made with the others.
        order: these, where theirs is another one than the function's.
        fixed: arguments of the function that it is not made with.
        shown: whether what differs from the defaults is printed.
        defaults: of parameters that the function has no default for, or another.
    """
    own = {name: each for name, each in inspect.signature(function).parameters.items() if name != "inplace"}
    values, options = [*own][:taken], [each for each in [*own][taken:] if each not in (*_OWN, *fixed)]
    trains, listed = "training" in own, order.split() or options
    in_place = function.__name__ in words.IN_PLACE
    self = inspect.Parameter("self", inspect.Parameter.POSITIONAL_OR_KEYWORD)
    made = [own[each].replace(default=defaults.get(each, own[each].default)) for each in listed]
    last = inspect.Parameter("name", inspect.Parameter.POSITIONAL_OR_KEYWORD, default=None, annotation="str | None")
    keyword = [each for each in made if each.kind is inspect.Parameter.KEYWORD_ONLY]
    if in_place:
        keyword.append(inspect.Parameter("inplace", _KEYWORD, default=False, annotation="bool"))
    signature = inspect.Signature([each for each in made if each not in keyword] + [last, *keyword])

    def __init__(self: Layer, *args: Any, **kwargs: Any) -> None:
        told = signature.bind(*args, **words.in_our_words(kwargs, signature.parameters, name))
        told.apply_defaults()
        Layer.__init__(self, told.arguments.pop("name"))
        if "reduction" in told.arguments and not (name == "KLDivLoss" and told.arguments["reduction"] == "batchmean"):
            check_reduction(told.arguments["reduction"], name)
        for option, value in told.arguments.items():
            setattr(self, option, value)

    def forward(self: Layer, *args: Any, **kwargs: Any) -> Any:
        kept = {option: getattr(self, option) for option in (*options, *(("inplace",) if in_place else ()))}
        more = words.in_our_words(kwargs, own, name) if kwargs else {}
        return function(*args, **{**fixed, **kept, **({"training": self.training} if trains else {}), **more})

    def extra_repr(self: Layer) -> str:
        told = ((option, getattr(self, option), signature.parameters[option].default) for option in listed)
        return ", ".join(f"{option}={value}" for option, value, default in told if not _is(value, default))

    said = [inspect.Parameter(each, inspect.Parameter.POSITIONAL_OR_KEYWORD, annotation="Any") for each in values]
    heads = {
        __init__: inspect.Signature([self, *signature.parameters.values()], return_annotation="None"),
        forward: inspect.Signature([self, *said], return_annotation="Any"),
    }
    for method, head in heads.items():
        method.__signature__ = head  # type: ignore[attr-defined]
    forward.__doc__ = "Returns what the function does of these. Differentiable as that is."
    extra_repr.__doc__ = "Returns what it was made with."
    spelt = f"functional.{function.__name__}" if hasattr(functional, function.__name__) else function.__name__
    with_ = f", with {', '.join(f'{each}={value!r}' for each, value in fixed.items())}" if fixed else ""
    members = {"__module__": __name__, "__doc__": f"`{spelt}` as a layer, made with its options{with_}."}
    members |= {"__init__": __init__, "forward": forward}
    if shown and listed:
        members["extra_repr"] = extra_repr
    for method in (__init__, forward, extra_repr):
        method.__qualname__, method.__module__ = f"{name}.{method.__name__}", __name__
    return type(name, (Layer,), members)


def _is(value: Any, default: Any) -> bool:
    return value is default or (type(value) is type(default) and not hasattr(value, "shape") and value == default)


def _loss(name: str, function: Callable[..., Any], taken: int = 2) -> type[Layer]:
    return _layer(name, function, taken, shown=False)


def _pads(axes: int) -> list[type[Layer]]:
    """Returns the layers that pad so many axes, in both spellings."""
    around, found = images.PADS[axes], [_layer(f"Pad{axes}D", images.PADS[axes])]
    for axis in ("D", "d"):
        for kind, fixed in {
            "Zero": {"mode": "constant", "value": 0.0},
            "Constant": {"mode": "constant"},
            "Reflection": {"mode": "reflect", "value": 0.0},
            "Replication": {"mode": "replicate", "value": 0.0},
            "Circular": {"mode": "circular", "value": 0.0},
        }.items():
            found.append(_layer(f"{kind}Pad{axes}{axis}", around, fixed=fixed))
    return found


class Identity(Layer):
    """Gives what it is given; whatever it is made with is without meaning, as in Paddle and PyTorch."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__()

    def forward(self, x: Any) -> Any:
        """Returns x itself."""
        return x


def softmax_of_channels(x: Any) -> Any:
    """Returns softmax over the channels of images (N, C, H, W) or (C, H, W)."""
    return functional.softmax(x, -3)


_WINDOWS = "kernel_sizes dilations paddings strides"
_NEAREST, _BILINEAR = (
    {"mode": mode, "align_mode": 0, "recompute_scale_factor": None} for mode in ("nearest", "bilinear")
)
_LAYERS = (
    _layer("GLU", gates.glu),
    _layer("Maxout", gates.maxout),
    _layer("Softmin", gates.softmin),
    _layer("Threshold", gates.threshold),
    _layer("RReLU", gates.rrelu),
    *(_layer(name, softmax_of_channels) for name in ("Softmax2D", "Softmax2d")),
    _layer("PixelShuffle", images.pixel_shuffle),
    _layer("PixelUnshuffle", images.pixel_unshuffle),
    _layer("ChannelShuffle", images.channel_shuffle),
    _layer("Unfold", images.unfold, order=_WINDOWS),
    _layer("Fold", images.fold, order=f"output_sizes {_WINDOWS}"),
    _layer("LocalResponseNorm", images.local_response_norm),
    _layer("Unflatten", images.unflatten),
    *(layer for axes in FORMATS for layer in _pads(axes)),
    *(_layer(f"LPPool{n}{d}", pool) for n, pool in enumerate(images.LP_POOLS, 1) for d in "Dd"),
    *(_layer(f"MaxUnPool{n}D", unpool, 2) for n, unpool in enumerate(images.MAX_UNPOOLS, 1)),
    *(_layer(f"MaxUnpool{n}d", unpool, 2) for n, unpool in enumerate(images.MAX_UNPOOLS, 1)),
    _layer("Upsample", functional.upsample),
    *(_layer(f"UpsamplingNearest2{d}", functional.upsample, fixed={**_NEAREST, "align_corners": False}) for d in "Dd"),
    *(_layer(f"UpsamplingBilinear2{d}", functional.upsample, fixed={**_BILINEAR, "align_corners": True}) for d in "Dd"),
    _layer("CosineSimilarity", functional.cosine_similarity, 2),
    _layer("PairwiseDistance", functional.pairwise_distance, 2),
    _loss("BCELoss", elementwise_loss.binary_cross_entropy),
    _loss("BCEWithLogitsLoss", elementwise_loss.binary_cross_entropy_with_logits),
    _loss("L1Loss", elementwise_loss.l1_loss),
    _loss("SmoothL1Loss", elementwise_loss.smooth_l1_loss),
    _loss("HuberLoss", elementwise_loss.huber_loss),
    _loss("KLDivLoss", elementwise_loss.kl_div),
    _loss("NLLLoss", nll_loss),
    _loss("HingeEmbeddingLoss", elementwise_loss.hinge_embedding_loss),
    _loss("SoftMarginLoss", elementwise_loss.soft_margin_loss),
    _loss("MarginRankingLoss", elementwise_loss.margin_ranking_loss, 3),
    _loss("CrossEntropyLoss", cross_entropy),
    _loss("MSELoss", mse_loss),
    _loss("CosineEmbeddingLoss", margin_loss.cosine_embedding_loss, 3),
    _loss("GaussianNLLLoss", margin_loss.gaussian_nll_loss, 3),
    _loss("PoissonNLLLoss", margin_loss.poisson_nll_loss),
    _loss("MultiMarginLoss", margin_loss.multi_margin_loss),
    _loss("MultiLabelMarginLoss", margin_loss.multi_label_margin_loss),
    _loss("MultiLabelSoftMarginLoss", margin_loss.multi_label_soft_margin_loss),
    _layer("CTCLoss", functional.ctc_loss, 4, order="blank reduction zero_infinity", fixed={"norm_by_times": False}),
    _loss("TripletMarginLoss", margin_loss.triplet_margin_loss, 3),
    _loss("TripletMarginWithDistanceLoss", margin_loss.triplet_margin_with_distance_loss, 3),
)
globals().update({each.__name__: each for each in _LAYERS})

__all__ = ["Identity", *(each.__name__ for each in _LAYERS)]
