"""Pooling: the greatest element or the mean of each window, of windows that move in steps or that share axes out."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from opsdk.core.dtype import computed_in
from opsdk.core.errors import ShapeError
from opsdk.core.spec import TensorSpec, shape_text
from opsdk.core.sums import CHAIN, sum_at, total
from opsdk.define.decorators import op
from opsdk.define.sample import Sample
from opsdk.ops.lines.along_axis import take_along_axis
from opsdk.ops.nets.geometry import (
    Sizes,
    Windows,
    along,
    as_given,
    channels_first,
    last,
    windows_along,
    windows_count,
    windows_sharing,
)
from opsdk.ops.shape import flatten, reshape_like

# Any, in the backwards of built-in ops: arrays, tensors or Program variables, whichever runtime calls.
_STEPS = "*, int[] >= 1 kernel=[], int[] >= 1 stride=[], int[] >= 0 padding=[]"
_WHICH = "bool ceil_mode=False, int[] >= 1 output_size=[], bool channels_last=False"


@op(
    f"opsdk::max_pool(Tensor<float> x, {_STEPS}, int[] >= 1 dilation=[], {_WHICH}) -> (Tensor out, Tensor indices)",
    nondifferentiable=("indices",),
)
def max_pool(
    x: np.ndarray,
    *,
    kernel: Sizes,
    stride: Sizes,
    padding: Sizes,
    dilation: Sizes,
    ceil_mode: bool,
    output_size: Sizes,
    channels_last: bool,
) -> tuple[np.ndarray, np.ndarray]:
    """The greatest element of each window, and where it lies; nan is the greatest. Of equal ones the first counts.

    Differentiable in x, to any order.

    Args:
        x: of shape (N, C, *size).
        kernel: how many elements a window has along each axis.
        stride: how far one window lies from the next, for each axis.
        padding: places before and after each axis, two numbers for each, of which no element is taken.
        dilation: how far one element of a window lies from the next, for each axis.
        ceil_mode: whether a last window counts that reaches beyond the padding.
        output_size: how many windows share each axis out, in place of all that is said before.
        channels_last: x is (N, *size, C), and so are the results.

    Returns:
        The greatest elements, and int64 positions among the elements of a channel, in C order.

    Raises:
        ShapeError: no window fits, or one has nothing but padding in it.
    """
    _pooled("max_pool", x.shape, kernel, stride, padding, dilation, ceil_mode, output_size, channels_last)
    images = channels_first(x, channels_last)
    size = images.shape[2:]
    windows = _windows(size, kernel, stride, padding, dilation, ceil_mode, output_size)
    places = np.arange(math.prod(size), like=x).reshape(size)
    shape = (*images.shape[:2], *(len(each.spans) for each in windows))
    out = np.full_like(x, -np.inf, order="C", shape=shape)
    indices = np.full_like(x, -1, np.int64, "C", shape=shape)
    if output_size:
        for at in np.ndindex(*shape[2:]):
            span = tuple([slice(*each.spans[i]) for i, each in zip(at, windows, strict=True)])
            block = images[last(*span)].reshape(*shape[:2], math.prod(places[span].shape))
            first = block.argmax(-1)
            out[last(*at)] = np.take_along_axis(block, first[..., None], -1)[..., 0]
            indices[last(*at)] = places[span].reshape(-1)[first]
    for taps in [] if output_size else itertools.product(*(each.taps for each in windows)):
        to, taken = zip(*taps, strict=True)
        best, held, new = out[last(*to)], indices[last(*to)], images[last(*taken)]
        is_better = (new > best) | (held < 0) | np.isnan(new)
        np.copyto(best, new, where=is_better)
        np.copyto(held, places[taken], where=is_better)
    return as_given(out, channels_last), as_given(indices, channels_last)


@max_pool.infer
def _max_pool(
    x: TensorSpec,
    kernel: Sizes,
    stride: Sizes,
    padding: Sizes,
    dilation: Sizes,
    ceil_mode: bool,
    output_size: Sizes,
    channels_last: bool,
) -> tuple[TensorSpec, TensorSpec]:
    shape = _pooled("max_pool", x.shape, kernel, stride, padding, dilation, ceil_mode, output_size, channels_last)
    return TensorSpec(shape, x.dtype), TensorSpec(shape, "int64")


@max_pool.backward
def max_pool_grad(x_spec: Any, indices: np.ndarray, dout: np.ndarray, channels_last: bool) -> np.ndarray:
    """Zeros, with the cotangents added where the greatest elements lay."""
    at, arrived = channels_first(indices, channels_last), channels_first(dout, channels_last)
    batch, *rest = x_spec.shape
    shape = (batch, rest[-1], *rest[:-1]) if channels_last else (batch, *rest)
    planes = np.arange(math.prod(shape[:2]), like=at).reshape(*shape[:2], *[1] * (len(shape) - 2))
    dx = sum_at(arrived.reshape(-1), (at + planes * math.prod(shape[2:])).reshape(-1), math.prod(shape))
    return as_given(dx.reshape(shape), channels_last)


@max_pool_grad.backward(composite=True)
def max_pool_grad_grad(indices: Any, ddx: Any, channels_last: bool) -> Any:
    """What enters where the greatest elements lay."""
    axis = 1 if channels_last else 2
    lines, at = (flatten(value, start_axis=axis, stop_axis=axis - 3) for value in (ddx, indices))
    return reshape_like(take_along_axis(lines, at, axis=axis), indices)


@op(f"opsdk::avg_pool(Tensor<float> x, {_STEPS}, bool exclusive=True, float? divisor=None, {_WHICH}) -> Tensor out")
def avg_pool(
    x: np.ndarray,
    *,
    kernel: Sizes,
    stride: Sizes,
    padding: Sizes,
    exclusive: bool,
    divisor: float | None,
    ceil_mode: bool,
    output_size: Sizes,
    channels_last: bool,
) -> np.ndarray:
    """The mean of each window. Differentiable in x, to any order.

    Args:
        x: as of `max_pool`, and so the others.
        kernel: see there.
        stride: see there.
        padding: see there; these places are zeros.
        exclusive: whether the mean is one of elements alone; else zeros of the padding count too.
        divisor: what every sum is divided by, in place of how many were added.
        ceil_mode: see there.
        output_size: see there.
        channels_last: see there.

    Raises:
        ShapeError: as of `max_pool`.
    """
    dilation = (1,) * len(kernel)
    _pooled("avg_pool", x.shape, kernel, stride, padding, dilation, ceil_mode, output_size, channels_last)
    images = channels_first(x, channels_last)
    windows = _windows(images.shape[2:], kernel, stride, padding, dilation, ceil_mode, output_size)
    made = images.astype(computed_in(x.dtype), copy=False)
    for axis, each in enumerate(windows, 2):
        made = _sums(made, axis, each)
    made = made / _shares(windows, exclusive, divisor, made)
    return as_given(made.astype(x.dtype, copy=False), channels_last)


@avg_pool.infer
def _avg_pool(
    x: TensorSpec,
    kernel: Sizes,
    stride: Sizes,
    padding: Sizes,
    ceil_mode: bool,
    output_size: Sizes,
    channels_last: bool,
) -> TensorSpec:
    dilation = (1,) * len(kernel)
    return TensorSpec(
        _pooled("avg_pool", x.shape, kernel, stride, padding, dilation, ceil_mode, output_size, channels_last), x.dtype
    )


@avg_pool.backward
def avg_pool_grad(
    x_spec: Any,
    dout: np.ndarray,
    kernel: Sizes,
    stride: Sizes,
    padding: Sizes,
    exclusive: bool,
    divisor: float | None,
    ceil_mode: bool,
    output_size: Sizes,
    channels_last: bool,
) -> np.ndarray:
    """The cotangent, shared out among the elements of each window."""
    size = x_spec.shape[1:-1] if channels_last else x_spec.shape[2:]
    windows = _windows(size, kernel, stride, padding, (1,) * len(kernel), ceil_mode, output_size)
    dx = channels_first(dout, channels_last).astype(computed_in(dout.dtype), copy=False)
    dx = dx / _shares(windows, exclusive, divisor, dx)
    for axis, each in enumerate(windows, 2):
        dx = _spread(dx, axis, each, size[axis - 2])
    return as_given(dx.astype(dout.dtype, copy=False), channels_last)


@avg_pool_grad.backward(composite=True)
def avg_pool_grad_grad(
    ddx: Any,
    kernel: Sizes,
    stride: Sizes,
    padding: Sizes,
    exclusive: bool,
    divisor: float | None,
    ceil_mode: bool,
    output_size: Sizes,
    channels_last: bool,
) -> Any:
    """The means of what enters."""
    steps: dict[str, Any] = {"kernel": kernel, "stride": stride, "padding": padding, "output_size": output_size}
    counted: dict[str, Any] = {"exclusive": exclusive, "divisor": divisor, "ceil_mode": ceil_mode}
    return avg_pool(ddx, **steps, **counted, channels_last=channels_last)


def _windows(
    size: Sizes, kernel: Sizes, stride: Sizes, padding: Sizes, dilation: Sizes, ceil_mode: bool, output_size: Sizes
) -> list[Windows]:
    if output_size:
        return [windows_sharing(*each) for each in zip(size, output_size, strict=True)]
    axes = zip(size, kernel, stride, padding[::2], padding[1::2], dilation, strict=True)
    return [windows_along(n, k, s, before, after, d, ceil_mode) for n, k, s, before, after, d in axes]


def _pooled(
    name: str,
    given: Sequence[int | None],
    kernel: Sizes,
    stride: Sizes,
    padding: Sizes,
    dilation: Sizes,
    ceil_mode: bool,
    output_size: Sizes,
    channels_last: bool,
) -> Sequence[int | None]:
    """Returns the shape of the result.

    Raises:
        ShapeError: the attributes are not one for each axis; no window fits, or one has padding alone.
    """
    subject = f"op 'opsdk::{name}'"
    size = given[1:-1] if channels_last else given[2:]
    lengths = [len(output_size)] if output_size else [len(kernel), len(stride), len(dilation), len(padding) / 2]
    if len(given) < 3 or any(length != len(size) for length in lengths):
        wanted = "output_size" if output_size else "kernel, stride, dilation and two of padding"
        raise ShapeError(
            f"{subject}: {wanted} expected one number for each axis of x (N, C, *size), got x {shape_text(given)}, "
            f"kernel {list(kernel)}, stride {list(stride)}, padding {list(padding)}, dilation {list(dilation)}, "
            f"output_size {list(output_size)}"
        )
    made: list[int | None] = list(output_size)
    for n, k, s, before, after, d in (
        [] if output_size else zip(size, kernel, stride, padding[::2], padding[1::2], dilation, strict=True)
    ):
        count = None if n is None else windows_count(n, k, s, before, after, d, ceil_mode)
        seen = np.zeros(max(count or 0, 0), bool)
        for to, _ in windows_along(n, k, s, before, after, d, ceil_mode).taps if n and count and count > 0 else ():
            seen[to] = True
        if count is not None and (count < 1 or not seen.all()):
            raise ShapeError(
                f"{subject}: kernel expected an element of x in every window, got x {shape_text(given)}, kernel "
                f"{list(kernel)}, stride {list(stride)}, padding {list(padding)}, dilation {list(dilation)}"
            )
        made.append(count)
    if output_size and 0 in size:
        raise ShapeError(f"{subject}: x expected elements to share out, got {shape_text(given)}")
    return (given[0], *made, given[-1]) if channels_last else (*given[:2], *made)


def _shares(windows: Sequence[Windows], exclusive: bool, divisor: float | None, sums: np.ndarray) -> np.ndarray:
    """Returns what the sum of each window is divided by."""
    if divisor is not None:
        return np.array(divisor, sums.dtype, like=sums)
    made = np.array(1, sums.dtype, like=sums)
    for each in windows:
        counts = [stop - start for start, stop in each.spans] if exclusive else each.places
        made = made[..., None] * np.array(counts, sums.dtype, like=sums)
    return made


@np.errstate(over="ignore", invalid="ignore")  # inf and nan are values of a sum
def _sums(x: np.ndarray, axis: int, windows: Windows) -> np.ndarray:
    """Returns the sums of windows along an axis: an element of each at a time, where these are few, or each alone."""
    spans, taps = windows.spans, windows.taps
    made = np.zeros((*x.shape[:axis], len(spans), *x.shape[axis + 1 :]), x.dtype, like=x)
    if 0 < len(taps) <= min(CHAIN, len(spans)):
        for to, taken in taps:
            made[along(axis, to)] += x[along(axis, taken)]
    else:
        for i, (start, stop) in enumerate(spans):
            made[along(axis, i)] = total(x[along(axis, slice(start, stop))], [axis])
    return made


@np.errstate(over="ignore", invalid="ignore")
def _spread(dout: np.ndarray, axis: int, windows: Windows, size: int) -> np.ndarray:
    """Returns along an axis the sum of what all windows send that an element lies in."""
    made = np.zeros((*dout.shape[:axis], size, *dout.shape[axis + 1 :]), dout.dtype, like=dout)
    if 0 < len(windows.taps) <= len(windows.spans):
        for to, taken in windows.taps:
            made[along(axis, taken)] += dout[along(axis, to)]
    else:
        for i, (start, stop) in enumerate(windows.spans):
            made[along(axis, slice(start, stop))] += dout[along(axis, slice(i, i + 1))]
    return made


@max_pool.samples
def _greatest(rng: np.random.Generator) -> Iterator[Sample]:
    yield from _windows_of(rng)
    x = rng.normal(size=(1, 1, 7))
    yield Sample(x, kernel=[3], stride=[2], padding=[1, 2], dilation=[2], ceil_mode=True, reason="dilated")
    ties = np.array([[[1.0, 1.0, -np.inf, -np.inf]]])
    yield Sample(ties, kernel=[2], stride=[2], padding=[0, 0], dilation=[1], reason="ties, infinities")


@avg_pool.samples
def _means(rng: np.random.Generator) -> Iterator[Sample]:
    for sample in _windows_of(rng):
        yield Sample(*sample.inputs, **{k: v for k, v in sample.attrs.items() if k != "dilation"}, reason=sample.reason)
    x = rng.normal(size=(1, 2, 4, 3))
    steps: dict[str, Any] = {"kernel": [3, 2], "stride": [2, 1], "padding": [1, 1, 0, 1]}
    yield Sample(x, **steps, exclusive=False, ceil_mode=True, reason="zeros count")
    yield Sample(x, **steps, divisor=3.0, reason="another divisor")


def _windows_of(rng: np.random.Generator) -> Iterator[Sample]:
    two: dict[str, Any] = {"kernel": [2, 2], "stride": [2, 2], "padding": [0] * 4, "dilation": [1, 1]}
    yield Sample(rng.normal(size=(1, 2, 4, 5)), **two, reason="2 × 2, a column left over")
    moved = {**two, "kernel": [3, 2], "stride": [2, 1], "padding": [1, 1, 0, 1]}
    yield Sample(rng.normal(size=(2, 3, 4, 1)), **moved, ceil_mode=True, reason="overlapping, padded")
    turned = rng.normal(size=(1, 5, 4, 2))
    yield Sample(turned, **moved, channels_last=True, reason="channels last")
    yield Sample(turned, output_size=[3, 2], channels_last=True, reason="axes shared out, channels last")
    yield Sample(rng.normal(size=(1, 2, 3)), output_size=[5], reason="more windows than elements")
    yield Sample(np.zeros((0, 1, 2, 2)), **two, reason="no images")


_FLOATS = ("float32", "float64", "float16", "bfloat16")
for _op, _dtype, _dtypes in ((max_pool, "float32", {}), (max_pool_grad, "int64", {"dout": _FLOATS})):
    _op.kernel(
        "cpu",
        language="c",
        dtype=_dtype,
        source=Path(__file__).with_suffix(".c"),
        dtypes=_dtypes,
        openmp=True,
        optional=True,
        contiguous=True,
    )
