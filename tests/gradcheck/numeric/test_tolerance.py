"""What is conceded to a small element beside a large one: the digits that the large one may have left in it."""

import numpy as np
import pytest

import gradcheck

FACTORS = np.array([1e10, 1.0, 2.0])
X = np.array([0.3, 0.5, 0.7])


def scaled(x):
    return FACTORS * x


def summed(x):
    return np.sum(1e-2 * FACTORS * np.sin(x))


@pytest.mark.parametrize("fault", [0.0, 0.9, 1.1])
def test_a_small_element_beside_one_of_1e10_is_judged_by_itself(fault):
    report = gradcheck.check(scaled, lambda i, o, c: (c[0] * FACTORS * [1.0, fault, 1.0],), [X], names=["x"])
    assert report.verdict == "fail"
    assert report.findings[0].index == (1,)


def test_a_small_element_of_a_sum_is_judged_by_what_the_sum_lets_be_seen():
    def wrong(i, o, c):
        return (c[0] * 1e-2 * FACTORS * np.cos(i[0]) * [1.0, 1.5, 1.0],)

    report = gradcheck.check(summed, wrong, [X], names=["x"])
    assert report.verdict == "fail"
    assert report.findings[0].index == (1,)


@pytest.mark.parametrize("seed", range(3))
def test_right_gradients_of_every_size_pass(seed):
    def softmax(x):
        e = np.exp(x - x.max())
        return e / e.sum()

    def softmax_vjp(i, o, c):
        return (o[0] * (c[0] - np.sum(c[0] * o[0])),)

    def solve(a, b):
        return np.linalg.solve(a, b)

    def solve_vjp(i, o, c):
        db = np.linalg.solve(i[0].T, c[0])
        return -np.outer(db, o[0]), db

    logits = np.array([0.0, -8.0, -16.0, -24.0])
    badly_scaled = np.diag([1.0, 1e-4, 1e-8]) + 1e-9
    assert gradcheck.check(scaled, lambda i, o, c: (c[0] * FACTORS,), [X], seed=seed).verdict == "pass"
    assert gradcheck.check(softmax, softmax_vjp, [logits], seed=seed).verdict == "pass"
    assert gradcheck.check(solve, solve_vjp, [badly_scaled, np.ones(3)], seed=seed, vary=False).verdict == "pass"
