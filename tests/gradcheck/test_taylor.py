from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gradcheck
from gradcheck import taylor_test
from gradcheck.numeric.remainders import read_rate

X = np.random.default_rng(3).normal(size=7)
LONG = np.random.default_rng(4).normal(size=100)
A = np.random.default_rng(5).normal(size=(3, 4))
B = np.random.default_rng(6).normal(size=(4, 2))
LABELS = np.array([0, 2, 1])
SEEDS = (0, 1)


def elementwise(derivative: Any) -> Any:
    return lambda inputs, outputs, cotangents: (cotangents[0] * derivative(inputs[0]),)


def relu(x: Any) -> Any:
    return np.maximum(x, 0.0)


def step(x: Any) -> Any:
    return (x > 0) * 1.0


def short_inside(x: Any) -> Any:
    return np.sin(x.astype(np.float32)).astype(np.float64)


def matmul_vjp(inputs: Any, outputs: Any, cotangents: Any) -> Any:
    return cotangents[0] @ inputs[1].T, inputs[0].T @ cotangents[0]


def cross_entropy(z: Any) -> Any:
    top = z.max(-1, keepdims=True)
    return np.mean(np.log(np.exp(z - top).sum(-1)) + top[:, 0] - z[np.arange(3), LABELS])


def cross_entropy_vjp(inputs: Any, outputs: Any, cotangents: Any) -> Any:
    raised = np.exp(inputs[0] - inputs[0].max(-1, keepdims=True))
    share = raised / raised.sum(-1, keepdims=True)
    share[np.arange(3), LABELS] -= 1
    return (cotangents[0] * share / 3,)


RIGHT = {
    "square": (lambda x: x * x, elementwise(lambda x: 2 * x), (X,)),
    "square at 0": (lambda x: x * x, elementwise(lambda x: 2 * x), (np.zeros(3),)),
    "cube at 0": (lambda x: x**3, elementwise(lambda x: 3 * x * x), (np.zeros(3),)),
    "sin": (np.sin, elementwise(np.cos), (X,)),
    "a hundred": (np.sin, elementwise(np.cos), (LONG,)),
    "offset": (lambda x: 1e8 + np.sin(x), elementwise(np.cos), (X,)),
    "frequency": (lambda x: np.sin(1000 * x), elementwise(lambda x: 1000 * np.cos(1000 * x)), (X,)),
    "linear": (lambda x: 3 * x, elementwise(lambda x: 3 + 0 * x), (X,)),
    "float32 inside": (short_inside, elementwise(np.cos), (X,)),
    "float32 input": (np.sin, elementwise(np.cos), (X.astype(np.float32),)),
    "relu": (relu, elementwise(step), (X,)),
    "tiny": (lambda x: x * x, elementwise(lambda x: 2 * x), (1e-9 * X,)),
    "huge": (lambda x: x * x, elementwise(lambda x: 2 * x), (1e9 * X,)),
    "sin of large": (np.sin, elementwise(np.cos), (1e6 * X,)),
    "matmul": (lambda a, b: a @ b, matmul_vjp, (A, B)),
    "cross entropy": (cross_entropy, cross_entropy_vjp, (A,)),
    "sort": (np.sort, lambda i, o, c: (c[0][np.argsort(np.argsort(i[0]))],), (X,)),
}


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("case", RIGHT)
def test_a_right_gradient_passes(case: str, seed: int) -> None:
    report = taylor_test(*RIGHT[case], seed=seed, directions=2)
    assert report.verdict == "pass", report.reason
    assert report.smallest_error_seen < 1e-2
    assert report.reason == ""


UNSURE = {
    "relu at its kink": (relu, elementwise(step), np.array([1.0, 0.0, -2.0, 3.0])),
    "relu at zeros": (relu, elementwise(step), np.zeros(5)),
    "relu beside its kink": (relu, elementwise(step), np.array([1.0, 1e-9, -2.0, 3.0])),
    "relu within rounding of it": (relu, elementwise(step), np.array([1.0, 1e-12, 1e-5, 3.0])),
    "a tie": (np.max, lambda i, o, c: (c[0] * (np.arange(4) == np.argmax(i[0])),), np.array([1.0, 1.0, 0.0, 0.0])),
    "hidden cancellation": (lambda x: (1e12 + np.sin(x)) - 1e12, elementwise(np.cos), X),
    "change below rounding": (lambda x: 1e16 + np.sin(x), elementwise(np.cos), X),
    "tiny change": (lambda x: 1 - np.cos(x), elementwise(np.sin), np.array([1e-9, 2e-9])),
    "faster than any step": (lambda x: np.sin(1e7 * x), elementwise(lambda x: 1e7 * np.cos(1e7 * x)), 1e7 * X),
    "staircase": (np.floor, elementwise(np.zeros_like), X),
    "fine staircase": (lambda x: np.round(64 * x) / 64, elementwise(np.zeros_like), X),
    "stairs as fine as rounding": (lambda x: np.round(x / 1e-14) * 1e-14, elementwise(np.zeros_like), X),
    "stairs as fine as float32": (lambda x: np.round(x / 1e-7) * 1e-7, elementwise(np.zeros_like), X),
    "a jump": (lambda x: x + (x >= 0), elementwise(np.ones_like), np.array([1.0, 0.0, 2.0])),
    "infinite slope": (lambda x: np.sqrt(np.abs(x)), elementwise(lambda x: np.sign(x) / 2), np.zeros(2)),
}


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("case", UNSURE)
def test_a_right_gradient_where_little_can_be_seen_never_fails(case: str, seed: int) -> None:
    forward, vjp, x = UNSURE[case]
    assert taylor_test(forward, vjp, (x,), seed=seed).verdict != "fail"


