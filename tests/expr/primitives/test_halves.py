import numpy as np
import pytest

from opsdk.core.dtype import bfloat16
from opsdk.expr.primitives.halves import rounded_once


def shifted_back(xp, x, *more):
    """Returns x by way of a sum that no 16-bit dtype holds."""
    made = (x + xp.asarray(4096.0, x.dtype)) - xp.asarray(4096.0, x.dtype)
    return sum(more, made)


@pytest.mark.parametrize("dtype", [np.dtype("float16"), bfloat16()], ids=str)
def test_a_function_of_16_bits_computes_in_float32_and_rounds_once(dtype):
    made = rounded_once(shifted_back, np, np.asarray([0.5, 1.25], dtype))
    assert made.dtype == dtype
    assert made.astype("float64").tolist() == [0.5, 1.25]  # 4096.5 is 4096 in both dtypes


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "int64"])
def test_wider_operands_are_handed_on_as_they_are(dtype):
    x = np.asarray([1, 2], dtype)
    assert rounded_once(lambda xp, x: x, np, x) is x


def test_beside_a_wider_operand_the_result_has_the_dtype_of_both():
    half, wide = np.ones(2, "float16"), np.ones(2, "float64")
    assert rounded_once(shifted_back, np, half, wide).dtype == np.float64
    assert rounded_once(shifted_back, np, half, 2.0).dtype == np.float16


def test_a_condition_stays_one():
    assert rounded_once(lambda xp, x: x > 0, np, np.ones(2, "float16")).dtype == np.bool_
