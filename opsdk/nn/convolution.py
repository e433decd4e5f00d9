"""Convolution and its transpose, as functions of tensors, Program variables and arrays alike."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from opsdk.core.errors import AttributeValueError, ShapeError
from opsdk.core.spec import OpenSize
from opsdk.core.written import written
from opsdk.nn.windows import FORMATS, is_last, pads_of, sizes_of
from opsdk.ops import functions as ops
from opsdk.ops.nets.conv_transpose import conv_transpose
from opsdk.ops.nets.convolution import conv


# Any, in this file: tensors, variables or arrays, and the same out; numbers, in every form that Paddle takes them.
def _convolve(
    axes: int, x: Any, weight: Any, bias: Any, stride: Any, padding: Any, dilation: Any, groups: int, data_format: str
) -> Any:
    who = f"conv{axes}d"
    last, kernel = _checked(who, axes, x, weight, data_format)
    steps = sizes_of(stride, axes, f"{who}: stride"), sizes_of(dilation, axes, f"{who}: dilation")
    pads = pads_of(padding, x, kernel, *steps, last, who)
    made = conv(x, weight, stride=steps[0], padding=pads, dilation=steps[1], groups=groups, channels_last=last)
    return _shifted(who, made, bias, axes, last)


def _convolve_back(
    axes: int,
    x: Any,
    weight: Any,
    bias: Any,
    stride: Any,
    padding: Any,
    output_padding: Any,
    dilation: Any,
    groups: int,
    output_size: Any,
    data_format: str,
) -> Any:
    who = f"conv{axes}d_transpose"
    last, kernel = _checked(who, axes, x, weight, data_format)
    steps = sizes_of(stride, axes, f"{who}: stride"), sizes_of(dilation, axes, f"{who}: dilation")
    pads = pads_of(padding, x, kernel, *steps, last, who)
    more = sizes_of(output_padding, axes, f"{who}: output_padding", 0)
    if output_size is not None:
        if any(more):
            raise AttributeValueError(f"{who}: expected output_size or output_padding, got both")
        have = [
            (n - 1) * s + d * (k - 1) + 1 - sum(pads[2 * i : 2 * i + 2])
            for i, (n, k, s, d) in enumerate(zip(x.shape[1 if last else 2 :], kernel, *steps, strict=False))
        ]
        more = [n - m for n, m in zip(sizes_of(output_size, axes, f"{who}: output_size"), have, strict=True)]
    for extra, s, d in zip(more, *steps, strict=True):
        if not 0 <= extra < max(s, d):
            wanted = "output_padding" if output_size is None else "output_size beyond the least"
            raise AttributeValueError(f"{who}: {wanted} expected in [0, {max(s, d)}), got {extra}")
    pads = [pad - (more[i // 2] if i % 2 else 0) for i, pad in enumerate(pads)]
    made = conv_transpose(
        x, weight, stride=steps[0], padding=pads, dilation=steps[1], groups=groups, channels_last=last
    )
    return _shifted(who, made, bias, axes, last)


def _checked(who: str, axes: int, x: Any, weight: Any, data_format: str) -> tuple[bool, list[int]]:
    last = is_last(data_format, axes, who)
    shapes = [tuple(value.shape) if hasattr(value, "shape") else None for value in (x, weight)]
    if any(shape is None or len(shape) != axes + 2 for shape in shapes):
        raise ShapeError(
            f"{who}: expected x ({', '.join(data_format)}) and a weight of {axes + 2} axes, got shapes {shapes[0]} and "
            f"{shapes[1]}"
        )
    return last, list(weight.shape[2:])


def _shifted(who: str, made: Any, bias: Any, axes: int, last: bool) -> Any:
    if bias is None:
        return made
    channels, given = made.shape[-1 if last else 1], tuple(getattr(bias, "shape", ()))
    if len(given) != 1 or not (isinstance(channels, OpenSize) or given[0] == channels):
        raise ShapeError(f"{who}: bias expected shape ({channels},), a number for each output channel, got {given}")
    return ops.add(made, bias if last else ops.unsqueeze(bias, list(range(1, axes + 1))))


_CONV = """Returns the convolution of x with a weight: cross-correlation, as everywhere in nets. Differentiable.

