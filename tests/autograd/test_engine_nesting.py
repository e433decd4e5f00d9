import contextvars
import sys

import numpy as np
import pytest

import opsdk
from opsdk.autograd import engine
from opsdk.core.errors import GraphError

VALUE = contextvars.ContextVar("VALUE")


def leaf(values):
    return opsdk.to_tensor(np.array(values, "float64"), stop_gradient=False)


@pytest.fixture(params=["backward", "grad"])
def nested(request):
    """An op whose backward runs a backward, `depth` of them inside of one another."""

    @opsdk.op("tests::nested(Tensor x, *, int depth) -> Tensor y")
    def nested(x, depth):
        return x * 1.0

    @nested.backward
    def nested_grad(x, dy, depth):
        if not depth:
            return dy * VALUE.get(2.0)
        inner = leaf(x)
        if request.param == "grad":
            return dy * opsdk.grad(nested(inner, depth=depth - 1).sum(), inner)[0].numpy()
        nested(inner, depth=depth - 1).sum().backward()
        return dy * inner.grad.numpy()

    return nested


@pytest.mark.parametrize("depth", [1, 110, 1200])
def test_backwards_inside_of_one_another_may_be_many(nested, depth):
    x = leaf([1.0, 2.0])
    nested(x, depth=depth).sum().backward()
    assert x.grad.tolist() == [2.0, 2.0]


def test_hooks_may_run_backwards_inside_of_one_another():
    def hook(depth):
        def run(grad):
            if depth:
                inner = leaf([1.0])
                inner.register_hook(hook(depth - 1))
                (inner * 2.0).sum().backward()
                return inner.grad * 1.0
            return None

        return run

    x = leaf([1.0])
    x.register_hook(hook(400))
    (x * 3.0).sum().backward()
    assert x.grad.tolist() == [2.0]


def test_a_deep_backward_sees_mode_and_context_of_those_outside(nested):
    token = VALUE.set(7.0)
    try:
        x = leaf([1.0])
        with opsdk.no_grad(), opsdk.enable_grad():
            nested(x, depth=300).sum().backward()
    finally:
        VALUE.reset(token)
    assert x.grad.tolist() == [7.0]
    assert engine.elsewhere(opsdk.is_grad_enabled)
    with opsdk.no_grad():
        assert not engine.elsewhere(opsdk.is_grad_enabled)


def test_what_a_deep_backward_raises_comes_out(nested):
    def fail(_):
        raise ZeroDivisionError("deep down")

    x = leaf([1.0])
    with pytest.raises(ZeroDivisionError, match="deep down"):
        engine.elsewhere(fail, x)


def test_a_thread_that_does_not_start_is_an_error_in_words(monkeypatch):
    def start(_):
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(engine.threading.Thread, "start", start)
    with pytest.raises(GraphError, match="backward: expected fewer backwards inside of one another, got 0, each of"):
        engine.elsewhere(lambda: None)


def test_half_of_the_stack_is_deep():
    def at(depth):
        return engine.is_deep() if not depth else at(depth - 1)

    assert not engine.is_deep()
    assert at(sys.getrecursionlimit() // 2)
