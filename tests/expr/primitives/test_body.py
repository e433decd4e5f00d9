"""Body: an expression read when it is needed, and its value on arrays of any module."""

import types

import numpy as np
import pytest

from opsdk import vmath
from opsdk.core.errors import TraceError
from opsdk.expr.primitives.body import Body


def of(function, operands=("x",)):
    return Body(lambda: function, operands, "primitive 'f'")


def test_the_function_is_read_once_and_not_before_it_is_needed():
    seen = []

    def function(x):
        seen.append(x)
        return x * 2

    body = of(function)
    assert seen == []
    assert (body.root, body.root) == (body.expression.wanted[0],) * 2
    assert (len(seen), repr(body.root)) == (1, "mul(x, 2.0)")


def test_a_function_that_cannot_be_read_is_told_with_the_primitive_and_the_line():
    with pytest.raises(TraceError, match=r"primitive 'f', line \d+: 'if', 'and', 'or' and 'while' need a value"):
        of(lambda x: 1.0 if x > 0 else x)(np, 1.0)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_a_value_is_computed_in_the_dtype_of_the_operands(dtype):
    x = np.array([0.1, 0.7, 3.0], dtype)
    made = of(lambda x: x / 3 + 0.1)(np, x)
    assert made.dtype == dtype
    np.testing.assert_array_equal(made, x / np.dtype(dtype).type(3) + np.dtype(dtype).type(0.1))


def test_what_numbers_alone_make_is_rounded_to_the_dtype_of_the_arrays():
    made = of(lambda x: x + vmath.where(x > 0, 0.1, 0.2))(np, np.array([1.0, -1.0], np.float32))
    assert made.dtype == np.float32
    np.testing.assert_array_equal(made, np.array([1.1, -0.8], np.float32))


def test_two_dtypes_meet_in_the_wider_one_and_operands_go_by_place():
    made = of(lambda a, b: a - 2 * b, ("a", "b"))(np, np.array([5.0], np.float32), np.array([1.0]))
    assert (made.dtype, made.tolist()) == (np.float64, [3.0])


def test_float16_is_how_numbers_are_stored_and_not_computed_with():
    x = np.array([2000.0], np.float16)  # the square of which is none in float16
    made = of(lambda x: x * x / 4000)(np, x)
    assert (made.dtype, made.tolist()) == (np.float16, [1000.0])


def test_numbers_give_a_number():
    assert of(lambda x: x * x)(np, 3.0) == 9.0


def test_another_module_of_arrays_is_asked_for_its_functions():
    module = types.SimpleNamespace(exp=lambda x: ("exp", x))
    assert of(vmath.exp)(module, 2.0) == ("exp", 2.0)
