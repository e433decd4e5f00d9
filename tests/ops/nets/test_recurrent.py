import numpy as np
import pytest

from opsdk import errors
from opsdk.ops.nets.recurrent import rnn

X, STATE, W, R = np.ones((3, 2, 4)), np.zeros((2, 2, 5)), np.ones((20, 4)), np.ones((20, 5))


def test_shapes_that_do_not_fit_are_refused_by_name():
    with pytest.raises(errors.ShapeError, match=r"x expected shape \(T, B, I\), got \(3, 2\)"):
        rnn(X[..., 0], STATE, W, R)
    with pytest.raises(errors.ShapeError, match=r"op 'opsdk::rnn': state expected shape \(1, 2, 5\) of GRU to fit x"):
        rnn(X, STATE, W[:15], R[:15], mode="GRU")
    with pytest.raises(errors.ShapeError, match=r"length expected shape \(2,\)"):
        rnn(X, STATE, W, R, None, None, np.array([3]))


def test_another_dtype_than_that_of_x_is_refused():
    with pytest.raises(errors.DTypeError, match="w_hh expected float64 like x, got float32; cast it"):
        rnn(X, STATE, W, R.astype("float32"))


def test_gates_that_are_far_from_zero_saturate_without_a_warning():
    with np.errstate(all="raise", under="ignore"):
        out, last = rnn(np.full((1, 1, 1), -1000.0), np.ones((2, 1, 1)), np.ones((4, 1)), np.zeros((4, 1)))
    assert (out.item(), last.tolist()) == (0.0, [[[0.0]], [[0.0]]])


def test_float16_is_computed_in_float32_and_rounded_once():
    rng = np.random.default_rng(0)
    values = [rng.normal(size=shape).astype(np.float16) for shape in ((6, 2, 4), (2, 2, 5), (20, 4), (20, 5))]
    made = rnn(*values)[0]
    wide = rnn(*[value.astype(np.float32) for value in values])[0]
    assert made.dtype == np.float16
    np.testing.assert_array_equal(made, wide.astype(np.float16))
