"""Geometry of windows that move over images: their sizes, how many there are, and where the channels lie."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from opsdk.core.errors import DTypeError, ShapeError
from opsdk.core.spec import TensorSpec, shape_text

Sizes = Sequence[int]
STEPS = "*, int[] >= 1 stride, int[] padding, int[] >= 1 dilation, int >= 1 groups=1, bool channels_last=False"


def attributes(stride: Sizes, padding: Sizes, dilation: Sizes, groups: int, channels_last: bool) -> dict[str, Any]:
    """Returns the attributes of a convolution by name."""
    steps = {"stride": stride, "padding": padding, "dilation": dilation}
    return {**steps, "groups": groups, "channels_last": channels_last}


def channels_first(x: np.ndarray, channels_last: bool) -> np.ndarray:
    """Returns a view with the channels behind the batch, wherever they lie."""
    return np.moveaxis(x, -1, 1) if channels_last else x


def as_given(x: np.ndarray, channels_last: bool) -> np.ndarray:
    """Returns what has the channels behind the batch with them where those of the input lie."""
    return np.ascontiguousarray(np.moveaxis(x, 1, -1), like=x) if channels_last else x


def each_axis(x: Any, weight: Any, stride: Sizes, padding: Sizes, dilation: Sizes) -> Iterator[tuple[Any, ...]]:
    """Yields size, kernel, stride, zeros before and after, and dilation, for each axis (Any: sizes, or None)."""
    return zip(x[2:], weight[2:], stride, padding[::2], padding[1::2], dilation, strict=True)


def sizes(spec: TensorSpec) -> tuple[int, ...]:
    """Returns the shape that an infer rule gives for arrays, of which all is known."""
    return tuple([size or 0 for size in spec.shape])


def last(*index: Any) -> Any:
    """Returns the index of the last axes that takes these (Any: whatever NumPy takes as an index)."""
    return (..., *index)


def along(axis: int, index: Any) -> Any:
    """Returns the index that takes this of one axis, and all of those before and behind (Any: as of `last`)."""
    return (*[slice(None)] * axis, index)


def outputs(size: int, kernel: int, stride: int, before: int, after: int, dilation: int) -> int:
    """Returns how many windows of a kernel fit along an axis."""
    return (size + before + after - dilation * (kernel - 1) - 1) // stride + 1


def inputs(size: int, kernel: int, stride: int, before: int, after: int, dilation: int) -> int:
    """Returns what size windows reach over along an axis, so many of them."""
    return (size - 1) * stride + dilation * (kernel - 1) + 1 - before - after


def tap(size: int, count: int, stride: int, shift: int) -> tuple[slice, slice] | None:
    """Returns which of so many outputs read an element at output · stride + shift, and which elements these are.

    None where all that they would read lies outside of the axis.
    """
    first, last = max(-(shift // stride), 0), min((size - 1 - shift) // stride + 1, count)
    if first >= last:
        return None
    begin = first * stride + shift
    return slice(first, last), slice(begin, begin + (last - 1 - first) * stride + 1, stride)


class Steps(NamedTuple):
    """Where taps lie: one number for each axis. Output p reads x at p · stride + tap · dilation - before."""

    stride: Sizes
    dilation: Sizes
    before: Sizes


class Windows(NamedTuple):
    """The windows along one axis."""

    spans: list[tuple[int, int]]  # of each, where its elements begin and end
    taps: list[tuple[slice, slice]]  # of each of their elements, which windows have it and where; none if they differ
    places: list[int]  # how many places each has, with those of the padding


def windows_along(
    size: int, kernel: int, stride: int, before: int, after: int, dilation: int, ceil_mode: bool
) -> Windows:
    """Returns windows that move in steps."""
    count = windows_count(size, kernel, stride, before, after, dilation, ceil_mode)
    starts = [i * stride - before for i in range(count)]
    reach = dilation * (kernel - 1) + 1
    taps = [tap(size, count, stride, k * dilation - before) for k in range(kernel)]
    return Windows(
        [(max(start, 0), min(start + reach, size)) for start in starts],
        [each for each in taps if each is not None],
        [min(start + reach, size + after) - start for start in starts],
    )


def windows_count(size: int, kernel: int, stride: int, before: int, after: int, dilation: int, ceil_mode: bool) -> int:
    """Returns how many windows there are; with `ceil_mode` also one that reaches beyond, if it begins within."""
    if not ceil_mode:
        return outputs(size, kernel, stride, before, after, dilation)
    count = outputs(size, kernel, stride, before, after + stride - 1, dilation)
    return count - 1 if (count - 1) * stride >= size + before else count


def windows_sharing(size: int, count: int) -> Windows:
    """Returns so many windows that share an axis out: window i from ⌊i · size / count⌋ to ⌈(i + 1) · size / count⌉."""
    spans = [(i * size // count, -(-(i + 1) * size // count)) for i in range(count)]
    return Windows(spans, [], [stop - start for start, stop in spans])


def checked(
    name: str,
    x: TensorSpec,
    weight: TensorSpec,
    stride: Sizes,
    padding: Sizes,
    dilation: Sizes,
    channels_last: bool,
) -> tuple[int | None, ...]:
    """Returns the shape of x with the channels first, once it has as many axes as the weight and the attributes say."""
    axes = weight.ndim - 2
    if axes < 1 or x.ndim != weight.ndim:
        raise ShapeError(
            f"op 'opsdk::{name}': expected x (N, C, *size) and a weight with as many axes, at least 3, got shapes "
            f"{shape_text(x.shape)} and {shape_text(weight.shape)}"
        )
    for attr, values, wanted in (
        ("stride", stride, axes),
        ("padding", padding, 2 * axes),
        ("dilation", dilation, axes),
    ):
        if len(values) != wanted:
            raise ShapeError(f"op 'opsdk::{name}': {attr} expected {wanted} numbers, got {list(values)}")
    if any(size == 0 for size in weight.shape[2:]):
        raise ShapeError(
            f"op 'opsdk::{name}': weight expected a kernel of one tap at least, got {shape_text(weight.shape)}"
        )
    if x.dtype != weight.dtype:
        raise DTypeError(f"op 'opsdk::{name}': weight expected {x.dtype} like x, got {weight.dtype}; cast it")
    batch, *rest = x.shape
    return (batch, rest[-1], *rest[:-1]) if channels_last else (batch, *rest)
