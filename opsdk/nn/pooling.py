"""Pooling, as functions of tensors, Program variables and arrays alike."""

from __future__ import annotations

from typing import Any

from opsdk.core.errors import AttributeValueError, ShapeError
from opsdk.core.spec import OpenSize
from opsdk.nn.windows import FORMATS, is_last, pads_of, sizes_of
from opsdk.ops import functions as ops
from opsdk.ops.nets.pooling import avg_pool, max_pool

# Any, in this file: tensors, variables or arrays, and the same out; numbers, in every form that Paddle takes them.


def max_pool1d(
    x: Any,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    return_mask: bool = False,
    ceil_mode: bool = False,
    name: str | None = None,
) -> Any:
    """Returns the greatest element of each window of sequences (N, C, L); see `max_pool2d`. Differentiable."""
    return greatest(
        "max_pool1d", x, kernel_size, stride, padding, 1, ceil_mode, "NCL", "int32" if return_mask else None
    )


def max_pool2d(
    x: Any,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    return_mask: bool = False,
    ceil_mode: bool = False,
    data_format: str = "NCHW",
    name: str | None = None,
) -> Any:
    """Returns the greatest element of each window of images; nan is the greatest, of equal ones the first counts.

    Differentiable.

    Args:
        x: floats of shape (N, C, H, W), or with the channels last.
        kernel_size: how large windows are: a number, or one for each axis.
        stride: how far they lie apart; their size unless given.
        padding: places around x that no element is taken from, in the forms that `conv2d` takes.
        return_mask: whether the places of the elements are returned too, int32 among those of a channel.
        ceil_mode: whether a last window counts that reaches beyond the padding, if it begins within; Paddle also counts
            one that does not.
        data_format: NCHW or NHWC.
        name: without meaning.

    Raises:
        ShapeError: no window fits, or one has nothing but padding in it, which Paddle fills with -3.4e38.
        AttributeValueError: an argument is none of what is said here.
    """
    return greatest(
        "max_pool2d", x, kernel_size, stride, padding, 1, ceil_mode, data_format, "int32" if return_mask else None
    )


def max_pool3d(
    x: Any,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    return_mask: bool = False,
    ceil_mode: bool = False,
    data_format: str = "NCDHW",
    name: str | None = None,
) -> Any:
    """Returns the greatest element of each window of volumes (N, C, D, H, W); see `max_pool2d`. Differentiable."""
    return greatest(
        "max_pool3d", x, kernel_size, stride, padding, 1, ceil_mode, data_format, "int32" if return_mask else None
    )


def avg_pool1d(
    x: Any,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    exclusive: bool = True,
    ceil_mode: bool = False,
    name: str | None = None,
    *,
    count_include_pad: bool | None = None,
) -> Any:
    """Returns the mean of each window of sequences (N, C, L); see `avg_pool2d`. Differentiable."""
    return means(
        "avg_pool1d",
        x,
        kernel_size,
        stride,
        padding,
        ceil_mode,
        _is_exclusive(exclusive, count_include_pad),
        None,
        "NCL",
    )


def avg_pool2d(
    x: Any,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    ceil_mode: bool = False,
    exclusive: bool = True,
    divisor_override: float | None = None,
    data_format: str = "NCHW",
    name: str | None = None,
    *,
    count_include_pad: bool | None = None,
) -> Any:
    """Returns the mean of each window of images. Differentiable.

    Args:
        x: as of `max_pool2d`, and so the others.
        kernel_size: see there.
        stride: see there.
        padding: see there; these places are zeros.
        ceil_mode: see there.
        exclusive: whether a mean is one of elements alone; else zeros of the padding count too, as in PyTorch.
        divisor_override: what sums are divided by, in place of how many were added.
        data_format: see there.
        name: without meaning.
        count_include_pad: PyTorch's word for the opposite of `exclusive`.
    """
    return means(
        "avg_pool2d",
        x,
        kernel_size,
        stride,
        padding,
        ceil_mode,
        _is_exclusive(exclusive, count_include_pad),
        divisor_override,
        data_format,
    )


def avg_pool3d(
    x: Any,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    ceil_mode: bool = False,
    exclusive: bool = True,
    divisor_override: float | None = None,
    data_format: str = "NCDHW",
    name: str | None = None,
    *,
    count_include_pad: bool | None = None,
) -> Any:
    """Returns the mean of each window of volumes (N, C, D, H, W); see `avg_pool2d`. Differentiable."""
    return means(
        "avg_pool3d",
        x,
        kernel_size,
        stride,
        padding,
        ceil_mode,
        _is_exclusive(exclusive, count_include_pad),
        divisor_override,
        data_format,
    )


def _is_exclusive(exclusive: bool, count_include_pad: bool | None) -> bool:
    return exclusive if count_include_pad is None else not count_include_pad


def adaptive_avg_pool1d(x: Any, output_size: Any, name: str | None = None) -> Any:
    """Returns the means of so many windows that share sequences (N, C, L) out. Differentiable."""
    return adaptive_means("adaptive_avg_pool1d", x, output_size, "NCL")


def adaptive_avg_pool2d(x: Any, output_size: Any, data_format: str = "NCHW", name: str | None = None) -> Any:
    """Returns the means of so many windows that share images out. Differentiable.

    Args:
        x: floats of shape (N, C, H, W), or with the channels last.
        output_size: how many along each axis: a number, or one for each; None for as many as there are elements.
        data_format: NCHW or NHWC.
        name: without meaning.
    """
    return adaptive_means("adaptive_avg_pool2d", x, output_size, data_format)


