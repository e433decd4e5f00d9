import numpy as np
import pytest

import opsdk
from opsdk.core.errors import AttributeValueError

X = np.arange(6.0).reshape(1, 2, 3)
REDUCED = [opsdk.sum, opsdk.mean, opsdk.max, opsdk.min]


@pytest.mark.parametrize("axis", [np.int8(2), np.array(2), np.array([2]), (2,), range(2, 3), [np.int64(-1)]])
@pytest.mark.parametrize("function", REDUCED)
def test_axes_may_be_of_numpy_or_any_sequence(function, axis):
    wanted = getattr(np, function.__name__)(X, axis=2)
    np.testing.assert_array_equal(function(X, axis), wanted)
    np.testing.assert_array_equal(getattr(opsdk.to_tensor(X), function.__name__)(axis).numpy(), wanted)


@pytest.mark.parametrize("axis", [1.5, float("nan"), 1j, "a", object(), [0.5], np.array([0.5])])
@pytest.mark.parametrize("function", [*REDUCED, opsdk.squeeze, opsdk.unsqueeze, opsdk.transpose])
def test_what_is_no_axis_is_refused(function, axis):
    for x in (X, opsdk.to_tensor(X)):
        with pytest.raises(AttributeValueError, match=r"attribute '(axis|perm)' expected int\[\]"):
            function(x, axis)


def test_axes_of_a_transposition_may_be_any_sequence():
    for perm in ((2, 0, 1), np.array([2, 0, 1]), range(3)):
        assert opsdk.transpose(X, perm).shape == np.transpose(X, perm).shape


@pytest.mark.parametrize("join", [opsdk.concat, opsdk.stack])
@pytest.mark.parametrize("values", [None, 3, 1.5, np.array(2.0), "ab", len, {}, opsdk.ones([])])
def test_what_has_no_parts_is_not_joined(join, values):
    with pytest.raises(AttributeValueError, match=r"(concat|stack): x expected a list of values to join, got"):
        join(values)


def test_the_rows_of_an_array_and_any_iterable_are_joined():
    rows = np.arange(6.0).reshape(3, 2)
    for values in (rows, tuple(rows), iter(rows), opsdk.to_tensor(rows)):
        np.testing.assert_array_equal(np.asarray(opsdk.concat(values)), rows.reshape(-1))
