import numpy as np
import pytest

from opsdk.core.dtype import as_dtype
from opsdk.core.errors import DTypeError, ShapeError
from opsdk.core.fit import as_numbers, fitted, one_number

BIG = 2**53 + 1
INTEGERS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
FLOATS = ("float16", "bfloat16", "float32", "float64")


def fit(value, dtype, **options):
    return fitted(as_numbers(value, "f"), as_dtype(dtype), "f", **options)


@pytest.mark.parametrize(
    "value", [BIG, [BIG], [[BIG, -1], [0, 2**63 - 1]], 2**63, [2**63, -1], [-(2**70), 0.5], 0.1, [0.1, 1], 1j, [True]]
)
def test_numbers_are_as_they_were_given(value):
    array = as_numbers(value, "f")
    given = np.array(value, object)
    assert array.shape == given.shape
    assert all(held == wanted for held, wanted in zip(array.flat, given.flat, strict=True))


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, r"f: expected a tensor, array or number, got builtins\.NoneType"),
        ([None], r"f: expected a tensor, array or number, got builtins\.list"),
        (["1"], r"f: expected a tensor, array or number, got builtins\.list"),
        ("1", "f: expected one of bool, int8"),
        (np.array([None]), "f: expected one of bool, int8"),
        (np.longdouble(1), "f: expected one of bool, int8"),
        (np.array("2020", "M8[s]"), "f: expected one of bool, int8"),
        ([[1], [1, 2]], r"f: expected nested lists of equal lengths, got \[\[1\], \[1, 2\]\]"),
        ([10**400, 0.5], "f: expected numbers that float64 holds, got"),
        (np.ma.array([1.0], mask=True), "f: expected an array without a mask"),
        ([np.ma.array([1.0], mask=True)], "f: expected an array without a mask"),
    ],
)
def test_what_is_no_number_is_refused(value, text):
    with pytest.raises(DTypeError, match=text):
        as_numbers(value, "f")


def test_several_numbers_are_not_one():
    assert one_number(np.float32(2), "f").shape == ()
    with pytest.raises(ShapeError, match=r"f: expected one number, got shape \(1,\)"):
        one_number([2.0], "f")


def test_the_byte_order_is_that_of_the_machine():
    swapped = np.arange(3.0).astype(np.dtype("f8").newbyteorder("S"))
    assert as_numbers(swapped, "f").dtype.isnative
    np.testing.assert_array_equal(fit(swapped, "float32"), np.arange(3, dtype="f4"), strict=True)


@pytest.mark.parametrize("dtype", INTEGERS)
@pytest.mark.parametrize("wrap", [lambda n: n, lambda n: [n, 1], lambda n: [[1, n]]])
def test_the_ends_of_an_integer_dtype_are_held_and_what_is_beyond_is_refused(dtype, wrap):
    info = np.iinfo(dtype)
    for end in (int(info.min), int(info.max)):
        assert fit(wrap(end), dtype).tolist() == wrap(end)
    for beyond in (int(info.min) - 1, int(info.max) + 1, 10**30):
        with pytest.raises(DTypeError, match=f"f: .*whole numbers? that {dtype} holds, from .*, got {beyond};"):
            fit(wrap(beyond), dtype)


@pytest.mark.parametrize("dtype", INTEGERS)
@pytest.mark.parametrize("source", FLOATS)
@pytest.mark.parametrize("truncates", [False, True])
def test_floats_that_an_integer_dtype_does_not_hold_are_refused(dtype, source, truncates):
    info = np.iinfo(dtype)
    outside = [np.nan, np.inf, -np.inf, 2.0 * info.max + 2, -2.0 * info.max - 2]
    with np.errstate(over="ignore"):
        numbers = np.array(outside).astype(as_dtype(source))
    for number in numbers:
        with pytest.raises(DTypeError, match=f"whole numbers? that {dtype} holds"):
            fit(np.array([1, 2]).astype(as_dtype(source)) * 0 + number, dtype, truncates=truncates)


@pytest.mark.parametrize("source", ["float32", "float64"])
def test_the_first_float_beyond_int64_is_refused_and_the_last_before_it_held(source):
    last = np.nextafter(np.array(2**63, source), np.array(0, source))
    assert fit(last, "int64").item() == int(last)
    assert fit(np.array(-(2**63), source), "int64").item() == -(2**63)
    with pytest.raises(DTypeError, match="whole number that int64 holds"):
        fit(np.array(2**63, source), "int64")


def test_a_fraction_is_dropped_only_where_the_dtype_was_asked_for():
    assert fit([1.5, -128.9], "int8", truncates=True).tolist() == [1, -128]
    with pytest.raises(DTypeError, match=r"whole numbers that int8 holds, from -128 to 127, got 1\.5; round it"):
        fit([1.0, 1.5], "int8", remedy="round it")


def test_any_number_is_a_bool_only_where_bool_was_asked_for():
    assert fit([0, 2], "bool", truncates=True).tolist() == [False, True]
    assert fit([0.0, 1.0], "bool").tolist() == [False, True]
    for value in (2, -1, 0.5, float("nan")):
        with pytest.raises(DTypeError, match="expected 0, 1, False or True for bool, got"):
            fit([0, value], "bool")


@pytest.mark.parametrize("dtype", [*INTEGERS, *FLOATS, "bool"])
@pytest.mark.parametrize("truncates", [False, True])
def test_complex_numbers_are_refused_for_real_ones(dtype, truncates):
    with pytest.raises(DTypeError, match=f"expected real numbers for {dtype}, got 1j; take the real part"):
        fit([1j, 0], dtype, truncates=truncates)


@pytest.mark.parametrize(
    ("value", "dtype"),
    [
        (65520, "float16"),
        (1e39, "float32"),
        (1e39, "bfloat16"),
        (10**400, "float64"),
        (-(10**400), "float64"),
        (10**400, "complex128"),
        (1e300j, "complex64"),
        ([1.0, np.float32(1e30)], "float16"),
    ],
)
def test_a_finite_number_does_not_become_infinite(value, dtype):
    with pytest.raises(DTypeError, match=f"f: expected .*numbers? that {dtype} holds"):
        fit(value, dtype)


@pytest.mark.parametrize("dtype", [*FLOATS, "complex64"])
def test_floats_are_rounded_and_nan_and_infinity_stay(dtype):
    values = [0.1, np.inf, -np.inf, np.nan, 2049]
    want = np.array(values).astype(as_dtype(dtype))
    np.testing.assert_array_equal(fit(values, dtype).astype("complex128"), want.astype("complex128"))


def test_numbers_are_put_where_they_are_wanted():
    into = np.zeros((2, 2), "int8")
    assert fitted(np.array([1.0, 2.0]), np.dtype("int8"), "f", into=into) is into
    assert into.tolist() == [[1, 2], [1, 2]]
    with pytest.raises(DTypeError, match="got 300"):
        fitted(np.array([300.0, 2.0]), np.dtype("int8"), "f", into=into)
    assert into.tolist() == [[1, 2], [1, 2]]
