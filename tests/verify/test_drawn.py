"""Gradients of ops that draw: with the draws fixed, as means over repeats, or said not to be judged."""

import random

import numpy as np
import pytest

import opsdk
from opsdk.core.errors import DefinitionError

X = np.array([0.3, -1.2, 0.8, 2.0, -0.4, 1.5])
SAMPLE = [opsdk.Sample(X, reason="both signs")]
OWN = np.random.default_rng(1)


def dropout(define, generator, fault=1.0, saves=True, **options):
    """Defines a dropout whose mask is an output, drawn from what `generator` gives."""

    @opsdk.op("planted::dropped(Tensor x) -> (Tensor y, Tensor mask)", nondifferentiable=["mask"], deterministic=False)
    def dropped(x):
        mask = generator(x.shape) < 0.5
        return np.where(mask, 2.0 * x, 0.0).astype(x.dtype), mask

    dropped.infer(lambda x: (x, opsdk.TensorSpec(x.shape, "bool")))
    if saves:
        dropped.backward(lambda mask, dy: np.where(mask, 2.0 * fault * dy, 0.0).astype(dy.dtype))
    else:  # draws another mask than the forward did
        dropped.backward(lambda dy: np.where(generator(dy.shape) < 0.5, 2.0 * dy, 0.0).astype(dy.dtype))
    return dropped


GENERATORS = {
    "a generator of the module": lambda shape: OWN.random(shape),
    "NumPy's own": lambda shape: np.random.random(shape),
    "Python's own": lambda shape: np.array([random.random() for _ in range(int(np.prod(shape)))]).reshape(shape),
    "a helper's": None,
}


class Keeper:
    """Holds a generator as an attribute, as a layer does."""

    def __init__(self):
        self.held = {"rng": np.random.RandomState(3)}

    def draw(self, shape):
        return self.held["rng"].random_sample(shape)


GENERATORS["a helper's"] = Keeper().draw


@pytest.mark.parametrize("name", GENERATORS)
def test_draws_are_fixed_where_their_generator_can_be_set_back(define, name):
    report = opsdk.verify(dropout(define, GENERATORS[name]), samples=SAMPLE)
    assert report.verdict == "pass"
    assert report.coverage.tested
    assert "planted::dropped: its gradient is judged with its draws fixed" in report.coverage.notes


def test_a_wrong_factor_is_found_with_the_draws_fixed(define):
    report = opsdk.verify(dropout(define, GENERATORS["a generator of the module"], fault=0.5), samples=SAMPLE)
    assert [finding.check for finding in report.findings] == ["vjp.x"]


def test_a_backward_that_draws_for_itself_is_wrong(define):
    report = opsdk.verify(dropout(define, GENERATORS["a generator of the module"], saves=False), samples=SAMPLE)
    assert [finding.check for finding in report.findings] == ["vjp.x"]


def noisy(define, deterministic, fault=1.0, forward=None):
    """Defines sin of x, times noise that no generator can give again, as of a device."""

    def drawn(x):
        noise = np.random.default_rng().normal(1.0, 0.2, x.shape)
        return (np.sin(x) * noise).astype(x.dtype)

    return define(forward or drawn, lambda x, dy: (fault * dy * np.cos(x)).astype(x.dtype), deterministic=deterministic)


def test_draws_that_nobody_can_fix_are_said_not_to_be_judged(define):
    report = opsdk.verify(noisy(define, False), samples=SAMPLE)
    assert report.verdict == "inconclusive"
    assert report.coverage.inconclusive[0].startswith(
        "planted::f, vjp: its draws come from no generator that can be set back; draw from a np.random.Generator"
    )


def test_the_mean_gradient_is_held_to_the_slope_of_the_mean(define):
    report = opsdk.verify(noisy(define, opsdk.Repeats(200)), samples=SAMPLE)
    assert report.verdict == "pass"
    assert any("judged by means over 200 draws" in note for note in report.coverage.notes)
    assert 0.0 < report.rows[0].sees_down_to <= 0.25


@pytest.mark.parametrize("fault", [-1.0, 0.5, 2.0])
def test_a_mean_gradient_that_chance_does_not_explain_is_a_finding(define, fault):
    report = opsdk.verify(noisy(define, opsdk.Repeats(200), fault), samples=SAMPLE)
    assert [finding.check for finding in report.findings] == ["vjp.x"]
    assert "along the gradient's signs the mean over 200 draws is" in report.findings[0].message


def test_too_few_repeats_are_inconclusive_and_say_so(define):
    def loud(x):
        return (np.sin(x) + np.random.default_rng().normal(0.0, 50.0, x.shape)).astype(x.dtype)

    report = opsdk.verify(noisy(define, opsdk.Repeats(8), forward=loud), samples=SAMPLE)
    assert report.verdict == "inconclusive"
    assert "declare more repeats" in report.coverage.inconclusive[0]


def test_results_that_only_add_in_another_order_are_judged(define):
    """As a sum over threads: the last digits differ from run to run."""
    order = np.random.default_rng()

    def total(x):
        return np.asarray(x.sum() * (1.0 + 1e-15 * order.integers(0, 3)), x.dtype)

    op = define(
        total, lambda x, dy: np.full_like(x, dy), deterministic=False, infer=lambda x: opsdk.TensorSpec((), x.dtype)
    )
    assert opsdk.verify(op, samples=SAMPLE).verdict == "pass"


def test_an_op_with_a_seed_or_a_generator_is_judged_by_that(define):
    @opsdk.op("planted::drawn(Tensor x, *, Generator rng) -> Tensor y")
    def drawn(x, rng):
        return (x * x * (rng.random(x.shape) < 0.5)).astype(x.dtype)

    drawn.backward(lambda x, dy, rng: (2 * x * dy * (rng.random(x.shape) < 0.5)).astype(x.dtype))
    report = opsdk.verify(drawn, samples=SAMPLE)
    assert report.verdict == "pass"
    assert report.coverage.tested


def test_what_is_neither_deterministic_nor_repeated_is_refused(define):
    with pytest.raises(DefinitionError, match=r"deterministic: expected True, False or opsdk.Repeats\(64\), got 64"):
        define(lambda x: x, deterministic=64)
