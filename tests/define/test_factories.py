"""Factories: functions that make an op for a callable that they are given, each time they are called."""

import pickle

import numpy as np
import pytest

import opsdk
from opsdk.core.errors import NameClashError

X = np.array([0.3, 0.5])


def applying(f):
    @opsdk.op(namespace="test_factories", name="applied")
    def applied(x):
        return np.asarray(f(x))

    @applied.backward(composite=True)
    def applied_grad(x, dy):
        return opsdk.vjp(f, x, dy)[1]

    return applied


def slope(op):
    x = opsdk.to_tensor(X, stop_gradient=False)
    return opsdk.grad(op(x).sum(), x)[0].numpy()


def test_handles_of_one_factory_stay_what_they_are(capsys):
    sine, root = applying(opsdk.sin), applying(opsdk.sqrt)
    assert capsys.readouterr().err.count("test_factories::applied redefined") == 1
    np.testing.assert_allclose(sine(X), np.sin(X))
    np.testing.assert_allclose(root(X), np.sqrt(X))
    np.testing.assert_allclose(slope(sine), np.cos(X))
    np.testing.assert_allclose(slope(root), 0.5 / np.sqrt(X))
    assert opsdk.find_op("test_factories::applied") is root


def test_the_same_callable_gives_the_same_op_without_a_word(capsys):
    first, second = applying(opsdk.sin), applying(opsdk.sin)
    assert first.opdef.is_same(second.opdef)
    assert not first.opdef.is_same(applying(opsdk.cos).opdef)
    assert capsys.readouterr().err.count("redefined") == 1  # of the other one
    with pytest.raises(NameClashError, match="a later one of the same line, as a factory makes them"):
        pickle.dumps(first)


def test_a_pickle_finds_the_op_that_is_the_same():
    first, second = applying(opsdk.sin), applying(opsdk.sin)
    assert pickle.loads(pickle.dumps(first)) is second
