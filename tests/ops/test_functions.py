import numpy as np
import pytest

import opsdk
from opsdk import static
from opsdk.core.errors import AttributeValueError, DTypeError, InputValueError
from opsdk.define.op import find_op

X = np.arange(6.0).reshape(1, 2, 3)
REDUCED = [opsdk.sum, opsdk.mean, opsdk.max, opsdk.min]


@pytest.mark.parametrize("axis", [np.int8(2), np.array(2), np.array([2]), (2,), range(2, 3), [np.int64(-1)]])
@pytest.mark.parametrize("function", REDUCED)
def test_axes_may_be_of_numpy_or_any_sequence(function, axis):
    wanted = getattr(np, function.__name__)(X, axis=2)
    np.testing.assert_array_equal(function(X, axis), wanted)
    np.testing.assert_array_equal(getattr(opsdk.to_tensor(X), function.__name__)(axis).numpy(), wanted)


@pytest.mark.parametrize("axis", [1.5, float("nan"), 1j, "a", object(), [0.5], np.array([0.5])])
@pytest.mark.parametrize("function", [*REDUCED, opsdk.squeeze, opsdk.unsqueeze, opsdk.transpose])
def test_what_is_no_axis_is_refused(function, axis):
    for x in (X, opsdk.to_tensor(X)):
        with pytest.raises(AttributeValueError, match=r"attribute '(axis|perm)' expected int\[\]"):
            function(x, axis)


def test_axes_of_a_transposition_may_be_any_sequence():
    for perm in ((2, 0, 1), np.array([2, 0, 1]), range(3)):
        assert opsdk.transpose(X, perm).shape == np.transpose(X, perm).shape


@pytest.mark.parametrize("join", [opsdk.concat, opsdk.stack])
@pytest.mark.parametrize("values", [None, 3, 1.5, np.array(2.0), "ab", len, {}, opsdk.ones([])])
def test_what_has_no_parts_is_not_joined(join, values):
    with pytest.raises(AttributeValueError, match=r"(concat|stack): x expected a list of values to join, got"):
        join(values)


def test_the_rows_of_an_array_and_any_iterable_are_joined():
    rows = np.arange(6.0).reshape(3, 2)
    for values in (rows, tuple(rows), iter(rows), opsdk.to_tensor(rows)):
        np.testing.assert_array_equal(np.asarray(opsdk.concat(values)), rows.reshape(-1))


BINARY = {
    "+": lambda t, k: t + k,
    "reversed +": lambda t, k: k + t,
    "-": lambda t, k: t - k,
    "reversed -": lambda t, k: k - t,
    "*": lambda t, k: t * k,
    "reversed *": lambda t, k: k * t,
    "/": lambda t, k: t / k,
    "reversed /": lambda t, k: k / t,
    "**": lambda t, k: t**k,
    "<": lambda t, k: t < k,
    "==": lambda t, k: t == k,
    "maximum": opsdk.maximum,
    "where": lambda t, k: opsdk.where(t == t, t, k),
}


@pytest.mark.parametrize("name", BINARY)
@pytest.mark.parametrize(("dtype", "number"), [("float32", 2**24 + 1), ("float64", 2**53 + 1)])
def test_a_python_int_beside_floats_that_round_it_is_refused_by_every_op(name, dtype, number):
    tensor = opsdk.to_tensor(np.ones(2, dtype))
    with pytest.raises(DTypeError, match=f"expected a whole number that {dtype} holds, got {number}; write it as a f"):
        BINARY[name](tensor, number)
    BINARY[name](tensor, float(number))
    BINARY[name](tensor, number - 1)