def adaptive_avg_pool3d(x: Any, output_size: Any, data_format: str = "NCDHW", name: str | None = None) -> Any:
    """Returns the means of so many windows that share volumes out; see `adaptive_avg_pool2d`. Differentiable."""
    return adaptive_means("adaptive_avg_pool3d", x, output_size, data_format)


def adaptive_max_pool1d(x: Any, output_size: Any, return_mask: bool = False, name: str | None = None) -> Any:
    """Returns the greatest elements of windows that share sequences (N, C, L) out. Differentiable."""
    return adaptive_greatest("adaptive_max_pool1d", x, output_size, "NCL", "int32" if return_mask else None)


def adaptive_max_pool2d(x: Any, output_size: Any, return_mask: bool = False, name: str | None = None) -> Any:
    """Returns the greatest elements of windows that share images (N, C, H, W) out. Differentiable."""
    return adaptive_greatest("adaptive_max_pool2d", x, output_size, "NCHW", "int32" if return_mask else None)


def adaptive_max_pool3d(x: Any, output_size: Any, return_mask: bool = False, name: str | None = None) -> Any:
    """Returns the greatest elements of windows that share volumes (N, C, D, H, W) out. Differentiable."""
    return adaptive_greatest("adaptive_max_pool3d", x, output_size, "NCDHW", "int32" if return_mask else None)


def greatest(
    who: str,
    x: Any,
    kernel_size: Any,
    stride: Any,
    padding: Any,
    dilation: Any,
    ceil_mode: bool,
    data_format: str,
    places: str | None,
) -> Any:
    """Returns the greatest elements of windows that move, and with a dtype for places where they lie, for all axes."""
    last, steps = _steps(who, x, kernel_size, stride, padding, dilation, data_format)
    out, indices = max_pool(x, **steps, ceil_mode=ceil_mode, channels_last=last)
    return out if places is None else (out, indices if places == "int64" else ops.cast(indices, places))


def means(
    who: str,
    x: Any,
    kernel_size: Any,
    stride: Any,
    padding: Any,
    ceil_mode: bool,
    exclusive: bool,
    divisor: float | None,
    data_format: str,
) -> Any:
    """Returns the means of windows that move, for all axes."""
    last, steps = _steps(who, x, kernel_size, stride, padding, 1, data_format)
    del steps["dilation"]
    if divisor == 0:
        raise AttributeValueError(f"{who}: divisor_override expected a number other than 0, got {divisor!r}")
    options = {"ceil_mode": ceil_mode, "exclusive": exclusive, "divisor": divisor}
    return avg_pool(x, **steps, **options, channels_last=last)


def adaptive_means(who: str, x: Any, output_size: Any, data_format: str) -> Any:
    """Returns the means of windows that share axes out, for all axes."""
    last, sizes = _shared(who, x, output_size, data_format)
    return avg_pool(x, output_size=sizes, channels_last=last)


def adaptive_greatest(who: str, x: Any, output_size: Any, data_format: str, places: str | None) -> Any:
    """Returns the greatest elements of windows that share axes out, and where they lie, for all axes."""
    last, sizes = _shared(who, x, output_size, data_format)
    out, indices = max_pool(x, output_size=sizes, channels_last=last)
    return out if places is None else (out, indices if places == "int64" else ops.cast(indices, places))


def _steps(
    who: str, x: Any, kernel_size: Any, stride: Any, padding: Any, dilation: Any, data_format: str
) -> tuple[bool, dict[str, Any]]:
    axes = len(data_format) - 2
    last = _layout(who, x, data_format)
    kernel = sizes_of(kernel_size, axes, f"{who}: kernel_size")
    moved = kernel if stride is None else sizes_of(stride, axes, f"{who}: stride")
    apart = sizes_of(dilation, axes, f"{who}: dilation")
    pads = pads_of(padding, x, kernel, moved, apart, last, who)
    return last, {"kernel": kernel, "stride": moved, "padding": pads, "dilation": apart}


def _shared(who: str, x: Any, output_size: Any, data_format: str) -> tuple[bool, list[int]]:
    last = _layout(who, x, data_format)
    have = x.shape[1:-1] if last else x.shape[2:]
    listed = list(output_size) if isinstance(output_size, (list, tuple)) else [output_size] * len(have)
    for size, wanted in zip(have, listed, strict=False):
        if wanted is None and isinstance(size, OpenSize):
            raise size.unknown(f"a number for {who}")
    listed = (
        [size if wanted is None else wanted for size, wanted in zip(have, listed, strict=False)]
        if len(listed) == len(have)
        else listed
    )
    return last, sizes_of(listed, len(have), f"{who}: output_size")


def _layout(who: str, x: Any, data_format: Any) -> bool:
    axes = next((n for n, formats in FORMATS.items() if data_format in formats), int(who[-2]))
    last = is_last(data_format, axes, who)
    shape = tuple(getattr(x, "shape", ()))
    if len(shape) != axes + 2:
        raise ShapeError(f"{who}: x expected shape ({', '.join(data_format)}), got {shape}")
    return last


FUNCTIONS = (
    *(max_pool1d, max_pool2d, max_pool3d, avg_pool1d, avg_pool2d, avg_pool3d),
    *(adaptive_avg_pool1d, adaptive_avg_pool2d, adaptive_avg_pool3d),
    *(adaptive_max_pool1d, adaptive_max_pool2d, adaptive_max_pool3d),
)
