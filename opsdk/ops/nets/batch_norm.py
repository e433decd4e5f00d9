"""Batch normalization, which keeps running statistics."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from opsdk.core.dtype import computed_in
from opsdk.core.errors import DTypeError, ShapeError
from opsdk.core.spec import TensorSpec, shape_text
from opsdk.core.sums import mean as mean_of
from opsdk.core.sums import total
from opsdk.define.decorators import op
from opsdk.define.sample import Sample
from opsdk.ops import functions as ops
from opsdk.ops.creation import fill_any_like
from opsdk.ops.nets.geometry import as_given, channels_first
from opsdk.ops.reduction import reduce_sum

# Any, in the backwards of built-in ops: arrays, tensors or Program variables, whichever runtime calls.
_KEPT = ("running_mean", "running_var", "batches")
Given = np.ndarray | None


def _infer(
    x: TensorSpec,
    weight: TensorSpec | None,
    bias: TensorSpec | None,
    running_mean: TensorSpec | None,
    running_var: TensorSpec | None,
    channels_last: bool,
) -> tuple[TensorSpec, TensorSpec, TensorSpec]:
    if x.ndim < 2:
        raise ShapeError(f"op 'opsdk::batch_norm': x expected shape (N, C, *size), got {shape_text(x.shape)}")
    wide, channels = computed_in(x.dtype), x.shape[-1 if channels_last else 1]
    given = {"weight": weight, "bias": bias, "running_mean": running_mean, "running_var": running_var}
    for name, spec in given.items():
        if spec is not None and (spec.ndim != 1 or (None not in (*spec.shape, channels) and spec.shape != (channels,))):
            raise ShapeError(
                f"op 'opsdk::batch_norm': {name} expected one element for each channel of x {shape_text(x.shape)}, got "
                f"{shape_text(spec.shape)}"
            )
        if spec is not None and spec.dtype not in (x.dtype, wide):
            wanted = f"{x.dtype} like x" if wide == x.dtype else f"{x.dtype} or {wide}"
            raise DTypeError(f"op 'opsdk::batch_norm': {name} expected {wanted}, got {spec.dtype}; cast it")
    return x, TensorSpec((channels,), wide), TensorSpec((channels,), wide)


@op(
    "opsdk::batch_norm(Tensor<float> x, Tensor<float>? weight=None, Tensor<float>? bias=None, "
    "Tensor<float>(a!)? running_mean=None, Tensor<float>(b!)? running_var=None, Tensor<int>(c!)? batches=None, *, "
    "bool training=True, 0 <= float? <= 1 momentum=0.9, float > 0 epsilon=1e-05, bool unbiased=False, "
    "bool channels_last=False) -> (Tensor out, Tensor mean, Tensor rstd)",
    infer=_infer,
    constant=_KEPT,
    domain={"running_var": (0.0, None)},
)
def batch_norm(
    x: np.ndarray,
    weight: Given,
    bias: Given,
    running_mean: Given,
    running_var: Given,
    batches: Given,
    *,
    training: bool,
    momentum: float | None,
    epsilon: float,
    unbiased: bool,
    channels_last: bool,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(x - mean) / √(variance + epsilon) · weight + bias, over all axes but one (Ioffe and Szegedy 2015, algorithm 1).

    In training mean and variance are those of the batch, and the running ones go part of the way to them, in place:
    momentum · running + (1 - momentum) · batch. Otherwise the running ones are taken, and stay. A Program's
    `clone(for_test=True)` sets `training=False`. Numbers of 16 bits are computed with in float32, and rounded once.

    Args:
        x: of shape (N, C, *size).
        weight: of shape (C,), of the dtype of x, or float32 beside 16 bits; ones unless given.
        bias: likewise; zeros unless given.
        running_mean: likewise, changed in place; None keeps none.
        running_var: likewise, ≥ 0, beside it.
        batches: 0-d, counts how many batches there were.
        training: whether the batch's own statistics are taken.
        momentum: 1 keeps what is there; None takes the mean of all batches, which needs `batches`.
        epsilon: added to the variance, > 0; in units of x².
        unbiased: whether the running variance is that of a sample, Σ / (count - 1), as in PyTorch; in Paddle Σ / count.
        channels_last: x is (N, *size, C), and so is the result.

    Returns:
        The result, and mean and 1 / √(variance + epsilon) as they were used, of shape (C,).

    Raises:
        ShapeError, DTypeError: something is not of shape (C,), or of another dtype.
        InputValueError: one of the two running statistics is missing, or both outside of training; a batch has too few
            values for a variance.

    Gradient: with respect to x, weight and bias, to any order; in training through the statistics of the batch.
    """
    scale, shift, *kept = [
        None if one is None else TensorSpec.of(one) for one in (weight, bias, running_mean, running_var)
    ]
    _infer(TensorSpec.of(x), scale, shift, kept[0], kept[1], channels_last)
    with np.errstate(over="ignore", invalid="ignore"):  # inf and nan are values of a sum
        images, wide = channels_first(x, channels_last), computed_in(x.dtype)
        axes = (0, *range(2, x.ndim))
        if training:
            mean = mean_of(images, axes, dtype=wide)
            centred = np.subtract(images, _along(mean, x.ndim), dtype=wide)
            variance = mean_of(np.square(centred), axes)
            _keep(mean, variance, x.size // mean.size, running_mean, running_var, batches, momentum, unbiased)
        else:
            assert running_mean is not None
            assert running_var is not None
            mean, variance = running_mean.astype(wide), running_var.astype(wide)
            centred = np.subtract(images, _along(mean, x.ndim), dtype=wide)
        rstd = 1 / np.sqrt(variance + wide.type(epsilon))
        centred *= _along(rstd if weight is None else rstd * weight, x.ndim)
        if bias is not None:
            centred += _along(bias, x.ndim)
        return as_given(centred.astype(x.dtype, copy=False), channels_last), mean, rstd


def _keep(
    mean: np.ndarray,
    variance: np.ndarray,
    count: int,
    running_mean: Given,
    running_var: Given,
    batches: Given,
    momentum: float | None,
    unbiased: bool,
) -> None:
    """Moves the running statistics towards those of a batch of so many values."""
    if batches is not None:
        batches += 1
    if running_mean is None or running_var is None:
        return
    if momentum is None:
        assert batches is not None
        momentum = 1 - 1 / int(batches)
    spread = variance * (count / (count - 1)) if unbiased else variance
    running_mean[...] = momentum * running_mean + (1 - momentum) * mean
    running_var[...] = momentum * running_var + (1 - momentum) * spread


@batch_norm.check
def _check(
    x: np.ndarray,
    running_mean: Given,
    running_var: Given,
    batches: Given,
    training: bool,
    momentum: float | None,
    unbiased: bool,
    channels_last: bool,
) -> str | None:
    if (running_mean is None) != (running_var is None):
        return "running_var expected beside running_mean, got one of them; give both or none"
    if not training:
        missing = "running_mean expected where training=False, got None; give what training kept"
        return missing if running_mean is None else None
    if momentum is None and running_mean is not None and batches is None:
        return "batches expected where momentum=None, got None; count them, or say a momentum"
    least = 2 if unbiased and running_mean is not None else 1
    if x.size < least * x.shape[-1 if channels_last else 1]:
        return f"x expected {least} values per channel or more where training=True, got shape {x.shape}"
    return None


# With c = x - mean: out = c · rstd · weight + bias, and in training mean and rstd are functions of x, with derivatives
# 1 / count and -rstd³ · c / count. The backward takes them for values of their own, to which gradients arrive too, so
# that its own derivative is that of a polynomial. In training it levels c to Σ c = 0: the mean was rounded, an error
# that Σ dout · c has as often as there are elements.


@batch_norm.backward
def batch_norm_grad(
    x: np.ndarray,
    weight: Given,
    bias: Given,
    mean: np.ndarray,
    rstd: np.ndarray,
    dout: np.ndarray,
    dmean: np.ndarray,
    drstd: np.ndarray,
    training: bool,
    channels_last: bool,
) -> tuple[np.ndarray, Given, Given]:
    """Sums over the batch of the cotangent, and of it times what was centred; in training these go back to x."""
    with np.errstate(over="ignore", invalid="ignore"):
        arrived, wide = channels_first(dout, channels_last), mean.dtype
        axes, count = (0, *range(2, x.ndim)), max(x.size // max(mean.size, 1), 1)
        centred = np.subtract(channels_first(x, channels_last), _along(mean, x.ndim), dtype=wide)
        if training:
            centred -= _along(mean_of(centred, axes), x.ndim)
        summed, projected = total(arrived, axes, dtype=wide), total(arrived * centred, axes, dtype=wide)
        factor = np.ones_like(rstd) if weight is None else weight.astype(wide)
        dx = arrived * _along(factor * rstd, x.ndim)
        if training:
            centred *= _along(rstd**3 * (drstd + factor * projected) / count, x.ndim)
            centred -= _along((dmean - factor * rstd * summed) / count, x.ndim)
            dx = dx - centred
        dx = as_given(dx.astype(x.dtype, copy=False), channels_last)
        dweight = None if weight is None else (projected * rstd).astype(weight.dtype)
        return dx, dweight, None if bias is None else summed.astype(bias.dtype)


@batch_norm_grad.backward(composite=True, disconnected=("bias",))
def batch_norm_grad_grad(
    x: Any,
    weight: Any,
    bias: Any,
    mean: Any,
    rstd: Any,
    dout: Any,
    drstd: Any,
    ddx: Any,
    ddweight: Any,
    ddbias: Any,
    training: bool,
    channels_last: bool,
) -> Any:
    """The derivatives of that polynomial."""
    factor = fill_any_like(rstd, value=1.0) if weight is None else weight
    entered = (fill_any_like(mean) if of is None else one for of, one in ((weight, ddweight), (bias, ddbias)))
    given = (x, factor, mean, rstd, dout, drstd, ddx, *entered)
    wide = computed_in(mean.dtype)
    made = _second([ops.cast(one, wide) for one in given], training, channels_last)
    like = (x, weight, mean, rstd, dout, mean, mean)
    dx, dfactor, *rest = (None if to is None else ops.cast(one, to.dtype) for one, to in zip(made, like, strict=True))
    return dx, dfactor, None, *rest


def _second(given: Sequence[Any], training: bool, channels_last: bool) -> tuple[Any, ...]:
    x, weight, mean, rstd, dout, drstd, ddx, ddweight, ddbias = given
    ndim = len(x.shape)
    axes = list(range(ndim - 1)) if channels_last else [0, *range(2, ndim)]

    def along(values: Any) -> Any:
        return values if channels_last else ops.reshape(values, [-1, *[1] * (ndim - 2)])

    def summed(values: Any) -> Any:
        return reduce_sum(values, axis=axes)

    def levelled(values: Any) -> Any:
        return values - along(summed(values) * share)

    share = ops.reciprocal(summed(fill_any_like(x, value=1.0))) if training else fill_any_like(mean)
    centred = levelled(x - along(mean))
    shift, cubed = summed(ddx) * share, rstd * rstd * rstd
    stretch = summed(ddx * centred) * share
    both, dbias, projected = summed(ddx * dout), summed(dout), summed(dout * centred)
    arrived = drstd + weight * projected
    dcentred = dout * along(ddweight * rstd - stretch * cubed * weight) - ddx * along(cubed * arrived * share)
    dcentred = levelled(dcentred)
    straight = both - shift * dbias
    return (
        dcentred,
        straight * rstd - stretch * cubed * projected,
        summed(dcentred) * -1.0,
        straight * weight - rstd * rstd * stretch * arrived * 3.0 + ddweight * projected,
        (ddx - along(shift)) * along(weight * rstd)
        + centred * along(ddweight * rstd - stretch * cubed * weight)
        + along(ddbias),
        shift,
        stretch * cubed * -1.0,
    )


def _along(values: np.ndarray, ndim: int) -> np.ndarray:
    """Returns a value for each channel, in the shape that broadcasts with (N, C, *size)."""
    return values.reshape(-1, *[1] * (ndim - 2))


@batch_norm.samples
def _batches(rng: np.random.Generator) -> Iterator[Sample]:
    def sample(shape: Sequence[int], channels: int, reason: str, kept: bool = True, **attrs: Any) -> Sample:
        running = (rng.normal(size=channels), rng.uniform(0.5, 2.0, channels)) if kept else (None, None)
        return Sample(rng.normal(size=shape), *rng.normal(size=(2, channels)), *running, None, **attrs, reason=reason)

    yield sample((4, 2), 2, "features")
    yield sample((2, 2, 2, 1), 2, "images, another momentum and epsilon", momentum=0.3, epsilon=0.1, unbiased=True)
    yield sample((2, 3, 2), 2, "channels last, no running statistics", kept=False, channels_last=True)
    yield sample((2, 2, 3), 2, "a test of sequences", training=False)
    yield Sample(rng.normal(size=(3, 2)), None, None, reason="neither weight nor bias")
    mean, var, count = rng.normal(size=2), rng.uniform(0.5, 2.0, 2), np.array(3)
    yield Sample(rng.normal(size=(3, 2)), None, np.ones(2), mean, var, count, momentum=None, reason="the third batch")


_INTEGERS = tuple(f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64))
for _op, _dtypes in ((batch_norm, {"batches": _INTEGERS}), (batch_norm_grad, {})):
    _op.kernel(
        "cpu",
        language="c",
        dtype="float32",
        source=Path(__file__).with_suffix(".c"),
        dtypes=_dtypes,
        openmp=True,
        optional=True,
        contiguous=True,
        flags=["-ffp-contract=fast"],
    )
