"""Binary arithmetic with broadcasting, and `scale` for arithmetic with plain numbers."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from opsdk.core.errors import AttributeValueError, DTypeError, InputValueError
from opsdk.core.spec import TensorSpec
from opsdk.define.decorators import op
from opsdk.define.infer import Attrs, Inferred, Specs, broadcast, like
from opsdk.define.sample import Sample
from opsdk.define.schema.schema import OpSchema
from opsdk.expr import vmath
from opsdk.expr.decorators import elementwise
from opsdk.expr.exact import check_mixed

# Any, in the expressions of built-in ops: a symbol, while the expression is read.


@elementwise("opsdk::elementwise_add(Tensor x, Tensor y) -> Tensor out", infer=broadcast, lazy=True)
def elementwise_add(x: Any, y: Any) -> Any:
    """x + y."""
    return x + y


def _difference(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    if x.dtype == y.dtype == np.bool_:
        raise DTypeError("op 'opsdk::elementwise_sub': x and y expected numbers, got bool; cast one of them")
    check_mixed("xy", (x, y), "op 'opsdk::elementwise_sub'")
    return np.subtract(x, y)


@elementwise(
    "opsdk::elementwise_sub(Tensor x, Tensor y) -> Tensor out", infer=broadcast, reference=_difference, lazy=True
)
def elementwise_sub(x: Any, y: Any) -> Any:
    """x - y."""
    return x - y


@elementwise("opsdk::elementwise_mul(Tensor x, Tensor y) -> Tensor out", infer=broadcast, lazy=True)
def elementwise_mul(x: Any, y: Any) -> Any:
    """x · y."""
    return x * y


@elementwise("opsdk::elementwise_div(Tensor x, Tensor y) -> Tensor out", infer=broadcast.with_floating(), lazy=True)
def elementwise_div(x: Any, y: Any) -> Any:
    """x / y; division by zero gives inf or nan, without a warning."""
    return x / y


def _power(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    if x.dtype.kind in "biu" and y.dtype.kind in "iu" and y.size and x.size and y.min() < 0:
        raise InputValueError(
            "op 'opsdk::elementwise_pow': y expected exponents ≥ 0 beside whole numbers, got "
            f"{y.min()}; cast x to a float"
        )
    check_mixed("xy", (x, y), "op 'opsdk::elementwise_pow'")
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        return np.power(x, y)  # whole numbers too, which have powers of their own


@elementwise("opsdk::elementwise_pow(Tensor x, Tensor y) -> Tensor out", infer=broadcast, reference=_power, lazy=True)
def elementwise_pow(x: Any, y: Any) -> Any:
    """x to the power y; a negative base with a fractional exponent gives nan, without a warning.

    The derivative in the base is 0 at 0⁰, that in the exponent is 0 where the power is. Mixed derivatives of order 3
    and more that are infinite at base 0 are nan, but 0 where the exponent is one less than the order.
    """
    return x**y


def _scaled(x: np.ndarray, scale: float, bias: float) -> np.ndarray:
    _check_scale(x.dtype, scale, bias)
    is_product = bias == 0 and math.copysign(1.0, bias) < 0
    if scale == -1.0 and (is_product or (x.dtype.kind in "iu" and not bias)):
        return np.negative(x)  # whole numbers without a sign wrap, and infinite parts of complex ones stay apart
    out = np.multiply(x, x.dtype.type(scale))
    return out if is_product else np.add(out, x.dtype.type(bias), dtype=x.dtype)


def _check_scale(dtype: np.dtype[Any], scale: float, bias: float) -> None:
    if dtype.kind == "b":
        raise DTypeError("op 'opsdk::scale': x expected numbers, got bool; cast it, or take np.logical_not(x)")
    if dtype.kind in "iu":
        for name, value in (("scale", scale), ("bias", bias)):
            check_whole(value, dtype, f"op 'opsdk::scale': {name}")


def check_whole(value: float, dtype: np.dtype[Any], subject: str) -> None:
    """Checks that a number stands beside whole numbers of a dtype without being rounded or wrapped.

    Raises:
        AttributeValueError: it has a fraction or is beyond 2⁵³, from where on float64 skips whole numbers.
    """
    if not abs(value) < 2.0**53 or value != int(value):
        raise AttributeValueError(
            f"{subject} expected a whole number below 2**53 beside {dtype}, got {value!r}; cast the tensor to a float"
        )


class _ScaleInfer(like):
    """As the input, which holds numbers; beside whole ones, scale and bias are whole."""

    def __call__(self, schema: OpSchema, specs: Specs, attrs: Attrs) -> Inferred:
        (spec,) = specs
        assert isinstance(spec, TensorSpec)
        _check_scale(spec.dtype, attrs["scale"], attrs["bias"])
        return (spec,)


@elementwise(
    "opsdk::scale(Tensor x, *, float scale=1.0, float bias=-0.0) -> Tensor out",  # + -0.0 changes nothing
    infer=_ScaleInfer(),
    reference=_scaled,
    lazy=True,
)
def scale(x: Any, *, scale: Any, bias: Any) -> Any:
    """scale · x + bias, with plain numbers; whole numbers stay whole, and take whole scales only."""
    return x * scale + bias


@elementwise("opsdk::elementwise_max(Tensor x, Tensor y) -> Tensor out", infer=broadcast, lazy=True)
def elementwise_max(x: Any, y: Any) -> Any:
    """The greater of x and y; nan where either is. x gets the gradient where they tie."""
    return vmath.maximum(x, y)


@elementwise("opsdk::elementwise_min(Tensor x, Tensor y) -> Tensor out", infer=broadcast, lazy=True)
def elementwise_min(x: Any, y: Any) -> Any:
    """The lesser of x and y; nan where either is. x gets the gradient where they tie."""
    return vmath.minimum(x, y)


@scale.samples
def _scale_samples(rng: np.random.Generator) -> Iterator[Sample]:
    yield Sample(rng.normal(size=(3, 5)), scale=-2.0, reason="scale only")
    yield Sample(rng.normal(size=(7,)), scale=0.5, bias=3.0, reason="scale and bias")
    yield Sample(np.array(2.0), bias=-1.0, reason="0-d, bias only")
    yield Sample(np.zeros((0, 4)), scale=2.0, reason="empty")
    yield Sample(np.array([1, 2, 3]), scale=2.0, bias=1.0, reason="integers stay integers")


@elementwise_div.samples
def _quotients(rng: np.random.Generator) -> Iterator[Sample]:
    away = rng.uniform(0.5, 2.0, (3, 5)) * rng.choice((-1.0, 1.0), (3, 5))
    yield Sample(rng.normal(size=(3, 5)), away, reason="matrix, divisors away from 0")
    yield Sample(rng.normal(size=(3, 5)), away[0], reason="broadcast divisor")
    yield Sample(rng.normal(size=(5,)), away[:, :1], reason="both broadcast")
    yield Sample(np.array(1.0), np.array(-2.0), reason="0-d")
    yield Sample(np.array([1.0, -1.0, 0.0, 2.0]), np.array([0.0, 0.0, 0.0, 1.0]), reason="division by 0: inf, nan")
    yield Sample(np.array([1, 2, 3]), np.array([2, 2, 2]), reason="integers give floats")
    yield Sample(np.zeros((0, 4)), np.ones((4,)), reason="empty")


@elementwise_pow.samples
def _powers(rng: np.random.Generator) -> Iterator[Sample]:
    yield Sample(rng.uniform(0.2, 3.0, (3, 5)), rng.normal(size=(3, 5)), reason="positive base, any exponent")
    yield Sample(rng.uniform(0.2, 3.0, (3, 5)), rng.normal(size=(5,)), reason="broadcast exponent")
    yield Sample(np.array([-2.0, -0.5, -1.5]), np.array([2.0, 3.0, -1.0]), reason="negative base, whole exponent")
    yield Sample(np.array([0.0, 0.0, 2.0]), np.array([2.0, 3.0, 0.0]), reason="base 0, and exponent 0")
    yield Sample(np.array(2.0), np.array(0.5), reason="0-d")
    yield Sample(np.zeros((0, 4)), np.ones((0, 4)), reason="empty")


def _check_divisors(x: np.ndarray, y: np.ndarray, name: str) -> None:
    """Checks that bools and complex numbers are not divided, nor whole numbers by 0, which has no whole quotient.

    Raises:
        DTypeError: both are bools, or one is complex.
        InputValueError: a whole number beside another is 0.
    """
    if x.dtype == y.dtype == np.bool_:
        raise DTypeError(f"op 'opsdk::{name}': x and y expected numbers, got bool; cast one of them")
    for role, value in (("x", x), ("y", y)):
        if value.dtype.kind == "c":
            raise DTypeError(f"op 'opsdk::{name}': {role} expected real numbers, got {value.dtype}")
    check_mixed("xy", (x, y), f"op 'opsdk::{name}'")
    if x.dtype.kind in "biu" and y.dtype.kind in "biu" and x.size and not y.all():
        raise InputValueError(f"op 'opsdk::{name}': y expected divisors other than 0 beside whole numbers, got 0")


# No expressions: x / y is rounded, up to a whole number too, and ⌊1 / 0.1⌋ would be 10, where 9 times 0.1 fits into 1.
@op("opsdk::floor_divide(Tensor x, Tensor y) -> Tensor out", infer=broadcast, nondifferentiable=("x", "y", "out"))
def floor_divide(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """How often y fits into x, the greatest whole number that is at most the exact quotient; in the dtype of both.

    Its derivative is 0, and none is given. Floats over 0 give inf or nan, without a warning.
    """
    _check_divisors(x, y, "floor_divide")
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        return np.asarray(np.floor_divide(x, y), like=x)


@op("opsdk::remainder(Tensor x, Tensor y) -> Tensor out", infer=broadcast)
def remainder(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """What floor_divide leaves of x, with the sign of y as Python's %; the derivative in y is -floor_divide(x, y).

    Floats over 0 give nan, without a warning.
    """
    _check_divisors(x, y, "remainder")
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        return np.asarray(np.remainder(x, y), like=x)


# Any: arrays, tensors or Program variables, whichever runtime calls.
@remainder.backward(composite=True)
def remainder_grad(x: Any, y: Any, dout: Any) -> Any:
    """The cotangent, and minus as many of it as y fits into x."""
    return dout, elementwise_mul(scale(dout, scale=-1.0), floor_divide(x, y))


# No expression: whole numbers have remainders of their own.
@op("opsdk::fmod(Tensor x, Tensor y) -> Tensor out", infer=broadcast)
def fmod(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """What is left of x after as many whole y as fit towards 0, with the sign of x, as in C and PyTorch.

    Floats over 0 give nan, without a warning.
    """
    _check_divisors(x, y, "fmod")
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        return np.asarray(np.fmod(x, y), like=x)


# Any: arrays, tensors or Program variables, whichever runtime calls.
@fmod.backward(composite=True)
def fmod_grad(x: Any, y: Any, dout: Any) -> Any:
    """The cotangent, and minus as many of it as y was taken from x."""
    return dout, elementwise_mul(dout, elementwise_div(elementwise_sub(fmod(x, y), x), y))


@elementwise("opsdk::hypot(Tensor x, Tensor y) -> Tensor out", infer=broadcast.with_floating(), lazy=True)
def hypot(x: Any, y: Any) -> Any:
    """√(x² + y²), without overflow. Gradient 0 at the tip, the origin."""
    is_tip = (x == 0) & (y == 0)
    return vmath.where(is_tip, 0.0, vmath.hypot(vmath.where(is_tip, 1.0, x), y))


@elementwise("opsdk::logaddexp(Tensor x, Tensor y) -> Tensor out", infer=broadcast.with_floating(), lazy=True)
def logaddexp(x: Any, y: Any) -> Any:
    """log(exp(x) + exp(y)), without overflow."""
    return vmath.logaddexp(x, y)


@elementwise(
    "opsdk::copysign(Tensor x, Tensor y) -> Tensor out",
    infer=broadcast.with_floating(),
    nondifferentiable=("y",),
    lazy=True,
)
def copysign(x: Any, y: Any) -> Any:
    """|x| with the sign of y, of -0 too; the derivative is ±1, 0 at x = 0, and none in y."""
    return vmath.copysign(x, y)


@elementwise("opsdk::atan2(Tensor x, Tensor y) -> Tensor out", infer=broadcast.with_floating(), lazy=True)
def atan2(x: Any, y: Any) -> Any:
    """The angle of the point (y, x), in [-π, π]; of (0, 0) 0."""
    return vmath.arctan2(x, y)


@floor_divide.samples
@remainder.samples
@fmod.samples
def _divisions(rng: np.random.Generator) -> Iterator[Sample]:
    away = rng.uniform(0.5, 2.0, (3, 5)) * rng.choice((-1.0, 1.0), (3, 5))
    yield Sample(rng.normal(size=(3, 5)) * 3, away, reason="divisors of both signs, away from 0")
    yield Sample(rng.normal(size=(3, 5)) * 3, away[0], reason="broadcast divisor")
    yield Sample(np.array([7, -7, 7, -7]), np.array([2, 2, -2, -2]), reason="whole numbers of all signs")
    yield Sample(np.zeros((0, 4)), np.ones((4,)), reason="empty")
