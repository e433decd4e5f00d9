"""Errors in units in the last place, and the operands that a primitive is tried at."""

import numpy as np
import pytest

from opsdk.expr.primitives.accuracy import drawn, errors, everywhere

INF, NAN = np.inf, np.nan
F32, F64 = np.dtype("float32"), np.dtype("float64")


def units(got, right, dtype=F64, least=0.0, rest=0.0):
    got, right = np.array([got], dtype), np.array([right])
    return float(errors(got, right, dtype, np.array([least]), rest)[0])


@pytest.mark.parametrize(
    ("got", "right", "dtype", "wanted"),
    [
        (1.0, 1.0, F64, 0.0),
        (1 + 2.0**-52, 1.0, F64, 1.0),
        (1 - 2.0**-53, 1.0, F64, 0.5),  # below a power of two numbers lie closer
        (-3 - 2.0**-50, -3.0, F64, 2.0),
        (1 + 2.0**-23, 1.0, F32, 1.0),
        (1.0, 1 + 2.0**-25, F32, 0.25),  # right is no float32
        (5e-324, 1e-323, F64, 1.0),  # among the smallest, the unit stays
        (2.0**-149, 0.0, F32, 1.0),
    ],
)
def test_an_error_is_a_multiple_of_the_unit_of_what_is_right(got, right, dtype, wanted):
    assert units(got, right, dtype) == wanted


def test_where_small_results_count_for_less_the_unit_is_that_of_the_given_size():
    assert units(2.0**-52, 0.0, least=1.0) == 1.0
    assert units(4 + 2.0**-50, 4.0, least=1.0) == 1.0


def test_what_right_lacks_counts():
    assert units(1.0, 1.0, rest=2.0**-53) == 0.5


@pytest.mark.parametrize(("got", "right"), [(INF, INF), (-INF, -INF), (NAN, NAN), (0.0, -0.0)])
def test_the_same_special_value_is_no_error(got, right):
    assert units(got, right) == 0.0


@pytest.mark.parametrize(("got", "right"), [(INF, 1.0), (1.0, INF), (NAN, 1.0), (1.0, NAN), (INF, -INF), (INF, NAN)])
def test_another_special_value_is_infinitely_wrong(got, right):
    assert units(got, right) == INF


def test_infinity_beside_the_largest_number_is_a_rounding():
    most = float(np.finfo(F32).max)
    assert units(INF, most, F32) == 1.0
    assert units(most, 2.0**128, F32) == 1.0
    assert units(INF, most / 2, F32) == INF


@pytest.mark.parametrize("dtype", [F32, F64])
def test_all_kinds_of_numbers_are_among_the_operands(dtype):
    (x,) = everywhere(["x"], {}, dtype, 400)
    info = np.finfo(dtype)
    assert x.dtype == dtype
    for each in (INF, -INF, info.max, -info.max, info.smallest_subnormal, info.smallest_normal, 1.0, -1.0, 0.0):
        assert each in x
    assert np.isnan(x).any()
    assert np.signbit(x[x == 0]).any()
    exponents = np.frexp(x[np.isfinite(x)])[1]
    assert len(np.unique(exponents)) > 130
    assert np.count_nonzero((abs(x) > 1e-3) & (abs(x) < 31)) >= 200


@pytest.mark.parametrize("bounds", [(0.0, 1.0), (0.1, None), (None, -3.0), (2.0, 2.0)])
@pytest.mark.parametrize("dtype", [F32, F64])
def test_operands_stay_inside_their_bounds_and_come_close_to_them(dtype, bounds):
    (x,) = everywhere(["x"], {"x": bounds}, dtype, 400)
    low, high = (-INF if bounds[0] is None else bounds[0]), (INF if bounds[1] is None else bounds[1])
    inside = x[~np.isnan(x)].astype(np.float64)
    assert ((inside >= low) & (inside <= high)).all()
    assert np.isnan(x).sum() == 1
    for end in bounds:
        if end is not None:
            assert abs(inside - end).min() <= abs(end) * np.finfo(dtype).eps


def test_bounds_between_which_a_dtype_has_no_number_leave_nan_alone():
    (x,) = everywhere(["x"], {"x": (1e39, 1e40)}, F32, 10)
    assert np.isnan(x).all()


def test_specials_of_several_operands_meet_in_every_pair():
    a, b = everywhere(["a", "b"], {"b": (0.0, None)}, F64, 10)
    assert len(a) == len(b)
    pairs = set(zip(a.tolist(), b.tolist(), strict=True))
    assert {(INF, INF), (-INF, 0.0), (0.0, 1.0), (-1.0, np.finfo(F64).max)} <= pairs
    assert (b[~np.isnan(b)] >= 0).all()


def test_drawn_operands_have_both_signs_and_all_ordinary_sizes():
    (x,) = drawn(["x"], {}, 400)
    assert 150 < np.count_nonzero(x > 0) < 250
    assert abs(x).min() < 2e-3
    assert 25 < abs(x).max() <= 30
    (below,) = drawn(["x"], {"x": (None, 0.5)}, 40)
    assert (below < 0.5).all()
