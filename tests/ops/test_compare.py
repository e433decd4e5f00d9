import numpy as np
import pytest

import opsdk
from opsdk.core.errors import DTypeError, InputValueError, ShapeError
from opsdk.ops import compare
from opsdk.ops.compare import one_hot

X, Y = np.array([1.0, 2.0, np.nan, 3.0]), np.array([1.0, 3.0, np.nan, 2.0])


@pytest.mark.parametrize(
    ("op", "expected"),
    [
        (compare.equal, [True, False, False, False]),
        (compare.not_equal, [False, True, True, True]),
        (compare.less_than, [False, True, False, False]),
        (compare.less_equal, [True, True, False, False]),
        (compare.greater_than, [False, False, False, True]),
        (compare.greater_equal, [True, False, False, True]),
    ],
)
def test_comparisons_are_bool_and_nan_equals_nothing(op, expected):
    result = op(X, Y)
    assert result.dtype == bool
    np.testing.assert_array_equal(result, expected)


def test_comparisons_broadcast():
    assert compare.less_than(np.zeros((3, 1)), np.ones(4)).shape == (3, 4)


def test_logical_not_is_true_where_there_is_zero():
    np.testing.assert_array_equal(compare.logical_not(np.array([0.0, 0.5, -0.0])), [True, False, True])


def test_a_comparison_carries_no_gradient():
    x = opsdk.to_tensor([1.0], stop_gradient=False)
    assert compare.equal(x, x).stop_gradient


NAMES = ("equal", "not_equal", "less_than", "less_equal", "greater_than", "greater_equal")


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("dtype", ["int64", "uint64"])
def test_whole_numbers_that_a_comparison_with_floats_would_round_are_refused(name, dtype):
    whole, real = np.array([3, 2**53 + 1], dtype), np.array([3.0, 2.0**53])
    for left, right, side in ((whole, real, "x"), (real, whole, "y"), (whole, real.astype("float32"), "x")):
        with pytest.raises(InputValueError, match=rf"op 'opsdk::{name}': input '{side}' expected whole .* float64"):
            getattr(compare, name)(left, right)
        with pytest.raises(InputValueError, match=f"got {2**53 + 1}; cast it"):
            getattr(compare, name)(opsdk.to_tensor(left), opsdk.to_tensor(right))


@pytest.mark.parametrize("name", NAMES)
def test_whole_numbers_that_float64_holds_are_compared_with_floats(name):
    whole, real = np.array([3, 2**53, -(2**62)]), np.array([2.5, 2.0**53, 0.0])
    expected = {"equal": [0, 1, 0], "not_equal": [1, 0, 1], "less_than": [0, 0, 1], "less_equal": [0, 1, 1],
                "greater_than": [1, 0, 0], "greater_equal": [1, 1, 0]}  # fmt: skip
    assert getattr(compare, name)(whole, real).tolist() == [bool(value) for value in expected[name]]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(("dtype", "number"), [("float32", 2**24 + 1), ("float64", 2**53 + 1)])
def test_a_python_int_that_the_floats_beside_it_would_round_is_refused(name, dtype, number):
    with pytest.raises(DTypeError, match=f"expected a whole number that {dtype} holds, got {number}; write it as a"):
        getattr(compare, name)(opsdk.to_tensor(np.zeros(2, dtype)), number)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_floats_of_16_bits_are_compared_with_a_whole_number_as_it_is(dtype):
    x = opsdk.to_tensor([2048.0, 4096.0]).astype(dtype)
    assert (x == 2049).tolist() == [False, False]
    assert (x < 2049).tolist() == [True, False]
    assert (x >= 2049).tolist() == [False, True]


def test_one_hot_is_one_at_the_class():
    np.testing.assert_array_equal(one_hot(np.array([2, 0]), num_classes=3), [[0, 0, 1], [1, 0, 0]])


def test_one_hot_appends_an_axis_and_is_float32():
    assert one_hot(np.array([[1], [0]]), num_classes=2).shape == (2, 1, 2)
    assert one_hot(np.array(1), num_classes=2).dtype == np.float32
    assert one_hot(np.zeros((0,), np.int64), num_classes=2).shape == (0, 2)


def test_one_hot_refuses_a_class_outside():
    with pytest.raises(ShapeError, match=r"op 'opsdk::one_hot': x expected in \[0, 2\), got 0 to 2"):
        one_hot(np.array([0, 2]), num_classes=2)


def test_classes_are_whole_numbers():
    with pytest.raises(DTypeError, match="op 'opsdk::one_hot': x expected integers or bools, got float64; cast it"):
        one_hot(np.array([0.5, np.nan]), num_classes=2)
