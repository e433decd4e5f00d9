"""Special functions: errors against mpmath, and values where functions end, jump or have no value."""

import math

import mpmath
import numpy as np
import pytest

from opsdk.expr.primitives.table import PRIMITIVES
from opsdk.verify.kernels.exact import FUNCTIONS
from tests.backends.vmath.loops import DTYPES, SPECIAL, compute

INF, NAN = math.inf, math.nan


RANGE = {"erfinv": 1.0}  # beyond it there is nothing to compare


def operands(name, dtype, size):
    """Floats of all exponents and both signs, and three times as many where the functions have their shape."""
    rng = np.random.default_rng(len(name))
    integer = np.dtype(f"i{np.dtype(dtype).itemsize}")
    limits = np.iinfo(integer)
    bits = rng.integers(limits.min, limits.max, size // 4, dtype=integer).view(dtype)
    bits = bits[np.isfinite(bits) & (bits != 0)]
    made = [rng.normal(size=size // 4), rng.normal(size=size // 4) * 12, 1 + rng.normal(size=size // 4) * 0.3]
    if name in RANGE:
        made = [np.tanh(each) for each in made[:2]] + [1 - np.exp(-np.abs(made[2]) * 20)]
        bits = bits[np.abs(bits) <= RANGE[name]]
    return np.concatenate([bits, *(each.astype(dtype) for each in made)])


def units(name, wide, dtype):
    """The unit in the last place that an error counts in: of the right value, or of what cancels beside its zeros."""
    x, right = wide
    info = np.finfo(dtype)
    least = PRIMITIVES[name].least
    with np.errstate(all="ignore"):
        size = np.maximum(np.abs(right), 0.0 if least is None else least(x))
    size = np.where(np.isfinite(size), size, 1.0)
    return np.ldexp(1.0, np.clip(np.frexp(size)[1] - 1, info.minexp, info.maxexp - 1) - info.nmant)


def test_every_special_function_has_an_independent_value_and_a_bound():
    assert set(SPECIAL) <= set(FUNCTIONS)
    assert all(PRIMITIVES[name].ulp for name in SPECIAL)


@pytest.mark.parametrize("name", SPECIAL)
def test_errors_of_float32_stay_within_the_promised_bound(name):
    x = operands(name, np.float32, 100_000)
    wide = x.astype(np.float64)
    right = compute(name, wide)  # that of float64, which the next test holds to mpmath
    got = compute(name, x)
    with np.errstate(over="ignore", invalid="ignore"):
        nearest = right.astype(np.float32)
        finite = np.isfinite(nearest) & np.isfinite(got)
        close = np.where(finite, np.abs(got - right), 0.0) / units(name, (wide, right), np.float32)
    assert np.max(close) <= PRIMITIVES[name].ulp[0]
    overflowing = np.abs(right) > 0.999 * np.finfo(np.float32).max
    odd = ~(finite | overflowing)
    np.testing.assert_array_equal(got[odd], nearest[odd])


def worst(name, size):
    x = operands(name, np.float64, size)
    got = compute(name, x)
    with mpmath.workprec(260 if name not in ("j0", "j1", "lgamma", "digamma", "trigamma") else 1300):
        exact = [FUNCTIONS[name](mpmath.mp, mpmath.mpf(float(value))) for value in x]
        near = np.array([float(value) for value in exact])
        found = [
            abs(mpmath.mpf(float(value)) - right) if math.isfinite(value) and math.isfinite(float(right)) else 0.0
            for value, right in zip(got, exact, strict=True)
        ]
    odd = ~(np.isfinite(got) & np.isfinite(near))
    np.testing.assert_array_equal(got[odd], near[odd])
    return max(float(each) / unit for each, unit in zip(found, units(name, (x, near), np.float64), strict=True))


@pytest.mark.parametrize("name", SPECIAL)
def test_errors_of_float64_stay_within_the_promised_bound(name):
    assert worst(name, 60) <= PRIMITIVES[name].ulp[1]


@pytest.mark.slow  # 4000 operands of mpmath's; 60 of them stand for it above
@pytest.mark.parametrize("name", SPECIAL)
def test_errors_of_float64_stay_within_the_promised_bound_densely(name):
    assert worst(name, 4000) <= PRIMITIVES[name].ulp[1]


def test_right_of_zero_lgamma_and_digamma_are_as_near_relative_to_themselves():
    x = np.concatenate([np.linspace(0.9, 2.6, 400), np.nextafter([1.0, 2.0], 0.0), np.nextafter([1.0, 2.0], 3.0)])
    for name in ("lgamma", "digamma"):
        with mpmath.workprec(120):
            exact = [FUNCTIONS[name](mpmath.mp, mpmath.mpf(value)) for value in x]
            error = [
                abs(mpmath.mpf(v) - e) / abs(e) if e else abs(v) for v, e in zip(compute(name, x), exact, strict=True)
            ]
        assert float(max(error)) <= PRIMITIVES[name].ulp[1] * 2.0**-52


# scipy.special 1.17 at these operands, and np.sinc. SciPy's gammaln of 5e-324 is inf, and its erfinv and i1e lose the
# sign of a zero; here the first is right, and odd functions keep it. np.sinc(±inf) is nan, as sin(±inf) is.
POINTS = (0.0, -0.0, INF, -INF, NAN, -1.0, -2.0, -1e20)
VALUES = {
    "lgamma": (INF, INF, INF, -INF, NAN, INF, INF, INF),
    "digamma": (-INF, INF, INF, NAN, NAN, NAN, NAN, NAN),
    "trigamma": (INF, INF, 0.0, INF, NAN, INF, INF, INF),
    "erfcx": (1.0, 1.0, 0.0, INF, NAN, 5.008980080762283, 108.94090438997797, INF),
    "erfinv": (0.0, -0.0, NAN, NAN, NAN, -INF, NAN, NAN),
    "log_ndtr": (
        -0.6931471805599453, -0.6931471805599453, -0.0, -INF, NAN, -1.8410216450092634, -3.7831843336820317, -5e39
    ),
    "i0e": (1.0, 1.0, 0.0, 0.0, NAN, 0.46575960759364043, 0.30850832255367105, 3.989422804014327e-11),
    "i1e": (0.0, -0.0, 0.0, -0.0, NAN, -0.2079104153497085, -0.21526928924893765, -3.989422804014327e-11),
    "j0": (1.0, 1.0, NAN, NAN, NAN, 0.7651976865579666, 0.22389077914123567, None),
    "j1": (0.0, -0.0, NAN, NAN, NAN, -0.44005058574493355, -0.5767248077568734, None),
    "sinc": (1.0, 1.0, NAN, NAN, NAN, 0.0, -0.0, -0.0),
}  # fmt: skip


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", SPECIAL)
def test_ends_poles_and_zeros_are_scipys(name, dtype):
    x, wanted = np.array(POINTS, dtype), VALUES[name]
    kept = [i for i, value in enumerate(wanted) if value is not None]
    if dtype == np.float32 and name == "log_ndtr":
        kept.pop()  # it is infinite
    got, wanted = compute(name, x)[kept].astype(float), np.array([wanted[i] for i in kept])
    np.testing.assert_allclose(got, wanted, rtol=6 * np.finfo(dtype).eps)
    plain = ~np.isnan(wanted)
    np.testing.assert_array_equal(np.signbit(got[plain]), np.signbit(wanted[plain]))


@pytest.mark.parametrize(
    ("name", "x", "wanted"),
    [
        ("lgamma", 5e-324, 744.4400719213812), ("lgamma", 1e-310, 713.8013788281542),
        ("lgamma", -1e-310, 713.8013788281542), ("lgamma", 2e305, 1.4039632010874878e+308), ("lgamma", 1e308, INF),
        ("lgamma", -170.5, -707.9984331450788), ("digamma", 1e-310, -INF), ("digamma", -1e-310, INF),
        ("digamma", 1e-300, -1e300), ("digamma", 1e308, 709.1962086421661),
        ("digamma", 1.4616321449683622, -9.241265521729427e-17), ("trigamma", 1e-160, INF),
        ("trigamma", 1e308, 1e-308), ("erfcx", 1e308, 5.6418958354775629e-309), ("erfcx", -26.7, INF),
        ("erfcx", -26.6, 3.894337719605585e307), ("erfinv", 1 - 2.0**-53, 5.863584748755167),
        ("erfinv", 5e-324, 5e-324), ("erfinv", np.nextafter(1.0, 2.0), NAN), ("log_ndtr", -1e10, -5e19),
        ("log_ndtr", -40.0, -804.6084420137538), ("log_ndtr", 37.0, -5.725571222524577e-300),
        ("log_ndtr", 50.0, -0.0), ("i0e", 1e308, 3.989422804014327e-155), ("i1e", -1e308, -3.989422804014327e-155),
        ("j0", 1e10, 2.175591750246892e-06), ("j1", 1e10, -7.676508175684157e-06), ("sinc", 0.5, 0.6366197723675814),
        ("sinc", 1e-320, 1.0), ("sinc", 1e308, 0.0),
    ],
)  # fmt: skip
def test_values_at_the_edges_are_right(name, x, wanted):
    (got,) = compute(name, np.array([x]))
    np.testing.assert_allclose(got, wanted, rtol=1e-15)
