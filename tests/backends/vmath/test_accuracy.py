"""Errors in units in the last place, at operands of every exponent: the promised bounds hold."""

import functools
import math

import mpmath
import numpy as np
import pytest

from opsdk.expr.primitives.table import PRIMITIVES
from opsdk.verify.kernels.exact import FUNCTIONS
from tests.backends.vmath.loops import BINARY, TABLE, UNARY, compute
from tests.backends.vmath.test_special_values import expected_of_float64

EXACT = {"abs", "sign", "floor", "ceil", "trunc", "round", "fmod", "copysign", "minimum", "maximum"}
TESTS = {"isnan", "isinf", "isfinite"}
ULP = {name: each.ulp for name, each in TABLE.items() if each.ulp}


def operands(name, dtype, size):
    """Floats of all exponents and both signs, and as many where the functions have their shape."""
    rng = np.random.default_rng(len(name))
    integer = np.dtype(f"i{np.dtype(dtype).itemsize}")
    limits = np.iinfo(integer)
    made = []
    for position in range(PRIMITIVES[name].arity):
        bits = rng.integers(limits.min, limits.max, size // 4, dtype=integer).view(dtype)
        bits = bits[np.isfinite(bits) & (bits != 0)]
        ordinary = [rng.normal(size=size // 4), rng.normal(size=size // 4) * 30]
        left = rng.normal(size=size - size // 4 * 2 - bits.size)
        last = 1 + left * 0.2 if position == 0 else left * 99
        made.append(np.concatenate([bits, *(part.astype(dtype) for part in (*ordinary, last))]))
    return made


def errors(name, got, wide, dtype):
    """Gives the errors in units in the last place; what is too large counts as 2 to the largest exponent."""
    info = np.finfo(dtype)
    wide = [mpmath.mpf(value) if not isinstance(value, mpmath.mpc) else mpmath.nan for value in wide]
    found = []
    for value, exact in zip(got, wide, strict=True):
        if mpmath.isnan(exact) or math.isnan(value):
            found.append(0.0 if mpmath.isnan(exact) and math.isnan(value) else math.inf)
            continue
        limit = mpmath.mpf(2) ** int(info.maxexp)
        exact = max(-limit, min(limit, exact))
        value = max(-limit, min(limit, mpmath.mpf(float(value))))
        exponent = max(int(mpmath.frexp(exact)[1]) - 1 if exact else info.minexp, info.minexp)
        if exponent == info.maxexp:
            exponent -= 1
        if name == "logaddexp":
            exponent = max(exponent, 0)
        found.append(float(abs(value - exact) / mpmath.mpf(2) ** (exponent - info.nmant)))
    return np.array(found)


def errors_of_float32(name, got, wide):
    """The same for arrays of float32 beside float64."""
    most = 2.0**128
    wide, got = np.clip(wide, -most, most), np.clip(got.astype(np.float64), -most, most)
    exponent = np.clip(np.frexp(wide)[1] - 1, 0 if name == "logaddexp" else -126, 127)
    size = np.abs(got - wide) * np.ldexp(1.0, 23 - exponent)
    return np.where(np.isnan(got) & np.isnan(wide), 0.0, np.where(np.isnan(got) | np.isnan(wide), np.inf, size))


def test_every_function_that_is_not_exact_promises_a_bound():
    assert {*UNARY, *BINARY} - EXACT - TESTS == set(ULP)


@pytest.mark.parametrize("name", ULP)
def test_errors_of_float32_stay_within_the_promised_bound(name):
    inputs = operands(name, np.float32, 200_000)
    with np.errstate(all="ignore"):
        wide = expected_of_float64(name, *(x.astype(np.float64) for x in inputs))
    assert np.max(errors_of_float32(name, compute(name, *inputs), wide)) <= ULP[name][0]


@pytest.mark.parametrize("name", ULP)
def test_errors_of_float64_stay_within_the_promised_bound(name):
    inputs = operands(name, np.float64, 800)
    function = functools.partial(FUNCTIONS[name], mpmath.mp)
    with mpmath.workprec(1200 if name in ("sin", "cos", "tan") else 400):
        wide = [exact(function, values) for values in zip(*inputs, strict=True)]
        found = errors(name, compute(name, *inputs), wide, np.float64)
    assert np.max(found) <= ULP[name][1]


def exact(function, values):
    try:
        return function(*(mpmath.mpf(float(value)) for value in values))
    except (ValueError, ZeroDivisionError):
        return mpmath.nan


@pytest.mark.parametrize("name", sorted(EXACT - {"fmod"}))
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_what_needs_no_rounding_is_exact(name, dtype):
    inputs = operands(name, dtype, 20_000)
    np.testing.assert_array_equal(compute(name, *inputs), expected_of_float64(name, *inputs))


@pytest.mark.parametrize(
    ("dtype", "number"),
    [
        (np.float32, 16367173 * 2.0**72),  # among the float32 nearest to a multiple of π/2
        (np.float32, 3.4028235e38),
        (np.float64, 6381956970095103 * 2.0**797),  # the float64 nearest to one
        (np.float64, 1.7976931348623157e308),
        (np.float64, 1e22),
    ],
)
def test_angles_of_any_size_are_reduced_exactly(dtype, number):
    x = np.array([number, -number], dtype)
    for name in ("sin", "cos", "tan"):
        with mpmath.workprec(2400):
            wide = [getattr(mpmath, name)(mpmath.mpf(float(v))) for v in x]
            found = errors(name, compute(name, x), wide, dtype)
        assert np.max(found) <= ULP[name][0 if dtype == np.float32 else 1]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_exponentials_vanish_gradually(dtype):
    info = np.finfo(dtype)
    x = np.log(np.ldexp(1.0, np.arange(info.minexp - info.nmant + 1, info.minexp))).astype(dtype)
    for name in ("exp", "sigmoid", "softplus"):
        got = compute(name, x)
        with mpmath.workprec(200):
            wide = [FUNCTIONS[name](mpmath.mp, mpmath.mpf(float(v))) for v in x]
            assert np.max(errors(name, got, wide, dtype)) <= ULP[name][0 if dtype == np.float32 else 1]
        assert np.all((got > 0) & (got < info.smallest_normal))
