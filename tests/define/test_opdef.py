import numpy as np
import pytest

import opsdk
from opsdk.define.opdef import GradRule, Source


@pytest.fixture
def pair():
    @opsdk.op(
        "t::pair(Tensor x, Tensor index) -> (Tensor y, Tensor n)",
        nondifferentiable=("index", "n"),
        infer=lambda x, index: (opsdk.TensorSpec(index.shape, x.dtype), index),
    )
    def pair(x, index):
        return x[index], index.copy()

    @pair.backward
    def pair_grad(x, y, dy, index):
        return dy

    return pair


def test_a_rule_says_which_inputs_and_outputs_it_saves(pair):
    rule = pair.opdef.grad
    assert (rule.saves("input"), rule.saves("output"), rule.saves("cotangent")) == ((0, 1), (0,), (0,))


def test_inputs_that_were_declared_so_are_not_differentiable(pair):
    assert pair.opdef.differentiable_inputs() == (0,)


def test_an_op_is_named_in_messages_with_its_namespace(pair):
    assert (pair.opdef.name, pair.opdef.subject) == ("t::pair", "op 't::pair'")


def test_an_opdef_cannot_be_changed(pair):
    with pytest.raises(AttributeError):
        pair.opdef.doc = "other"


def test_only_a_function_of_other_ops_is_composite(pair):
    @opsdk.op(composite=True, namespace="t")
    def twice(x):
        return x + x

    assert (pair.opdef.is_composite, twice.opdef.is_composite) == (False, True)


def test_definitions_that_compute_the_same_have_one_digest_and_are_two_definitions():
    first, second = (opsdk.op(lambda x: -x, name=name, namespace="t").opdef for name in ("f", "g"))
    assert first != second
    assert len(first.digest) == 16


@pytest.mark.parametrize(
    "changed",
    [
        {"infer": opsdk.infer.broadcast},
        {"linear": True},
        {"nondifferentiable": ("x",)},
        {"domain": {"x": (0, None)}},
        {"deterministic": False},
    ],
)
def test_what_was_declared_is_part_of_the_digest(changed):
    def f(x):
        return -x

    plain = opsdk.op(f, namespace="t").opdef.digest
    assert opsdk.op(namespace="t", replace=True, **changed)(f).opdef.digest != plain


def test_a_rule_is_itself_and_not_another_that_says_the_same():
    op = opsdk.op(lambda x: -x, name="f", namespace="t")
    rules = [GradRule(op, (Source("cotangent", 0),), (), (0,)) for _ in range(2)]
    assert rules[0] != rules[1]


def test_call_plans_of_a_definition_are_forgotten_when_it_gets_a_row(pair):
    pair(np.ones(3), np.array([0]))
    assert len(pair.opdef.plans) == 1
    pair.kernel("cpu", lambda x, index: (x[index], +index), language="numpy")
    assert len(pair.opdef.plans) == 0


# -- expectations




def test_an_op_keeps_what_is_expected_of_it_in_order():
    op = opsdk.op("t::f(Tensor x) -> Tensor y")(lambda x: x)
    op.expect("repeats", reason="it draws")
    op.expect("value", reason="it rounds", row="float32")
    first, second = op.opdef.expectations
    assert (first.finding, first.reason, first.row) == ("repeats", "it draws", "")
    assert (str(first), str(second)) == ("'repeats'", "'value' in kernel 'float32'")
    assert "test_opdef.py" in str(first.origin)


def test_a_later_backward_loses_nothing():
    op = opsdk.op("t::f(Tensor x) -> Tensor y")(lambda x: x)
    op.expect("repeats", reason="it draws")
    op.backward(lambda dy: dy)
    assert len(op.opdef.expectations) == 1
    assert op.grad.opdef.expectations == ()
