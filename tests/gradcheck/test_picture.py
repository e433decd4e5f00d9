"""Pictures of wrong gradients against Jacobians known by hand."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
import pytest

from gradcheck import Finding, check, to_json
from gradcheck.explain.depict import choose, entry_status
from gradcheck.judge.outcome import Status
from gradcheck.picture import JacobianMap, Picture

MATRIX = np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])  # forward: x -> MATRIX @ x


def picture_of(forward: Any, vjp: Any, inputs: tuple[object, ...], **options: Any) -> Picture:
    finding = finding_of(forward, vjp, inputs, **options)
    assert finding.picture is not None
    return finding.picture


def finding_of(forward: Any, vjp: Any, inputs: tuple[object, ...], **options: Any) -> Finding:
    report = check(forward, vjp, inputs, vary=False, **options)
    assert report.verdict == "fail"
    return next(finding for finding in report.findings if finding.check in ("vjp value", "gradient missing"))


def dense(jacobian: JacobianMap, values: tuple[float, ...]) -> np.ndarray:
    spread = np.zeros((len(jacobian.outputs), len(jacobian.elements)))
    spread[list(jacobian.row), list(jacobian.column)] = values
    return spread


def linear(x: np.ndarray) -> np.ndarray:
    return MATRIX @ x


def doubled_in_one_entry(inputs: Any, outputs: Any, cotangents: Any) -> Any:
    wrong = MATRIX.copy()
    wrong[1, 2] = 12.0
    return (cotangents[0] @ wrong,)


def test_the_jacobian_map_holds_the_measured_entries_and_the_error_of_the_wrong_one() -> None:
    jacobian = picture_of(linear, doubled_in_one_entry, (np.array([0.5, -1.0, 2.0]),)).jacobian
    assert jacobian is not None
    assert (jacobian.outputs, jacobian.elements, jacobian.output_shapes) == ((0, 1), (0, 1, 2), ((2,),))
    np.testing.assert_allclose(dense(jacobian, jacobian.numeric), MATRIX, rtol=1e-6)
    np.testing.assert_allclose(dense(jacobian, jacobian.error), [[0, 0, 0], [0, 0, 6.0]], atol=1e-8)
    wrong = [(r, c) for r, c, s in zip(jacobian.row, jacobian.column, jacobian.status, strict=True) if s == "wrong"]
    assert wrong == [(1, 2)]
    assert jacobian.status.count("right") == 5


def test_the_gradient_map_holds_both_gradients_for_the_cotangent_of_ones() -> None:
    gradient = picture_of(linear, doubled_in_one_entry, (np.array([0.5, -1.0, 2.0]),)).gradient
    assert (gradient.shape, gradient.cotangent, gradient.elements) == ((3,), "ones", (0, 1, 2))
    np.testing.assert_allclose(gradient.analytic, [5.0, 7.0, 15.0], rtol=1e-12)
    np.testing.assert_allclose(gradient.numeric, [5.0, 7.0, 9.0], rtol=1e-9)
    assert gradient.status == ("right", "right", "wrong")
    assert gradient.worst == 2


def test_an_elementwise_jacobian_is_stored_as_its_diagonal() -> None:
    x = np.linspace(0.5, 2.0, 6).reshape(2, 3)
    jacobian = picture_of(lambda x: x**2, lambda i, o, c: (3 * i[0] * c[0],), (x,)).jacobian
    assert jacobian is not None
    assert jacobian.row == jacobian.column == tuple(range(6))
    np.testing.assert_allclose(jacobian.numeric, 2 * x.ravel(), rtol=1e-6)
    np.testing.assert_allclose(jacobian.error, x.ravel(), rtol=1e-6)


def test_a_small_factor_is_kept_in_the_errors() -> None:
    x = np.array([0.5, 1.0, 1.5])
    picture = picture_of(np.exp, lambda i, o, c: (c[0] * o[0] * (1 + 1e-6),), (x,))
    assert picture.jacobian is not None
    np.testing.assert_allclose(picture.jacobian.error, 1e-6 * np.exp(x), rtol=1e-4)
    errors = np.subtract(picture.gradient.analytic, picture.gradient.numeric)
    np.testing.assert_allclose(errors, 1e-6 * np.exp(x), rtol=1e-4)


def test_the_step_curve_levels_off_at_the_error_and_settles_on_the_derivative() -> None:
    curve = picture_of(np.sin, lambda i, o, c: (c[0] * (np.cos(i[0]) + 0.01),), (np.array([1.0]),)).curve
    assert curve is not None
    assert curve.kind == "central"
    assert list(curve.steps) == sorted(curve.steps, reverse=True)
    for step, distance in zip(curve.steps[:4], curve.to_numeric, strict=False):  # cos(1) h^2 / 6 is left at step h
        assert distance == pytest.approx(math.cos(1.0) * step**2 / 6, rel=0.05)
    middle = len(curve.steps) // 2
    assert curve.to_analytic[middle] == pytest.approx(0.01, rel=1e-6)
    assert min(curve.to_numeric) < 1e-10


def test_a_bound_of_the_domain_leaves_a_one_sided_curve() -> None:
    curve = picture_of(
        lambda x: x**1.5, lambda i, o, c: (c[0] * (1.5 * i[0] ** 0.5 + 1),), (np.array([1.0]),), domain=[(1, None)]
    ).curve
    assert curve is not None
    assert curve.kind == "one-sided"
    assert curve.to_analytic[6] == pytest.approx(1.0, rel=1e-3)


def test_a_gradient_that_is_not_finite_has_no_curve() -> None:
    picture = picture_of(np.sin, lambda i, o, c: (c[0] * np.nan,), (np.ones(3),))
    assert picture.curve is None
    assert picture.gradient.status == ("wrong",) * 3


def test_a_missing_gradient_is_drawn_as_zeros() -> None:
    picture = picture_of(lambda x: 2 * x, lambda i, o, c: (None,), (np.array([1.0, 2.0]),))
    assert picture.gradient.analytic == (0.0, 0.0)
    assert picture.jacobian is not None
    np.testing.assert_allclose(picture.jacobian.error, [-2.0, -2.0], rtol=1e-6)


def test_the_cotangent_that_shows_most_is_drawn() -> None:
    x = np.arange(1.0, 9.0)  # y[j] = x[j] + x[j + 1]; shifted by one, ones hide what is wrong inside

    def vjp(inputs: Any, outputs: Any, cotangents: Any) -> Any:
        right = np.zeros(8)
        right[:-1] += cotangents[0]
        right[1:] += cotangents[0]
        return (np.roll(right, 1),)

    gradient = picture_of(lambda x: x[:-1] + x[1:], vjp, (x,)).gradient
    assert gradient.cotangent == "random numbers"
    errors = np.abs(np.subtract(gradient.analytic, gradient.numeric))
    assert (errors > 1e-6).sum() > 3
    assert gradient.worst == int(np.argmax(errors))


def test_what_the_judge_excused_is_not_blamed_entry_by_entry() -> None:
    def vjp(inputs: Any, outputs: Any, cotangents: Any) -> Any:
        gradient = np.where(inputs[0] > 0, cotangents[0], 0.0)  # at 0 either side is right
        gradient[2] *= 2
        return (gradient,)

    jacobian = picture_of(lambda x: np.maximum(x, 0), vjp, (np.array([0.0, 1.0, 2.0]),)).jacobian
    assert jacobian is not None
    wrong = [c for c, status in zip(jacobian.column, jacobian.status, strict=True) if status == "wrong"]
    assert wrong == [2]


def test_an_entry_of_an_element_that_was_judged_right_is_never_called_wrong() -> None:
    error, numeric, allowed = np.full((1, 3), 5.0), np.ones((1, 3)), np.full((1, 3), 1e-9)
    judged = np.array([Status.WRONG, Status.RIGHT, Status.WRONG])
    unknown = np.array([[False, False, True]])
    status = entry_status(error, numeric, np.zeros((1, 3)), allowed, judged, unknown)
    assert status.tolist() == [[Status.WRONG, Status.UNSURE, Status.UNDEFINED]]


def test_a_vjp_that_raises_for_single_outputs_leaves_no_jacobian() -> None:
    def vjp(inputs: Any, outputs: Any, cotangents: Any) -> Any:
        if np.count_nonzero(cotangents[0]) == 1:
            raise ValueError("planted")
        return (3 * cotangents[0],)

    picture = picture_of(lambda x: 2 * x, vjp, (np.array([1.0, 2.0, 3.0]),))
    assert picture.jacobian is None
    assert picture.curve is not None


def test_a_large_gradient_is_shown_around_its_worst_element() -> None:
    x = np.ones((60, 80))
    weight = np.ones((60, 80))
    weight[50, 70] = 5.0
    picture = picture_of(np.sin, lambda i, o, c: (weight * np.cos(i[0]) * c[0],), (x,))
    rows, columns = np.unravel_index(picture.gradient.elements, (60, 80))
    assert (len(rows), picture.gradient.judged) == (1024, 4800)
    assert (rows.min(), rows.max(), columns.min(), columns.max()) == (28, 59, 48, 79)
    assert picture.gradient.worst == 50 * 80 + 70
    assert picture.jacobian is not None
    assert len(picture.jacobian.outputs) == len(picture.jacobian.elements) == 64
    assert 50 * 80 + 70 in picture.jacobian.elements


def test_parts_of_complex_arrays_are_numbers_of_their_own() -> None:
    z = np.array([1.0 + 2.0j, 3.0 - 1.0j])  # d (z^2) without its conj
    picture = picture_of(lambda z: z * z, lambda i, o, c: (2 * i[0] * c[0],), (z,))
    jacobian = picture.jacobian
    assert jacobian is not None
    assert (picture.gradient.shape, picture.gradient.in_parts) == ((2, 2), True)
    assert (jacobian.output_shapes, jacobian.output_parts) == (((2, 2),), (True,))
    right = np.array([[2, -4, 0, 0], [4, 2, 0, 0], [0, 0, 6, 2], [0, 0, -2, 6]])
    np.testing.assert_allclose(dense(jacobian, jacobian.numeric), right, rtol=1e-6)


def test_choosing_spreads_evenly_and_keeps_the_first_of_the_wanted() -> None:
    candidates = np.arange(100)
    chosen = choose(candidates, np.array([77, *range(40, 60)]), 8)
    assert 77 in chosen
    assert chosen.size == 8
    assert np.isin(chosen, [77, *range(40, 60)]).sum() == 6
    assert choose(candidates[:5], np.array([4]), 8).tolist() == [0, 1, 2, 3, 4]


def test_a_report_with_pictures_stays_comparable_and_goes_into_json() -> None:
    def run() -> Any:
        return check(linear, doubled_in_one_entry, (np.array([0.5, -1.0, 2.0]),))

    first, second = run(), run()
    assert first == second
    document = json.loads(to_json(first))
    assert document["findings"][0]["picture"]["gradient"]["status"] == ["right", "right", "wrong"]
    assert len(to_json(first)) < 6000


def test_a_finding_that_is_not_about_values_has_no_picture() -> None:
    report = check(np.sin, lambda i, o, c: (), (np.ones(2),))
    assert [finding.picture for finding in report.findings] == [None] * len(report.findings)