@pytest.mark.parametrize(("dtype", "number"), [("float32", 2**24 + 1), ("float16", 2**24 + 1), ("float64", 2**53 + 1)])
@pytest.mark.parametrize("bound", ["min", "max"])
@pytest.mark.parametrize("kind", [int, np.int64])
@pytest.mark.parametrize("place", [np.asarray, opsdk.to_tensor])
def test_a_whole_bound_of_clip_that_floats_round_is_refused(dtype, number, bound, kind, place):
    x, held = place(np.ones(2, dtype)), "float64" if dtype == "float64" else "float32"
    wanted = f"op 'opsdk::clip': {bound} expected a whole number that {held} holds, got {number}; write it as a float"
    with pytest.raises(DTypeError, match=wanted):
        opsdk.clip(x, **{bound: kind(number)})
    opsdk.clip(x, **{bound: float(number)})
    opsdk.clip(x, **{bound: kind(number - 1)})


def test_a_whole_bound_of_clip_is_as_exact_as_the_whole_numbers_beside_it():
    x = np.array([2**24, 2**24 + 5])
    assert opsdk.clip(x, 0, 2**24 + 1).tolist() == [2**24, 2**24 + 1]


def test_a_whole_bound_of_clip_is_refused_in_a_program_too():
    with static.program_guard(static.Program()), pytest.raises(DTypeError, match="a whole number that float32 holds"):
        opsdk.clip(static.data("x", [2], "float32"), max=2**24 + 1)


MIXED = {
    "where": lambda i, f: opsdk.where(f == f, i, f),
    "concat": lambda i, f: opsdk.concat([f, i]),
    "stack": lambda i, f: opsdk.stack([i, f]),
    "matmul": opsdk.matmul,
    "mul": lambda i, f: find_op("opsdk::mul")(opsdk.reshape(i, [1, 2]), opsdk.reshape(f, [2, 1])),
    "maximum": opsdk.maximum,
    "+": lambda i, f: i + f,
    "-": lambda i, f: i - f,
    "*": lambda i, f: i * f,
    "/": lambda i, f: i / f,
    "**": lambda i, f: i**f,
}


@pytest.mark.parametrize("name", MIXED)
def test_an_int64_that_an_op_would_round_beside_floats_is_refused(name):
    reals = opsdk.to_tensor(np.array([1.0, 2.0]))
    with pytest.raises(InputValueError, match=f"expected whole numbers that float64 holds, .* got {2**53 + 1}; cast"):
        MIXED[name](opsdk.to_tensor(np.array([1, 2**53 + 1])), reals)
    MIXED[name](opsdk.to_tensor(np.array([1, 2**53])), reals)


@pytest.mark.parametrize("name", MIXED)
@pytest.mark.parametrize("signed", ["int8", "int64"])
def test_a_uint64_that_an_op_would_round_beside_signed_numbers_is_refused(name, signed):
    ones = opsdk.to_tensor(np.ones(2, signed))  # the common dtype of both is float64
    wanted = f"expected whole numbers that float64 holds, .* got {2**53 + 1}; cast"
    for big in (np.array([1, 2**53 + 1], "uint64"), opsdk.to_tensor(np.array([1, 2**53 + 1], "uint64"))):
        with pytest.raises(InputValueError, match=wanted):
            MIXED[name](big, ones)
        with pytest.raises(InputValueError, match=wanted):
            MIXED[name](ones, big)
    MIXED[name](opsdk.to_tensor(np.array([1, 2**53], "uint64")), ones)


@pytest.mark.parametrize("name", sorted(MIXED.keys() - {"/"}))  # a quotient is a float beside any dtype
def test_a_uint64_beside_unsigned_numbers_stays_whole(name):
    big = opsdk.to_tensor(np.array([1, 2**53 + 1], "uint64"))
    assert MIXED[name](big, opsdk.to_tensor(np.ones(2, "uint8"))).dtype == "uint64"


@pytest.mark.parametrize("big", [2**53 + 1, 2**64 - 1])
def test_uint64_and_int64_are_compared_as_they_are(big):
    unsigned, signed = opsdk.to_tensor(np.array([big], "uint64")), opsdk.to_tensor(np.array([2**53]))
    assert (unsigned == signed).tolist() == [False]
    assert (unsigned > signed).tolist() == [True]
    assert (signed < unsigned).tolist() == [True]
