"""Outputs declared nondifferentiable: found where they have a derivative, unless the op says why it is not given."""

import numpy as np
import pytest

import opsdk
from opsdk.core.errors import DefinitionError
from opsdk.verify import verify


def two(nondifferentiable, second, **options):
    """y = x² with its gradient, beside another output."""
    declare = opsdk.op(
        "f(Tensor x) -> (Tensor y, Tensor also)",
        namespace="planted",
        nondifferentiable=nondifferentiable,
        infer=lambda x: (x, x),
        **options,
    )
    op = declare(lambda x: (x * x, second(x)))
    op.backward(lambda x, dy: 2 * x * dy)
    return op


def one(body, nondifferentiable):
    return opsdk.op("f(Tensor x) -> Tensor y", namespace="planted", nondifferentiable=nondifferentiable)(body)


def found(op):
    return {finding.check: finding.message for finding in verify(op).findings}


def test_one_that_moves_with_an_input_is_found_beside_one_that_carries_a_gradient():
    (message,) = found(two(["also"], np.sin)).values()
    assert message.startswith("op 'planted::f', output 'also': expected derivative 0, as it is declared ")
    assert "nondifferentiable, got " in message
    assert message.endswith("or say why there is none, as in nondifferentiable={'also': 'saved for the backward'}")


@pytest.mark.parametrize("declared", [["y"], ["x", "y"]])
def test_the_only_one_that_moves_is_found_and_told_once(declared):
    assert found(one(lambda x: x**3, declared)).keys() == {"nondifferentiable.y"}


def test_one_that_moves_in_a_few_elements_is_found():
    def first(x):
        y = np.zeros_like(x)
        y[..., :1] = 2 * x[..., :1]
        return y

    op = two(["also"], first)
    op.samples(lambda rng: [opsdk.Sample(rng.normal(size=(2, 7)), reason="one in seven")])
    assert found(op).keys() == {"nondifferentiable.also"}


def test_one_of_a_composite_op_is_found():
    body = opsdk.op(
        "f(Tensor x) -> (Tensor y, Tensor also)", namespace="planted", composite=True, nondifferentiable=["also"]
    )
    op = body(lambda x: (opsdk.assign(x), opsdk.assign(x)))
    op.samples(lambda rng: [opsdk.Sample(rng.normal(size=2), reason="two")])
    assert {finding.check for finding in verify(op, level="quick").findings} == {"nondifferentiable.also"}


def test_one_of_rows_is_found():
    @opsdk.rowwise("planted::f(Tensor x) -> (Tensor y, Tensor z)", nondifferentiable=["z"])
    def f(x):
        return x - opsdk.vmath.row_mean(x), opsdk.vmath.row_sum(x * x)

    f.samples(lambda rng: [opsdk.Sample(rng.normal(size=(2, 3)), reason="two rows")])
    assert {finding.check for finding in verify(f, rows="numpy", level="quick").findings} == {"nondifferentiable.z"}


@pytest.mark.parametrize(
    "steps",
    [
        np.floor,
        np.round,
        np.sign,
        np.zeros_like,
        lambda x: np.floor(64 * x) / 64,
        lambda x: x == np.max(x, initial=-np.inf),
        lambda x: np.argsort(x, axis=None).reshape(x.shape),
    ],
    ids=["floor", "round", "sign", "zeros", "quantised", "is_max", "argsort"],
)
def test_staircases_may_be_declared_so(steps):
    op = two(["also"], lambda x: np.asarray(steps(x), x.dtype))
    assert verify(op, level="quick").findings == ()


def test_one_with_a_reason_is_a_note():
    report = verify(two({"also": "saved for the backward"}, np.sin))
    assert report.verdict == "pass"
    told = "planted::f: also carries no gradient, whatever its derivative: saved for the backward"
    assert told in report.coverage.notes


def test_one_that_is_expected_is_a_note():
    op = two(["also"], np.sin)
    op.expect("nondifferentiable.also", reason="saved")
    report = verify(op)
    assert report.verdict == "pass"
    assert "planted::f: nondifferentiable.also is found, as expected: saved" in report.coverage.notes


def test_an_input_with_a_reason_is_not_moved():
    schema = "f(Tensor x, Tensor at) -> Tensor y"
    op = opsdk.op(schema, namespace="planted", nondifferentiable={"at": "knots stay"})(lambda x, at: x * at)
    op.backward(lambda at, dy: dy * at)
    assert op.opdef.traits.constant == ("at",)
    assert found(op) == {}


def test_one_of_random_numbers_is_said_not_to_be_judged():
    rng = np.random.default_rng(0)
    report = verify(two(["also"], lambda x: x + rng.normal(size=x.shape).astype(x.dtype), deterministic=False))
    assert "whether also, declared nondifferentiable, has a derivative is not judged" in str(report.coverage.skipped)


def test_a_reason_is_a_text():
    told = "op 'planted::f', nondifferentiable: expected why 'y' carries no gradient, got None; write the reason"
    with pytest.raises(DefinitionError, match=told):
        one(lambda x: np.sin(x), {"y": None})