def test_a_kink_is_named_and_not_judged() -> None:
    report = taylor_test(relu, elementwise(step), (np.array([1.0, 0.0, -2.0]),))
    assert (report.verdict, report.reason) == ("inconclusive", "x: the slopes on both sides differ: a kink")


def one_wrong(place: int, error: float) -> Any:
    def vjp(inputs: Any, outputs: Any, cotangents: Any) -> Any:
        gradient = cotangents[0] * np.cos(inputs[0])
        gradient[place] *= 1 + error
        return (gradient,)

    return vjp


WRONG = {
    "factor 1 + 1e-6": (np.sin, elementwise(lambda x: np.cos(x) * (1 + 1e-6)), (X,)),
    "factor 1 + 1e-8": (np.sin, elementwise(lambda x: np.cos(x) * (1 + 1e-8)), (X,)),
    "factor, high frequency": (lambda x: np.sin(1000 * x), elementwise(lambda x: 1000.001 * np.cos(1000 * x)), (X,)),
    "sign": (np.sin, elementwise(lambda x: -np.cos(x)), (X,)),
    "one of 100": (np.sin, one_wrong(40, 1e-3), (LONG,)),
    "last of 100": (np.sin, one_wrong(-1, 1e-3), (LONG,)),
    "linear": (lambda x: 3 * x, elementwise(lambda x: 3.00001 + 0 * x), (X,)),
    "constant": (lambda x: 0 * x + 5, elementwise(np.ones_like), (X,)),
    "relu": (relu, elementwise(np.ones_like), (X,)),
    "offset": (lambda x: 1e8 + np.sin(x), elementwise(lambda x: 1.01 * np.cos(x)), (X,)),
    "float32 inside": (short_inside, elementwise(lambda x: 1.01 * np.cos(x)), (X,)),
    "tiny": (np.sin, elementwise(lambda x: 1.001 + 0 * x), (1e-9 * X,)),
    "huge": (lambda x: x * x, elementwise(lambda x: 2.00001 * x), (1e9 * X,)),
    "zero": (np.sin, elementwise(np.zeros_like), (X,)),
    "second input": (lambda a, b: a @ b, lambda i, o, c: (c[0] @ i[1].T, 1.000001 * (i[0].T @ c[0])), (A, B)),
}


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("case", WRONG)
def test_a_wrong_gradient_fails(case: str, seed: int) -> None:
    assert taylor_test(*WRONG[case], seed=seed, directions=2).verdict == "fail"


def test_a_failing_direction_tells_rate_and_relative_error() -> None:
    report = taylor_test(np.sin, elementwise(lambda x: 2 * np.cos(x)), (np.array([0.5]),), directions=1)
    (direction,) = report.directions
    assert direction.expected_rate == 3
    assert direction.rate == pytest.approx(1.0, abs=0.01)
    assert direction.relative_error == pytest.approx(0.5, rel=1e-3)
    assert direction.reason.startswith("slope expected ")
    assert report.reason == f"x: {direction.reason}"
    assert len(direction.steps) == len(direction.remainders)


def test_a_smooth_function_has_rate_3_and_a_linear_one_none() -> None:
    (curved,) = taylor_test(np.sin, elementwise(np.cos), (np.array([0.5]),), directions=1).directions
    (straight,) = taylor_test(lambda x: 2 * x, elementwise(lambda x: 2 + 0 * x), (X,), directions=1).directions
    assert curved.rate == pytest.approx(3.0, abs=0.05)
    assert np.isnan(straight.rate)


