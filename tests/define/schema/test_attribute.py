import ast
import enum

import numpy as np
import pytest

from opsdk.core.errors import AttributeValueError
from opsdk.define.schema.attribute import REQUIRED, AttrDecl, coerce, freeze, literal


@pytest.mark.parametrize(
    ("kind", "value", "kept"),
    [
        ("int", np.int8(3), 3),
        ("float", 3, 3.0),
        ("float", np.float32(0.5), 0.5),
        ("bool", np.bool_(True), True),
        ("str", np.str_("a"), "a"),
        ("str", enum.Enum("Mode", {"SUM": "sum"}, type=str).SUM, "sum"),
        ("complex", 1, 1 + 0j),
        ("complex", np.complex64(2j), 2j),
        ("dtype", "float64", np.dtype("float64")),
        ("dtype", np.int8, np.dtype("int8")),
        ("int[]", [1, np.int64(2)], (1, 2)),
        ("int[]", np.array([3, 4]), (3, 4)),
        ("int[]", 1, (1,)),
        ("float[]", (), ()),
        ("dtype[]", ["float64", "int8"], (np.dtype("float64"), np.dtype("int8"))),
        ("int?", None, None),
        ("int[]?", None, None),
        ("str?", "a", "a"),
    ],
)
def test_a_value_is_taken_in_the_attributes_own_type(kind, value, kept):
    got = coerce(AttrDecl("k", kind), value, "op 'f'")
    assert (got, type(got)) == (kept, type(kept))


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        ("int", 1.0),
        ("int", True),
        ("float", False),
        ("float", "1"),
        ("float", 1j),
        ("bool", 1),
        ("bool", "yes"),
        ("str", 1),
        ("str", b"a"),
        ("complex", True),
        ("dtype", "float33"),
        ("int", None),
        ("int[]", [1, 2.5]),
        ("int[]", "12"),
        ("int[]", np.ones((2, 2), int)),
        ("float[]", 1.0),
        ("str[]", "ab"),
        ("int[]?", [None]),
    ],
)
def test_a_value_of_another_type_is_refused_with_what_it_is(kind, value):
    with pytest.raises(AttributeValueError) as caught:
        coerce(AttrDecl("k", kind), value, "op 'f'")
    told, _, remedy = str(caught.value).rpartition("; ")
    assert told == f"op 'f': attribute 'k' expected {kind}, got {value!r} ({type(value).__name__})"
    assert remedy.startswith("write k=")


@pytest.mark.parametrize(
    ("kind", "example"), [("str", '"text"'), ("int[]", "[2]"), ("int[]?", "[2]"), ("dtype?", '"float32"')]
)
def test_a_value_of_another_type_comes_with_one_that_is_taken(kind, example):
    with pytest.raises(AttributeValueError) as caught:
        coerce(AttrDecl("k", kind), object(), "op 'f'")
    assert str(caught.value).endswith(f"; write k={example} or the like")
    coerce(AttrDecl("k", kind), ast.literal_eval(example), "op 'f'")


def test_a_refused_value_is_among_the_details():
    with pytest.raises(AttributeValueError) as caught:
        coerce(AttrDecl("k", "int"), "x", "op 'f'")
    assert caught.value.details == {"attribute": "k", "got": "x"}


def test_a_list_that_is_a_default_prints_in_brackets():
    assert literal((np.dtype("int8"), "a", 1.5)) == "[int8, 'a', 1.5]"


def test_an_attribute_without_a_default_is_required():
    decl = AttrDecl("k", "int")
    assert decl.is_required
    assert str(decl) == "int k"


def test_the_absent_default_says_what_it_is():
    assert repr(REQUIRED) == "REQUIRED"


def test_none_as_a_default_is_a_default():
    decl = AttrDecl("k", "int?", None)
    assert not decl.is_required
    assert str(decl) == "int? k=None"


@pytest.mark.parametrize("kind", ["int", "int?", "int[]", "int[]?"])
@pytest.mark.parametrize("value", [2**63, -(2**63) - 1, np.uint64(2**63), pytest.param(10**5000, id="huge")])
def test_a_whole_number_has_64_bits_in_every_kernel(kind, value):
    for given in (value, [1, value]) if "[]" in kind else (value,):
        with pytest.raises(AttributeValueError, match=r"'k' expected int.*, a whole number from -2\*\*63 to"):
            coerce(AttrDecl("k", kind), given, "op 'f'")
    for end in (-(2**63), 2**63 - 1):
        assert coerce(AttrDecl("k", kind), end, "op 'f'") == ((end,) if "[]" in kind else end)


@pytest.mark.parametrize("kind", ["float", "float[]", "complex", "complex?"])
def test_a_whole_number_beyond_all_floats_is_refused(kind):
    given = [1, 10**400] if "[]" in kind else 10**400
    with pytest.raises(AttributeValueError, match=r"'k' expected .*, a number that (float64|complex128) holds"):
        coerce(AttrDecl("k", kind), given, "op 'f'")


@pytest.mark.parametrize("kind", ["float", "complex"])
@pytest.mark.parametrize("number", [2**53 + 1, np.int64(-(2**53) - 1), 2**80 + 1])
def test_a_whole_number_that_a_float_attribute_would_round_is_refused(kind, number):
    wanted = rf"'k' expected {kind}, a number that \w+ holds, got -?\d+; pass it as"
    with pytest.raises(AttributeValueError, match=wanted):
        coerce(AttrDecl("k", kind), number, "op 'f'")
    assert coerce(AttrDecl("k", kind), 2**80, "op 'f'") == 2.0**80


def test_lists_and_arrays_of_a_call_become_tuples_of_plain_values():
    attrs = {"a": [1, 2], "b": np.array([0.5], "float32"), "c": (3,), "d": None, "e": 1, "f": [4]}
    freeze(attrs, ("a", "b", "c", "d", "e", "absent"))
    assert attrs == {"a": (1, 2), "b": (0.5,), "c": (3,), "d": None, "e": 1, "f": [4]}
    assert type(attrs["b"][0]) is float


def test_an_array_of_more_dimensions_stays_what_will_be_refused():
    attrs = {"a": np.ones((2, 2))}
    freeze(attrs, ("a",))
    assert attrs["a"].shape == (2, 2)
