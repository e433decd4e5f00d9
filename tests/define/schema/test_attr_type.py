import math
import pickle

import pytest

import opsdk
from opsdk.core.errors import SchemaError
from opsdk.define.schema.attr_type import AttrType


@pytest.mark.parametrize(
    ("text", "printed"),
    [
        ("int[ 2 ]?", "int[2]?"),
        ("0<=float<1", "0 <= float < 1"),
        ("0.0 <= float <= 1.50", "0 <= float <= 1.5"),
        ("0 < float[]", "float[] > 0"),
        ("1 <= int", "int >= 1"),
        ("int? > -3", "int? > -3"),
        ("-1 <= int[2] <= 1e3", "-1 <= int[2] <= 1000"),
        ("float < inf", "float < inf"),
        ("'a'|\"b\" | 'a'", "'a' | 'b'"),
        ("('a')", "'a'"),
        ("( 1|2 )[3]?", "(1 | 2)[3]?"),
        ('"it\'s, (a | b)" | "="', "\"it's, (a | b)\" | '='"),
    ],
)
def test_a_type_prints_in_one_form_which_reads_as_the_same_type(text, printed):
    assert str(AttrType.of(text)) == printed
    assert AttrType.of(printed) == AttrType.of(text)
    assert hash(AttrType.of(printed)) == hash(AttrType.of(text))


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("int[0]", "type int[0]: expected a length of 1 or more, got 0"),
        ("0 < int < 1", "type 0 < int < 1: expected a whole number between the bounds, there is none"),
        ("0.5 <= int", "type int >= 0.5: expected bounds that are whole numbers"),
        ("int < inf", "type int < inf: expected bounds that are whole numbers"),
        ("1 <= int >= 2", "type '1 <= int >= 2': expected one lower bound, got 1 and 2"),
        ("0 < bool", "type bool > 0: expected int or float, or a list of them, within a range"),
        ("'a' | 1", "type 'a' | 1: expected choices of one type, all texts or all numbers; write str or float"),
        ("'a' | 1.5", "type 'a' | 1.5: expected choices of one type, all texts or all numbers; write str or float"),
        ("0.5 | 9007199254740993", "type 0.5 | 9007199254740993: expected choices among float, a number that float64 "
         "holds, got 9007199254740993; leave it out"),
        ("1 | 9223372036854775808", "type 1 | 9223372036854775808: expected choices among int, a whole number from "
         "-2**63 to 2**63 - 1, got 9223372036854775808; leave it out"),
    ],
)
def test_a_type_without_a_value_or_with_values_of_other_types_is_refused(text, told):
    with pytest.raises(SchemaError) as caught:
        AttrType.of(text)
    assert str(caught.value) == told


def test_choices_one_of_which_has_a_point_are_floats_each_once_and_whole_numbers_are_ints():
    kinds = [AttrType.of(text) for text in ("1.5|2.0", "1 | 2.5 | 1.0", "-1 | 1", "2.0 | inf")]
    assert [(kind.scalar, kind.choices) for kind in kinds] == [
        ("float", (1.5, 2.0)), ("float", (1.0, 2.5)), ("int", (-1, 1)), ("float", (2.0, math.inf)),
    ]  # fmt: skip
    assert [str(kind) for kind in kinds] == ["1.5 | 2.0", "1.0 | 2.5", "-1 | 1", "2.0 | inf"]
    assert {type(kind.choices[0]) for kind in kinds[:2]} == {float}


def test_a_choice_that_equals_nothing_is_refused():
    with pytest.raises(SchemaError) as caught:
        AttrType.among([1.0, math.nan])
    assert str(caught.value) == (
        "type 1.0 | nan: expected choices among float, numbers that equal themselves, got nan; leave it out"
    )


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"low": 1, "high": 0}, "expected numbers between the bounds, got none between 1 and 0, inclusive='both'"),
        ({"low": 1, "high": 1, "inclusive": "left"}, "got none between 1 and 1, inclusive='left'"),
        ({"low": math.nan}, "expected bounds that are numbers or None, got nan and None"),
        ({"low": "0"}, "expected bounds that are numbers or None, got '0' and None"),
        ({"inclusive": True}, "expected inclusive as 'both', 'left', 'right', 'neither', got True"),
    ],
)
def test_a_range_that_is_none_is_refused(given, told):
    with pytest.raises(SchemaError) as caught:
        opsdk.Range(**given)
    assert str(caught.value).startswith("Range: ")
    assert told in str(caught.value)
    assert str(caught.value).endswith("; write opsdk.Range(0, 1, inclusive='left')")


@pytest.mark.parametrize(
    ("inclusive", "inside"),
    [("both", [0, 1]), ("left", [0]), ("right", [1]), ("neither", [])],
)
def test_the_bounds_that_belong_to_a_range_lie_inside(inclusive, inside):
    within = opsdk.Range(0, 1, inclusive=inclusive)
    assert [bound for bound in (0, 1) if bound in within] == inside
    assert 0.5 in within
    assert all(value not in within for value in (-0.1, 1.1, math.nan, math.inf))


def test_a_range_is_a_value():
    assert opsdk.Range(0, 1) == opsdk.Range(0.0, 1.0)
    assert repr(opsdk.Range(0, None, inclusive="neither")) == "opsdk.Range(0, None, inclusive='neither')"
    assert pickle.loads(pickle.dumps(opsdk.Range(1))) == opsdk.Range(1, None)


@pytest.mark.parametrize(
    "text",
    ["0 <= float < 1", "0 < float", "float < -3", "-inf < float < inf", "5 < int < 7", "int >= 1", "int < 0",
     "'a' | 'b'", "0 < float[3]", "(1 | 2)[]", "1.5 | 2", "(0.5 | inf)[2]", "-1 <= int? <= 0", "float > 1e300"],
)  # fmt: skip
def test_a_sample_lies_inside(text):
    kind = AttrType.of(text)
    assert kind.outside(kind.sample()) == []
    assert kind.convert(kind.sample()) == kind.sample()
