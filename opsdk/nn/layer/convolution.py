"""Convolutions as layers, in Paddle's words and in PyTorch's, for sequences, images and volumes."""

from __future__ import annotations

import math
from typing import Any

from opsdk.core.dtype import DTypeLike
from opsdk.core.errors import AttributeValueError
from opsdk.nn import functional
from opsdk.nn.layer.layer import Layer
from opsdk.nn.made import made, options
from opsdk.nn.windows import FORMATS, is_last, sizes_of
from opsdk.ops import functions as ops
from opsdk.ops.initializer import Initializer, Normal, Uniform

_MODES = ("zeros", "reflect", "replicate", "circular")


# Any, in this file: numbers in every form that Paddle takes them, forms of `as_param_attr`, values of every runtime.
class _Convolution(Layer):
    """What all of them are. A subclass says for how many axes, whether it is transposed, and in whose words."""

    axes: int
    is_back = False
    sequence: type = list  # what sizes are kept in, and printed as

    def _build(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Any,
        *,
        stride: Any,
        padding: Any,
        dilation: Any,
        groups: int,
        output_padding: Any = 0,
        padding_mode: str = "zeros",
        data_format: str | None = None,
        dtype: DTypeLike | None,
    ) -> None:
        super().__init__(dtype=dtype or "float32")
        name, axes = type(self).__name__, self.axes
        self.data_format = data_format or FORMATS[axes][0]
        is_last(self.data_format, axes, name)
        sizes = {"in_channels": in_channels, "out_channels": out_channels, "groups": groups}
        self.in_channels, self.out_channels, self.groups = (
            sizes_of(size, 1, f"{name}: {what}")[0] for what, size in sizes.items()
        )
        if self.in_channels % self.groups or self.out_channels % self.groups:
            raise AttributeValueError(
                f"{name}: groups expected to divide in_channels and out_channels, got {groups} for {in_channels} and "
                f"{out_channels}"
            )
        numbers = {"kernel_size": kernel_size, "stride": stride, "dilation": dilation}
        for what, value in numbers.items():
            setattr(self, what, self.sequence(sizes_of(value, axes, f"{name}: {what}")))
        if padding_mode not in (_MODES[:1] if self.is_back else _MODES):
            wanted = "zeros" if self.is_back else ", ".join(_MODES)
            raise AttributeValueError(f"{name}: padding_mode expected {wanted}, got {padding_mode!r}")
        if padding_mode != "zeros":
            sizes_of(padding, axes, f"{name}: padding, beside padding_mode={padding_mode!r},", 0)
        for what, value in {"padding": padding, "output_padding": output_padding}.items():
            is_kept = isinstance(value, str) or self.sequence is list  # in the form that it was given, as in Paddle
            setattr(self, what, value if is_kept else tuple(sizes_of(value, axes, f"{name}: {what}", 0)))
        self.padding_mode = padding_mode

    @property
    def _shape(self) -> tuple[int, ...]:
        """The shape of the weight: channels that come out first, and in the transposed ones those that go in."""
        first, second = (self.in_channels, self.out_channels)[:: 1 if self.is_back else -1]
        return first, second // self.groups, *self.kernel_size

    def _create(
        self, weight_attr: Any, bias_attr: Any, weight: Initializer | None = None, bias: Initializer | None = None
    ) -> None:
        if weight_attr is False:
            raise AttributeValueError(f"{type(self).__name__}: weight_attr expected a weight, got False")
        self.weight = self.create_parameter(self._shape, weight_attr, default_initializer=weight)
        self.bias = self.create_parameter((self.out_channels,), bias_attr, is_bias=True, default_initializer=bias)

    def _convolved(self, x: Any, padding: Any, **more: Any) -> Any:
        function = getattr(functional, f"conv{self.axes}d{'_transpose' if self.is_back else ''}")
        steps = {"stride": self.stride, "padding": padding, "dilation": self.dilation, "groups": self.groups}
        return function(x, self.weight, self.bias, **steps, **more, data_format=self.data_format)

    def _changed(self, *names: str) -> str:
        """Returns what is not as it is by default, as text."""
        ones, zeros = self.sequence([1] * self.axes), self.sequence([0] * self.axes)
        plain = {"stride": (ones,), "dilation": (ones,), "groups": (1,), "padding_mode": ("zeros",)}
        shown = {name: getattr(self, name) for name in names}
        return "".join(f", {name}={value}" for name, value in shown.items() if value not in plain.get(name, (0, zeros)))


class _Straight(_Convolution):
    def forward(self, x: Any) -> Any:
        """Returns the convolution of x. Differentiable."""
        if self.padding_mode == "zeros":
            return self._convolved(x, self.padding)
        around = [(size, size) for size in sizes_of(self.padding, self.axes, "padding", 0)]
        still = (0, 0)
        last = is_last(self.data_format, self.axes, type(self).__name__)
        padded = ops.pad(x, [still, *around, still] if last else [still, still, *around], self.padding_mode)
        return self._convolved(padded, 0)


class _Transposed(_Convolution):
    is_back = True

    def forward(self, x: Any, output_size: Any = None) -> Any:
        """Returns the transposed convolution of x, of a size where one is given. Differentiable."""
        more = self.output_padding if output_size is None else 0
        return self._convolved(x, self.padding, output_padding=more, output_size=output_size)


