from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gradcheck
from gradcheck.judge.complex_step import Analytic, NotAnalytic

X = np.random.default_rng(1).normal(size=24)
MIXED = np.concatenate([X, [1e-9, -2e-9, 3e-12]])
NOTE = "elements judged by the complex step"


def elementwise(derivative: Any) -> Any:
    return lambda inputs, outputs, cotangents: (cotangents[0] * derivative(inputs[0]),)


def growth(x: Any) -> Any:
    return np.exp(x) - 1 - x


def used(report: gradcheck.Report) -> bool:
    return any(NOTE in note for note in report.coverage.notes)


def test_a_right_derivative_that_cancellation_hides_is_judged() -> None:
    report = gradcheck.check(growth, elementwise(np.expm1), (MIXED,), vary=False)
    assert (report.verdict, report.coverage.inconclusive) == ("pass", ())
    assert report.coverage.notes == (f"gradient of 'x', at the given inputs: 3 {NOTE}",)


def test_a_fault_that_cancellation_hides_is_found() -> None:
    def derivative(x: Any) -> Any:
        return np.where(np.abs(x) < 1e-6, 3.0, np.expm1(x))

    def small_fault(x: Any) -> Any:
        return np.where(np.abs(x) < 1e-6, 1e-4 + np.expm1(x), np.expm1(x))

    for wrong in (derivative, small_fault):
        assert gradcheck.check(growth, elementwise(wrong), (MIXED,), vary=False).verdict == "fail"


def test_a_function_without_doubt_is_never_called_with_such_an_array() -> None:
    met = []

    def forward(x: Any) -> Any:
        met.append(type(x))
        return np.sin(x)

    assert gradcheck.check(forward, elementwise(np.cos), (X,)).verdict == "pass"
    assert set(met) == {np.ndarray}


REFUSED = {
    "abs": lambda x: np.exp(x) - 1 - x + 0 * np.abs(x),
    "builtin abs": lambda x: np.exp(x) - 1 - x + 0 * abs(x),
    "real": lambda x: np.exp(x) - 1 - np.real(x),
    "asarray": lambda x: np.exp(np.asarray(x)) - 1 - x,
    "array": lambda x: np.exp(np.array(x)) - 1 - x,
    "astype": lambda x: np.exp(x) - 1 - x.astype(np.float64),
    "sign": lambda x: np.exp(x) - 1 - x + 0 * np.sign(x),
    "hypot": lambda x: np.exp(x) - 1 - x + 0 * np.hypot(x, 1.0),
    "floor": lambda x: np.exp(x) - 1 - x + 0 * np.floor(x),
    "norm": lambda x: np.exp(x) - 1 - x + 0 * np.linalg.norm(x),
    "conjugate": lambda x: np.exp(x) - 1 - x + 0 * np.conjugate(x),
    "out of real zeros": lambda x: np.exp(x) - 1 - np.add(np.zeros(x.shape), x, out=np.zeros(x.shape)),
}


@pytest.mark.parametrize("name", REFUSED)
def test_a_function_that_may_drop_the_imaginary_part_is_not_judged_so(name: str) -> None:
    report = gradcheck.check(REFUSED[name], elementwise(np.expm1), (MIXED,), vary=False)
    assert report.verdict == "pass"
    assert not used(report)


RIGHT = {
    "1 - cos": (lambda x: 1 - np.cos(x), np.sin),
    "log": (lambda x: np.log(1 + x * x), lambda x: 2 * x / (1 + x * x)),
    "log near 1": (lambda x: np.log(1 + np.exp(x)) - np.log(2.0), lambda x: 1 / (1 + np.exp(-x))),
    "sqrt - x": (lambda x: np.sqrt(x * x + 1) - x, lambda x: x / np.sqrt(x * x + 1) - 1),
    "branches": (
        lambda x: np.where(x > 0, np.exp(x) - 1 - x, np.abs(x) * 1e-20),
        lambda x: np.where(x > 0, np.expm1(x), 1e-20 * np.sign(x)),
    ),
    "maximum": (lambda x: np.maximum(np.exp(x) - 1 - x, 0), np.expm1),
    "sigmoid": (lambda x: 1 / (1 + np.exp(-40 * x)), lambda x: 10 / np.cosh(np.clip(20 * x, -700, 700)) ** 2),
    "tanh by its output": (lambda x: np.tanh(20 * x), lambda x: 20 * (1 - np.tanh(20 * x) ** 2)),
    "power": (lambda x: x**2.0 + x**3 - x * x, lambda x: 3 * x * x),
    "offset": (lambda x: 1e11 + np.sin(x), np.cos),
}


@pytest.mark.parametrize("scale", [1.0, 1e-6, 1e4])
@pytest.mark.parametrize("name", RIGHT)
def test_a_right_derivative_never_fails(name: str, scale: float) -> None:
    forward, derivative = RIGHT[name]
    report = gradcheck.check(forward, elementwise(derivative), (scale * MIXED,), vary=False)
    assert report.verdict != "fail", gradcheck.render_text(report)


def carried(x: float = 2.0) -> Analytic:
    return Analytic(np.array([x + 1e-20j, 1 + 0j]), [0.0])


@pytest.mark.parametrize(
    ("function", "derivative"),
    [
        (lambda x: x[0] * x[1] ** 2, 1.0),
        (lambda x: np.sqrt(np.sum(x * x)), 2 / np.sqrt(5.0)),
        (lambda x: np.where(x > 1.5, x * x, -x).sum(), 4.0),
        (lambda x: np.stack([x, 3 * x]).T.reshape(-1).max(), 3.0),
        (lambda x: np.concatenate([x, x]) @ np.array([1.0, 5.0, 7.0, 11.0]), 8.0),
        (lambda x: next(iter(x)) / 4, 0.25),
        (lambda x: np.exp(x - x.max()).sum(), -np.exp(-1.0)),
    ],
)
def test_the_imaginary_part_carries_the_derivative(function: Any, derivative: float) -> None:
    result = function(carried())
    assert float(result.parts.imag) / 1e-20 == pytest.approx(derivative, rel=1e-14)


def test_values_assigned_to_elements_keep_their_imaginary_part() -> None:
    x = carried()
    y = np.zeros_like(x)
    y[1] = x[0] * 3
    assert y.parts[1].real == 6
    assert y.parts[1].imag == pytest.approx(3e-20)
    assert len(y) == 2


@pytest.mark.parametrize(
    "function", [np.abs, np.real, np.asarray, np.linalg.norm, np.sign, np.rint, lambda x: np.vdot(x, x), bool, np.round]
)
def test_what_is_not_analytic_raises(function: Any) -> None:
    with pytest.raises(NotAnalytic):
        function(carried())


@pytest.mark.parametrize("name", ["real", "imag", "conj", "astype", "view", "item", "tolist", "flat"])
def test_attributes_that_might_drop_a_part_do_not_exist(name: str) -> None:
    with pytest.raises(AttributeError, match=name):
        getattr(carried(), name)
