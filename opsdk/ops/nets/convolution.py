"""Convolution of any number of axes, and its two gradients, of each of which the other two are the gradients."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from opsdk.core.errors import ShapeError
from opsdk.core.spec import TensorSpec, shape_text
from opsdk.define.decorators import op
from opsdk.define.sample import Sample
from opsdk.ops.nets.correlation import correlate, correlate_back, correlate_weight
from opsdk.ops.nets.geometry import (
    STEPS,
    Sizes,
    Steps,
    attributes,
    channels_first,
    checked,
    each_axis,
    outputs,
    sizes,
)

# Any, in the backwards of built-in ops: arrays, tensors or Program variables, whichever runtime calls.


@op(f"opsdk::conv(Tensor<float> x, Tensor<float> weight, {STEPS}) -> Tensor out")
def conv(
    x: np.ndarray,
    weight: np.ndarray,
    *,
    stride: Sizes,
    padding: Sizes,
    dilation: Sizes,
    groups: int,
    channels_last: bool,
) -> np.ndarray:
    """out[n, o, p] = Σ_c Σ_k weight[o, c, k] · x[n, c, p · stride + k · dilation - padding], with 0 outside of x.

    What nets call convolution, without the kernel turned round (Dumoulin and Visin 2016). Differentiable in both, to
    any order. 16-bit floats are multiplied and added in float32, and rounded once.

    Args:
        x: of shape (N, C, *size).
        weight: of shape (O, C / groups, *kernel) and the dtype of x; groups divides C and O.
        stride: how far one output lies from the next, for each axis.
        padding: zeros before and after each axis, two numbers for each; below 0 so much of x is left out.
        dilation: how far one tap lies from the next, for each axis.
        groups: of channels that know nothing of each other.
        channels_last: x is (N, *size, C), and so is the result; the weight is the same.

    Raises:
        ShapeError: shapes do not fit, or the taps do not fit into what is padded.
        DTypeError: x and weight are of two dtypes.
    """
    spec = _conv(TensorSpec.of(x), TensorSpec.of(weight), stride, padding, dilation, groups, channels_last)
    out = np.zeros(sizes(spec), x.dtype, like=x)
    steps = Steps(stride, dilation, padding[::2])
    correlate(channels_first(x, channels_last), weight, groups, steps, channels_first(out, channels_last))
    return out


@conv.infer
def _conv(
    x: TensorSpec,
    weight: TensorSpec,
    stride: Sizes,
    padding: Sizes,
    dilation: Sizes,
    groups: int,
    channels_last: bool,
) -> TensorSpec:
    batch, channels, *size = checked("conv", x, weight, stride, padding, dilation, channels_last)
    count, each, *kernel = weight.shape
    if (channels is not None and each is not None and channels != each * groups) or (
        count is not None and count % groups
    ):
        raise ShapeError(
            f"op 'opsdk::conv': weight expected shape (O, {'C' if channels is None else channels} / groups, *kernel), "
            f"where groups={groups} divides O, got {shape_text(weight.shape)} beside x {shape_text(x.shape)}"
        )
    axes = each_axis((batch, channels, *size), weight.shape, stride, padding, dilation)
    made = [None if n is None or k is None else outputs(n, k, *rest) for n, k, *rest in axes]
    if any(n is not None and n < 1 for n in made):
        raise ShapeError(
            f"op 'opsdk::conv': x expected sizes that the kernel {shape_text(kernel)} with dilation {list(dilation)} "
            f"fits into, with padding {list(padding)}, got {shape_text(size)}"
        )
    return TensorSpec((batch, *made, count) if channels_last else (batch, count, *made), x.dtype)


@conv.backward(composite=True)
def conv_grad(
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
    """The cotangent, sent back through the taps; and what lay under the outputs, times what arrived at them."""
    attrs = attributes(stride, padding, dilation, groups, channels_last)
    dx = conv_input(x, weight, dout, **attrs) if needs_input_grad[0] else None
    return dx, conv_weight(x, weight, dout, **attrs) if needs_input_grad[1] else None


@op(
    f"opsdk::conv_input(Tensor<float> like, Tensor<float> weight, Tensor<float> dout, {STEPS}) -> Tensor dx",
    nondifferentiable=("like",),
)
def conv_input(
    like: np.ndarray,
    weight: np.ndarray,
    dout: np.ndarray,
    *,
    stride: Sizes,
    padding: Sizes,
    dilation: Sizes,
    groups: int,
    channels_last: bool,
) -> np.ndarray:
    """The gradient of `conv` with respect to x, which is of the shape of `like`; bilinear in the other two."""
    specs = TensorSpec.of(like), TensorSpec.of(weight), TensorSpec.of(dout)
    spec = _conv_input(*specs, stride, padding, dilation, groups, channels_last)
    dx = np.zeros(sizes(spec), like.dtype, like=like)
    steps = Steps(stride, dilation, padding[::2])
    correlate_back(channels_first(dout, channels_last), weight, groups, steps, channels_first(dx, channels_last))
    return dx


@conv_input.infer
def _conv_input(
    like: TensorSpec,
    weight: TensorSpec,
    dout: TensorSpec,
    stride: Sizes,
    padding: Sizes,
    dilation: Sizes,
    groups: int,
    channels_last: bool,
) -> TensorSpec:
    _check_arrived(dout, _conv(like, weight, stride, padding, dilation, groups, channels_last))
    return like


@conv_input.backward(composite=True)
def conv_input_grad(
    weight: Any,
    dout: Any,
    ddx: Any,
    stride: Sizes,
    padding: Sizes,
    dilation: Sizes,
    groups: int,
    channels_last: bool,
    needs_input_grad: tuple[bool, ...],
) -> Any:
    """The gradient of `conv` with respect to its weight, with what enters for x; and the convolution of that."""
    attrs = attributes(stride, padding, dilation, groups, channels_last)
    dweight = conv_weight(ddx, weight, dout, **attrs) if needs_input_grad[1] else None
    return dweight, conv(ddx, weight, **attrs) if needs_input_grad[2] else None


@op(
    f"opsdk::conv_weight(Tensor<float> x, Tensor<float> like, Tensor<float> dout, {STEPS}) -> Tensor dweight",
    nondifferentiable=("like",),
)
def conv_weight(
    x: np.ndarray,
    like: np.ndarray,
    dout: np.ndarray,
    *,
    stride: Sizes,
    padding: Sizes,
    dilation: Sizes,
    groups: int,
    channels_last: bool,
) -> np.ndarray:
    """The gradient of `conv` with respect to its weight, which is of the shape of `like`; bilinear in the other two."""
    specs = TensorSpec.of(x), TensorSpec.of(like), TensorSpec.of(dout)
    _conv_weight(*specs, stride, padding, dilation, groups, channels_last)
    images, arrived = channels_first(x, channels_last), channels_first(dout, channels_last)
    steps = Steps(stride, dilation, padding[::2])
    return correlate_weight(images, arrived, like.shape[2:], groups, steps).astype(like.dtype, copy=False)


@conv_weight.infer
def _conv_weight(
    x: TensorSpec,
    like: TensorSpec,
    dout: TensorSpec,
    stride: Sizes,
    padding: Sizes,
    dilation: Sizes,
    groups: int,
    channels_last: bool,
) -> TensorSpec:
    _check_arrived(dout, _conv(x, like, stride, padding, dilation, groups, channels_last))
    return like


@conv_weight.backward(composite=True)
def conv_weight_grad(
    x: Any,
    dout: Any,
    ddweight: Any,
    stride: Sizes,
    padding: Sizes,
    dilation: Sizes,
    groups: int,
    channels_last: bool,
    needs_input_grad: tuple[bool, ...],
) -> Any:
    """The gradient of `conv` with respect to x, with what enters as its weight; and the convolution with that."""
    attrs = attributes(stride, padding, dilation, groups, channels_last)
    dx = conv_input(x, ddweight, dout, **attrs) if needs_input_grad[0] else None
    return dx, conv(x, ddweight, **attrs) if needs_input_grad[2] else None


def _check_arrived(dout: TensorSpec, wanted: TensorSpec) -> None:
    sizes = zip(dout.shape, wanted.shape, strict=False)
    if (
        dout.ndim != wanted.ndim
        or dout.dtype != wanted.dtype
        or any(None not in two and len({*two}) > 1 for two in sizes)
    ):
        raise ShapeError(
            f"gradient of 'opsdk::conv': dout expected {wanted.dtype} {shape_text(wanted.shape)} like the result, got "
            f"{dout.dtype} {shape_text(dout.shape)}"
        )


@conv.samples
def _convolutions(rng: np.random.Generator) -> Iterator[Sample]:
    plain = {"stride": [1, 1], "padding": [0] * 4, "dilation": [1, 1]}
    yield Sample(rng.normal(size=(1, 2, 3, 3)), rng.normal(size=(2, 2, 2, 2)), **plain, reason="2 × 2 taps")
    yield Sample(
        rng.normal(size=(2, 2, 4, 3)),
        rng.normal(size=(2, 1, 2, 2)),
        stride=[2, 1],
        padding=[1, 0, 2, 1],
        dilation=[1, 2],
        groups=2,
        reason="stride, dilation, unequal padding, two groups",
    )
    yield Sample(
        rng.normal(size=(2, 3, 1)),
        rng.normal(size=(2, 1, 2)),
        stride=[1],
        padding=[-1, 1],
        dilation=[1],
        channels_last=True,
        reason="sequences, channels last, one element left out",
    )
    yield Sample(np.zeros((0, 1, 2, 2)), np.ones((1, 1, 1, 1)), **plain, reason="no images")


@conv_input.samples
@conv_weight.samples
def _gradients(rng: np.random.Generator) -> Iterator[Sample]:
    for call in _convolutions(rng):
        yield Sample(
            *call.inputs, rng.normal(size=conv(*call.inputs, **call.attrs).shape), **call.attrs, reason=call.reason
        )


# Tiles of products in registers, out of padded images; NumPy's products of copied columns where no compiler is.
for _op, _file in ((conv, "convolution.c"), (conv_input, "convolution.c"), (conv_weight, "convolution_weight.c")):
    _op.kernel(
        "cpu",
        language="c",
        dtype="float32",
        source=Path(__file__).with_name(_file),
        openmp=True,
        optional=True,
        contiguous=True,
        flags=["-ffp-contract=fast"],
    )
