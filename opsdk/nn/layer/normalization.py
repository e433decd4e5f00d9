"""Normalization as layers, in Paddle's words and in PyTorch's."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from opsdk.autograd.tensor import Tensor
from opsdk.core.dtype import DTypeLike
from opsdk.core.errors import AttributeValueError, ShapeError
from opsdk.nn import functional
from opsdk.nn.layer.layer import Layer
from opsdk.nn.layer.torch_layout import TorchEntry, TorchLayout
from opsdk.nn.normalization import sizes_of
from opsdk.nn.windows import FORMATS
from opsdk.ops.initializer import Constant, ParamAttr
from opsdk.ops.nets.batch_norm import batch_norm


# Any, in this file: forms of `as_param_attr`, values of every runtime.
class _Norm(Layer):
    """What all of them are: a scale that is 1 at first, and a shift that is 0, where they are not left out."""

    def _create(self, shape: Any, weight_attr: Any, bias_attr: Any, weight: str = "weight") -> None:
        setattr(self, weight, self.create_parameter(shape, weight_attr, default_initializer=Constant(1.0)))
        self.bias = self.create_parameter(shape, bias_attr, is_bias=True)

    def _check_rank(self, x: Any, ranks: tuple[int, ...]) -> None:
        ndim = len(getattr(x, "shape", ()))
        if ndim not in ranks:
            wanted = " or ".join(map(str, ranks))
            raise ShapeError(f"{type(self).__name__}: x expected {wanted} axes, got shape {tuple(x.shape)}")


class _BatchNorm(_Norm):
    """What those of batches are; a subclass says for how many axes, and in whose words."""

    axes: int
    unbiased = False

    def _normalized(self, x: Any, weight: Any, kept: tuple[Any, ...], **attrs: Any) -> Any:
        self._check_rank(x, (2, 3) if self.axes == 1 else (self.axes + 2,))
        return batch_norm(x, weight, self.bias, *kept, **attrs, unbiased=self.unbiased)[0]


class _PaddleBatchNorm(_BatchNorm):
    torch_layout = TorchLayout(
        {"_mean": TorchEntry("running_mean"), "_variance": TorchEntry("running_var")}, {"num_batches_tracked": 0}
    )

    def __init__(
        self,
        num_features: int,
        momentum: float = 0.9,
        epsilon: float = 1e-05,
        weight_attr: Any = None,
        bias_attr: Any = None,
        data_format: str | None = None,
        use_global_stats: bool | None = None,
        name: str | None = None,
    ) -> None:
        super().__init__(name)
        self.num_features = _count(self, "num_features", num_features)
        self.momentum, self.epsilon, self.use_global_stats = momentum, epsilon, use_global_stats
        self.data_format = data_format or FORMATS[self.axes][0]
        formats = (*FORMATS[self.axes], *(["NC"] if self.axes == 1 else []))
        if self.data_format not in formats:
            wanted = ", ".join(formats)
            raise AttributeValueError(
                f"{type(self).__name__}: data_format expected one of {wanted}, got {data_format!r}"
            )
        self._create((num_features,), weight_attr, bias_attr)
        for kept, value in (("_mean", 0.0), ("_variance", 1.0)):
            setattr(
                self, kept, self.create_parameter((num_features,), ParamAttr(None, Constant(value), trainable=False))
            )

    def forward(self, x: Any) -> Any:
        """Returns x normalized, in training by its own statistics, which the running ones go towards."""
        training = self.training if self.use_global_stats is None else not self.use_global_stats
        attrs = {"training": training, "momentum": self.momentum, "epsilon": self.epsilon}
        last = self.data_format == FORMATS[self.axes][1] and len(x.shape) > 2
        return self._normalized(x, self.weight, (self._mean, self._variance), **attrs, channels_last=last)

    def extra_repr(self) -> str:
        """Returns what it was made with."""
        layout = "" if self.data_format == "NCHW" else f", data_format={self.data_format}"
        return f"num_features={self.num_features}, momentum={self.momentum}, epsilon={self.epsilon}{layout}"


class _TorchBatchNorm(_BatchNorm):
    unbiased = True

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-05,
        momentum: float | None = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
        device: Any = None,
        dtype: DTypeLike | None = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__(dtype=dtype or "float32")
        self.num_features = _count(self, "num_features", num_features)
        self.eps, self.momentum, self.affine, self.track_running_stats = eps, momentum, affine, track_running_stats
        self._create((num_features,), bool(affine), bool(affine and bias))
        kept = {"running_mean": np.zeros(num_features), "running_var": np.ones(num_features)}
        for name, values in kept.items():
            self.register_buffer(name, Tensor(values.astype(self._dtype)) if track_running_stats else None)
        self.register_buffer("num_batches_tracked", Tensor(np.array(0)) if track_running_stats else None)
        self.to(device)

    def forward(self, x: Any) -> Any:
        """Returns x normalized, in training by its own statistics, which the running ones go towards."""
        kept = self.running_mean, self.running_var, self.num_batches_tracked
        momentum = None if self.momentum is None else 1 - self.momentum
        training = self.training or self.running_mean is None
        return self._normalized(x, self.weight, kept, training=training, momentum=momentum, epsilon=self.eps)

    def extra_repr(self) -> str:
        """Returns what it was made with."""
        options = f"affine={self.affine}, bias={self.bias is not None}, track_running_stats={self.track_running_stats}"
        return f"{self.num_features}, eps={self.eps}, momentum={self.momentum}, {options}"


class _InstanceNorm(_Norm):
    axes: int
    torch_layout = TorchLayout({"scale": TorchEntry("weight")})

    def __init__(
        self,
        num_features: int,
        epsilon: float = 1e-05,
        momentum: float = 0.9,
        weight_attr: Any = None,
        bias_attr: Any = None,
        data_format: str | None = None,
        name: str | None = None,
    ) -> None:
        super().__init__(name)
        self.num_features, self.epsilon, self.momentum = _count(self, "num_features", num_features), epsilon, momentum
        self.data_format = data_format or FORMATS[self.axes][0]
        self._create((num_features,), weight_attr, bias_attr, "scale")

    def forward(self, x: Any) -> Any:
        """Returns x with each channel of each instance normalized."""
        self._check_rank(x, (self.axes + 2,))
        options = {"eps": self.epsilon, "data_format": self.data_format}
        return functional.instance_norm(x, weight=self.scale, bias=self.bias, **options)

    def extra_repr(self) -> str:
        """Returns what it was made with."""
        return f"num_features={self.num_features}, epsilon={self.epsilon}"


class _TorchInstanceNorm(_Norm):
    axes: int

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-05,
        momentum: float = 0.1,
        affine: bool = False,
        track_running_stats: bool = False,
        device: Any = None,
        dtype: DTypeLike | None = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__(dtype=dtype or "float32")
        if track_running_stats:
            raise AttributeValueError(
                f"{type(self).__name__}: track_running_stats expected False, got True; statistics are those of each "
                f"instance, BatchNorm{self.axes}d keeps running ones"
            )
        self.num_features, self.eps, self.momentum = _count(self, "num_features", num_features), eps, momentum
        self.affine, self.track_running_stats = affine, track_running_stats
        self._create((num_features,), bool(affine), bool(affine and bias))
        self.to(device)

    def forward(self, x: Any) -> Any:
        """Returns x with each channel of each instance normalized."""
        self._check_rank(x, (self.axes + 2,))
        return functional.instance_norm(x, weight=self.weight, bias=self.bias, eps=self.eps)

    extra_repr = _TorchBatchNorm.extra_repr


class LayerNorm(_Norm):
    """Mean 0 and variance 1 over the last axes, times a weight, plus a bias; see `functional.layer_norm`.

    Args:
        normalized_shape: the sizes of these axes.
        epsilon: added to the variance, > 0.
        elementwise_affine: False for neither weight nor bias.
        bias: False for no bias.
        dtype: of the parameters.
        weight_attr: a `ParamAttr`, initializer or name; ones unless said otherwise; False for no weight.
        bias_attr: the same for the bias, zeros unless said otherwise; False for no bias.
        name: start of the layer's unique name.
        eps: `epsilon`, in PyTorch's words.

    Attributes:
        weight: of all these sizes in one line, as in Paddle, or None. PyTorch's has them as axes.
        bias: likewise.
    """

    def __init__(
        self,
        normalized_shape: Any,
        epsilon: float = 1e-05,
        *,
        elementwise_affine: bool = True,
        bias: bool = True,
        dtype: DTypeLike = "float32",
        weight_attr: Any = None,
        bias_attr: Any = None,
        name: str | None = None,
        eps: float | None = None,
    ) -> None:
        super().__init__(name, dtype)
        self.normalized_shape = sizes_of(normalized_shape, "LayerNorm")
        self.epsilon = epsilon if eps is None else eps
        count = (math.prod(self.normalized_shape),)
        self._create(
            count, weight_attr if elementwise_affine else False, bias_attr if elementwise_affine and bias else False
        )

    @property
    def torch_layout(self) -> TorchLayout:  # type: ignore[override]
        """How it lies in PyTorch, whose weight has the shape that is normalized."""
        there = tuple(self.normalized_shape)
        return TorchLayout({name: TorchEntry(name, shape=there) for name in ("weight", "bias")})

    def forward(self, x: Any) -> Any:
        """Returns x with its last axes normalized. Differentiable."""
        return functional.layer_norm(x, self.normalized_shape, self.weight, self.bias, self.epsilon)

    def extra_repr(self) -> str:
        """Returns what it was made with."""
        return f"normalized_shape={self.normalized_shape}, epsilon={self.epsilon}"


class GroupNorm(_Norm):
    """Mean 0 and variance 1 for each group of channels of each instance; see `functional.group_norm`.

    Args:
        num_groups: how many groups; divides num_channels.
        num_channels: of the input.
        epsilon: added to the variance, > 0.
        affine: False for neither weight nor bias.
        dtype: of the parameters.
        weight_attr: a `ParamAttr`, initializer or name; ones unless said otherwise; False for no weight.
        bias_attr: the same for the bias, zeros unless said otherwise; False for no bias.
        data_format: NCHW and the like, or NHWC.
        name: start of the layer's unique name.
        eps: `epsilon`, in PyTorch's words.

    Attributes:
        weight: of shape (num_channels,), or None.
        bias: likewise.

    Raises:
        AttributeValueError: the groups do not divide the channels, which Paddle says at the first call.
    """

    def __init__(
        self,
        num_groups: int,
        num_channels: int,
        epsilon: float = 1e-05,
        *,
        affine: bool = True,
        dtype: DTypeLike = "float32",
        weight_attr: Any = None,
        bias_attr: Any = None,
        data_format: str = "NCHW",
        name: str | None = None,
        eps: float | None = None,
    ) -> None:
        super().__init__(name, dtype)
        self.num_groups, self.num_channels = _count(self, "num_groups", num_groups), num_channels
        if _count(self, "num_channels", num_channels) % num_groups:
            raise AttributeValueError(
                f"GroupNorm: num_groups expected to divide num_channels, got {num_groups} and {num_channels}"
            )
        self.epsilon, self.data_format = epsilon if eps is None else eps, data_format
        self._create((num_channels,), weight_attr if affine else False, bias_attr if affine else False)

    def forward(self, x: Any) -> Any:
        """Returns x with each group of channels normalized. Differentiable."""
        return functional.group_norm(x, self.num_groups, self.epsilon, self.weight, self.bias, self.data_format)

    def extra_repr(self) -> str:
        """Returns what it was made with."""
        return f"num_groups={self.num_groups}, num_channels={self.num_channels}, epsilon={self.epsilon}"


class RMSNorm(_Norm):
    """Mean square 1 over the last axes, times a weight, in PyTorch's words; see `functional.rms_norm`.

    Args:
        normalized_shape: the sizes of these axes.
        eps: added to the mean square; None for the distance of 1 from the next number of the input's dtype.
        elementwise_affine: False for no weight.
        device: where the weight lies.
        dtype: of the weight; float32 unless given.

    Attributes:
        weight: of the shape given, or None.
    """

    def __init__(
        self,
        normalized_shape: Any,
        eps: float | None = None,
        elementwise_affine: bool = True,
        device: Any = None,
        dtype: DTypeLike | None = None,
    ) -> None:
        super().__init__(dtype=dtype or "float32")
        self.normalized_shape, self.eps = tuple(sizes_of(normalized_shape, "RMSNorm")), eps
        self.elementwise_affine = elementwise_affine
        attr = bool(elementwise_affine)
        self.weight = self.create_parameter(self.normalized_shape, attr, default_initializer=Constant(1.0))
        self.to(device)

    def forward(self, x: Any) -> Any:
        """Returns x with its last axes normalized. Differentiable."""
        return functional.rms_norm(x, self.normalized_shape, self.weight, self.eps)

    def extra_repr(self) -> str:
        """Returns what it was made with."""
        return f"{self.normalized_shape}, eps={self.eps}, elementwise_affine={self.elementwise_affine}"


def _count(layer: Layer, name: str, value: Any) -> int:
    if not isinstance(value, (int, np.integer)) or value < 1:
        raise AttributeValueError(f"{type(layer).__name__}: {name} expected a whole number ≥ 1, got {value!r}")
    return int(value)


_OVER = {1: "features (N, C) or sequences (N, C, L)", 2: "images (N, C, H, W)", 3: "volumes (N, C, D, H, W)"}
_BATCH = """Mean 0 and variance 1 of each channel over a batch of {0}, times a weight, plus a bias.

