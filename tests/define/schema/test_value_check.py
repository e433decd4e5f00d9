import numpy as np
import pytest

import opsdk
from opsdk.core.errors import BindingError, InputValueError, ReturnError, noted
from opsdk.define.schema.parse import parse_schema
from opsdk.define.schema.value_check import ValueCheck

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


@pytest.fixture
def divided():
    """An op whose infer rule divides by an attribute that its check refuses to be zero."""

    @opsdk.op
    def divided(x, *, n: int):
        return x[: x.shape[0] // n].copy()

    @divided.infer
    def _(x, n):
        return opsdk.TensorSpec((None if x.shape[0] is None else x.shape[0] // n,), x.dtype)

    return divided


@pytest.mark.parametrize("make", [np.ones, lambda n: opsdk.to_tensor(np.ones(n))], ids=["array", "tensor"])
@pytest.mark.parametrize("names", ["attributes", "inputs"])
def test_the_checks_words_come_before_what_the_infer_rule_meets(divided, make, names):
    if names == "attributes":
        divided.check(lambda n: None if n else f"n expected above 0, got {n}")
    else:
        divided.check(lambda x, n: None if n else f"n expected above 0, got {n} for {x.size} elements")
    for _ in range(2):
        with pytest.raises(InputValueError, match=r"op 'tests::divided': n expected above 0, got 0"):
            divided(make(4), n=0)
        assert np.asarray(divided(make(4), n=2)).shape == (2,)  # the second time of a kind that is known


def test_a_check_of_attributes_is_asked_where_a_program_is_built(divided):
    divided.check(lambda n: None if n > 0 else f"n expected above 0, got {n}")
    x = opsdk.static.data("x", [4], "float64")
    count = len(opsdk.static.default_main_program().global_block().ops)
    for n in (0, -1):
        with pytest.raises(InputValueError, match=f"op 'tests::divided': n expected above 0, got {n}"):
            divided(x, n=n)
    assert len(opsdk.static.default_main_program().global_block().ops) == count
    assert divided(x, n=2).shape == (2,)


def test_where_the_check_has_nothing_to_say_the_rules_own_error_names_the_op(divided):
    divided.check(lambda x: x[0, 0] and None)  # fails on vectors
    with pytest.raises(ZeroDivisionError) as caught:
        divided(np.ones(4), n=0)
    assert any("raised in op 'tests::divided', infer rule at" in note for note in caught.value.__notes__)