def test_at_the_end_of_a_domain_one_side_serves_and_the_rate_is_2() -> None:
    x, bounds = np.array([0.5, 2.0]), {"x": (0.5, None)}
    right = taylor_test(np.sqrt, elementwise(lambda x: 0.5 / np.sqrt(x)), (x,), domain=bounds, names=["x"])
    wrong = taylor_test(np.sqrt, elementwise(lambda x: 0.501 / np.sqrt(x)), (x,), domain=bounds, names=["x"])
    assert (right.verdict, wrong.verdict) == ("pass", "fail")
    assert {direction.expected_rate for direction in right.directions} == {2}
    assert right.directions[0].rate == pytest.approx(2.0, abs=0.1)


def test_each_input_moves_alone_and_then_all_together() -> None:
    report = taylor_test(lambda a, b: a @ b, matmul_vjp, (A, B), directions=2)
    assert [direction.input for direction in report.directions] == ["a", "b", "all"] * 2


def test_inputs_that_are_not_differentiated_stay() -> None:
    def scaled(x: Any, factor: Any) -> Any:
        return x * factor

    report = taylor_test(scaled, lambda i, o, c: (c[0] * i[1], None), (X, X + 2), nondifferentiable=["factor"])
    assert report.verdict == "pass"
    assert {direction.input for direction in report.directions} == {"x"}


def test_none_counts_as_zeros() -> None:
    report = taylor_test(lambda a, b: a * b, lambda i, o, c: (c[0] * i[1], None), (X, X + 2))
    assert report.verdict == "fail"
    assert report.reason.startswith("b: ")


def test_equal_seeds_give_equal_reports() -> None:
    first, second = (taylor_test(np.sin, elementwise(np.cos), (X,), seed=9) for _ in range(2))
    assert first == second


def test_a_gradient_that_is_not_finite_is_not_judged() -> None:
    report = taylor_test(np.sqrt, elementwise(lambda x: 0.5 / np.sqrt(x)), (np.array([0.0, 1.0]),), domain=[(0, None)])
    assert (report.verdict, report.reason) == ("inconclusive", "x: vjp gives a value that is not finite")


def raising(inputs: Any, outputs: Any, cotangents: Any) -> Any:
    raise KeyError("weight")


@pytest.mark.parametrize(
    ("vjp", "reason"),
    [
        (raising, "vjp: expected gradients, got KeyError: 'weight'"),
        (lambda i, o, c: (), "vjp: expected 1 gradients, got 0; return one per input"),
        (
            lambda i, o, c: (np.zeros(3),),
            "gradient of 'x': expected shape (7,), got (3,); return the shape of the input",
        ),
    ],
)
def test_a_vjp_that_gives_no_gradients_fails(vjp: Any, reason: str) -> None:
    report = taylor_test(np.sin, vjp, (X,), names=["x"])
    assert (report.verdict, report.reason) == ("fail", reason)


def test_arguments_of_another_form_are_refused() -> None:
    with pytest.raises(gradcheck.UsageError, match="directions: expected an integer >= 1, got 0; leave it out"):
        taylor_test(np.sin, elementwise(np.cos), (X,), directions=0)
    with pytest.raises(gradcheck.UsageError, match="seed: expected an integer >= 0, got -1; pass any such number"):
        taylor_test(np.sin, elementwise(np.cos), (X,), seed=-1)
    with pytest.raises(gradcheck.UsageError, match="forward: expected it to accept the given inputs, got KeyError"):
        taylor_test(raising, elementwise(np.cos), (X, X, X))


STEPS = 2.0 ** -np.arange(3.0, 44.0, 2.0)
NOISE = np.full(STEPS.size, 1e-15)


@pytest.mark.parametrize(
    ("remainders", "verdict", "rate"),
    [
        (STEPS**3, "pass", 3.0),
        (STEPS**2, "pass", 2.0),
        (1e-3 * STEPS, "fail", 1.0),
        (STEPS**3 + 1e-6 * STEPS, "fail", 1.0),
        (0 * STEPS, "pass", np.nan),
        (STEPS**1.2, "inconclusive", 1.2),
        (np.where(STEPS > 1e-6, STEPS / 2, 0.0), "pass", 1.0),
    ],
)
def test_the_rate_of_made_up_remainders(remainders: Any, verdict: str, rate: float) -> None:
    found = read_rate(STEPS, remainders, NOISE, 2, 1e-12, 1.0)
    assert found.verdict == verdict
    assert found.order == pytest.approx(rate, abs=0.05, nan_ok=True)


def test_remainders_that_are_not_finite_at_most_steps_are_not_judged() -> None:
    found = read_rate(STEPS, np.where(STEPS > 1e-11, np.nan, STEPS), NOISE, 2, 1e-12, 1.0)
    assert (found.verdict, found.reason) == ("inconclusive", "the outputs are not finite beside the inputs")
