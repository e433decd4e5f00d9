import numpy as np
import pytest

from opsdk.core.errors import DTypeError, InputValueError
from opsdk.ops import creation


def test_fill_constant_has_the_shape_and_dtype_asked_for():
    made = creation.fill_constant(shape=[2, 3], value=1.5, dtype="float64")
    np.testing.assert_array_equal(made, np.full((2, 3), 1.5))
    assert creation.fill_constant(shape=[], value=1.0).dtype == np.float32
    assert creation.fill_constant(shape=[0, 4], value=1.0).shape == (0, 4)


def test_assign_value_lists_values_in_c_order():
    made = creation.assign_value(shape=[2, 2], values=[1.0, 2.0, 3.0, 4.0], dtype="int32")
    np.testing.assert_array_equal(made, np.array([[1, 2], [3, 4]], np.int32))
    assert made.flags.owndata


@pytest.mark.parametrize("op", [creation.uniform_random, creation.gaussian_random])
def test_the_same_seed_gives_the_same_numbers(op):
    first, again, other = (op(shape=[50], seed=seed) for seed in (3, 3, 4))
    np.testing.assert_array_equal(first, again)
    assert (first != other).all()
    assert first.dtype == np.float32


def test_uniform_numbers_fill_their_interval():
    made = creation.uniform_random(shape=[10_000], min=2.0, max=4.0, seed=1, dtype="float64")
    assert 2 <= made.min() < 2.01
    assert 3.99 < made.max() < 4


def test_normal_numbers_have_their_mean_and_spread():
    made = creation.gaussian_random(shape=[10_000], mean=2.0, std=0.5, seed=1, dtype="float64")
    assert made.mean() == pytest.approx(2, abs=0.03)
    assert made.std() == pytest.approx(0.5, rel=0.03)


def test_fill_any_like_takes_shape_and_dtype_and_no_values():
    made = creation.fill_any_like(np.full((2, 1), np.nan, np.float32), value=3.0)
    np.testing.assert_array_equal(made, np.full((2, 1), 3, np.float32))
    assert made.dtype == np.float32


def test_exact_value_holds_what_floats_do_not():
    made = creation.exact_value(shape=[2], values=["9007199254740993", "-1"], dtype="int64")
    np.testing.assert_array_equal(made, np.array([2**53 + 1, -1]), strict=True)
    assert creation.exact_value(shape=[1], values=["18446744073709551615"], dtype="uint64").tolist() == [2**64 - 1]
    made = creation.exact_value(shape=[2, 1], values=["(nan+2j)"], dtype="complex64")
    np.testing.assert_array_equal(made, np.full((2, 1), complex("nan+2j"), np.complex64), strict=True)


@pytest.mark.parametrize(
    "call",
    [
        lambda v: creation.fill_constant(shape=[2], value=v, dtype="int8"),
        lambda v: creation.assign_value(shape=[1], values=[v], dtype="int8"),
        lambda v: creation.fill_any_like(np.zeros(2, "int8"), value=v),
    ],
)
@pytest.mark.parametrize("value", [float("nan"), 300.0, -200.0, float("inf")])
def test_a_value_that_the_dtype_does_not_hold_is_refused(call, value):
    with pytest.raises(DTypeError, match=r"values?: expected .*whole numbers? that int8 holds, from -128 to 127, got"):
        call(value)
    with pytest.raises(DTypeError, match="exact_value': values: expected whole numbers that int8 holds"):
        creation.exact_value(shape=[2], values=["300", "1"], dtype="int8")


@pytest.mark.parametrize(("mean", "std"), [(float("nan"), 1.0), (0.0, -1.0), (0.0, float("inf"))])
def test_normal_numbers_have_a_finite_mean_and_spread(mean, std):
    with pytest.raises(InputValueError, match="gaussian_random': mean and std expected finite numbers, std ≥ 0, got"):
        creation.gaussian_random(shape=[2], mean=mean, std=std, seed=1)


def test_constant_takes_the_op_that_holds_its_values():
    cases = [
        (1.5, "float32", [2], creation.fill_constant),
        (2**53, "int64", [2], creation.fill_constant),
        (2**53 + 1, "int64", [2], creation.exact_value),
        (1.5, "complex64", [2], creation.exact_value),
        ([1.5, 2.5], "float64", None, creation.assign_value),
        ([2**60 + 1, 3], "int64", None, creation.exact_value),
        ([1j, 2.5], "complex128", None, creation.exact_value),
        ([], "int64", None, creation.assign_value),
    ]
    for value, dtype, shape, wanted in cases:
        op, attrs = creation.constant(value, dtype, "f", shape)
        assert op is wanted
        np.testing.assert_array_equal(op(**attrs), np.full(shape, value, dtype) if shape else np.array(value, dtype))


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32"])
def test_uniform_numbers_that_round_up_stay_below_the_end_of_their_interval(dtype):
    made = creation.uniform_random(shape=[100_000], min=0.0, max=1.0, seed=1, dtype=dtype)
    assert made.dtype.name == dtype
    assert 0 <= made.min() < made.max() < 1
    near = creation.uniform_random(shape=[1000], min=1.0, max=1.0 + 2.0**-7, seed=1, dtype="bfloat16")
    assert set(near.astype(float)) == {1.0}
    same = creation.uniform_random(shape=[3], min=2.0, max=2.0, seed=1, dtype=dtype)
    assert same.tolist() == [2.0] * 3


def test_positions_along_an_axis_of_another_value():
    assert creation.arange(np.zeros((2, 3)), axis=-1).tolist() == [0, 1, 2]
    assert creation.arange(np.zeros(3), start=1.0, step=0.5, dtype="float32").tolist() == [1.0, 1.5, 2.0, 2.5]


@pytest.mark.parametrize("attrs", [{"step": 0.0}, {"start": float("nan")}, {"step": float("inf")}])
def test_positions_without_a_step_are_refused(attrs):
    with pytest.raises(InputValueError, match="op 'opsdk::arange': start and step expected finite numbers, step ≠ 0"):
        creation.arange(np.zeros(3), **attrs)
