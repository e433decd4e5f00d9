"""`fluid.layers`, in the meaning of Paddle 1.x; expected values by NumPy."""

import numpy as np
import pytest

import opsdk
from opsdk import fluid, static
from opsdk.core.errors import AttributeValueError
from opsdk.fluid import layers

X = np.array([[1.0, 2.0, 4.0], [0.5, -1.0, 3.0]], np.float32)
LABEL = np.array([[2], [0]])


@pytest.fixture
def run():
    """Gives what a function of `x` and `label` builds, run once."""

    def run(build):
        with static.program_guard(static.Program(), static.Program()), static.scope_guard(static.Scope()):
            x, label = fluid.data("x", [None, 3]), fluid.data("label", [None, 1], "int64")
            made = build(x, label)
            exe = fluid.Executor(fluid.CPUPlace())
            exe.run(fluid.default_startup_program())
            return exe.run(feed={"x": X, "label": LABEL}, fetch_list=list(made) if isinstance(made, tuple) else [made])

    return run


def log_softmax(x):
    return x - np.log(np.exp(x).sum(-1, keepdims=True))


CASES = {
    "mean": (lambda x, _: layers.mean(x), X.mean()),
    "reduce_mean": (lambda x, _: layers.reduce_mean(x, dim=1, keep_dim=True), X.mean(1, keepdims=True)),
    "reduce_sum": (lambda x, _: layers.reduce_sum(x, 0), X.sum(0)),
    "reshape": (lambda x, _: layers.reshape(x, [3, 2], act="relu"), np.maximum(X.reshape(3, 2), 0)),
    "softmax": (lambda x, _: layers.softmax(x), np.exp(log_softmax(X))),
    "softmax_with_cross_entropy": (
        layers.softmax_with_cross_entropy,
        -np.take_along_axis(log_softmax(X), LABEL, 1),
    ),
    "cross_entropy": (
        lambda x, label: layers.cross_entropy(layers.softmax(x), label),
        -np.take_along_axis(log_softmax(X), LABEL, 1),
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_a_function_computes_what_it_did(run, name):
    build, expected = CASES[name]
    np.testing.assert_allclose(run(build)[0], expected, rtol=1e-5)


def test_both_results_come_in_the_order_of_1x(run):
    each, probabilities = run(lambda x, label: layers.softmax_with_cross_entropy(x, label, return_softmax=True))
    assert (each.shape, probabilities.shape) == ((2, 1), (2, 3))


def test_a_layer_takes_the_words_of_1x(run):
    made = fluid.ParamAttr(initializer=fluid.initializer.Constant(2.0))
    (got,) = run(lambda x, _: layers.fc(input=x, size=2, param_attr=made, bias_attr=False, act="relu"))
    np.testing.assert_allclose(got, np.maximum(X @ np.full((3, 2), 2.0), 0), rtol=1e-6)


WRONG = {
    "reshape: actual_shape expected None, got one; write -1 in shape": lambda x, label: layers.reshape(
        x, [3], actual_shape=label
    ),
    "reshape: act expected one of relu, sigmoid, tanh, softmax, exp, abs, sqrt or None, got 'wave'": (
        lambda x, label: layers.reshape(x, [3, 2], act="wave")
    ),
    "cross_entropy: soft_label expected False, got True; opsdk.nn.functional.cross_entropy takes soft labels": (
        lambda x, label: layers.cross_entropy(x, label, soft_label=True)
    ),
    "softmax_with_cross_entropy: axis expected -1, the last, got 0; transpose": (
        lambda x, label: layers.softmax_with_cross_entropy(x, label, axis=0)
    ),
}


@pytest.mark.parametrize("text", WRONG)
def test_what_is_not_served_says_what_to_write(run, text):
    with pytest.raises(AttributeValueError) as caught:
        run(WRONG[text])
    assert text in str(caught.value)


def test_optimizers_have_their_long_names():
    assert fluid.optimizer.AdamOptimizer is fluid.optimizer.Adam is opsdk.optimizer.Adam
