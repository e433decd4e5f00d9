"""The two ops by themselves, on arrays."""

import numpy as np
import pytest

import opsdk
from opsdk import static
from opsdk.core.errors import ArityError
from opsdk.static.control.body import Body
from opsdk.static.control.ops import cond, joined, parted, while_loop


def body(function):
    """The body of a function of one float64 row of two."""
    program = static.Program()
    with static.program_guard(program, static.Program()):
        x = static.data("x", [2], "float64")
        x.stop_gradient = False
        made = function(x)
    return Body(program, ["x"], [made.name])


X = np.array([1.0, 2.0])


def test_cond_runs_one_of_its_bodies_on_arrays():
    bodies = {"then": body(lambda x: x * 2.0), "otherwise": body(lambda x: x * 3.0)}
    for pred, factor in ((True, 2.0), (False, 3.0)):
        (y,), rest = cond(np.array(pred), [X], [], **bodies)
        assert (y.tolist(), rest) == ((factor * X).tolist(), [])


def test_while_loop_turns_for_as_long_as_its_test_says():
    (y,), _ = while_loop([X], [], count=1, test=body(lambda x: x.sum() < 10.0), body=body(lambda x: x * 2.0))
    assert y.tolist() == [4.0, 8.0]


def test_values_are_parted_by_whether_they_have_gradients_and_joined_again():
    specs = [opsdk.TensorSpec((), dtype) for dtype in ("float32", "int64", "bool", "float64")]
    assert parted("abcd", specs) == (["a", "d"], ["b", "c"])
    assert joined("ad", "bc", specs) == ["a", "b", "c", "d"]


def test_as_many_values_as_the_bodies_take():
    made = body(lambda x: x * 2.0)
    with pytest.raises(ArityError, match="control flow: expected 1 values with gradients and 0 others, as the bodies"):
        cond(np.array(True), [X, X], [], then=made, otherwise=made)


@pytest.mark.parametrize("op", [cond, while_loop], ids=["cond", "while_loop"])
def test_they_are_proven_like_any_op(op):
    assert opsdk.verify(op, level="quick").verdict == "pass"
