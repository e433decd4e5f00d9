import inspect

import numpy as np
import pytest

import opsdk
from opsdk.autograd import PyLayer, detect_anomaly, set_detect_anomaly
from opsdk.core.errors import AnomalyError, AttributeValueError
from opsdk.define import interceptors


def leaf(values):
    return opsdk.to_tensor(np.array(values, "float64"), stop_gradient=False)


def here():
    return inspect.currentframe().f_back.f_lineno


class Fails(PyLayer):
    @staticmethod
    def forward(ctx, x):
        return x * 1.0

    @staticmethod
    def backward(ctx, dy):
        raise ZeroDivisionError("by hand")


class Nan(Fails):
    @staticmethod
    def backward(ctx, dy):
        return dy * float("nan")


def test_nan_names_the_op_and_the_line_of_its_call():
    x = leaf([0.0, 1.0])
    with detect_anomaly():
        y = opsdk.sqrt(x)
        line = here() - 1
        z = (y * 0.0).sum()
    with pytest.raises(AnomalyError) as raised:
        z.backward()
    text = str(raised.value)
    assert text.startswith("op 'opsdk::sqrt': backward gave nan in gradient 0, of shape (2,); the call was made at ")
    assert text.endswith(f"test_anomaly.py:{line}")
    assert x.grad is None


def test_nan_that_entered_is_nobodys_fault_but_of_who_made_it():
    x = leaf([1.0])
    with detect_anomaly():
        y = Nan.apply(x * 2.0)
    with pytest.raises(AnomalyError, match="PyLayer 'Nan': backward gave nan"):
        (y * 3.0).backward()
    with detect_anomaly():
        y = x * 2.0
    y.backward(opsdk.to_tensor(np.array([np.nan])))
    assert np.isnan(x.grad.item())


def test_exceptions_keep_their_type_and_say_where_the_call_was_made():
    x = leaf([1.0])
    with detect_anomaly(check_nan=False):
        y = Fails.apply(x)
        line = here() - 1
        Nan.apply(x).backward()
    with pytest.raises(ZeroDivisionError) as raised:
        y.backward()
    assert any(f"test_anomaly.py:{line}, in the backward of PyLayer 'Fails'" in n for n in raised.value.__notes__)


def test_both_places_are_said_of_a_call_in_a_recorded_backward():
    x = leaf([0.0])
    with detect_anomaly():
        y = x**1.5
        first = here() - 1
        (dx,) = opsdk.grad(y, x, create_graph=True)
        second = here() - 1
    with pytest.raises(AnomalyError) as raised:
        opsdk.grad(dx * 0.0, x)
    text = str(raised.value)
    assert f"test_anomaly.py:{second}, in the backward of op 'opsdk::elementwise_pow' called at " in text
    assert text.endswith(f"test_anomaly.py:{first}")


def test_gradients_are_what_they_are_without_it():
    x = leaf([1.0, 2.0])
    with detect_anomaly():
        y = (x.exp() * x).sum()
    (dx,) = opsdk.grad(y, x, create_graph=True)
    np.testing.assert_allclose(dx.numpy(), np.exp([1.0, 2.0]) * [2.0, 3.0], rtol=1e-12)
    y.backward()
    np.testing.assert_allclose(x.grad.numpy(), dx.numpy())


def test_calls_outside_are_not_watched():
    x = leaf([0.0])
    (opsdk.sqrt(x) * 0.0).backward()
    assert np.isnan(x.grad.item())


def test_set_detect_anomaly_is_a_statement_and_a_block():
    x = leaf([0.0])
    set_detect_anomaly(True)
    try:
        y = opsdk.sqrt(x) * 0.0
        with set_detect_anomaly(False):
            z = opsdk.sqrt(x) * 0.0
        w = opsdk.sqrt(x) * 0.0
    finally:
        set_detect_anomaly(False)
    assert interceptors.stack() is None
    z.backward()
    for watched in (y, w):
        with pytest.raises(AnomalyError):
            watched.backward()
    with pytest.raises(AttributeValueError, match="set_detect_anomaly: mode"):
        set_detect_anomaly("yes")
