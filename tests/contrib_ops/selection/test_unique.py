"""unique: beside a dictionary of counts in plain Python."""

import collections

import numpy as np
import pytest

import opsdk
from contrib_ops import unique
from opsdk import static
from opsdk.core.errors import GradientMissingError
from opsdk.verify.kernels.launch import launch
from tests.contrib_ops.proof import by_kernel, shapes_for

KERNELS = list(unique.opdef.kernels)


def assert_is_unique(x, values, inverse, counts):
    often = collections.Counter(x.ravel().tolist())
    assert values.tolist() == sorted(often)
    assert counts.tolist() == [often[value] for value in values.tolist()]
    assert (values.dtype, inverse.dtype, counts.dtype) == (x.dtype, np.int64, np.int64)
    assert inverse.shape == x.shape
    assert values[inverse].tolist() == x.tolist()


@by_kernel(unique.opdef, quick="")  # Numba takes seconds to compile a sort
def test_every_kernel_counts_what_a_dictionary_counts(kernel, rng):
    dtype = kernel.key.dtype or np.dtype("int8")
    for shape in shapes_for(kernel):
        for most in (1, 4, 100):
            x = np.array(rng.integers(-most, most, shape)).astype(dtype)
            assert_is_unique(x, *launch(unique.opdef, kernel, [x], {}))
    laid_out = np.array(rng.integers(-3, 3, (6, 5))).astype(dtype)[::-2, 1:].T
    assert_is_unique(laid_out, *launch(unique.opdef, kernel, [laid_out], {}))


@pytest.mark.parametrize("kernel", [k for k in KERNELS if k.language != "numba" and "int" not in str(k)], ids=str)
def test_nan_is_one_value_behind_all_others(kernel):
    x = np.array([np.nan, 2, -np.inf, np.nan, np.inf, 2], kernel.key.dtype or "float64")
    values, inverse, counts = launch(unique.opdef, kernel, [x], {})
    assert str(values) == "[-inf   2.  inf  nan]"
    assert inverse.tolist() == [3, 1, 0, 3, 2, 1]
    assert counts.tolist() == [1, 2, 1, 2]


def test_in_a_program_the_number_of_values_is_open_and_that_of_places_is_not():
    main = static.Program()
    with static.program_guard(main, static.Program()):
        outputs = unique(static.data("x", [4], "float64"))
        assert [output.shape for output in outputs] == [(-1,), (4,), (-1,)]
    for x in (np.zeros(4), np.arange(4.0), np.array([1.0, 0, 1, 0])):
        assert_is_unique(x, *static.Executor().run(main, feed={"x": x}, fetch_list=list(outputs)))


def test_values_carry_no_gradient():
    x = opsdk.to_tensor(np.arange(3.0), stop_gradient=False)
    values, _, _ = unique(x)
    with pytest.raises((GradientMissingError, RuntimeError)):
        values.sum().backward()