Args:
    x: floats of shape {0}, or with the channels last.
    weight: of shape {1}, in either layout.
    bias: one number for each output channel, or None.
    stride: how far outputs lie apart: a number, or one for each axis.
    padding: zeros around x: a number; one for each axis, or two; a pair for each axis; "SAME" for an output for each
        stride, with the dilation in account, which Paddle drops; "VALID" for none.
{3}    dilation: how far taps lie apart.
    groups: of channels that know nothing of each other.
{4}    data_format: {2}.
    name: without meaning.

Raises:
    ShapeError: shapes do not fit.
    AttributeValueError: an argument is none of what is said here.
"""
_MORE = """\
    output_padding: how much larger the result is than the least that gives x, at the end of each axis; below the
        stride or the dilation.
"""
_SIZE = "    output_size: the sizes of the result, in place of `output_padding`.\n"


def _named(axes: int, name: str, function: Callable[..., Any], kinds: dict[str, str], *defaults: Any) -> Any:
    first, last = FORMATS[axes]
    is_back = "output_padding" in kinds
    weight = ("(C, O / groups, {})" if is_back else "(O, C / groups, {})").format(", ".join("k" * axes))
    doc = _CONV.format(
        f"({', '.join(first)})", weight, f"{first} or {last}", *((_MORE, _SIZE) if is_back else ("", ""))
    )
    values = {"x": "Any", "weight": "Any", "bias": "Any"}
    return written(
        function, name, {**values, **kinds, "return": "Any"}, module=__name__, doc=doc, defaults=(None, *defaults)
    )


def _conv_of(axes: int) -> Any:
    def function(
        x: Any,
        weight: Any,
        bias: Any,
        stride: Any,
        padding: Any,
        dilation: Any,
        groups: int,
        data_format: str,
        name: Any,
    ) -> Any:
        return _convolve(axes, x, weight, bias, stride, padding, dilation, groups, data_format)

    kinds = {"stride": "Any", "padding": "Any", "dilation": "Any", "groups": "int"}
    kinds |= {"data_format": "str", "name": "str | None"}
    return _named(axes, f"conv{axes}d", function, kinds, 1, 0, 1, 1, FORMATS[axes][0], None)


def _conv_transpose_of(axes: int) -> Any:
    is_planar = axes == 2  # in Paddle groups and dilation change places

    def function(
        x: Any,
        weight: Any,
        bias: Any,
        stride: Any,
        padding: Any,
        output_padding: Any,
        one: Any,
        other: Any,
        output_size: Any,
        data_format: str,
        name: Any,
    ) -> Any:
        dilation, groups = (one, other) if is_planar else (other, one)
        return _convolve_back(
            axes, x, weight, bias, stride, padding, output_padding, dilation, groups, output_size, data_format
        )

    order = ("dilation", "groups") if is_planar else ("groups", "dilation")
    kinds = dict.fromkeys(("stride", "padding", "output_padding", *order, "output_size"), "Any")
    kinds |= {"groups": "int", "data_format": "str", "name": "str | None"}
    return _named(axes, f"conv{axes}d_transpose", function, kinds, 1, 0, 0, 1, 1, None, FORMATS[axes][0], None)


def _torch_conv_transpose_of(axes: int) -> Any:
    def function(
        x: Any, weight: Any, bias: Any, stride: Any, padding: Any, output_padding: Any, groups: int, dilation: Any
    ) -> Any:
        steps = stride, padding, output_padding, dilation, groups
        return _convolve_back(axes, x, weight, bias, *steps, None, FORMATS[axes][0])

    kinds = dict.fromkeys(("stride", "padding", "output_padding"), "Any") | {"groups": "int", "dilation": "Any"}
    return _named(axes, f"conv_transpose{axes}d", function, kinds, 1, 0, 0, 1, 1)


conv1d, conv2d, conv3d = map(_conv_of, FORMATS)
conv_transpose1d, conv_transpose2d, conv_transpose3d = map(_torch_conv_transpose_of, FORMATS)
conv1d_transpose, conv2d_transpose, conv3d_transpose = map(_conv_transpose_of, FORMATS)
FUNCTIONS = (
    *(conv1d, conv2d, conv3d, conv1d_transpose, conv2d_transpose, conv3d_transpose),
    *(conv_transpose1d, conv_transpose2d, conv_transpose3d),
)
