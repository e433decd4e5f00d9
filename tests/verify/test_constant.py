"""Inputs declared constant: they carry no gradient though there is a derivative, and verify lets them be."""

import numpy as np
import pytest

import opsdk
from opsdk.core.errors import DefinitionError


def define(**options):
    def scaled(x, factor):
        if (factor != np.floor(factor)).any():
            raise ValueError("factor expected whole")
        return x * factor

    return opsdk.op("t::scaled(Tensor x, Tensor factor) -> Tensor y", infer=opsdk.infer.like("x"), **options)(scaled)


def with_backward(op, slope=1):
    op.backward(lambda factor, dy: slope * dy * factor)

    @op.grad.backward(composite=True, name="scaled_second")
    def second(factor, ddx):
        return ddx * factor

    op.samples(lambda rng: iter([opsdk.Sample(rng.normal(size=4), np.array([1.0, 2.0, -3.0, 5.0]), reason="whole")]))
    return op


def test_a_constant_has_a_derivative_that_nobody_misses():
    report = opsdk.verify(with_backward(define(constant=["factor"])))
    assert report.verdict == "pass", str(report)


def test_the_same_input_declared_nondifferentiable_is_a_finding():
    def product(x, factor):
        return x * factor

    op = opsdk.op("t::product(Tensor x, Tensor factor) -> Tensor y", nondifferentiable=["factor"])(product)
    op.backward(lambda factor, dy: dy * factor)
    assert any("declared non-differentiable" in finding.message for finding in opsdk.verify(op).findings)


def test_a_wrong_gradient_beside_a_constant_is_found():
    (found, *_) = opsdk.verify(with_backward(define(constant=["factor"]), slope=1.01)).findings
    assert found.input == "x"


def test_a_constant_gets_no_gradient_and_the_gradient_op_knows_it_as_one():
    op = with_backward(define(constant=["factor"]))
    x, factor = (opsdk.to_tensor(a, stop_gradient=False) for a in (np.ones(2), np.array([2.0, 3.0])))
    op(x, factor).sum().backward()
    assert x.grad.numpy().tolist() == [2.0, 3.0]
    assert factor.grad is None
    assert op.grad.opdef.traits.constant == ("factor",)


def test_a_constant_that_is_no_input_is_refused():
    with pytest.raises(
        DefinitionError, match="constant: expected names of inputs, got 'y'; an output without a gradient"
    ):
        define(constant=["y"])
