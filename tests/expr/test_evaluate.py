import numpy as np
import pytest

from opsdk.expr.evaluate import evaluate
from opsdk.expr.node import Node
from opsdk.expr.primitive import PRIMITIVES
from opsdk.expr.symbol import Symbol, apply

X, Y = Symbol(Node("input", (), "x")), Symbol(Node("input", (), "y"))


def test_arrays_broadcast_and_keep_their_dtype_beside_constants():
    (value,) = evaluate([(X * 0.5 + Y).node], {"x": np.ones((2, 1), np.float32), "y": np.ones(3, np.float32)}, np)
    assert (value.shape, value.dtype, value.tolist()) == ((2, 3), np.float32, [[1.5] * 3] * 2)


def test_several_roots_share_what_they_have_in_common():
    calls = []

    class Counting:
        def __getattr__(self, name):
            calls.append(name)
            return getattr(np, name)

    exp = apply("exp", X)
    evaluate([(exp + 1.0).node, (exp * 2.0).node], {"x": np.ones(2)}, Counting())
    assert calls.count("exp") == 1


@pytest.mark.parametrize(
    ("name", "operands", "expected"),
    [
        ("sigmoid", [np.array([-1000.0, 0.0, 1000.0])], [0.0, 0.5, 1.0]),
        ("softplus", [np.array([-1000.0, 0.0, 1000.0])], [0.0, np.log(2.0), 1000.0]),
        ("fmod", [np.array([7.5, -7.5]), 2.0], [1.5, -1.5]),
        ("round", [np.array([0.5, 1.5, 2.5])], [0.0, 2.0, 2.0]),
        ("where", [np.array([True, False]), 1.0, 2.0], [1.0, 2.0]),
        ("or", [np.array([True, False]), False], [True, False]),
        ("not", [np.array([True, False])], [False, True]),
        ("isnan", [np.array([np.nan, 1.0])], [True, False]),
    ],
)
def test_primitives_mean_what_they_are_called(name, operands, expected):
    np.testing.assert_array_equal(PRIMITIVES[name].meaning(np, *operands), expected)
