import numpy as np
import pytest

from benchmarks.cases.nets import unlike
from benchmarks.subjects import opsdk_nets
from benchmarks.subjects.nets import NETS, data, weights

STEPS = {"loss": [2.0], "weight": [3.0, 1.0]}


def test_steps_that_agree_to_the_last_digits_are_alike():
    assert unlike({"a": STEPS, "b": {"loss": [2.0 + 1e-12], "weight": [3.0, 1.0]}}) == ""


@pytest.mark.parametrize(
    ("other", "said"),
    [
        ({"loss": [2.0 + 1e-6], "weight": [3.0, 1.0]}, "a first step, loss: a has [2.0], b [2.000001]"),
        ({"loss": [2.0], "weight": [3.0, 1.1]}, "a first step, weight: a has [3.0, 1.0], b [3.0, 1.1]"),
        ({"loss": [2.0]}, "b and a have other weights: ['weight']"),
    ],
)
def test_steps_that_differ_are_told(other, said):
    assert unlike({"a": STEPS, "b": other}) == said


def test_the_first_step_of_a_perceptron_is_that_of_numpy():
    (net,) = [net for net in NETS if net.name == "mlp"]
    held = weights({"0.weight": (100, 784), "0.bias": (100,), "2.weight": (10, 100), "2.bias": (10,)})
    x, label = data(net)
    hidden = np.maximum(x.astype(float) @ held["0.weight"].T + held["0.bias"], 0)
    scores = hidden @ held["2.weight"].T + held["2.bias"]
    share = np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)
    step = next(subject for subject in opsdk_nets.SUBJECTS if subject.net is net).result()
    np.testing.assert_allclose(step["loss"], -np.log(share[np.arange(64), label]).mean(), rtol=1e-12)
    slope = (share - np.eye(10)[label]).mean(axis=0)  # of the last bias; Adam's first step is its sign
    assert step["2.bias"] == pytest.approx([np.sqrt(10), -np.sign(slope[0])], rel=1e-5)
