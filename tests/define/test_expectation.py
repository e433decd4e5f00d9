"""Expectations: which findings one covers, how it is said, and what is none."""

import pytest

from opsdk.core.errors import DefinitionError
from opsdk.define.expectation import Expectation

ROW = "cpu,float32,numba"


def expected(finding, row="", reason="so it is"):
    return Expectation.of("op 't::f'", finding, reason, row)


@pytest.mark.parametrize(
    ("finding", "row", "covers"),
    [
        ("vjp.x", "", True),
        ("vjp", "", True),
        ("OP301", "", True),
        ("vjp.w", "", False),
        ("vj", "", False),
        ("OP302", "", False),
        ("vjp.x", "numba", True),
        ("vjp.x", "float32,numba", True),
        ("vjp.x", ROW, True),
        ("vjp.x", "float64", False),
        ("vjp.x", "c", False),
    ],
)
def test_a_finding_is_named_by_its_check_the_kind_of_that_or_a_code(finding, row, covers):
    assert expected(finding, row).covers("vjp.x", ROW, "OP301") is covers


@pytest.mark.parametrize(
    ("row", "named", "is_about"),
    [
        ("", "cpu,float32,c", True),
        ("c", "cpu,float32,c", True),
        ("cpu,c", "cpu,float32,c", True),
        ("cuda", "cpu,float32,c", False),
        ("float32,numba", "cpu,float64,numba", False),
        ("c", "*", False),
    ],
)
def test_words_of_a_kernels_name_say_which_kernels_may_show_it(row, named, is_about):
    assert expected("value", row).is_about(named) is is_about


def test_another_kernel_than_the_one_named_is_not_covered():
    assert expected("value", "c").covers("value.y", "cpu,float32,c", "OP301")
    assert not expected("value", "c").covers("value.y", "cpu,float32,numba", "OP301")


def test_its_text_is_the_finding_and_the_kernel_if_there_is_one():
    assert str(expected("repeats")) == "'repeats'"
    assert str(expected("value", "float32,c")) == "'value' in kernel 'float32,c'"


def test_it_is_where_its_author_said_so():
    made = expected("vjp.x", reason="why")
    assert (made.finding, made.reason, made.row) == ("vjp.x", "why", "")
    assert str(made.origin).partition(":")[0].endswith("test_expectation.py")


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"finding": "", "reason": "r"}, "op 't::f', expect: finding expected a text, got ''; write op.expect"),
        ({"finding": 3, "reason": "r"}, "op 't::f', expect: finding expected a text, got 3; write op.expect"),
        ({"finding": "vjp", "reason": " "}, "op 't::f', expect: reason expected a text, got ' '; write op.expect"),
        ({"finding": "vjp", "reason": "r", "row": 1}, "expect: row expected a text, got 1; write row='float32,numba'"),
    ],
)
def test_what_says_nothing_is_refused(given, message):
    with pytest.raises(DefinitionError, match=message.replace("(", r"\(")):
        expected(**given)
