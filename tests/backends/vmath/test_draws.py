"""Random numbers inside Numba kernels: NumPy's bits, in loops that are vectorised."""

import numba
import numpy as np
import pytest

from opsdk import vmath
from opsdk.backends.vmath import overloads

overloads.register()
KEY, FAR = 2**45 + 3, 2**32 - 5  # a counter whose upper half changes on the way
N = np.arange(FAR, FAR + 1000)


@numba.njit
def filled(key, first, bits, singles, doubles):
    for i in range(bits.size):
        bits[i] = vmath.random_bits(key, first + i)
        singles[i] = vmath.uniform(key, first + i, singles.dtype)
        doubles[i] = vmath.uniform(key, first + i)


def test_a_loop_draws_numpys_bits_and_is_vectorised():
    made = [np.empty(N.size, dtype) for dtype in ("uint64", "float32", "float64")]
    for key in (KEY, -KEY):
        filled(key, FAR, *made)
        np.testing.assert_array_equal(made[0], vmath.random_bits(key, N))
        np.testing.assert_array_equal(made[1], vmath.uniform(key, N, np.float32))
        np.testing.assert_array_equal(made[2], vmath.uniform(key, N))
    (text,) = filled.inspect_llvm().values()
    assert "x i64>" in text


def test_normal_numbers_differ_from_numpys_in_the_last_bits_alone():
    kernel = numba.njit(lambda key, i: vmath.normal(key, i, np.float32))
    got = [kernel(KEY, i) for i in N]
    np.testing.assert_allclose(got, vmath.normal(KEY, N, np.float32), rtol=0, atol=2e-6)


# Loops of two functions over arrays take Numba seconds; loops over numbers stand for them.
@pytest.mark.slow
def test_arrays_of_counters_give_arrays():
    kernel = numba.njit(lambda key, i: (vmath.normal(key, i), vmath.uniform(key, i, np.float32)))
    doubles, singles = kernel(KEY, N)
    assert (doubles.dtype, singles.dtype) == ("float64", "float32")
    np.testing.assert_allclose(doubles, vmath.normal(KEY, N), rtol=0, atol=4e-15)
    np.testing.assert_array_equal(singles, vmath.uniform(KEY, N, np.float32))


@pytest.mark.parametrize("draw", [lambda key: vmath.uniform(key, 1.5), lambda key: vmath.uniform(key, 1, np.int32)])
def test_what_is_no_counter_or_no_dtype_does_not_compile(draw):
    with pytest.raises(numba.TypingError, match="No implementation of function Function"):
        numba.njit(draw)(KEY)
