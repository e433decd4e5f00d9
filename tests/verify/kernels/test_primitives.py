"""Compiled primitives of users, held to the accuracy that they promise."""

from dataclasses import replace

import numpy as np
import pytest

import opsdk
from opsdk.expr.primitives.table import PRIMITIVES
from opsdk.verify.inputs.sampling import calls_of
from opsdk.verify.kernels.primitives import check_primitives
from opsdk.verify.session import Session


@pytest.fixture(autouse=True)
def _scoped():
    with opsdk.scoped_registry():
        yield


def found(f):
    op = opsdk.elementwise("t::through(Tensor x) -> Tensor")(lambda x: f(x))
    session = Session(op.opdef, calls_of(op.opdef, None, 0)[:1], 0, 300)
    check_primitives(session)
    return [finding.message for finding in session.findings.values()]


def logistic(text, **options):
    @opsdk.primitive(c=text, derivative=lambda x, y: y * (1 - y), namespace="t", **options)
    def logistic(x):
        return 1 / (1 + np.exp(-x))

    return logistic


def test_a_body_in_c_that_keeps_its_promise_passes():
    assert found(logistic("real e = exp(-fabs(x)); return x >= 0 ? 1 / (1 + e) : e / (1 + e);")) == []


def test_a_body_in_c_that_is_another_function_is_found():
    (message,) = found(logistic("real e = exp(-fabs(x)); return x >= 0 ? 1 / (1 + e) : 1 / (1 + e);"))
    assert message.startswith(
        "op 't::through': primitive 'logistic' expected within 4 ulp of float32, as promised, got "
    )
    assert message.endswith("mend its body, or promise less")


def test_a_body_that_is_further_off_than_promised_is_found(monkeypatch):
    @opsdk.primitive(namespace="t", ulp=2.0)
    def double(x):
        return x + x

    assert found(double) == []
    (name,) = (name for name, each in PRIMITIVES.items() if each.public is double)
    planted = replace(PRIMITIVES[name], meaning=lambda xp, x: 2.001 * x)
    monkeypatch.setitem(PRIMITIVES, name, planted)
    (message,) = found(double)
    assert "primitive 'double' expected within 2 ulp of float32" in message
