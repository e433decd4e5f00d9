import numpy as np
import pytest

import opsdk
from opsdk.core.errors import BindingError, InputValueError, ReturnError, noted
from opsdk.define.parse import parse_schema
from opsdk.define.value_check import ValueCheck

SCHEMA = parse_schema("f(Tensor x, Tensor? w=None, Tensor[] xs, *, int k=1) -> Tensor y", "ns")


def test_a_check_gets_the_inputs_and_attributes_that_it_names():
    seen = []
    ValueCheck(lambda k, w, x: seen.append((k, w, x)), SCHEMA)(("x", None, ["a", "b"]), {"k": 3})
    ValueCheck(lambda xs: seen.append(xs), SCHEMA)(("x", None, ["a", "b"]), {"k": 3})
    assert seen == [(3, None, "x"), ["a", "b"]]


def test_what_a_check_returns_is_the_message_behind_the_op():
    def positive(x):
        return f"x expected above 0, got {x}; take its absolute value"

    with pytest.raises(InputValueError) as caught:
        ValueCheck(positive, SCHEMA)((-1, None, []), {"k": 3})
    assert str(caught.value) == "op 'ns::f': x expected above 0, got -1; take its absolute value"
    assert isinstance(caught.value, ValueError)
    assert caught.value.code == "OP208"
    assert noted(caught.value, "at").endswith(f"test_value_check.py:{positive.__code__.co_firstlineno}")


@pytest.mark.parametrize("returned", [True, False, 0])
def test_a_check_that_returns_something_else_than_a_text_is_an_error(returned):
    with pytest.raises(ReturnError, match="op 'ns::f', check: expected None, or a text that says what is wrong, got "):
        ValueCheck(lambda x: returned, SCHEMA)((1, None, []), {"k": 3})


def test_a_check_that_names_nothing_is_refused_when_it_is_registered():
    op = opsdk.op("t::f(Tensor x) -> Tensor y")(lambda x: x + 1)
    with pytest.raises(BindingError, match=r"op 't::f', check .*nothing is called 'index'; there are x"):
        op.check(lambda index: None)
    assert op.opdef.check is None


def test_a_check_given_before_the_backward_stays():
    op = opsdk.op("t::f(Tensor x) -> Tensor y")(lambda x: x + 1)
    op.check(lambda x: "x expected away from here")
    op.backward(lambda dy: dy)
    with pytest.raises(InputValueError, match="op 't::f': x expected away from here"):
        op(np.ones(1))
    assert op.grad(np.ones(1)).tolist() == [1.0]


def test_a_check_given_after_a_call_holds_from_then_on():
    op = opsdk.op("t::f(Tensor x) -> Tensor y")(lambda x: x + 1)
    op(np.ones(1))
    op.check(lambda x: "x expected away from here")
    with pytest.raises(InputValueError):
        op(np.ones(1))


def test_a_file_that_runs_again_keeps_its_check(run_file):
    text = "@opsdk.op(namespace='t')\ndef f(x):\n    return x + 1\n"
    first = run_file("ops.py", text + "f.check(lambda x: 'x expected away from here')\n")["f"]
    again = run_file("ops.py", text)["f"]
    assert again is first
    with pytest.raises(InputValueError):
        again(np.ones(1))
