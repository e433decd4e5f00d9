"""Functions that move the elements of images to other places, for every runtime."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from opsdk.core.errors import AttributeValueError, ShapeError
from opsdk.define.infer import normalize_axes
from opsdk.nn import pooling
from opsdk.nn.functions.words import in_both_words
from opsdk.nn.windows import FORMATS, is_last, sizes_of
from opsdk.ops import functions as ops
from opsdk.ops.nets.geometry import along, outputs
from opsdk.ops.shape import known_size


# Any, in this file: tensors, variables or arrays, and the same out; numbers, in every form that Paddle takes them.
@in_both_words
def pixel_shuffle(x: Any, upscale_factor: int, data_format: str = "NCHW") -> Any:
    """Returns images r times as high and wide of r² channels each (Shi et al. 2016). Differentiable.

    Args:
        x: of shape (..., C · r², H, W), or with the channels last.
        upscale_factor: r, ≥ 1.
        data_format: NCHW or NHWC.

    Raises:
        ShapeError: r² does not divide the channels.
    """
    r = sizes_of(upscale_factor, 1, "pixel_shuffle: upscale_factor")[0]
    last, lead, (c, h, w) = _image("pixel_shuffle", x, data_format, r * r, 0)
    n, parts = len(lead), [c // r**2, r, r]
    apart = ops.reshape(x, [*lead, h, w, *parts] if last else [*lead, *parts, h, w])
    moved = ops.transpose(apart, [*range(n), *(n + at for at in (0, 3, 1, 4, 2))])
    return ops.reshape(moved, [*lead, h * r, w * r, c // r**2] if last else [*lead, c // r**2, h * r, w * r])


@in_both_words
def pixel_unshuffle(x: Any, downscale_factor: int, data_format: str = "NCHW") -> Any:
    """Returns what `pixel_shuffle` makes x of: r² times the channels, of images r times as small. Differentiable.

    Raises:
        ShapeError: r does not divide the sizes.
    """
    r = sizes_of(downscale_factor, 1, "pixel_unshuffle: downscale_factor")[0]
    last, lead, (c, h, w) = _image("pixel_unshuffle", x, data_format, r, 1)
    n, (rows, columns) = len(lead), (h // r, w // r)
    apart = ops.reshape(x, [*lead, rows, r, columns, r, c] if last else [*lead, c, rows, r, columns, r])
    moved = ops.transpose(apart, [*range(n), *(n + at for at in (0, 2, 4, 1, 3))])
    return ops.reshape(moved, [*lead, rows, columns, c * r * r] if last else [*lead, c * r * r, rows, columns])


@in_both_words
def channel_shuffle(x: Any, groups: int, data_format: str = "NCHW") -> Any:
    """Returns x with its channels taken from each group in turn (Zhang et al. 2018). Differentiable.

    Raises:
        ShapeError: the groups do not divide the channels.
    """
    g = sizes_of(groups, 1, "channel_shuffle: groups")[0]
    last, lead, (c, h, w) = _image("channel_shuffle", x, data_format, g, 0)
    n = len(lead)
    apart = ops.reshape(x, [*lead, h, w, g, c // g] if last else [*lead, g, c // g, h, w])
    moved = ops.swapaxes(apart, *((n + 2, n + 3) if last else (n, n + 1)))
    return ops.reshape(moved, [*lead, h, w, c] if last else [*lead, c, h, w])


def _image(who: str, x: Any, data_format: str, factor: int, of: int) -> tuple[bool, list[Any], tuple[int, ...]]:
    """Returns whether channels lie last, the sizes in front of an image, and its channels, height and width.

    Raises:
        ShapeError: x is no image, or a factor does not divide its channels (0) or its height and width (1).
    """
    last, shape = is_last(data_format, 2, who), tuple(x.shape)
    if len(shape) < 3:
        raise ShapeError(f"{who}: x expected an image, (..., {', '.join(data_format[1:])}), got shape {shape}")
    c, h, w = (known_size(x, len(shape) + at, who) for at in ((-1, -3, -2) if last else (-3, -2, -1)))
    if any(size % factor for size in ((h, w) if of else (c,))):
        what = "height and width" if of else "channels"
        raise ShapeError(f"{who}: x expected {what} that {factor} divides, got shape {shape}")
    return last, list(shape[:-3]), (c, h, w)


@in_both_words
def unfold(x: Any, kernel_sizes: Any, strides: Any = 1, paddings: Any = 0, dilations: Any = 1) -> Any:
    """Returns the elements of each window of images, side by side. Differentiable.

    Args:
        x: floats of shape (N, C, H, W).
        kernel_sizes: how large windows are: a number, or two.
        strides: how far they lie apart. PyTorch's function has the dilation and the padding before it, by position.
        paddings: zeros around: a number, one for each axis, or (top, left, bottom, right).
        dilations: how far the elements of a window lie apart.

    Returns:
        Of shape (N, C · elements of a window, windows).

    Raises:
        ShapeError: x has another number of axes, or no window fits.
        AttributeValueError: sizes are none.
    """
    if len(x.shape) != 4:
        raise ShapeError(f"unfold: x expected shape (N, C, H, W), got {tuple(x.shape)}")
    sizes = [known_size(x, at, "unfold") for at in (2, 3)]
    pads, places, kernel = _windows("unfold", sizes, kernel_sizes, strides, paddings, dilations)
    around: Any = [(0, 0), (0, 0), *pads]
    flat = ops.flatten(ops.pad(x, around), 2, 3)
    taken = ops.gather(flat, places.reshape(-1), 2)
    return ops.reshape(taken, [0, known_size(x, 1, "unfold") * kernel, places.shape[1]])


@in_both_words
def fold(x: Any, output_sizes: Any, kernel_sizes: Any, strides: Any = 1, paddings: Any = 0, dilations: Any = 1) -> Any:
    """Returns images of the sums of windows that overlap, as `unfold` lays them out. Differentiable.

    Args:
        x: floats of shape (N, C · elements of a window, windows).
        output_sizes: of the images.
        kernel_sizes: as of `unfold`, and so the others.
        strides: see there.
        paddings: see there.
        dilations: see there.

    Raises:
        ShapeError: x is none of such images.
    """
    sizes = sizes_of(output_sizes, 2, "fold: output_sizes")
    pads, places, kernel = _windows("fold", sizes, kernel_sizes, strides, paddings, dilations)
    rows = known_size(x, 1, "fold") if len(x.shape) == 3 else 1
    if rows % kernel or x.shape[2] != places.shape[1]:
        raise ShapeError(
            f"fold: x expected shape (N, C · {kernel}, {places.shape[1]}) for images {tuple(sizes)}, got "
            f"{tuple(x.shape)}"
        )
    high, wide = (size + sum(pad) for size, pad in zip(sizes, pads, strict=True))
    parts = ops.transpose(ops.reshape(x, [0, rows // kernel, places.size]), [2, 0, 1])
    whole = ops.reshape(
        ops.transpose(ops.sum_at(parts, places.reshape(-1), high * wide), [1, 2, 0]), [0, 0, high, wide]
    )
    inner = [slice(before, before + size) for (before, _), size in zip(pads, sizes, strict=True)]
    return whole[along(2, inner[0])][along(3, inner[1])]


def _windows(
    who: str, sizes: Any, kernel: Any, strides: Any, paddings: Any, dilations: Any
) -> tuple[list[tuple[int, int]], np.ndarray, int]:
    """Returns the zeros around each axis, where the elements (rows) of the windows (columns) lie, and how many."""
    kernel = sizes_of(kernel, 2, f"{who}: kernel_sizes")
    steps = zip(
        kernel, sizes_of(strides, 2, f"{who}: strides"), sizes_of(dilations, 2, f"{who}: dilations"), strict=True
    )
    is_each = isinstance(paddings, (list, tuple)) and len(paddings) == 4
    flat = sizes_of(paddings, 4 if is_each else 2, f"{who}: paddings", 0)
    pads = [(flat[at], flat[at + 2 if is_each else at]) for at in range(2)]
    along = []
    for size, (k, stride, dilation), pad in zip(sizes, steps, pads, strict=True):
        count = outputs(size, k, stride, *pad, dilation)
        if count < 1:
            raise ShapeError(
                f"{who}: expected a window that fits into {tuple(sizes)}, got kernel_sizes {tuple(kernel)}"
            )
        along.append(np.add.outer(np.arange(k) * dilation, np.arange(count) * stride))
    down, across = along
    places = down[:, None, :, None] * (sizes[1] + sum(pads[1])) + across[None, :, None, :]
    return pads, places.reshape(math.prod(kernel), -1), math.prod(kernel)


@in_both_words
def local_response_norm(
    x: Any, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1.0, data_format: str = "NCHW"
) -> Any:
    """Returns x / (k + alpha · mean of x² over neighbouring channels)^beta (Krizhevsky et al. 2012). Differentiable.

    Args:
        x: floats of shape (N, C, ...), or with the channels last.
        size: how many channels, ≥ 1; beyond the first and the last stand zeros, which count.
        alpha: factor on the mean.
        beta: the power.
        k: what is added.
        data_format: NCL, NCHW, NCDHW, or NLC, NHWC, NDHWC.
    """
    who, ndim = "local_response_norm", len(x.shape)
    if ndim < 3:
        raise ShapeError(f"{who}: x expected 3 axes or more, got shape {tuple(x.shape)}")
    at = ndim - 1 if data_format[-1:] == "C" else 1
    count, channels = sizes_of(size, 1, f"{who}: size")[0], known_size(x, at, who)
    around: Any = [(count // 2, (count - 1) // 2) if axis == at else (0, 0) for axis in range(ndim)]
    squares = ops.pad(ops.square(x), around)
    parts = [squares[along(at, slice(i, i + channels))] for i in range(count)]
    return ops.divide(x, ops.pow(ops.add_n(parts) * (alpha / count) + k, beta))


@in_both_words
def pad(
    x: Any,
    pad: Any,
    mode: str = "constant",
    value: float = 0.0,
    data_format: str | None = None,
    pad_from_left_axis: bool | None = None,
) -> Any:
    """Returns x with elements put before and after along its axes; see `opsdk.pad`. Differentiable.

    Args:
        x: of any dtype.
        pad: numbers (before, after) for the last axis, then for the one before it, and so on; or a pair for each axis.
        mode: `constant`, `reflect`, `replicate` or `circular`.
        value: what is put there where the mode is constant; None for 0.
        data_format: NLC, NHWC or NDHWC: numbers are for the axes before the channels, which lie last.
        pad_from_left_axis: of numbers for all axes, whether they begin with the first, as Paddle reads them, or with
            the last, as PyTorch does. One of the two has to be said, unless they are the same either way.

    Raises:
        ShapeError, AttributeValueError: as of `opsdk.pad`.
    """
    ndim, listed = len(x.shape), list(pad) if isinstance(pad, (list, tuple, np.ndarray)) else pad
    is_flat = isinstance(listed, list) and len(listed) % 2 == 0 and not any(np.ndim(each) for each in listed)
    if is_flat and len(listed) == 2 * ndim and pad_from_left_axis is not None:
        pairs = list(zip(listed[::2], listed[1::2], strict=True))
        listed = pairs if pad_from_left_axis else pairs[::-1]
    elif is_flat and data_format is not None and is_last(data_format, ndim - 2, "pad"):
        around = list(zip(listed[::2], listed[1::2], strict=True))[::-1]
        listed = [(0, 0)] * (ndim - 1 - len(around)) + [*around, (0, 0)]
    return ops.pad(x, listed, mode, 0.0 if value is None else value)


@in_both_words
def zeropad2d(x: Any, padding: Any, data_format: str = "NCHW") -> Any:
    """Returns images with zeros around them: (left, right, top, bottom), or one number. Differentiable."""
    return PADS[2](x, padding, "constant", 0.0, data_format)


def _pad_of(axes: int) -> Any:
    def around(
        x: Any, padding: Any, mode: str = "constant", value: float = 0.0, data_format: str = FORMATS[axes][0]
    ) -> Any:
        """Returns x with elements around it, (before, after) for the last axis first, or one number; see `pad`."""
        who = f"pad of {axes} axes"
        if len(x.shape) != axes + 2:
            raise ShapeError(f"{who}: x expected shape ({', '.join(data_format)}), got {tuple(x.shape)}")
        return pad(x, sizes_of(padding, 2 * axes, f"{who}: padding", 0), mode, value, data_format)

    return around


PADS = {axes: _pad_of(axes) for axes in FORMATS}


def _lp_pool_of(axes: int) -> Any:
    name = f"lp_pool{axes}d"

    def lp_pool(
        x: Any,
        norm_type: float,
        kernel_size: Any,
        stride: Any = None,
        padding: Any = 0,
        ceil_mode: bool = False,
        data_format: str = FORMATS[axes][0],
    ) -> Any:
        if norm_type == math.inf:
            return pooling.greatest(name, x, kernel_size, stride, padding, 1, ceil_mode, data_format, None)
        if not norm_type > 0:
            raise AttributeValueError(f"{name}: norm_type expected a number > 0, got {norm_type!r}")
        powers = ops.pow(x, float(norm_type))
        sums = pooling.means(name, powers, kernel_size, stride, padding, ceil_mode, False, 1, data_format)
        return ops.pow(sums, 1.0 / norm_type)

    lp_pool.__name__ = lp_pool.__qualname__ = name
    lp_pool.__doc__ = "Returns (Σ xᵖ)^(1/p) of each window; windows are those of `avg_pool`. Differentiable."
    return in_both_words(lp_pool)


def _max_unpool_of(axes: int) -> Any:
    name = f"max_unpool{axes}d"

    def max_unpool(
        x: Any,
        indices: Any,
        kernel_size: Any,
        stride: Any = None,
        padding: Any = 0,
        data_format: str = FORMATS[axes][0],
        output_size: Any = None,
    ) -> Any:
        if is_last(data_format, axes, name) or len(x.shape) != axes + 2:
            wanted = ", ".join(FORMATS[axes][0])
            raise ShapeError(f"{name}: x expected shape ({wanted}), got {tuple(x.shape)}, {data_format}")
        kernel = sizes_of(kernel_size, axes, f"{name}: kernel_size")
        steps = kernel if stride is None else sizes_of(stride, axes, f"{name}: stride")
        pads, have = sizes_of(padding, axes, f"{name}: padding", 0), [known_size(x, 2 + at, name) for at in range(axes)]
        each = zip(have, kernel, steps, pads, strict=True)
        least = [(n - 1) * step - 2 * around + k for n, k, step, around in each]
        sizes = least if output_size is None else sizes_of(list(output_size)[-axes:], axes, f"{name}: output_size")
        if any(not abs(size - other) < step for size, other, step in zip(sizes, least, steps, strict=True)):
            raise ShapeError(f"{name}: output_size expected within a stride of {least}, got {list(sizes)}")
        lead = [*x.shape[:2], math.prod(sizes)]
        zeros = ops.expand(np.zeros((1, 1, 1), x.dtype), lead)
        places = ops.cast(ops.flatten(indices, 2), "int64")
        return ops.reshape(ops.put_along_axis(zeros, places, ops.flatten(x, 2), 2), [0, 0, *sizes])

    max_unpool.__name__ = max_unpool.__qualname__ = name
    max_unpool.__doc__ = (
        "Returns zeros with the elements of x where pooling took them from, as its places say. Differentiable."
    )
    return in_both_words(max_unpool)


lp_pool1d, lp_pool2d, lp_pool3d = LP_POOLS = [_lp_pool_of(axes) for axes in FORMATS]
max_unpool1d, max_unpool2d, max_unpool3d = MAX_UNPOOLS = [_max_unpool_of(axes) for axes in FORMATS]


@in_both_words
def unflatten(x: Any, axis: int, shape: Any) -> Any:
    """Returns x with one axis split into several, of which one may be -1. Differentiable."""
    at = normalize_axes([axis], len(x.shape), "unflatten")[0]
    return ops.reshape(x, [*x.shape[:at], *shape, *x.shape[at + 1 :]])


FUNCTIONS = (
    *(pixel_shuffle, pixel_unshuffle, channel_shuffle, unfold, fold, local_response_norm, pad, zeropad2d),
    *LP_POOLS,
    *MAX_UNPOOLS,
)