class _InPaddle(_Convolution):
    def _begin(self, *, weight_attr: Any, bias_attr: Any, bias: bool = True, **told: Any) -> None:
        self._build(**told)
        spread = math.sqrt(2 / (math.prod(self.kernel_size) * self.in_channels))
        self._create(weight_attr, bias_attr if bias else False, None if self.is_back else Normal(0.0, spread))

    def extra_repr(self) -> str:
        """Returns channels and kernel, what is not as by default, and the layout."""
        changed = self._changed("stride", "padding", "padding_mode", "output_padding", "dilation", "groups")
        head = f"{self.in_channels}, {self.out_channels}, kernel_size={self.kernel_size}"
        return f"{head}{changed}, data_format={self.data_format}"


class _InTorch(_Convolution):
    sequence = tuple

    def _begin(self, *, bias: bool, device: Any, **told: Any) -> None:
        self._build(**told)
        within = 1 / math.sqrt(math.prod(self._shape[1:]))
        self._create(None, bool(bias), Uniform(-within, within), Uniform(-within, within))
        self.to(device)

    def extra_repr(self) -> str:
        """Returns channels, kernel and stride, and what is not as by default."""
        changed = self._changed("padding", "dilation", "output_padding", "groups")
        head = f"{self.in_channels}, {self.out_channels}, kernel_size={self.kernel_size}, stride={self.stride}"
        return f"{head}{changed}{', bias=False' if self.bias is None else ''}{self._changed('padding_mode')}"


_KINDS = {
    **dict.fromkeys(("in_channels", "out_channels"), ("int",)),
    "kernel_size": ("Any",),
    **dict.fromkeys(("stride", "dilation"), ("Any", 1)),
    **dict.fromkeys(("padding", "output_padding"), ("Any", 0)),
    "groups": ("int", 1),
    "padding_mode": ("str", "zeros"),
    **dict.fromkeys(("weight_attr", "bias_attr", "device"), ("Any", None)),
    "data_format": ("str | None", None),
    "bias": ("bool", True),
    "dtype": ("DTypeLike", "float32"),
}
_FIRST = "in_channels out_channels kernel_size stride padding"
_ATTRS = "weight_attr bias_attr data_format"
_OPTIONS = {
    "Conv": f"{_FIRST} dilation groups padding_mode {_ATTRS} * bias dtype",
    "Conv, torch": f"{_FIRST} dilation groups bias padding_mode device dtype=None",
    "ConvTranspose": f"{_FIRST} output_padding groups dilation {_ATTRS} dtype",
    "Conv2DTranspose": f"{_FIRST} output_padding dilation groups {_ATTRS} dtype",
    "ConvTranspose, torch": f"{_FIRST} output_padding groups bias dilation padding_mode device dtype=None",
}


_DOC = """{kind} of {over}, with a weight and a bias of its own; see `functional.{function}`.

Args:
    in_channels: of the input, ≥ 1.
    out_channels: of the output, ≥ 1.
    kernel_size: sizes of the kernel: a number, or one for each axis.
    stride: as of the function, and so padding, dilation, groups{more}.
    padding_mode: zeros{modes}.
{attributes}
Attributes:
    weight: of shape {weight}.
    bias: of shape (out_channels,), or None.

Raises:
    AttributeValueError: sizes below 1, channels that groups do not divide, another padding mode.
"""
_PADDLE = """    weight_attr: a `ParamAttr`, initializer or name; {0} unless said otherwise.
    bias_attr: the same for the bias, zeros unless said otherwise; False for no bias.
    data_format: {1}, or {2}.
"""
_TORCH = """    bias: False for no bias. Both begin uniform within 1 / √(values that enter one output), as in PyTorch.
    device: where the parameters lie.
    dtype: of the parameters; float32 unless given.
"""


def _layer(name: str, words: type[_Convolution], kind: type[_Convolution], order: str, axes: int) -> Any:
    kernel, over = ", ".join(["kernel"] * axes), ("sequences", "images", "volumes")[axes - 1]
    is_back, is_torch = kind.is_back, words is _InTorch
    values = "Xavier's uniform values" if is_back else "normal values of variance 2 / (values that enter one output)"
    doc = _DOC.format(
        kind="Transposed convolution" if is_back else "Convolution",
        over=over,
        function=f"conv{axes}d{'_transpose' if is_back else ''}",
        more=", output_padding" if is_back else "",
        modes="" if is_back else ", reflect, replicate or circular",
        attributes=_TORCH if is_torch else _PADDLE.format(values, *FORMATS[axes]),
        weight=f"(in_channels, out_channels / groups, {kernel})"
        if is_back
        else f"(out_channels, in_channels / groups, {kernel})",
    )
    return made(__name__, name, (words, kind), options(order, _KINDS), doc, axes=axes)


_layers: dict[str, type[Layer]] = {}
for _axes in FORMATS:
    _entries: dict[str, tuple[type[_Convolution], type[_Convolution], str]] = {
        f"Conv{_axes}D": (_InPaddle, _Straight, "Conv"),
        f"Conv{_axes}DTranspose": (_InPaddle, _Transposed, "Conv2DTranspose" if _axes == 2 else "ConvTranspose"),
        f"Conv{_axes}d": (_InTorch, _Straight, "Conv, torch"),
        f"ConvTranspose{_axes}d": (_InTorch, _Transposed, "ConvTranspose, torch"),
    }
    _layers |= {name: _layer(name, *bases, _OPTIONS[kind], _axes) for name, (*bases, kind) in _entries.items()}
globals().update(_layers)

__all__ = [*_layers]
