from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from gradcheck import check

X = np.array([[0.3, -1.2, 2.0, 0.9], [1.1, -0.4, 0.7, -0.2], [0.5, 1.3, -0.8, 0.1], [-1.6, 0.6, 1.9, -0.7]])


def test_a_gradient_is_called_zero_everywhere_only_where_many_elements_show_it() -> None:
    x = np.random.default_rng(5).normal(size=41)

    def of_few(count: int) -> str | None:
        def forward(x: Any) -> Any:
            return np.sin(x[[0, -1][:count]].sum() + 0 * x.sum()) * np.ones(2)  # the ends are always tested

        def vjp(inputs: Any, outputs: Any, cotangents: Any) -> Any:
            return (np.zeros(41),)

        (finding,) = check(forward, vjp, (x,), budget=400, vary=False).findings
        assert "tested, of 41" in finding.message
        return finding.cause

    assert of_few(1) is None
    assert of_few(2) == "yours is zero everywhere; the gradient is never computed"


def zero_last(inputs: Any, outputs: Any, cotangents: Any) -> Any:
    gradient = cotangents[0] * np.cos(inputs[0])
    gradient.flat[-2:] = 0
    return (gradient,)


@pytest.mark.parametrize(
    ("forward", "vjp", "inputs", "cause"),
    [
        (np.sin, lambda i, o, c: (3 * c[0] * np.cos(i[0]),), (X,), "yours is 3 times the derivative everywhere"),
        (np.sin, lambda i, o, c: (-c[0] * np.cos(i[0]),), (X,), "yours has the opposite sign everywhere"),
        (np.sin, lambda i, o, c: (0 * c[0],), (X,), "yours is zero everywhere; the gradient is never computed"),
        (np.sin, lambda i, o, c: (np.nan * c[0],), (X,), "yours is not finite there"),
        (
            lambda x: x.mean(),
            lambda i, o, c: (np.full(i[0].shape, c[0]),),
            (X,),
            "yours is 16 times too large everywhere: a sum where a mean is meant does this",
        ),
        (
            lambda x, b: x + b,
            lambda i, o, c: (c[0] + 0, c[0].mean(0)),
            (X, X[0].copy()),
            "yours is 4 times too small everywhere: a mean where a sum is meant does this",
        ),
        (
            lambda a, b: a @ b,
            lambda i, o, c: (i[1] @ c[0].T + 0, i[0].T @ c[0]),
            (X, X[::-1].copy()),
            "yours is the transpose of the derivative",
        ),
        (
            lambda a, b: a * b,
            lambda i, o, c: (c[0] * i[0], c[0] * i[0]),
            (X, X + 1),
            "yours is the gradient of 'b'",
        ),
        (np.square, lambda i, o, c: (2 * c[0] * np.abs(i[0]),), (X,), "wrong exactly where x1 < 0"),
        (np.sin, lambda i, o, c: (np.cos(i[0]),), (X,), "yours does not change with the cotangent; multiply by it"),
        (np.sin, lambda i, o, c: (abs(c[0]) * np.cos(i[0]),), (X,), "wrong exactly where the cotangent is negative"),
        (np.sin, zero_last, (X,), "only the last 2 elements are wrong"),
        (
            np.exp,
            lambda i, o, c: (c[0] * np.exp(i[0].astype(np.float32)).astype(np.float64),),
            (X,),
            "yours differs by float32's rounding: the backward computes in float32 somewhere",
        ),
    ],
)
def test_a_pattern_is_named(forward: Any, vjp: Any, inputs: Any, cause: str) -> None:
    names = ["x1"] if len(inputs) == 1 else None
    findings = check(forward, vjp, inputs, names=names, vary=False).findings
    value = next(finding for finding in findings if finding.check == "vjp value")
    assert value.cause is not None
    assert value.cause.startswith(cause)


def test_a_fault_without_a_pattern_has_no_cause() -> None:
    findings = check(np.sin, lambda i, o, c: (c[0] * np.cosh(i[0]),), (X,)).findings
    assert findings[0].cause is None


def test_a_fault_that_only_other_values_show_is_said_to_be_one() -> None:
    chosen = np.array([True, False, False, True, True, False])

    def beyond_two(i: Any, o: Any, c: Any) -> Any:
        return (c[0] * np.where((np.abs(i[0]) > 2) & chosen, np.sin(3 * i[0]), np.cos(i[0])),)

    x = np.array([0.8, -1.2, 0.7, 1.1, -0.9, 1.0])
    (finding,) = check(np.sin, beyond_two, (x,)).findings
    assert finding.cause == "right at the given values, wrong at others"


def test_one_contribution_of_several_is_named_with_the_index_that_repeats_though_not_all_were_tested() -> None:
    x, index = np.linspace(-1.0, 1.0, 30).reshape(2, 3, 5), np.array([[0, 4, 4], [2, 2, 2]])
    place = np.arange(2)[:, None, None], np.arange(3)[None, :, None]

    def assign(i: Any, o: Any, c: Any) -> Any:
        gradient = np.zeros_like(i[0])
        gradient[(*place, i[1][:, None, :])] = c[0]
        return gradient, None

    def take(x: Any, index: Any) -> Any:
        return x[(*place, index[:, None, :])]

    for budget in (None, 1500):
        (value,) = check(take, assign, (x, index), vary=False, budget=budget).findings
        assert value.cause == (
            "wrong where 'index' repeats: yours is the contribution of the last output alone; '=' where '+=' is meant "
            "does this"
        )


def test_a_side_of_zero_is_named_where_all_elements_were_judged_and_not_where_few_of_many_suggest_it() -> None:
    def mixed(x: Any) -> Any:
        return np.sin(x) * np.roll(x, 1)

    def vjp(i: Any, o: Any, c: Any) -> Any:
        gradient = c[0] * np.cos(i[0]) * np.roll(i[0], 1) + np.roll(c[0] * np.sin(i[0]), -1)
        return (gradient + np.where(i[0] < 0, np.tanh(i[0]) * c[0], 0),)

    rng = np.random.default_rng(0)
    x = rng.uniform(0.2, 2, 24) * np.where(rng.random(24) < 0.5, -1, 1)
    (of_all,) = check(mixed, vjp, (x[:8],), vary=False).findings
    assert of_all.cause == "wrong exactly where x < 0"
    (of_few,) = check(mixed, vjp, (x,), vary=False, budget=400).findings
    assert "elements tested, of 24" in of_few.message
    assert "exactly" not in (of_few.cause or "")


def test_the_end_of_the_tested_elements_is_not_the_end_of_all() -> None:
    x = np.linspace(0.2, 2.0, 48)

    def mixed(x: Any) -> Any:
        return np.sin(x) * np.roll(x, 1)

    def vjp(i: Any, o: Any, c: Any) -> Any:
        gradient = c[0] * np.cos(i[0]) * np.roll(i[0], 1) + np.roll(c[0] * np.sin(i[0]), -1)
        return (gradient + np.where(np.arange(48) % 6 == 5, np.tanh(i[0]) * c[0], 0),)

    findings = check(mixed, vjp, (x,), vary=False, budget=200).findings
    assert all("elements are wrong" not in (one.cause or "") for one in findings)


def test_a_factor_of_nearly_one_that_grows_with_the_element_is_neither_its_sign_nor_a_constant() -> None:
    e = np.array([0.7, 1.5, 2.9, 2.2])
    (value,) = check(np.square, lambda i, o, c: (2 * c[0] * i[0] * (1 + 1e-8 * i[0]),), (e,), vary=False).findings
    assert value.cause is None
