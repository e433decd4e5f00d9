"""Dtypes by kind, arrays as float64 numbers and back, and gradients brought to their input's shape."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from gradcheck.model.dtypes import (
    as_float64,
    fit_gradient,
    from_float64,
    is_continuous,
    is_discrete,
    is_floating,
    match_kind,
    name_number,
    number_count,
    resolution,
    same_bits,
    summed_axes,
    widened,
)


@pytest.mark.parametrize(
    ("name", "floating", "continuous", "discrete"),
    [
        ("float16", True, True, False),
        ("float64", True, True, False),
        ("complex64", False, True, False),
        ("int8", False, False, True),
        ("uint64", False, False, True),
        ("bool", False, False, True),
        ("U3", False, False, False),
        ("O", False, False, False),
    ],
)
def test_dtypes_have_derivatives_or_none_or_are_no_numbers(
    name: str, floating: bool, continuous: bool, discrete: bool
) -> None:
    dtype = np.dtype(name)
    assert (is_floating(dtype), is_continuous(dtype), is_discrete(dtype)) == (floating, continuous, discrete)


def test_dtypes_of_extensions_are_floating_with_their_own_resolution() -> None:
    ml_dtypes = pytest.importorskip("ml_dtypes")
    for name, eps in (("bfloat16", 2.0**-7), ("float8_e4m3fn", 2.0**-3), ("float8_e5m2", 2.0**-2)):
        dtype = np.dtype(getattr(ml_dtypes, name))
        assert is_floating(dtype)
        assert resolution(dtype) == eps == float(ml_dtypes.finfo(dtype).eps)


@pytest.mark.parametrize(
    ("name", "eps"), [("float16", 2.0**-10), ("float32", 2.0**-23), ("float64", 2.0**-52), ("longdouble", 2.0**-52)]
)
def test_resolution_is_the_spacing_after_one_and_never_finer_than_that_of_float64(name: str, eps: float) -> None:
    assert resolution(np.dtype(name)) == eps


def test_bits_tell_zeros_apart_and_not_one_nan_from_itself() -> None:
    assert same_bits(np.array([np.nan, 1.0]), np.array([np.nan, 1.0]))
    assert not same_bits(np.array([0.0]), np.array([-0.0]))
    assert not same_bits(np.zeros(2, np.int32), np.zeros(2, np.float32))
    assert not same_bits(np.zeros((1, 2)), np.zeros(2))
    assert same_bits(np.arange(6.0).reshape(2, 3).T, np.array([[0.0, 3.0], [1.0, 4.0], [2.0, 5.0]]))


def test_a_complex_element_is_two_numbers_at_a_last_axis() -> None:
    numbers = as_float64(np.array([[1 + 2j, 3 - 4j]], np.complex64))
    assert (numbers.dtype, numbers.tolist()) == (np.float64, [[[1.0, 2.0], [3.0, -4.0]]])
    assert number_count(np.zeros((2, 3), complex)) == 12
    assert number_count(np.zeros((2, 3), int)) == 6


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "complex128", "int16"])
def test_numbers_go_back_to_the_array_that_they_were(dtype: str) -> None:
    array = np.array([[1, -2, 3], [4, 5, 6]], dtype).T
    back = from_float64(as_float64(array).ravel(), array)
    assert same_bits(back, array)


def test_what_is_widened_is_a_copy_in_c_order() -> None:
    array = np.arange(6.0).reshape(2, 3).T
    wide = widened(array)
    assert wide.flags.c_contiguous
    assert not np.shares_memory(wide, array)
    assert widened(np.zeros(1, np.complex64)).dtype == np.complex128


def test_the_part_of_a_complex_element_is_told_in_words() -> None:
    assert name_number((1, 2), np.dtype("float32")) == ((1, 2), "")
    assert name_number((1, 0), np.dtype("complex64")) == ((1,), ", real part")
    assert name_number((1, 1), np.dtype("complex64")) == ((1,), ", imaginary part")


@pytest.mark.parametrize(
    ("given", "wanted", "axes"),
    [
        ((2, 3), (2, 3), ()),
        ((2, 3), (3,), (0,)),
        ((2, 3), (1, 3), (0,)),
        ((4, 2, 3), (2, 1), (0, 2)),
        ((2, 3), (), (0, 1)),
        ((3,), (2, 3), None),
        ((2, 3), (2, 4), None),
        ((1, 3), (2, 3), None),
    ],
)
def test_axes_to_sum_over_undo_a_broadcast(given: Any, wanted: Any, axes: Any) -> None:
    assert summed_axes(given, wanted) == axes


def test_a_gradient_comes_into_its_inputs_shape_or_is_none_of_it() -> None:
    assert fit_gradient(None, (2,)).tolist() == [0.0, 0.0]  # type: ignore[union-attr]
    assert fit_gradient(np.ones((3, 2), np.float32), (1, 2)).tolist() == [[3.0, 3.0]]  # type: ignore[union-attr]
    assert fit_gradient(np.array([True, False]), (2,)).tolist() == [1.0, 0.0]  # type: ignore[union-attr]
    assert fit_gradient(np.array([1j]), (1, 2)).tolist() == [[0.0, 1.0]]  # type: ignore[union-attr]
    assert fit_gradient(np.ones(3), (2,)) is None
    assert fit_gradient(np.array(["a"]), (1,)) is None


def test_a_gradient_becomes_complex_beside_a_complex_input_and_real_beside_a_real_one() -> None:
    real, both = np.array([1.0]), np.array([1 + 2j])
    assert match_kind(both, real).tolist() == [1.0]  # type: ignore[union-attr]
    assert match_kind(real, both).dtype == np.complex128  # type: ignore[union-attr]
    assert match_kind(real, real) is real
    assert match_kind(None, real) is None
    assert match_kind(both, 3.0) is both
