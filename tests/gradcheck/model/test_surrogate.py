from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gradcheck
from gradcheck import UsageError, check, stop_gradient

X = np.array([[0.3, -1.2, 2.6], [1.1, -0.4, 0.7]])


def identity(x: Any) -> Any:
    return x.copy()


def passed_through(inputs: Any, outputs: Any, cotangents: Any) -> Any:
    return (cotangents[0].copy(),)


def test_a_straight_through_round_is_right_as_the_gradient_of_the_identity() -> None:
    report = check(np.round, passed_through, (X,), names=["x"], surrogate=identity)
    assert report.findings == ()
    assert report.verdict == "pass"
    assert report.coverage.smallest_error_seen <= 1e-8
    assert "vjp: judged as the gradient of the declared surrogate, not of forward" in report.coverage.notes


def test_without_the_declaration_the_same_gradient_is_wrong() -> None:
    assert check(np.round, passed_through, (X,), names=["x"]).findings[0].check == "vjp value"


def test_a_straight_through_gradient_that_is_scaled_is_found() -> None:
    (finding,) = check(np.round, lambda i, o, c: (c[0] * (1 + 1e-6),), (X,), names=["x"], surrogate=identity).findings
    assert finding.message.startswith("gradient of 'x': wrong in 6 of 6 elements, worst x[")


def hard_tanh(x: Any) -> Any:
    return np.clip(x, -1.0, 1.0)


def test_a_sign_with_the_gradient_of_a_clip_is_right() -> None:
    def clipped(inputs: Any, outputs: Any, cotangents: Any) -> Any:
        return (cotangents[0] * (np.abs(inputs[0]) <= 1),)

    assert check(np.sign, clipped, (X,), names=["x"], surrogate=hard_tanh).verdict == "pass"
    at_kinks = np.array([-1.0, 0.0, 1.0])
    report = check(np.sign, clipped, (at_kinks,), names=["x"], surrogate=hard_tanh)
    assert report.verdict == "pass"
    assert report.coverage.kinks[0].startswith("x[0] = -1: yours 1, any value in [0, 1] is right")


def test_a_sign_whose_gradient_forgot_the_clip_is_found() -> None:
    (finding,) = check(np.sign, passed_through, (X,), names=["x"], surrogate=hard_tanh).findings
    assert finding.message.startswith("gradient of 'x': wrong in 3 of 6 elements")


def top_two(x: Any) -> Any:
    return x * (x >= np.sort(x, axis=-1)[..., 1:2])


def test_a_top_k_that_passes_every_gradient_is_judged_by_the_identity() -> None:
    assert check(top_two, passed_through, (X,), surrogate=identity).verdict == "pass"

    def only_kept(inputs: Any, outputs: Any, cotangents: Any) -> Any:
        (x,) = inputs
        return (cotangents[0] * (x >= np.sort(x, axis=-1)[..., 1:2]),)  # y != 0 would forget a zero that is kept

    assert check(top_two, only_kept, (X,)).verdict == "pass"  # right of forward itself
    (finding,) = check(top_two, only_kept, (X,), surrogate=identity).findings
    assert finding.message.startswith("gradient of 'x': wrong in 2 of 6 elements")


# A learned step size (LSQ): q = s * clip(round(x / s), -2, 3), where only the rounding is passed straight through.


def quantise(x: Any, s: Any) -> Any:
    return s * np.round(np.clip(x / s, -2.0, 3.0))


def quantise_surrogate(x: Any, s: Any) -> Any:
    scaled = np.clip(x / s, -2.0, 3.0)
    return s * (scaled + stop_gradient(np.round(scaled) - scaled))


def quantise_vjp(inputs: Any, outputs: Any, cotangents: Any) -> Any:
    (x, s), (dy,) = inputs, cotangents
    ratio = x / s
    inside = (ratio > -2) & (ratio < 3)
    ds = np.where(inside, np.round(ratio) - ratio, np.clip(ratio, -2.0, 3.0))
    return dy * inside, np.sum(dy * ds).reshape(s.shape)


STEP = np.array(0.55)


def test_a_learned_step_size_is_right_where_only_rounding_is_replaced() -> None:
    assert np.array_equal(quantise_surrogate(X, STEP), quantise(X, STEP))  # outside of a check nothing is held
    report = check(quantise, quantise_vjp, (X, STEP), surrogate=quantise_surrogate, domain={"s": (0.1, 4.0)})
    assert [finding.message for finding in report.findings] == []
    assert report.verdict == "pass"
    assert {"signs flipped", "large magnitudes"} <= set(report.coverage.points)


def test_a_learned_step_size_without_its_rounding_error_is_found() -> None:
    def wrong(inputs: Any, outputs: Any, cotangents: Any) -> Any:
        dx, _ = quantise_vjp(inputs, outputs, cotangents)
        return dx, np.sum(cotangents[0] * (outputs[0] / inputs[1])).reshape(inputs[1].shape)

    report = check(quantise, wrong, (X, STEP), surrogate=quantise_surrogate, domain={"s": (0.1, 4.0)})
    assert [(finding.check, finding.input) for finding in report.findings] == [("vjp value", "s")]


