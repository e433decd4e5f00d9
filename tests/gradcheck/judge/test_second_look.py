from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gradcheck
from gradcheck import check
from gradcheck.judge.second_look import jittered
from gradcheck.model.evaluation import GIVEN, Point
from gradcheck.model.protocol import build_subject
from tests.gradcheck.right_ops import PAIRS

EDGE = np.array([0.0, 0.25, 1.0])


def clip_squared(p: Any) -> Any:
    return np.clip(p, 0.0, 1.0) ** 2


@pytest.mark.parametrize("at_the_edge", [0.0, 1.0, 2.0])
def test_any_convention_at_a_bound_of_the_domain_is_right(at_the_edge: float) -> None:
    def vjp(i: Any, o: Any, c: Any) -> Any:
        (p,) = i
        return (c[0] * np.where(p < 1.0, 2.0 * p, at_the_edge),)

    report = gradcheck.check(clip_squared, vjp, (EDGE,), domain=(0, 1))
    assert report.verdict == "pass", gradcheck.render_text(report)


@pytest.mark.parametrize("factor", [2.0, 1.0 + 1e-6])
def test_a_gradient_that_is_wrong_beside_the_edge_too_is_found_there(factor: float) -> None:
    report = gradcheck.check(
        clip_squared, lambda i, o, c: (factor * c[0] * 2.0 * i[0],), (np.array([1.0]),), domain=(0, 1), vary=False
    )
    assert report.verdict == "fail"


def test_a_gradient_that_is_not_finite_at_the_edge_is_found() -> None:
    def vjp(i: Any, o: Any, c: Any) -> Any:
        return (c[0] * 2.0 * i[0] ** 3 / i[0] ** 2,)

    report = gradcheck.check(lambda x: x * x, vjp, (np.array([0.0, 1.0]),), domain=(0, None), vary=False)
    assert report.findings[0].cause == "yours is not finite there"


def sort_vjp(inputs: Any, outputs: Any, cotangents: Any) -> Any:
    gradient = np.zeros_like(inputs[0])
    gradient[np.argsort(inputs[0], kind="stable")] = cotangents[0]
    return (gradient,)


def test_a_stable_sort_of_three_equal_values_is_right() -> None:
    for seed in range(5):
        report = check(np.sort, sort_vjp, (np.array([1.0, 1.0, 1.0, 3.0]),), seed=seed)
        assert report.verdict == "pass"


def test_a_sort_that_doubles_the_middle_one_is_wrong() -> None:
    def doubled(inputs: Any, outputs: Any, cotangents: Any) -> Any:
        (gradient,) = sort_vjp(inputs, outputs, cotangents)
        gradient[1] *= 2
        return (gradient,)

    assert check(np.sort, doubled, (np.array([1.0, 1.0, 1.0, 3.0]),)).verdict == "fail"


def _inverse_vjp(i: Any, o: Any, c: Any) -> Any:
    y = np.linalg.inv(i[0])
    return (-y.T @ c[0] @ y.T,)


def _mish(x: Any) -> Any:
    return x * np.tanh(np.log(1 + np.exp(x)))


def _mish_vjp(i: Any, o: Any, c: Any) -> Any:
    x, soft = i[0], np.logaddexp(i[0], 0)
    return (c[0] * (np.tanh(soft) + x / (1 + np.exp(-x)) / np.cosh(soft) ** 2),)


def _nearly_singular() -> Any:
    a = np.array([[4.0, 1.0, 2.0], [1.0, 3.0, 0.5], [5.0, 4.0, 2.5]])  # the last row is the sum of the others
    a[2, 2] += 4e-15
    return a


X = np.random.default_rng(3).normal(size=(3, 4))


@pytest.mark.parametrize("seed", range(4))
def test_next_to_a_singular_matrix_a_right_gradient_is_not_blamed(seed: int) -> None:
    report = gradcheck.check(np.linalg.inv, _inverse_vjp, (_nearly_singular(),), seed=seed, vary=False)
    assert report.verdict != "fail"


