"""Transposed convolution: what a convolution does to a cotangent, as an op of its own."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from opsdk.core.errors import ShapeError
from opsdk.core.spec import TensorSpec, shape_text
from opsdk.define.decorators import op
from opsdk.define.sample import Sample
from opsdk.ops.nets.convolution import conv, conv_weight
from opsdk.ops.nets.correlation import correlate_back
from opsdk.ops.nets.geometry import (
    STEPS,
    Sizes,
    Steps,
    attributes,
    channels_first,
    checked,
    each_axis,
    inputs,
    sizes,
)

# Any, in the backwards of built-in ops: arrays, tensors or Program variables, whichever runtime calls.


@op(f"opsdk::conv_transpose(Tensor<float> x, Tensor<float> weight, {STEPS}) -> Tensor out")
def conv_transpose(
    x: np.ndarray,
    weight: np.ndarray,
    *,
    stride: Sizes,
    padding: Sizes,
    dilation: Sizes,
    groups: int,
    channels_last: bool,
) -> np.ndarray:
    """What `conv` does to a cotangent: each x[n, c, p] is added, times weight[c, o, k], at p · stride + k · dilation.

    Differentiable in both, to any order.

    Args:
        x: of shape (N, C, *size).
        weight: of shape (C, O / groups, *kernel) and the dtype of x.
        stride: as of `conv`, and so the others.
        padding: what is cut off before and after each axis; below 0, so many places are put there.
        dilation: see there.
        groups: see there.
        channels_last: see there.

    Raises:
        ShapeError: shapes do not fit, or nothing is left.
        DTypeError: x and weight are of two dtypes.
    """
    spec = _conv_transpose(TensorSpec.of(x), TensorSpec.of(weight), stride, padding, dilation, groups, channels_last)
    out = np.zeros(sizes(spec), x.dtype, like=x)
    steps = Steps(stride, dilation, padding[::2])
    correlate_back(channels_first(x, channels_last), weight, groups, steps, channels_first(out, channels_last))
    return out


@conv_transpose.infer
def _conv_transpose(
    x: TensorSpec,
    weight: TensorSpec,
    stride: Sizes,
    padding: Sizes,
    dilation: Sizes,
    groups: int,
    channels_last: bool,
) -> TensorSpec:
    batch, channels, *size = checked("conv_transpose", x, weight, stride, padding, dilation, channels_last)
    given, each, *_ = weight.shape
    if (None not in (channels, given) and channels != given) or (given is not None and given % groups):
        raise ShapeError(
            f"op 'opsdk::conv_transpose': weight expected shape ({'C' if channels is None else channels}, O / groups, "
            f"*kernel), where groups={groups} divides C, got {shape_text(weight.shape)} beside x {shape_text(x.shape)}"
        )
    axes = each_axis((batch, channels, *size), weight.shape, stride, padding, dilation)
    made = [None if n is None or k is None else inputs(n, k, *rest) for n, k, *rest in axes]
    if any(n is not None and n < 1 for n in made):
        raise ShapeError(
            f"op 'opsdk::conv_transpose': padding expected to leave something, got {list(padding)}, which leaves "
            f"{shape_text(made)}"
        )
    count = None if each is None else each * groups
    return TensorSpec((batch, *made, count) if channels_last else (batch, count, *made), x.dtype)


@conv_transpose.backward(composite=True)
def conv_transpose_grad(
    x: Any,
    weight: Any,
    dout: Any,
    stride: Sizes,
    padding: Sizes,
    dilation: Sizes,
    groups: int,
    channels_last: bool,
    needs_input_grad: tuple[bool, ...],
) -> Any:
    """The convolution of the cotangent; and the gradient that it has with respect to its weight."""
    attrs = attributes(stride, padding, dilation, groups, channels_last)
    dx = conv(dout, weight, **attrs) if needs_input_grad[0] else None
    return dx, conv_weight(dout, weight, x, **attrs) if needs_input_grad[1] else None


@conv_transpose.samples
def _transposed(rng: np.random.Generator) -> Iterator[Sample]:
    plain = {"stride": [1, 1], "padding": [0] * 4, "dilation": [1, 1]}
    yield Sample(rng.normal(size=(1, 2, 2, 2)), rng.normal(size=(2, 1, 2, 2)), **plain, reason="2 × 2 taps")
    yield Sample(
        rng.normal(size=(1, 2, 2, 3)),
        rng.normal(size=(2, 1, 2, 2)),
        stride=[2, 3],
        padding=[1, -1, 0, 1],
        dilation=[1, 2],
        groups=2,
        channels_last=False,
        reason="stride, dilation, unequal padding, two groups",
    )
    yield Sample(
        rng.normal(size=(2, 3, 1)),
        rng.normal(size=(1, 2, 2)),
        stride=[2],
        padding=[0, 0],
        dilation=[1],
        channels_last=True,
        reason="sequences, channels last",
    )
