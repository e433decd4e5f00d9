"""Scalar types of attributes: which values each takes, and what it makes of them."""

import enum
import math

import numpy as np
import pytest

import opsdk
from opsdk.core.random import Draw, Generator
from opsdk.core.spec import TensorSpec
from opsdk.define.schema.scalars import BAD, END, GIVEN, SCALARS, TYPES


class Mode(str, enum.Enum):
    LINEAR = "linear"


def same(value):
    return value


@pytest.mark.parametrize(
    ("name", "given", "wanted"),
    [
        ("int", 3, 3), ("int", np.int8(-3), -3), ("int", END - 1, END - 1), ("int", -END, -END),
        ("float", 2, 2.0), ("float", np.float32(0.5), 0.5), ("float", np.int64(4), 4.0), ("float", math.inf, math.inf),
        ("float", 2**53, 2.0**53), ("bool", True, True), ("bool", np.bool_(False), False),
        ("str", "text", "text"), ("str", Mode.LINEAR, "linear"), ("complex", 1j, 1j), ("complex", 2, 2 + 0j),
        ("complex", np.complex64(1 + 2j), 1 + 2j), ("dtype", "float32", np.dtype("float32")),
        ("dtype", np.int8, np.dtype("int8")), ("Callable", same, same), ("Callable", math.sin, math.sin),
    ],
)  # fmt: skip
def test_a_value_is_taken_in_the_types_own_form(name, given, wanted):
    made = SCALARS[name].convert(given)
    assert made == wanted
    assert type(made) is type(wanted)


@pytest.mark.parametrize(
    ("name", "given"),
    [
        ("int", True), ("int", 2.0), ("int", END), ("int", -END - 1), ("int", "2"), ("int", None),
        ("float", False), ("float", "0.5"), ("float", 1j), ("float", 2**53 + 1), ("float", 10**400), ("float", None),
        ("bool", 1), ("bool", "True"), ("str", b"text"), ("str", 3), ("complex", True), ("complex", "1j"),
        ("complex", 2**53 + 1), ("dtype", "float33"), ("Callable", "sin"), ("Callable", None), ("Generator", 3),
    ],
)  # fmt: skip
def test_a_value_of_another_type_or_one_that_would_be_rounded_is_bad(name, given):
    assert SCALARS[name].convert(given) is BAD


def test_nan_is_a_float():
    assert math.isnan(SCALARS["float"].convert(math.nan))


def test_the_type_of_a_text_is_str_itself_whatever_enumeration_it_came_from():
    assert type(SCALARS["str"].convert(Mode.LINEAR)) is str


def test_a_generator_gives_its_next_draw_and_keeps_it_and_none_takes_one_of_the_global_generator():
    generator = Generator(5)
    first = SCALARS["Generator"].convert(generator)
    assert (type(first), generator.state_dict()["count"]) == (Draw, 0)
    assert first == generator.peek()
    assert SCALARS["Generator"].convert(first) is first
    assert SCALARS["Generator"].convert(None) != SCALARS["Generator"].convert(None)


def test_a_spec_may_be_missing_or_a_list():
    convert, spec = GIVEN["spec"].convert, TensorSpec((2,), "float32")
    assert convert(spec) is spec
    assert convert(None) is None
    assert convert([spec, None]) == [spec, None]
    assert convert([spec, 3]) is BAD
    assert convert((2,)) is BAD


def test_an_object_is_taken_as_it_is():
    thing = object()
    assert GIVEN["object"].convert(thing) is thing


def test_examples_and_annotations_are_python_that_gives_a_value_of_the_type():
    space = {"np": np, "opsdk": opsdk, "Callable": SCALARS["Callable"].python}
    for name, scalar in SCALARS.items():
        assert scalar.convert(eval(scalar.example, space)) is not BAD, name
        assert eval(scalar.annotation, space) is scalar.python, name


def test_only_numbers_have_an_order_and_what_holds_others_says_which():
    assert {name for name, scalar in SCALARS.items() if scalar.is_ordered} == {"int", "float"}
    assert {name for name, scalar in SCALARS.items() if scalar.holds} == {"int", "float", "complex"}
    assert set(TYPES) == {*SCALARS, "object", "spec"}
