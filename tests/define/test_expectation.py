import pytest

import opsdk
from opsdk.core.errors import DefinitionError
from opsdk.define.expectation import as_expectation

ROW = "cpu,float32,numba"


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
    assert as_expectation("op 't::f'", finding, "so it is", row).covers("vjp.x", ROW, "OP301") is covers


def test_an_op_keeps_what_is_expected_of_it_in_order():
    op = opsdk.op("t::f(Tensor x) -> Tensor y")(lambda x: x)
    op.expect("repeats", reason="it draws")
    op.expect("value", reason="it rounds", row="float32")
    first, second = op.opdef.expectations
    assert (first.finding, first.reason, first.row) == ("repeats", "it draws", "")
    assert (str(first), str(second)) == ("'repeats'", "'value' in row 'float32'")
    assert "test_expectation.py" in str(first.origin)


def test_a_later_backward_loses_nothing():
    op = opsdk.op("t::f(Tensor x) -> Tensor y")(lambda x: x)
    op.expect("repeats", reason="it draws")
    op.backward(lambda dy: dy)
    assert len(op.opdef.expectations) == 1
    assert op.grad.opdef.expectations == ()


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
    op = opsdk.op("t::f(Tensor x) -> Tensor y")(lambda x: x)
    with pytest.raises(DefinitionError, match=message.replace("(", r"\(")):
        op.expect(given.pop("finding"), **given)
    assert op.opdef.expectations == ()