@pytest.mark.parametrize("x", [-34.15893182151904, -33.0, -35.5, -36.2])
def test_between_two_roundings_on_the_way_a_right_gradient_is_not_blamed(x: float) -> None:
    assert gradcheck.check(_mish, _mish_vjp, (np.array([x]),), vary=False).verdict != "fail"


@pytest.mark.parametrize("offset", [1e9, 1e10, 1e11])
def test_a_large_number_added_and_taken_away_again_hides_no_fault_and_blames_no_right_one(offset: float) -> None:
    def forward(x: Any) -> Any:
        return (offset + np.sin(x)) - offset

    assert gradcheck.check(forward, lambda i, o, c: (c[0] * np.cos(i[0]),), (X,)).verdict != "fail"
    assert gradcheck.check(forward, lambda i, o, c: (1.5 * c[0] * np.cos(i[0]),), (X,)).verdict == "fail"


@pytest.mark.parametrize("levels", [1, 16, 128, 1024, 100, 3])
def test_a_quantiser_has_gradient_zero_and_not_that_of_the_identity(levels: int) -> None:
    def forward(x: Any) -> Any:
        return np.round(x * levels) / levels

    assert gradcheck.check(forward, lambda i, o, c: (0 * c[0],), (X,)).verdict == "pass"
    assert gradcheck.check(forward, lambda i, o, c: (c[0],), (X,)).verdict == "fail"


@pytest.mark.parametrize("factor", [0.5, 1.5, -1.0, 1 + 1e-6])
def test_a_wrong_gradient_of_a_tiny_function_is_not_excused(factor: float) -> None:
    report = gradcheck.check(np.sin, lambda i, o, c: (factor * c[0] * np.cos(i[0]),), (X * 1e-150,), vary=False)
    assert report.verdict == "fail"


def _near(x: Any) -> Any:
    return 1.0 / (x[:1] - x[2:] + 1e-16)


def _near_vjp(i: Any, o: Any, c: Any) -> Any:
    if i[0][0] == i[0][2]:
        raise np.linalg.LinAlgError("Singular matrix")
    slope = -c[0][0] * o[0][0] ** 2
    return (np.array([slope, 0.0, -slope]),)


def test_a_vjp_that_refuses_a_matrix_which_is_singular_but_for_rounding_is_noted_at_varied_values() -> None:
    report = gradcheck.check(_near, _near_vjp, (np.array([0.3, -1.2, 2.0]),), seed=4)  # draws 0.3 twice
    assert report.verdict == "pass"
    assert any("a rounding of the inputs moves forward far" in note for note in report.coverage.notes)


def test_a_vjp_that_refuses_ordinary_varied_values_is_blamed() -> None:
    def refuses(i: Any, o: Any, c: Any) -> Any:
        if (i[0] > 3).any():
            raise ValueError("too large")
        return (c[0] * np.cos(i[0]),)

    report = gradcheck.check(np.sin, refuses, (X,))
    assert report.findings[0].check == "vjp raises"


def test_a_derivative_that_underflows_on_the_way_may_be_zero() -> None:
    def vjp(i: Any, o: Any, c: Any) -> Any:
        return (c[0] * (np.exp(-i[0]) * 1e-20) * -1e20,)  # 1e-304 times 1e-20 is nothing

    x = np.array([700.0, 699.5, 1.0])
    assert gradcheck.check(lambda x: np.exp(-x), vjp, (x,), vary=False).verdict == "pass"


@pytest.mark.parametrize("seed", range(5))
def test_a_look_around_moves_every_element(seed: int) -> None:
    x = 1.0 + np.arange(200.0)
    point = Point(build_subject(np.sin, lambda i, o, c: c, None, (x,), None, None, (), ()), (x,), GIVEN)
    (near,) = jittered(point, np.random.default_rng(seed))
    assert isinstance(near, np.ndarray)
    assert (near != x).all()
    assert (np.abs(near - x) <= 4 * np.spacing(x)).all()


