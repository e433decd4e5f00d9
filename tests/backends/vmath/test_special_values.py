"""Values where functions end, jump or have no value, against NumPy's and, for error functions, Python's."""

import functools
import math

import numba
import numpy as np
import pytest

from opsdk.backends.vmath.table import numba_functions
from opsdk.expr.primitives.table import PRIMITIVES
from tests.backends.vmath.loops import BINARY, DTYPES, UNARY, compute

NUMPY = {"pow": "power", "abs": "absolute"}
POINTS = [
    0.0, 1.0, 0.5, 1.5, 2.0, 2.5, 3.0, 0.1, 0.47, 0.925, 0.99, 1.01, 3.9, 7.0, 10.5, 20.0, 87.0, 88.7, 89.0, 89.41,
    89.5, 103.9, 104.1, 127.9, 128.0, 149.5, 150.5, 709.7, 709.8, 710.47, 710.5, 745.1, 745.2, 1023.9, 1024.0, 1074.5,
    1076.0, 1e-3, 1e-7, 1e-20, 1e10, 1e20, 2.0**22 + 0.5, 2.0**23 - 0.5, 2.0**23 + 1, 2.0**24, 2.0**52 - 0.5,
    2.0**53 - 1, 2.0**53,
    1.2e-38, 1e-40, 1.5e-45, 2.3e-308, 1e-310, 5e-324, 3.4e38, 1.7e308, math.pi, math.pi / 2, math.pi / 4, math.inf,
]  # fmt: skip


def points(dtype):
    with np.errstate(over="ignore", under="ignore"):
        x = np.array(POINTS).astype(dtype)
    both = np.concatenate([x, -x, [-0.0, np.nan]]).astype(dtype)
    return np.unique(both.view(f"i{both.itemsize}")).view(dtype)  # as integers, since −0 and 0 are equal


def expected(name, *operands):
    """NumPy's values; for float32 those of float64, rounded, since NumPy's own lose subnormal results of exp2."""
    wanted = expected_of_float64(name, *(a.astype(np.float64) for a in operands))
    return wanted if wanted.dtype == bool else wanted.astype(operands[0].dtype)


def expected_of_float64(name, *operands):
    if name in ("erf", "erfc"):
        return np.array([getattr(math, name)(float(a)) for a in operands[0]])
    a, decay = operands[0], np.exp(-np.abs(operands[0]))
    formulas = {
        "sigmoid": lambda: np.where(a >= 0, 1, decay) / (1 + decay),
        "softplus": lambda: np.maximum(a, 0) + np.log1p(decay),
        "rsqrt": lambda: 1 / np.sqrt(a),
    }
    return formulas.get(name, lambda: getattr(np, NUMPY.get(name, name))(*operands))()


def differences(name, *operands):
    """Lists where values differ in kind, in the sign of a zero, or by more than 5 units in the last place."""
    with np.errstate(all="ignore"):
        wanted, got = expected(name, *operands), compute(name, *operands)
        if wanted.dtype == bool:
            return [(*(a[i] for a in operands), got[i]) for i in np.flatnonzero(wanted != got)]
        same = (np.isnan(wanted) & np.isnan(got)) | ((wanted == got) & (np.signbit(wanted) == np.signbit(got)))
        near = np.isfinite(wanted) & (wanted != 0) & (np.abs(got - wanted) <= 5 * np.spacing(np.abs(wanted)))
    return [(*(a[i] for a in operands), got[i], wanted[i]) for i in np.flatnonzero(~(same | near))]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", UNARY)
def test_special_values_of_one_operand_are_numpys(name, dtype):
    assert differences(name, points(dtype)) == []


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", [name for name in BINARY if name != "logaddexp"])
def test_special_values_of_two_operands_are_numpys(name, dtype):
    a, b = (np.ravel(grid).copy() for grid in np.meshgrid(points(dtype), points(dtype)))
    if name in ("minimum", "maximum"):  # of two zeros of different sign either may be returned
        a, b = a + dtype(0), b + dtype(0)
    assert differences(name, a, b) == []


@pytest.mark.parametrize("dtype", DTYPES)
def test_logaddexp_of_special_values_is_numpys_but_near_zero(dtype):
    a, b = (np.ravel(grid).copy() for grid in np.meshgrid(points(dtype), points(dtype)))
    with np.errstate(all="ignore"):
        wanted = np.logaddexp(a, b)
        got = compute("logaddexp", a, b)
    np.testing.assert_allclose(got, wanted, rtol=5 * np.finfo(dtype).eps, atol=2 * np.finfo(dtype).eps)


@pytest.mark.parametrize("dtype", DTYPES)
def test_the_remainder_is_exact_however_large_the_quotient(dtype):
    rng = np.random.default_rng(0)
    info = np.finfo(dtype)
    a, b = (np.ldexp(rng.uniform(1, 2, 3000), rng.integers(info.minexp - 20, info.maxexp, 3000)) for _ in range(2))
    with np.errstate(all="ignore"):
        a, b = a.astype(dtype), b.astype(dtype)
        np.testing.assert_array_equal(compute("fmod", a, b), np.fmod(a, b))


@functools.cache
def loop_less(name, dtype):
    """Compiles `out[i] = f(a[i], …) - w[i]` as an expression is compiled, where products may be fused with sums."""
    function = numba_functions(np.dtype(dtype))[name]
    operands = ", ".join("ab"[: PRIMITIVES[name].arity])
    source = f"def run({operands}, w, out):\n    for i in range(out.size):\n        out[i] = f("
    scope = {"f": function}
    exec(source + ", ".join(f"{o}[i]" for o in operands.split(", ")) + ") - w[i]", scope)
    real = numba.from_dtype(np.dtype(dtype))[::1]
    arguments = (real,) * (PRIMITIVES[name].arity + 2)
    return numba.njit(arguments, error_model="numpy", fastmath={"contract"})(scope["run"])


# A square is a product itself, and so may be fused
FLOATS = [name for name in (*UNARY, *BINARY) if PRIMITIVES[name].gives != "bool" and name != "square"]


# To compile all takes seconds: each function is tried in one dtype, in turns, and in the other in the sweep.
@pytest.mark.parametrize(
    ("name", "dtype"),
    [
        pytest.param(name, dtype, marks=() if (i + j) % 2 == 0 else pytest.mark.slow)
        for i, name in enumerate(FLOATS)
        for j, dtype in enumerate(DTYPES)
    ],
)
def test_a_result_that_overflows_does_so_before_it_meets_a_sum(name, dtype):
    axes = [points(dtype)] * PRIMITIVES[name].arity + [np.array([1e-3, 1, 0.99, np.inf, -np.inf], dtype)]
    axes[-1][2] *= np.finfo(dtype).max
    *operands, w = (np.ravel(grid).copy() for grid in np.meshgrid(*axes))
    got = np.empty_like(w)
    with np.errstate(all="ignore"):
        alone = compute(name, *operands)
        loop_less(name, dtype)(*operands, w, got)
        infinite = np.isinf(alone)
        np.testing.assert_array_equal(got[infinite], (alone - w)[infinite])


NEAR_ITSELF = ("sinh", "tanh", "sin", "tan", "arcsin", "arctan", "arcsinh", "arctanh", "expm1", "log1p")


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", NEAR_ITSELF)
def test_a_function_that_is_x_near_0_is_so_down_to_the_last_subnormal(name, dtype):
    last = np.nextafter(dtype(0), dtype(1))
    x = last * np.array([1, 2, 3, 5, 7, 1001], dtype)
    x = np.concatenate([x, -x])
    assert np.array_equal(compute(name, x), x)
