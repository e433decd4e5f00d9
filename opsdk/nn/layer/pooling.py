"""Pooling as layers, in Paddle's words and in PyTorch's, for sequences, images and volumes."""

from __future__ import annotations

from typing import Any

from opsdk.nn import pooling
from opsdk.nn.layer.layer import Layer
from opsdk.nn.made import made, options
from opsdk.nn.windows import FORMATS, is_last, sizes_of


# Any, in this file: numbers in every form that Paddle takes them, values of every runtime.
class _Pool(Layer):
    """What all of them are: they keep what they were told, and print some of it."""

    axes: int
    shown: tuple[str, ...] = ("kernel_size", "stride", "padding")

    def _begin(self, *, name: str | None = None, **told: Any) -> None:
        super().__init__()
        for name, value in told.items():
            setattr(self, name, value)
        self.data_format = told.get("data_format") or FORMATS[self.axes][0]
        who = type(self).__name__
        is_last(self.data_format, self.axes, who)
        for name in ("kernel_size", "stride", "dilation"):
            if told.get(name) is not None:
                sizes_of(told[name], self.axes, f"{who}: {name}")

    def extra_repr(self) -> str:
        """Returns the windows."""
        return ", ".join(f"{name}={getattr(self, name)}" for name in self.shown)


class _MaxPool(_Pool):
    def forward(self, x: Any) -> Any:
        """Returns the greatest element of each window. Differentiable."""
        windows = self.kernel_size, self.stride, self.padding, 1, self.ceil_mode, self.data_format
        return pooling.greatest(type(self).__name__, x, *windows, "int32" if self.return_mask else None)


class _TorchMaxPool(_Pool):
    shown = (*_Pool.shown, "dilation", "ceil_mode")

    def _begin(self, *, kernel_size: Any, stride: Any, **told: Any) -> None:
        super()._begin(kernel_size=kernel_size, stride=kernel_size if stride is None else stride, **told)

    def forward(self, x: Any) -> Any:
        """Returns the greatest element of each window. Differentiable."""
        windows = self.kernel_size, self.stride, self.padding, self.dilation, self.ceil_mode, self.data_format
        return pooling.greatest(type(self).__name__, x, *windows, "int64" if self.return_indices else None)


class _AvgPool(_Pool):
    divisor_override: float | None = None

    def forward(self, x: Any) -> Any:
        """Returns the mean of each window. Differentiable."""
        windows = self.kernel_size, self.stride, self.padding, self.ceil_mode
        options = self.exclusive, self.divisor_override, self.data_format
        return pooling.means(type(self).__name__, x, *windows, *options)


class _TorchAvgPool(_AvgPool):
    def _begin(self, *, kernel_size: Any, stride: Any, padding: Any, count_include_pad: bool, **told: Any) -> None:
        lines = {"kernel_size": kernel_size, "stride": kernel_size if stride is None else stride, "padding": padding}
        if self.axes == 1:  # which PyTorch keeps, and prints, as tuples
            lines = {name: tuple(sizes_of(one, 1, type(self).__name__, 0)) for name, one in lines.items()}
        super()._begin(**lines, exclusive=not count_include_pad, **told)


class _AdaptiveAvgPool(_Pool):
    shown = ("output_size",)

    def forward(self, x: Any) -> Any:
        """Returns the mean of each window. Differentiable."""
        return pooling.adaptive_means(type(self).__name__, x, self.output_size, self.data_format)


class _AdaptiveMaxPool(_Pool):
    shown = ("output_size", "return_mask")
    places = "int32"

    def forward(self, x: Any) -> Any:
        """Returns the greatest element of each window. Differentiable."""
        places = self.places if self.return_mask else None
        return pooling.adaptive_greatest(type(self).__name__, x, self.output_size, self.data_format, places)


class _TorchAdaptiveMaxPool(_AdaptiveMaxPool):
    shown = ("output_size",)
    places = "int64"

    def _begin(self, *, output_size: Any, return_indices: bool) -> None:  # type: ignore[override]
        super()._begin(output_size=output_size, return_mask=return_indices)


_KINDS = {
    **dict.fromkeys(("kernel_size", "output_size"), ("Any",)),
    "stride": ("Any", None),
    "padding": ("Any", 0),
    "dilation": ("Any", 1),
    **dict.fromkeys(("return_mask", "return_indices", "ceil_mode"), ("bool", False)),
    **dict.fromkeys(("exclusive", "count_include_pad"), ("bool", True)),
    "divisor_override": ("float | None", None),
    **dict.fromkeys(("data_format", "name"), ("str | None", None)),
}
_STEPS = "kernel_size stride padding"
_MEANS = f"{_STEPS} ceil_mode exclusive divisor_override data_format name"
_DOC = """{0} of each window of {1}: `functional.{2}`, {3}.

Args:
{4}
"""
_MOVING = """    kernel_size: how large windows are: a number, or one for each axis.
    stride: how far they lie apart; their size unless given.
    padding: places around the input, in the forms that `conv2d` takes.
    ceil_mode: whether a last window counts that reaches beyond the padding.
    {0}"""
_SHARING = "    output_size: how many windows along each axis; None for as many as there are elements.\n    {0}"
_MEAN = "exclusive, count_include_pad: whether zeros of the padding are left out of means, or count."
_GREATEST = "return_mask, return_indices: whether places are returned too."


def _layer(name: str, base: type[_Pool], order: str, axes: int) -> Any:
    is_mean, is_adaptive = "Avg" in name, "Adaptive" in name
    function = f"{'adaptive_' if is_adaptive else ''}{'avg' if is_mean else 'max'}_pool{axes}d"
    about = (_SHARING if is_adaptive else _MOVING).format(_MEAN if is_mean and not is_adaptive else _GREATEST)
    about = _SHARING.format("").rstrip() if is_mean and is_adaptive else about
    over, whose = (
        ("sequences", "images", "volumes")[axes - 1],
        f"in {'PyTorch' if name[-1] == 'd' else 'Paddle'}'s words",
    )
    doc = _DOC.format("The mean" if is_mean else "The greatest element", over, function, whose, about)
    return made(__name__, name, (base,), options(order, _KINDS), doc, axes=axes)


_layers: dict[str, type[Layer]] = {}
for _axes in FORMATS:
    _entries: dict[str, tuple[type[_Pool], str]] = {
        f"MaxPool{_axes}D": (_MaxPool, f"{_STEPS} return_mask ceil_mode data_format name"),
        f"MaxPool{_axes}d": (_TorchMaxPool, f"{_STEPS} dilation return_indices ceil_mode"),
        f"AvgPool{_axes}D": (_AvgPool, f"{_STEPS} exclusive ceil_mode name" if _axes == 1 else _MEANS),
        f"AvgPool{_axes}d": (_TorchAvgPool, f"{_STEPS} ceil_mode count_include_pad divisor_override"),
        f"AdaptiveAvgPool{_axes}D": (_AdaptiveAvgPool, "output_size data_format name"),
        f"AdaptiveAvgPool{_axes}d": (_AdaptiveAvgPool, "output_size"),
        f"AdaptiveMaxPool{_axes}D": (_AdaptiveMaxPool, "output_size return_mask name"),
        f"AdaptiveMaxPool{_axes}d": (_TorchAdaptiveMaxPool, "output_size return_indices"),
    }
    _layers |= {name: _layer(name, *entry, _axes) for name, entry in _entries.items()}
globals().update(_layers)

__all__ = [*_layers]
