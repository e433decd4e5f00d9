"""Ops without an infer rule of their own: a compiled row gives the dtype that the reference gives, or is refused."""

import numpy as np
import pytest

import opsdk
from opsdk.core.errors import DTypeError

REFUSED = r"output 'y': expected int64, got float64; cast it with \.astype, or declare the dtype with an infer rule"


def fill(x, slope, y):
    for i in range(x.size):
        y.flat[i] = x.flat[i] if x.flat[i] > 0 else slope * x.flat[i]


@pytest.fixture
def leaky(scope):
    @opsdk.op
    def leaky(x, *, slope: float = 0.1):
        return np.where(x > 0, x, slope * x)

    leaky.kernel("cpu", fill, language="numba")
    return leaky


@pytest.mark.parametrize("x", [np.array([-5, 3]), np.array(-5), np.zeros((2, 0), int)], ids=["1-d", "0-d", "empty"])
def test_a_row_that_would_round_to_integers_is_refused_as_the_reference_is(leaky, x):
    for _ in range(2):
        with pytest.raises(DTypeError, match=REFUSED):
            leaky(x)
    with pytest.raises(DTypeError, match=REFUSED):
        leaky(opsdk.to_tensor(x))


def test_floating_inputs_keep_their_dtype(leaky):
    made = leaky(np.array([-4, 3], np.float32), slope=0.5)
    assert made.dtype == np.float32
    assert made.tolist() == [-2, 3]


def test_integers_that_stay_integers_are_served_by_the_row(scope):
    ran = []

    @opsdk.op("t::twice(Tensor x) -> Tensor y")
    def twice(x):
        ran.append(x.shape)
        return x * 2

    @twice.kernel("cpu", language="numba")
    def twice_numba(x, y):
        for i in range(x.size):
            y[i] = x[i] * 2

    assert twice(np.array([1, 2])).tolist() == [2, 4]
    assert twice(np.array([3])).tolist() == [6]
    assert ran == [(0,)]  # asked once, with nothing in it


def test_inputs_of_two_dtypes_are_held_to_what_the_reference_makes_of_them(scope):
    @opsdk.op("t::scaled(Tensor x, Tensor by) -> Tensor y")
    def scaled(x, by):
        return x * by

    @scaled.kernel("cpu", language="numba")
    def scaled_numba(x, by, y):
        for i in range(x.size):
            y[i] = x[i] * by[i]

    with pytest.raises(DTypeError, match="output 'y': expected float32, got float64"):
        scaled(np.ones(2, np.float32), np.ones(2))
    assert scaled(np.ones(2), np.full(2, 3, np.float32)).tolist() == [3, 3]


def test_a_reference_that_needs_elements_says_nothing(scope):
    @opsdk.op("t::shifted(Tensor x) -> Tensor y")
    def shifted(x):
        return x - x.max()

    @shifted.kernel("cpu", language="numba")
    def shifted_numba(x, y):
        for i in range(x.size):
            y[i] = x[i] - x.max()

    assert shifted(np.array([1, 3])).tolist() == [-2, 0]


@pytest.mark.parametrize("rule", [opsdk.infer.like("a"), opsdk.infer.broadcast], ids=["like", "broadcast"])
def test_a_stock_rule_knows_nothing_of_what_the_op_computes(scope, rule):
    @opsdk.op("t::middle(Tensor a, Tensor b) -> Tensor y", infer=rule)
    def middle(a, b):
        return (a + b) / 2

    @middle.kernel("cpu", language="numba")
    def middle_numba(a, b, y):
        for i in range(a.size):
            y[i] = (a[i] + b[i]) / 2

    with pytest.raises(DTypeError, match=REFUSED):
        middle(np.array([1, 2]), np.array([2, 3]))
    assert middle(np.array([1.0, 2.0]), np.array([2.0, 3.0])).tolist() == [1.5, 2.5]


def test_an_op_with_an_infer_rule_of_its_own_has_said_what_it_gives(scope):
    @opsdk.op("t::halves(Tensor x) -> Tensor y", infer=lambda x: x)
    def halves(x):
        return x / 2

    @halves.kernel("cpu", language="numba")
    def halves_numba(x, y):
        for i in range(x.size):
            y[i] = x[i] // 2

    assert halves(np.array([5, 7])).tolist() == [2, 3]


def test_absent_inputs_are_absent_for_the_reference_too(scope):
    @opsdk.op("t::moved(Tensor x, Tensor? by=None) -> Tensor y")
    def moved(x, by):
        return x * 0.5 if by is None else x + by

    @moved.kernel("cpu", language="numba")
    def moved_numba(x, by, y):
        for i in range(x.size):
            y[i] = x[i] * 0.5 if by is None else x[i] + by[i]

    with pytest.raises(DTypeError, match=REFUSED):
        moved(np.array([1, 2]))
    assert moved(np.array([1, 2]), np.array([3, 4])).tolist() == [4, 6]
