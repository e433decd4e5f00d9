from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

from gradcheck import UsageError, check

X = np.array([0.3, -1.2, 2.0])
SAVED = {1: "it is saved for the backward"}


def report_of(forward: Any, vjp: Any, inputs: Any = (X,), **options: Any) -> Any:
    return check(forward, vjp, inputs, **options)


def found(*arguments: Any, **options: Any) -> dict[str, str]:
    return {finding.check: finding.message for finding in report_of(*arguments, **options).findings}


def two(x: Any) -> Any:
    return np.sin(x), np.exp(x)


def first_only(inputs: Any, outputs: Any, cotangents: Any) -> Any:
    return (cotangents[0] * np.cos(inputs[0]),)


def both(inputs: Any, outputs: Any, cotangents: Any) -> Any:
    return (cotangents[0] * np.cos(inputs[0]) + cotangents[1] * outputs[1],)


def test_a_detached_output_is_wrong_unless_declared() -> None:
    assert "vjp value" in found(two, first_only)
    report = report_of(two, first_only, nondifferentiable_outputs=SAVED)
    assert report.verdict == "pass"
    assert "output 1, declared non-differentiable, moves with x" in report.coverage.notes


def test_an_output_with_a_slope_is_not_declared_away_without_a_reason() -> None:
    (finding,) = report_of(two, first_only, nondifferentiable_outputs=(1,)).findings
    assert (finding.check, finding.message) == (
        "nondifferentiable",
        "output 1: expected derivative 0, as it is declared non-differentiable, got a slope in x; return its gradient, "
        "or say why there is none, as in nondifferentiable_outputs={1: 'saved for vjp'}",
    )


def test_a_staircase_needs_no_reason() -> None:
    steps = lambda x: (np.sin(x), np.round(127 * x) / 127)  # noqa: E731
    assert report_of(steps, first_only, nondifferentiable_outputs=(1,)).verdict == "pass"
    short = (X.astype(np.float32),)
    assert report_of(steps, first_only, short, nondifferentiable_outputs=(1,)).verdict == "pass"
    assert found(two, first_only, short, nondifferentiable_outputs=(1,)).keys() == {"nondifferentiable"}


def test_a_reason_is_text() -> None:
    message = "nondifferentiable_outputs: expected a reason in words for output 1, got ''; say why no gradient flows"
    with pytest.raises(UsageError, match=re.escape(message)):
        check(two, first_only, (X,), nondifferentiable_outputs={1: ""})


def test_a_declared_output_that_does_not_move_is_noted() -> None:
    report = report_of(lambda x: (np.sin(x), np.ones(2)), first_only, nondifferentiable_outputs=[1])
    assert "output 1, declared non-differentiable, does not move with the inputs" in report.coverage.notes


def test_a_gradient_that_follows_a_declared_output_is_found() -> None:
    report = report_of(two, both, nondifferentiable_outputs=SAVED)
    (finding,) = report.findings
    assert (finding.check, finding.input) == ("nondifferentiable", "x")
    assert finding.message == (
        "output 1 declared non-differentiable, but the gradient of x changes with its cotangent; "
        "leave that cotangent alone, or remove the declaration"
    )


def test_a_vjp_that_raises_for_a_declared_output_is_found() -> None:
    def vjp(inputs: Any, outputs: Any, cotangents: Any) -> Any:
        if cotangents[1].any():
            raise ValueError("no gradient")
        return first_only(inputs, outputs, cotangents)

    message = found(two, vjp, nondifferentiable_outputs=SAVED)["nondifferentiable"]
    assert message.startswith("vjp: expected gradients, got ValueError: no gradient, for a cotangent of output 1")


def test_a_wrong_gradient_of_the_other_output_is_found_beside_a_declared_one() -> None:
    messages = found(two, lambda i, o, c: (c[0] * np.sin(i[0]),), nondifferentiable_outputs=SAVED)
    assert "vjp value" in messages


def test_all_outputs_may_be_declared() -> None:
    vjp = lambda i, o, c: (np.zeros_like(i[0]),)  # noqa: E731
    assert found(np.sin, vjp, names=["x"], nondifferentiable_outputs={0: "for now"}) == {}


@pytest.mark.parametrize(
    ("positions", "text"),
    [
        (1, "nondifferentiable_outputs: expected positions of outputs, got 1; write a tuple of output positions"),
        ("1", "nondifferentiable_outputs: expected positions of outputs, got '1'; write a tuple of output positions"),
        ((True,), "nondifferentiable_outputs: expected positions of outputs, got True; write a tuple"),
        (("y",), "nondifferentiable_outputs: expected positions of outputs, got 'y'; write a tuple"),
        ((2,), "nondifferentiable_outputs: expected positions from 0 to 1, as forward returns 2, got 2; remove it"),
        ((-1,), "nondifferentiable_outputs: expected positions from 0 to 1, as forward returns 2, got -1; remove it"),
    ],
)
def test_positions_that_are_none_are_refused(positions: Any, text: str) -> None:
    with pytest.raises(UsageError, match=re.escape(text)):
        check(two, both, (X,), nondifferentiable_outputs=positions)


def with_none(inputs: Any, outputs: Any, cotangents: Any) -> Any:
    (x,), gradient = inputs, None
    for cotangent, slope in zip(cotangents, (np.cos(x), np.exp(x)), strict=True):
        if cotangent is not None:
            gradient = cotangent * slope if gradient is None else gradient + cotangent * slope
    return (gradient,)


def test_none_cotangents_are_sent_only_where_declared() -> None:
    assert found(two, both) == {}
    assert found(two, with_none, none_cotangents=True) == {}
    message = found(two, both, none_cotangents=True)["none cotangents"]
    assert message.startswith("vjp: expected None as the cotangent of output 0 to count as zeros, got TypeError")
    assert message.endswith("test it for None")


def test_none_that_counts_as_something_else_is_found() -> None:
    def ones(inputs: Any, outputs: Any, cotangents: Any) -> Any:
        return with_none(inputs, outputs, [np.ones(3) if c is None else c for c in cotangents])

    message = found(two, ones, none_cotangents=True)["none cotangents"]
    assert message == (
        "gradient of 'x': expected None as the cotangent of output 0 to count as zeros, got other values; "
        "leave out the terms of that output only"
    )


def test_an_early_end_for_all_but_one_is_found() -> None:
    def early(inputs: Any, outputs: Any, cotangents: Any) -> Any:
        if sum(c is None for c in cotangents) >= 2:
            return (None,)
        return (sum(c * (k + 1) for k, c in enumerate(cotangents) if c is not None),)

    message = found(lambda x: (x + 0, 2 * x, 3 * x), early, none_cotangents=True)["none cotangents"]
    assert "None as the cotangent of output 1 and 2 to count as zeros, got other values" in message


def test_a_none_for_every_output_may_give_none_and_is_judged() -> None:
    def vjp(inputs: Any, outputs: Any, cotangents: Any) -> Any:
        return (np.ones(3),) if cotangents[0] is None else (cotangents[0] * np.cos(inputs[0]),)

    message = found(np.sin, vjp, names=["x"], none_cotangents=True)["none cotangents"]
    assert "None as the cotangent of every output to count as zeros" in message