def deviation_vjp(i: Any, o: Any, c: Any) -> Any:
    (x,), (s,) = i, o
    return (c[0] * (x - x.mean()) / (x.size * s),)


def test_a_deviation_of_equal_numbers_is_no_fault_unless_they_were_given() -> None:
    assert gradcheck.check(np.std, deviation_vjp, (np.array([1.0, 4.0, 2.5]),), names=["x"]).verdict == "pass"
    assert gradcheck.check(np.std, deviation_vjp, (np.array([2.0, 2.0]),), names=["x"]).verdict == "fail"


def test_what_overflows_at_large_values_stays_a_fault() -> None:
    def vjp(i: Any, o: Any, c: Any) -> Any:
        return (c[0] * np.exp(i[0]) / (1.0 + np.exp(i[0])),)

    report = gradcheck.check(lambda x: np.logaddexp(0.0, x), vjp, (np.array([300.0, 400.0, -200.0]),))
    assert report.verdict == "fail"
    assert report.findings[0].cause == "yours is not finite there"


def test_ties_that_are_counted_twice_are_still_found() -> None:
    def vjp(i: Any, o: Any, c: Any) -> Any:
        return (c[0] * (i[0] == o[0]),)

    report = gradcheck.check(np.max, vjp, (np.array([1.0, 3.0, 3.0]),), names=["x"], vary=False)
    assert report.findings[0].message.startswith("gradient of 'x': wrong when all 3 elements move together")


def test_a_gradient_that_is_nan_at_a_zero_is_found_unless_zeros_are_none_of_its_values() -> None:
    x = np.array([1.3, -0.9, 0.7, 1.1, -1.6, 0.8])
    by_root = lambda i, o, c: (c[0] * 2 * o[0] / i[0],)  # noqa: E731
    (finding,) = gradcheck.check(np.square, by_root, (x,), names=["x"]).findings
    assert finding.check == "vjp value"
    assert finding.analytic is not None and np.isnan(finding.analytic)
    assert gradcheck.check(np.square, by_root, (x,), vary=("values", "sizes")).verdict == "pass"


def test_nothing_is_wrong_where_repeated_values_made_a_system_singular() -> None:
    case = PAIRS["linear solve"]
    assert gradcheck.check(*case, seed=70).verdict == "pass"  # at that seed two rows became equal, but for rounding


def _square_of_a_share(x: Any) -> Any:
    if (x < 0).any() or (x > 1).any():
        raise ValueError("a share lies in [0, 1]")
    return x**2


@pytest.mark.parametrize("seed", range(4))
def test_a_fault_at_the_end_of_the_domain_is_no_chance_where_forward_refuses_what_lies_beyond(seed: int) -> None:
    def wrong_at_the_end(i: Any, o: Any, c: Any) -> Any:
        return (2 * c[0] * i[0] * np.where(i[0] > 0.95, 1.5, 1.0),)

    shares = np.array([0.1, 0.3, 0.55])
    report = gradcheck.check(_square_of_a_share, wrong_at_the_end, (shares,), domain=(0, 1), seed=seed)
    assert report.verdict == "fail"


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("factor", [1.0, 2.0])
def test_a_vjp_that_takes_float32_alone_is_judged_beside_a_tie_of_three(seed: int, factor: float) -> None:
    def vjp(i: Any, o: Any, c: Any) -> Any:
        if i[0].dtype != np.float32:
            raise TypeError(i[0].dtype)
        gradient = np.zeros_like(i[0])
        gradient[np.argsort(i[0], kind="stable")] = c[0]
        gradient[1] *= np.float32(factor)
        return (gradient,)

    x = np.array([0.7, 0.7, 0.7, 3.0], np.float32)
    report = gradcheck.check(np.sort, vjp, (x,), names=["x"], vary=False, seed=seed)
    assert report.verdict == ("pass" if factor == 1.0 else "fail"), gradcheck.render_text(report)
