"""Two inputs that are one array, or equal.

Results for one array must be those for two equal arrays, and gradients must add up to that of both moving together.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from gradcheck.checks.agreement import REPEATS, Reactions, identical, judge
from gradcheck.checks.session import Session
from gradcheck.judge.values import Limits, judge_input, take_gradients
from gradcheck.judge.variation import equal_pairs
from gradcheck.model.dtypes import Array, FloatArray, as_float64, from_float64
from gradcheck.model.evaluation import Point, VjpError
from gradcheck.model.protocol import Also, Subject, copy_inputs, normalise_gradients, normalise_outputs
from gradcheck.report import Finding

_LIMITS = Limits(12, 256)
_STEP = 2.0**-20
_SLACK = 2.0**-10  # a smooth slope changes by far less over such a step, a kink by far more
_ROUNDINGS = 8.0  # of an output, and of the input beside it, at each of three points


def check_same_array(session: Session) -> list[Finding]:
    """Finds results that change when two inputs are one array object instead of two with equal values.

    A library may compute the two in another order (a product of a matrix with itself is a call of its own in BLAS), so
    a difference counts only beyond rounding, and beyond what a rounding of the inputs changes.
    """
    findings: list[Finding] = []
    for i, j in equal_pairs(session.subject, session.inputs):
        findings += _judge_shared(session, i, j)
    return findings


def _judge_shared(session: Session, i: int, j: int) -> list[Finding]:
    names = session.subject.names
    inputs = list(session.inputs)
    inputs[j] = inputs[i]
    try:
        apart = session.run(copy_inputs(inputs))
    except Exception:  # equal values are refused, whether they are one array or two
        return []
    shared = list(copy_inputs(inputs))
    shared[j] = shared[i]
    both = f"{names[i]!r} and {names[j]!r}"
    reactions = Reactions(session, inputs, places=(i, j))

    def variant() -> tuple[Sequence[Array | None], ...]:
        together = session.run(shared)
        return together.outputs, together.gradients

    def agrees(place: int, got: Array | None, want: Array | None) -> bool:
        if identical([got], [want]) or len(reactions.runs) < REPEATS:
            return True  # in the second case there is nothing to measure rounding by
        return reactions.explain(place, got, want)

    return judge(
        names,
        "same array",
        variant,
        apart,
        agrees,
        f"expected the same for one array passed as {both} as for two equal ones, got other values; do not tell inputs "
        "by identity, and write to neither",
        lambda _, reason: (
            f"inputs {both}: expected to be accepted as one array, got {reason}; do not tell inputs by identity"
        ),
        input=names[j],
        is_told_once=True,
    )


def check_together(session: Session) -> list[Finding]:
    """Finds a tie between two inputs that is counted twice, or not at all: each gradient alone may be right there.

    The pair is judged as a function of one input, which is passed for both. Nothing is asked where the function is
    smooth beside the tie, as the judgement of each input then says as much, nor where an output depends on several
    elements: there several ties meet, and what is right for each need not add up.
    """
    findings: list[Finding] = []
    for i, j in equal_pairs(session.subject, session.inputs):
        try:
            if _has_kink(session, i, j):
                findings += _judge_tied(session, i, j)
        except Exception:  # equal values may be refused, by forward or by vjp
            continue
    return findings


def _has_kink(session: Session, i: int, j: int) -> bool:
    """Says whether slopes in one input differ on both sides of the tie, by more than rounding makes of them."""
    value = session.inputs[i]
    assert isinstance(value, np.ndarray)
    share = max(_STEP, session.eps**0.5)  # of a step that is lost in rounding nothing could be told
    step = share * max(float(np.max(np.abs(as_float64(value)), initial=0.0)), _STEP)
    below, at, above = (_outputs(session, i, j, shift * step) for shift in (-1.0, 0.0, 1.0))
    left, right = (at - below) / step, (above - at) / step
    finite = np.isfinite(left) & np.isfinite(right)
    smooth = _SLACK * np.maximum(np.abs(left), np.abs(right))[finite].max(initial=0.0)
    rounding = _ROUNDINGS * session.eps * np.abs(at)[finite] / step
    return bool(np.any(np.abs(left - right)[finite] > smooth + rounding))


def _outputs(session: Session, i: int, j: int, shift: float) -> FloatArray:
    inputs = list(copy_inputs(session.inputs))
    value = inputs[i]
    assert isinstance(value, np.ndarray)
    inputs[j] = np.array(value)
    inputs[i] = from_float64(as_float64(value) + shift, value)
    outputs = normalise_outputs(session.subject.forward(*inputs))
    return np.concatenate([as_float64(output).ravel() for output in outputs if output.dtype.kind == "f"])


def _judge_tied(session: Session, i: int, j: int) -> list[Finding]:
    subject = _merged(session.subject, session.inputs, i, j)
    point = Point(subject, (session.inputs[i],), "equal inputs")
    generator = np.random.default_rng(session.seed)
    try:
        gradients = take_gradients(point, generator)
    except VjpError:
        return []
    if any(gradient is None or not np.isfinite(as_float64(gradient)).all() for (gradient,) in gradients.raw):
        return []
    outcome = judge_input(point, 0, gradients, _LIMITS, generator)
    comparison = outcome.comparison
    if outcome.owner is None or not comparison.wrong.any():
        return []
    distance = np.where(comparison.wrong, np.abs(comparison.analytic[0] - comparison.numeric[0]), -1.0)
    worst = int(np.argmax(distance))
    yours, right = float(comparison.analytic[0, worst]), float(comparison.numeric[0, worst])
    value = session.inputs[i]
    assert isinstance(value, np.ndarray)
    index = tuple(int(k) for k in np.unravel_index(int(comparison.elements[worst]), value.shape))
    first, second = subject.names[0].split(" and ")
    message = (
        f"gradients of {first!r} and {second!r}: expected to add up to {right:.6g} where both are equal, "
        f"got {yours:.6g} at {list(index)}; share the gradient of a tie between them"
    )
    bar = float(comparison.bar[0, worst])
    return [Finding("tied inputs", message, session.subject.names[j], index, yours, right, bar)]


def _merged(subject: Subject, inputs: tuple[object, ...], i: int, j: int) -> Subject:
    """Gives the subject as a function of one input, passed for both; all others stay as given."""

    def fill(value: object) -> list[object]:
        filled = list(copy_inputs(inputs))
        filled[i], filled[j] = copy_inputs((value, value))
        return filled

    def vjp(given: tuple[object, ...], outputs: tuple[Array, ...], cotangents: tuple[Array, ...]) -> Array | None:
        gradients = normalise_gradients(subject.vjp(tuple(fill(given[0])), outputs, cotangents))
        first, second = gradients[i], gradients[j]
        if first is None or second is None:
            return second if first is None else first
        return np.asarray(first + second)

    names = (f"{subject.names[i]} and {subject.names[j]}",)
    both = (subject.domain[i],)
    declared = subject.also
    also = Also(
        nondifferentiable_outputs=declared.nondifferentiable_outputs,
        convention=declared.convention,
        accuracy=declared.accuracy,
    )
    return replace(
        subject,
        forward=lambda value: subject.forward(*fill(value)),
        vjp=vjp,
        jvp=None,
        names=names,
        domain=both,
        differentiable=(0,),
        declared=(),
        also=also,
    )