In training mean and variance are those of the batch, and the running ones go towards them; else the running ones are
taken. {1} See `functional.batch_norm`.

Attributes:
    weight: of shape (num_features,), ones at first; or None.
    bias: likewise, zeros.
    {2}
"""
_WORDS = {
    _PaddleBatchNorm: (
        "`momentum` is how much of the running ones stays, and the variance that is kept divides by the count.",
        "_mean, _variance: the running statistics, parameters that are not trained, as in Paddle.",
    ),
    _TorchBatchNorm: (
        "`momentum` is how much of the running ones goes, and the variance that is kept divides by the count less one; "
        "a momentum of None takes the mean of all batches.",
        "running_mean, running_var, num_batches_tracked: buffers.",
    ),
}
_INSTANCE = """Mean 0 and variance 1 of each channel of each of {0}; see `functional.instance_norm`.

Attributes:
    {1}: of shape (num_features,), ones at first; or None.
    bias: likewise, zeros.
"""


def _layer(name: str, base: type[_Norm], axes: int, doc: str) -> type[Layer]:
    return type(name, (base,), {"__module__": __name__, "__doc__": doc, "axes": axes})


_layers: dict[str, type[Layer]] = {"GroupNorm": GroupNorm, "LayerNorm": LayerNorm, "RMSNorm": RMSNorm}
for _axes, _over in _OVER.items():
    for _end, _base in (("D", _PaddleBatchNorm), ("d", _TorchBatchNorm)):
        _name = f"BatchNorm{_axes}{_end}"
        _layers[_name] = _layer(_name, _base, _axes, _BATCH.format(_over, *_WORDS[_base]))
    for _end, _kind, _scale in (("D", _InstanceNorm, "scale"), ("d", _TorchInstanceNorm, "weight")):
        _name = f"InstanceNorm{_axes}{_end}"
        _layers[_name] = _layer(_name, _kind, _axes, _INSTANCE.format(_over.partition(" or ")[2] or _over, _scale))
globals().update(_layers)

__all__ = [*_layers]
