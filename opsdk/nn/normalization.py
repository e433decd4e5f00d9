"""Normalization, as functions of tensors, Program variables and arrays alike."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from opsdk.core.errors import AttributeValueError, ShapeError
from opsdk.core.spec import OpenSize
from opsdk.ops import functions as ops
from opsdk.ops import normalization as rows
from opsdk.ops.nets.batch_norm import batch_norm as _batch_norm
from opsdk.ops.shape import reshape_like

# Any, in this file: tensors, variables or arrays, and the same out.
FORMATS = {"NC": False, "NCL": False, "NCHW": False, "NCDHW": False, "NLC": True, "NHWC": True, "NDHWC": True}
_EPS = {"bfloat16": 2**-7, "float16": 2**-10, "float32": 2**-23, "float64": 2**-52}


def batch_norm(
    x: Any,
    running_mean: Any,
    running_var: Any,
    weight: Any = None,
    bias: Any = None,
    training: bool = False,
    momentum: float = 0.9,
    epsilon: float = 1e-05,
    data_format: str = "NCHW",
    use_global_stats: bool | None = None,
    name: str | None = None,
) -> Any:
    """Returns (x - mean) / √(variance + epsilon) · weight + bias, over all axes but that of the channels.

    Differentiable in x, weight and bias; in training through the statistics of the batch.

    Args:
        x: floats of shape (N, C, *size), or with the channels last.
        running_mean: of shape (C,); in training momentum · it + (1 - momentum) · that of the batch, in place.
        running_var: likewise, of the variance Σ / count, as in Paddle; PyTorch's is Σ / (count - 1).
        weight: of shape (C,), or None.
        bias: likewise.
        training: whether mean and variance are those of the batch; else the running ones.
        momentum: how much of the running statistics stays. PyTorch's momentum is how much goes.
        epsilon: added to the variance, > 0.
        data_format: NC, NCL, NCHW, NCDHW, or NLC, NHWC, NDHWC.
        use_global_stats: True takes the running statistics in training too, False those of the batch always.
        name: without meaning.
    """
    taken = training if use_global_stats is None else not use_global_stats
    kept = (weight, bias, running_mean, running_var, None)
    last = _is_last(data_format, "batch_norm")
    return _batch_norm(x, *kept, training=taken, momentum=momentum, epsilon=epsilon, channels_last=last)[0]


def layer_norm(
    x: Any,
    normalized_shape: int | Sequence[int],
    weight: Any = None,
    bias: Any = None,
    epsilon: float = 1e-05,
    name: str | None = None,
) -> Any:
    """Returns (x - mean) / √(variance + epsilon) · weight + bias, over the last axes. Differentiable.

    Args:
        x: floats of shape (..., *normalized_shape).
        normalized_shape: the sizes of these axes.
        weight: of that shape, or flattened; or None.
        bias: likewise.
        epsilon: added to the variance, > 0.
        name: without meaning.

    Raises:
        ShapeError: x or weight or bias is of another shape.
    """
    sizes = _last_sizes("layer_norm", x, normalized_shape)
    lines = ops.flatten(x, -len(sizes)) if len(sizes) > 1 else x
    if weight is None and bias is None:
        made = rows.standardize(lines, epsilon=epsilon)
    else:
        scale, shift = (
            _flat("layer_norm", *each, sizes, x.dtype) for each in (("weight", weight, 1), ("bias", bias, 0))
        )
        made = rows.layer_norm(lines, scale, shift, epsilon=epsilon)
    return reshape_like(made, x) if len(sizes) > 1 else made


def rms_norm(
    input: Any,
    normalized_shape: int | Sequence[int],
    weight: Any = None,
    eps: float | None = 1e-05,
    name: str | None = None,
) -> Any:
    """Returns x / √(mean x² + eps) · weight, over the last axes, as PyTorch does; Paddle's gives 1 / √… beside it.

    Differentiable.

    Args:
        input: floats of shape (..., *normalized_shape).
        normalized_shape: the sizes of these axes.
        weight: of that shape, or flattened; or None.
        eps: added to the mean square, > 0; None for the distance of 1 from the next number of the dtype.
        name: without meaning.

    Raises:
        ShapeError: x or weight is of another shape.
    """
    sizes = _last_sizes("rms_norm", input, normalized_shape)
    lines = ops.flatten(input, -len(sizes)) if len(sizes) > 1 else input
    epsilon = _EPS[np.dtype(input.dtype).name] if eps is None else eps
    made = rows.rms_norm(lines, _flat("rms_norm", "weight", weight, 1, sizes, input.dtype), epsilon=epsilon)
    return reshape_like(made, input) if len(sizes) > 1 else made


def group_norm(
    x: Any,
    num_groups: int,
    epsilon: float = 1e-05,
    weight: Any = None,
    bias: Any = None,
    data_format: str = "NCHW",
    name: str | None = None,
) -> Any:
    """Returns x with each group of channels of each instance at mean 0 and variance 1, times weight, plus bias.

    Differentiable (Wu and He 2018, eq. 1).

    Args:
        x: floats of shape (N, C, *size), or with the channels last.
        num_groups: how many groups; divides C.
        epsilon: added to the variance, > 0.
        weight: of shape (C,), or None.
        bias: likewise.
        data_format: as of `batch_norm`.
        name: without meaning.

    Raises:
        ShapeError: x, weight or bias does not fit.
    """
    return _by_groups("group_norm", x, num_groups, epsilon, weight, bias, data_format)


def instance_norm(
    x: Any,
    running_mean: Any = None,
    running_var: Any = None,
    weight: Any = None,
    bias: Any = None,
    use_input_stats: bool = True,
    momentum: float = 0.9,
    eps: float = 1e-05,
    data_format: str = "NCHW",
    name: str | None = None,
) -> Any:
    """Returns x with each channel of each instance at mean 0 and variance 1, times weight, plus bias. Differentiable.

    Args:
        x: floats of shape (N, C, *size), or with the channels last.
        running_mean: of shape (C,), taken where `use_input_stats` is False.
        running_var: likewise.
        weight: of shape (C,), or None.
        bias: likewise.
        use_input_stats: False takes the running statistics.
        momentum: without meaning, as in Paddle: no running statistics are kept.
        eps: added to the variance, > 0.
        data_format: as of `batch_norm`.
        name: without meaning.

    Raises:
        ShapeError: x, weight or bias does not fit.
    """
    if not use_input_stats:
        return batch_norm(x, running_mean, running_var, weight, bias, epsilon=eps, data_format=data_format)
    return _by_groups("instance_norm", x, None, eps, weight, bias, data_format)


def _by_groups(who: str, x: Any, groups: int | None, epsilon: float, weight: Any, bias: Any, data_format: str) -> Any:
    last, shape = _is_last(data_format, who), tuple(getattr(x, "shape", ()))
    if len(shape) < 2:
        raise ShapeError(f"{who}: x expected shape (N, C, *size), got {shape}")
    axes, channels = len(shape) - 2, shape[-1 if last else 1]
    if isinstance(channels, OpenSize):
        raise channels.unknown(f"a number of channels for {who}")
    count = channels if groups is None else groups
    if count < 1 or channels % count:
        raise ShapeError(f"{who}: num_groups expected to divide the {channels} channels of x {shape}, got {groups}")
    moved = ops.transpose(x, [0, axes + 1, *range(1, axes + 1)]) if last and axes else x
    rest = [channels // count, *moved.shape[2:]]
    size = -1 if any(isinstance(one, OpenSize) for one in rest) else math.prod(rest)
    made = reshape_like(rows.standardize(ops.reshape(moved, [0, count, size]), epsilon=epsilon), moved)
    made = ops.transpose(made, [0, *range(2, axes + 2), 1]) if last and axes else made
    for name, value, combine in (("weight", weight, ops.multiply), ("bias", bias, ops.add)):
        if value is None:
            continue
        if tuple(value.shape) != (channels,):
            raise ShapeError(f"{who}: {name} expected shape ({channels},), got {tuple(value.shape)}")
        made = combine(made, value if last or not axes else ops.unsqueeze(value, list(range(1, axes + 1))))
    return made


def _is_last(data_format: Any, who: str) -> bool:
    if data_format not in FORMATS:
        raise AttributeValueError(f"{who}: data_format expected one of {', '.join(FORMATS)}, got {data_format!r}")
    return FORMATS[data_format]


def sizes_of(normalized_shape: Any, who: str) -> list[int]:
    """Returns the sizes of the last axes, of one number or several.

    Raises:
        AttributeValueError: these are no whole numbers ≥ 1.
    """
    listed = list(normalized_shape) if hasattr(normalized_shape, "__iter__") else [normalized_shape]
    if not listed or not all(isinstance(size, (int, np.integer)) and size >= 1 for size in listed):
        raise AttributeValueError(f"{who}: normalized_shape expected sizes ≥ 1, got {normalized_shape!r}")
    return [int(size) for size in listed]


def _last_sizes(who: str, x: Any, normalized_shape: Any) -> list[int]:
    sizes, shape = sizes_of(normalized_shape, who), tuple(getattr(x, "shape", ()))
    ends = zip(shape[len(shape) - len(sizes) :], sizes, strict=False)
    if len(shape) < len(sizes) or any(not isinstance(have, OpenSize) and have != size for have, size in ends):
        raise ShapeError(f"{who}: x expected shape (…, {', '.join(map(str, sizes))}), got {shape}")
    return sizes


def _flat(who: str, name: str, value: Any, filling: float, sizes: Sequence[int], dtype: Any) -> Any:
    """Returns a weight or a bias as one line, of its filling unless given."""
    count = math.prod(sizes)
    if value is None:
        return np.full(count, filling, dtype)
    shape = tuple(value.shape)
    if shape not in ((count,), tuple(sizes)):
        raise ShapeError(f"{who}: {name} expected shape {tuple(sizes)}, got {shape}")
    return ops.flatten(value) if len(shape) > 1 else value


FUNCTIONS = batch_norm, group_norm, instance_norm, layer_norm, rms_norm
