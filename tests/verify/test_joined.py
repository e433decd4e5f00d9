"""Joined inputs: errors of one among several show when all move as one, or each input is judged by itself."""

import math

import numpy as np
import pytest

import gradcheck
from gradcheck.model.constraint import Domain
from opsdk.verify.joined import error_seen
from opsdk.verify.subjects import Subject

FREE = Domain()
MIXED = np.array([[1.0, 0.5, -0.25], [-0.5, 1.0, 0.25], [0.25, -0.75, 1.0]])  # no input is judged element by element
X, W = np.array([[0.5, -1.5, 2.0], [1.0, 0.25, -0.75]]), np.array([300.0, -500.0, 200.0])


def subject(factors=(1.0, 1.0), place=..., inputs=(X, W), domain=(FREE, FREE), gain=1.0, **options):
    """x M · sin(w M / 256), with gradients that are wrong by factors, in a place."""

    def forward(x, w):
        return (gain * (x @ MIXED) * np.sin(w @ MIXED / 256),)

    def vjp(arrays, outputs, cotangents):
        (x, w), (dy,) = arrays, cotangents
        at = w @ MIXED / 256
        dx, dw = gain * (dy * np.sin(at)) @ MIXED.T, (gain * dy * (x @ MIXED) * np.cos(at) / 256).sum(axis=0) @ MIXED.T
        dx[place] *= factors[0]
        dw[place] *= factors[1]
        return dx, dw

    return Subject(forward, vjp, inputs, ("x", "w"), domain, **options)


def calls_of(one):
    """Returns whether inputs that are joined decide, and how many forward calls that takes."""
    count = 0

    def forward(*arrays):
        nonlocal count
        count += 1
        return one.forward(*arrays)

    made = error_seen(Subject(forward, *[getattr(one, name) for name in [*vars(one)][1:]]), 0, 200)
    return made is not None, count


def test_right_gradients_of_two_inputs_are_seen_at_once_in_fewer_calls_than_one_by_one():
    decides, count = calls_of(subject())
    calls = 0

    def forward(*arrays):
        nonlocal calls
        calls += 1
        return subject().forward(*arrays)

    gradcheck.check(forward, subject().vjp, [X, W], budget=200, vary=False, behaviour=False)
    assert decides
    assert count < 0.7 * calls


@pytest.mark.parametrize("factors", [(1.0, 1 + 1e-5), (1 + 1e-5, 1.0), (1.0, 0.0), (-1.0, 1.0)])
@pytest.mark.parametrize("place", [..., 0, -1])
def test_a_wrong_gradient_of_either_has_each_input_judged_by_itself(factors, place):
    assert error_seen(subject(factors, place), 0, 200) is None


def test_the_least_error_that_is_seen_counts_how_much_less_one_gradient_is_than_another():
    seen, tested = error_seen(subject(), 0, 200)
    assert 0 < seen < 1e-6
    assert tested >= 2


# A gradient far below the other, of inputs on their own scales, another dtype, domain or declaration, or one that is 0.
@pytest.mark.parametrize(
    "apart",
    [
        {"inputs": (X * 2.0**-30, W), "gain": 2.0**30, "factors": (1.0, 1.0), "domain": (Domain(-1.0, 1.0), FREE)},
        {"inputs": (X, W.astype(np.float32))},
        {"domain": (Domain(-4.0, 4.0), FREE)},
        {"nondifferentiable": ("w",)},
        {"accuracy": 0.01},
        {"inputs": (np.zeros((2, 3)), W)},
    ],
)
def test_inputs_that_are_unlike_are_judged_one_by_one(apart):
    assert error_seen(subject(**apart), 0, 200) is None


def test_inputs_of_one_domain_on_other_scales_are_kept_inside_of_it():
    least = [math.inf, math.inf]

    def forward(x, w):
        for k, array in enumerate((x, w)):
            least[k] = min(least[k], float(array.min()))
        return (np.log(x) * np.log(w),)

    def vjp(arrays, outputs, cotangents):
        (x, w), (dy,) = arrays, cotangents
        return dy * np.log(w) / x, dy * np.log(x) / w

    positive = Domain(0.0, math.inf, (True, False))
    inputs = np.array([3.0, 0.01, 5.0]), np.array([700.0, 900.0, 2.0])
    assert error_seen(Subject(forward, vjp, inputs, ("x", "w"), (positive, positive)), 0, 200) is not None
    assert min(least) > 0


def test_where_a_function_jumps_or_is_not_finite_each_input_is_judged_by_itself():
    def forward(x, w):
        return (np.floor(x + w) + x * w,)

    def vjp(arrays, outputs, cotangents):
        (x, w), (dy,) = arrays, cotangents
        return dy * w, dy * x

    inputs = np.array([0.5, 1.25]), np.array([0.5, 0.4])
    assert error_seen(Subject(forward, vjp, inputs, ("x", "w"), (FREE, FREE)), 0, 200) is None


def test_a_backward_that_raises_or_gives_another_shape_is_left_to_the_judgement_of_each():
    one = subject()
    raising = Subject(one.forward, lambda *given: 1 / 0, one.inputs, one.names, one.domain)
    bent = Subject(one.forward, lambda *given: (X.ravel(), W), one.inputs, one.names, one.domain)
    assert error_seen(raising, 0, 200) is None
    assert error_seen(bent, 0, 200) is None


def test_an_input_beside_that_no_output_depends_on_changes_nothing():
    one = subject()
    beside = Subject(
        lambda x, w, unused: one.forward(x, w),
        lambda arrays, outputs, cotangents: (*one.vjp(arrays[:2], outputs, cotangents), None),
        (X, W, np.ones(2)),
        ("x", "w", "unused"),
        (FREE, FREE, FREE),
        ("unused",),
    )
    assert error_seen(beside, 0, 200) is not None
