import json
import math

import numpy as np
import pytest

import opsdk
from opsdk.core.dtype import as_dtype
from opsdk.core.errors import ProgramError
from opsdk.core.random import Draw
from opsdk.core.spec import TensorSpec
from opsdk.define.op import find_op
from opsdk.define.schema.attr_type import AttrType
from opsdk.define.schema.attribute import AttrDecl
from opsdk.define.schema.scalars import OBJECT, SPEC
from opsdk.static.files import values
from opsdk.static.files.values import NotWrittenError


def declared(scalar):
    return AttrDecl("a", AttrType(scalar))


def through_json(value):
    return json.loads(json.dumps(value, allow_nan=False))


@pytest.mark.parametrize(
    ("scalar", "value"),
    [
        ("int", -3),
        ("int", 2**62),
        ("bool", True),
        ("str", "naïve \0"),
        ("float", 0.1),
        ("float", 5e-324),
        ("float", math.inf),
        ("float", -math.inf),
        ("complex", 1 - 2.5j),
        ("int", [1, 2, 3]),
        ("float", [0.5, math.inf]),
        ("int", None),
    ],
)
def test_an_attribute_comes_back_equal_and_of_its_type(scalar, value):
    found = values.read_attribute(through_json(values.attribute(value, declared(scalar))), declared(scalar))
    assert (found, type(found)) == (value, type(value))


def test_nan_comes_back():
    assert math.isnan(
        values.read_attribute(through_json(values.attribute(math.nan, declared("float"))), declared("float"))
    )


def test_ops_draws_and_specs_come_back():
    relu, spec = find_op("relu"), TensorSpec([None, 3], "bfloat16")
    assert values.read_attribute(values.attribute(relu, declared("Callable")), declared("Callable")) is relu
    (drawn,) = values.read_attribute(values.attribute([Draw(7)], declared("Generator")), declared("Generator"))
    assert (drawn, type(drawn)) == (7, Draw)
    assert values.read_attribute(through_json(values.attribute(spec, declared(SPEC))), declared(SPEC)) == spec


@pytest.mark.parametrize(
    ("scalar", "value", "words"),
    [
        ("Callable", np.sin, "attribute 'a' is sin, code, which no file holds: make it a registered op"),
        (OBJECT, object(), "attribute 'a' is an object of one run, which no file holds"),
    ],
)
def test_code_and_objects_are_not_written(scalar, value, words):
    with pytest.raises(ProgramError) as caught:
        values.attribute(value, declared(scalar))
    assert str(caught.value) == words


def test_an_attribute_that_is_none_is_told():
    with pytest.raises(NotWrittenError, match=r"attribute 'a' expected float, got one"):
        values.read_attribute("one", declared("float"))


@pytest.mark.parametrize(
    "array",
    [
        np.float32([[1.5, -0.0], [3e-45, 2.0]]),
        np.float64([np.nan, -np.inf]),
        np.zeros((0, 3), "int8"),
        np.array(7),
        np.arange(100, dtype="int16"),
        np.array([True, False]),
        np.array([1 + 2j], "complex64"),
        np.array([1.5, -2.0], as_dtype("bfloat16")),
        np.array([2**64 - 1], "uint64"),
    ],
    ids=repr,
)
def test_a_constant_comes_back_to_the_bit(array):
    found = values.read_array(through_json(values.array(array)))
    assert (found.dtype, found.shape, found.tobytes()) == (array.dtype, array.shape, array.tobytes())


def test_a_constant_of_few_numbers_is_for_people():
    assert values.array(np.int32([1, 2])) == {"dtype": "int32", "shape": [2], "numbers": [1, 2]}
    assert "base64" in values.array(np.zeros(65, "int32"))


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ({"dtype": "int32", "shape": [2], "numbers": [1]}, "expected 2 numbers, got [1]"),
        ({"dtype": "int32", "shape": [1], "numbers": ["1"]}, "expected 1 numbers, got ['1']"),
        ({"dtype": "int8", "shape": [1], "numbers": [1000]}, "a constant of int8"),
        ({"dtype": "int32", "shape": [1], "base64": "AA=="}, "expected 4 bytes, got 1"),
        ({"dtype": "int32", "shape": [1], "base64": "?"}, "a constant of int32"),
        ({"dtype": "int32", "shape": [2**55, 0], "base64": ""}, "a constant expected known sizes that a file can hold"),
        ({"dtype": "int32", "shape": [-1], "numbers": []}, "a constant expected known sizes that a file can hold"),
        ({"dtype": "O", "shape": [1], "numbers": [1]}, "dtype"),
        ({"dtype": "int32", "shape": [0] * 33}, "a shape expected at most 32 sizes, -1 for one that is open"),
        ({"dtype": "int32", "shape": [True]}, "a shape expected at most 32 sizes"),
        ([], "a shape expected at most 32 sizes"),
    ],
)
def test_a_constant_that_is_none_is_told(line, words):
    with pytest.raises(NotWrittenError) as caught:
        values.read_array(line)
    assert words in str(caught.value)


def test_a_structure_comes_back_with_what_its_names_stand_for():
    value = {"y": ["a", (1, None, 2.5)], "variable": True, "none": {}}
    written = through_json(values.tree(value, lambda one: "the_a" if one == "a" else None))
    assert values.read_tree(written, lambda name: name.upper()) == {
        "y": ["THE_A", (1, None, 2.5)],
        "variable": True,
        "none": {},
    }


def test_a_structure_of_something_else_is_not_written():
    with pytest.raises(TypeError, match="set"):
        values.tree([{1}], lambda one: None)


@pytest.mark.parametrize("node", [None, [], {"list": 3}, {"variable": 1}, {"value": [1]}, {"a": 1, "list": []}])
def test_a_structure_that_is_none_is_told(node):
    with pytest.raises(
        NotWrittenError, match="a structure of names expected variable, value, list, tuple or dict, got"
    ):
        values.read_tree(node, opsdk.relu)
