"""Draws of an op: which generators its code reaches, forwards that draw alike, and means over repeats."""

import random

import numpy as np
import pytest

from gradcheck.model.constraint import Domain
from opsdk.core.random import stream
from opsdk.verify.draws import Draws, Mean, generators_of, means, repeats
from opsdk.verify.subjects import Subject

OWN = np.random.default_rng(1)


class Layer:
    def __init__(self):
        self.state = np.random.RandomState(3)

    def draw(self, x):
        return x + self.state.random_sample(x.shape)


def reaches(op, *wanted):
    found = generators_of(op.opdef)
    return [any(each is one for each in found) for one in wanted]


def test_generators_are_found_behind_closures_defaults_and_attributes(define):
    first, second, third = (np.random.default_rng(n) for n in range(3))

    def helper(shape, rng=second):
        return rng.random(shape)

    op = define(lambda x: x + first.random(x.shape) + helper(x.shape) + keeper[0]["rng"].random(x.shape))
    keeper = [{"rng": third}]
    found = generators_of(op.opdef)
    assert all(any(each is one for each in found) for one in (first, second, third))


def test_those_of_the_module_of_a_bound_method_and_of_the_process_are_found(define):
    layer = Layer()
    draw = layer.draw

    def drawing(x):
        return draw(x) + OWN.random(x.shape)

    assert reaches(define(drawing), OWN, layer.state, stream(), random._inst, np.random.mtrand._rand) == [True] * 5


def test_one_that_the_code_does_not_reach_is_left_alone(define):
    other = np.random.default_rng(4)
    assert reaches(define(lambda x: x), other, OWN) == [False, False]


@pytest.mark.parametrize(
    ("generator", "draw"),
    [
        (np.random.default_rng(2), lambda generator: generator.random()),
        (np.random.RandomState(2), lambda generator: generator.random_sample()),
        (random.Random(2), lambda generator: generator.random()),
    ],
    ids=["Generator", "RandomState", "Random"],
)
def test_forwards_draw_alike_and_a_backward_of_its_own_draws_what_comes_after_the_forward(define, generator, draw):
    op = define(lambda x: x + draw(generator))
    subject = Subject(lambda x: [op(x)], lambda inputs, outputs, cotangents: [draw(generator)], (), (), ())
    fixed = Draws.of(op.opdef).fixed(subject)
    x = np.zeros(1)
    first, second = fixed.forward(x)[0], fixed.forward(x)[0]
    np.testing.assert_array_equal(first, second)
    assert fixed.vjp([x], [first], [x])[0] == first[0]  # set back before it too
    assert subject.forward(x)[0] != first


def subject_of(forward, slope, x=(0.5, -2.0), **options):
    """A function of one input, and its gradient."""
    return Subject(
        lambda x: [forward(x)],
        lambda inputs, outputs, cotangents: [slope(inputs[0]) * cotangents[0]],
        (np.array(x),),
        ("x",),
        (options.pop("domain", Domain()),),
        **options,
    )


def test_repeats_are_bits_but_for_the_order_of_sums():
    rng = np.random.default_rng(0)
    assert repeats(subject_of(np.sin, np.cos))
    assert repeats(subject_of(lambda x: np.sin(x) * (1 + 1e-16 * rng.integers(0, 3)), np.cos))
    assert not repeats(subject_of(lambda x: np.sin(x) * rng.normal(1.0, 0.1), np.cos))
    assert not repeats(subject_of(lambda x: rng.integers(0, 100, 8), np.cos))  # whole numbers have no last digit


def mean_of(slope, noise=0.1, count=64, **options):
    rng = np.random.default_rng(7)
    subject = subject_of(lambda x: np.sin(x) * rng.normal(1.0, noise, x.shape), slope, **options)
    return list(means(subject, count, np.random.default_rng(3)))


def test_the_mean_gradient_and_the_slope_of_the_mean_agree_where_the_gradient_is_right():
    (mean,) = mean_of(np.cos)
    assert (mean.name, mean.is_wrong, mean.is_sharp) == ("x", False, True)
    assert abs(mean.yours - mean.slope) <= mean.bar < abs(mean.slope)


@pytest.mark.parametrize("factor", [-1.0, 0.5, 2.0])
def test_a_wrong_factor_is_no_chance(factor):
    (mean,) = mean_of(lambda x: factor * np.cos(x))
    assert mean.is_wrong
    assert mean.yours / mean.slope == pytest.approx(factor, rel=0.15)


def test_the_bar_grows_with_the_noise_and_falls_with_the_root_of_the_count():
    quiet, loud = mean_of(np.cos, 0.05)[0], mean_of(np.cos, 5.0)[0]
    assert loud.bar > 10 * quiet.bar
    assert not loud.is_sharp
    assert mean_of(np.cos, 5.0, count=1600)[0].bar < loud.bar / 3


def test_without_noise_the_bar_is_that_of_the_steps():
    (mean,) = mean_of(np.cos, 0.0)
    assert not mean.is_wrong
    assert mean.slope == pytest.approx(mean.yours, rel=1e-2)


def test_what_has_no_gradient_has_no_mean():
    assert mean_of(np.cos, nondifferentiable=("x",)) == []
    assert mean_of(np.cos, x=()) == []


def test_a_mean_tells_how_large_its_bar_is_beside_it():
    assert Mean("x", 2.0, -4.0, 1.0).share == 0.25
    assert Mean("x", 0.0, 0.0, 0.0).share == 0.0
    assert Mean("x", 0.0, 0.0, 1.0).share == np.inf
    assert Mean("x", 1.0, 1.5, 0.5).is_wrong is False
    assert Mean("x", 1.0, np.nan, 0.5).is_wrong is True
