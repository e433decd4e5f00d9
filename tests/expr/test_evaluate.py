import math

import mpmath
import numpy as np
import pytest

from opsdk.expr.evaluate import evaluate
from opsdk.expr.node import Node
from opsdk.expr.primitives.table import PRIMITIVES
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
        ("isinf", [np.array([-np.inf, np.nan, 1.0])], [True, False, False]),
        ("isfinite", [np.array([-np.inf, np.nan, 1.0])], [False, False, True]),
        ("trunc", [np.array([-1.5, 1.5])], [-1.0, 1.0]),
        ("copysign", [np.array([3.0, -3.0]), np.array([-0.0, 1.0])], [-3.0, 3.0]),
    ],
)
def test_primitives_mean_what_they_are_called(name, operands, expected):
    np.testing.assert_array_equal(PRIMITIVES[name].meaning(np, *operands), expected)


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_numbers_among_themselves_are_computed_with_in_the_dtype_that_is_given(dtype):
    scale = Symbol(Node("attr", (), "a"))
    roots = [(X * (scale * 0.5)).node, apply("where", X > 0.0, scale, 1.0).node]
    values = evaluate(roots, {"x": np.ones(2, dtype), "a": 3.0}, np, np.dtype(dtype))
    assert [(value.dtype.name, value.tolist()) for value in values] == [(dtype, [1.5, 1.5]), (dtype, [3.0, 3.0])]


@pytest.mark.parametrize("name", ["erf", "erfc"])
def test_error_functions_are_accurate_to_the_last_bits_of_float64(name):
    x = np.concatenate([np.linspace(-6.5, 27.2, 500), [0.925, np.nextafter(0.925, 0), 0.47, 1e-300, -1e-300]])
    reference = np.array([float(getattr(mpmath, name)(mpmath.mpf(float(v)))) for v in x])
    computed = PRIMITIVES[name].meaning(np, x)
    assert np.max(np.abs(computed - reference) / np.spacing(np.abs(reference))) <= 5


@pytest.mark.parametrize(("name", "expected"), [("erf", [-1.0, -0.0, 1.0, np.nan]), ("erfc", [2.0, 1.0, 0.0, np.nan])])
def test_error_functions_end_where_they_should(name, expected):
    computed = PRIMITIVES[name].meaning(np, np.array([-np.inf, -0.0, np.inf, np.nan]))
    np.testing.assert_array_equal(computed, expected)
    np.testing.assert_array_equal(np.signbit(computed[:3]), np.signbit(expected[:3]))


def test_error_functions_of_single_precision_stay_in_it():
    x = np.linspace(-4, 9, 400, dtype=np.float32)
    for name in ("erf", "erfc"):
        computed = PRIMITIVES[name].meaning(np, x)
        reference = [getattr(math, name)(float(v)) for v in x]
        assert computed.dtype == np.float32
        np.testing.assert_allclose(computed, reference, rtol=2e-5, atol=1e-45)
