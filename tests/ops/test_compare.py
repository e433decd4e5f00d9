import numpy as np
import pytest

import opsdk
from opsdk.ops import compare

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