def test_the_gradient_of_forward_is_wrong_beside_another_surrogate() -> None:
    def of_sin(inputs: Any, outputs: Any, cotangents: Any) -> Any:
        return (cotangents[0] * np.cos(inputs[0]),)

    assert check(np.sin, of_sin, (X,), names=["x"]).verdict == "pass"
    (finding,) = check(np.sin, of_sin, (X,), names=["x"], surrogate=identity).findings
    assert (finding.check, finding.input) == ("vjp value", "x")


def test_the_vjp_gets_the_outputs_of_forward() -> None:
    seen = []

    def watching(inputs: Any, outputs: Any, cotangents: Any) -> Any:
        seen.append(bool(np.array_equal(outputs[0], np.round(inputs[0]))))
        return (cotangents[0].copy(),)

    assert check(np.round, watching, (X.astype(np.float32),), names=["x"], surrogate=identity).verdict == "pass"
    assert all(seen)


def test_behaviour_is_judged_of_forward() -> None:
    def changing(x: Any) -> Any:
        result = np.round(x)
        x += 1.0
        return result

    report = check(changing, passed_through, (X,), surrogate=identity)
    assert "mutation" in {finding.check for finding in report.findings}


def test_a_jvp_is_held_to_the_surrogate() -> None:
    right = check(np.round, passed_through, (X,), names=["x"], surrogate=identity, jvp=lambda i, t: t[0].copy())
    assert right.verdict == "pass"
    wrong = check(np.round, passed_through, (X,), names=["x"], surrogate=identity, jvp=lambda i, t: 0 * t[0])
    assert {finding.check for finding in wrong.findings} == {"jvp value"}


def test_outputs_of_forward_that_are_not_finite_are_not_judged() -> None:
    def recip(x: Any) -> Any:
        return np.where(x < 2, x, np.inf)

    def through_outputs(inputs: Any, outputs: Any, cotangents: Any) -> Any:
        return (cotangents[0] * outputs[0] / outputs[0],)

    report = check(recip, through_outputs, (X,), surrogate=identity, vary=False)
    assert report.findings == ()
    assert report.coverage.skipped_count == 1


def test_points_that_forward_refuses_are_skipped() -> None:
    def strict(x: Any) -> Any:
        if (x < -2).any():
            raise ValueError("below")
        return np.round(x)

    report = check(strict, passed_through, (X,), surrogate=identity)
    assert report.verdict == "pass"
    assert "signs flipped: skipped, forward raised ValueError" in report.coverage.notes


def test_a_surrogate_of_another_shape_or_kind_is_a_usage_error() -> None:
    expected = r"surrogate: expected outputs like forward's, floating \(2, 3\), got floating \(\); return those"
    with pytest.raises(UsageError, match=expected):
        check(np.round, passed_through, (X,), names=["x"], surrogate=np.sum)
    with pytest.raises(UsageError, match=r"got discrete \(2, 3\); return those"):
        check(np.round, passed_through, (X,), names=["x"], surrogate=lambda x: x > 0)


def test_a_surrogate_that_raises_is_a_usage_error() -> None:
    def broken(x: Any) -> Any:
        raise RuntimeError("not written")

    with pytest.raises(UsageError, match=r"surrogate: expected it to accept .* RuntimeError: not written; call surr"):
        check(np.round, passed_through, (X,), names=["x"], surrogate=broken)


def test_stopped_values_that_come_and_go_leave_the_gradient_unjudged() -> None:
    calls = []

    def restless(x: Any) -> Any:
        calls.append(1)
        for _ in calls:
            x = x + stop_gradient(np.round(x) - x)
        return x

    report = check(np.round, passed_through, (X,), names=["x"], surrogate=restless, vary=False)
    assert report.findings == ()
    assert report.verdict == "inconclusive"


def test_another_number_of_stopped_values_is_said() -> None:
    from gradcheck.model.surrogate import Surrogate

    def some(x: Any) -> Any:
        return x + sum(stop_gradient(x) for _ in range(int(x)))

    near = Surrogate(lambda x: x, some)
    assert near(np.array(2.0))[0] == 6.0
    expected = "surrogate: expected 2 calls of stop_gradient, as at the point itself, got {}; make their number"
    for value, count in ((1.0, 1), (3.0, 3)):
        with pytest.raises(UsageError, match=expected.format(count)):
            near(np.array(value))
    assert near(np.array(2.5))[0] == 6.5  # the two stopped values are those of the first call


def test_nothing_is_held_once_a_check_is_over() -> None:
    check(quantise, quantise_vjp, (X, STEP), surrogate=quantise_surrogate, domain={"s": (0.1, 4.0)}, vary=False)
    assert gradcheck.stop_gradient(3.5) == 3.5
