"""Results that depend on anything but the arguments: randomness, counters, values kept from another call."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from gradcheck.checks.agreement import identical
from gradcheck.checks.session import Session, copy_arrays
from gradcheck.judge.variation import vary_inputs
from gradcheck.model.dtypes import Array
from gradcheck.model.evaluation import call_forward, call_vjp
from gradcheck.model.protocol import copy_inputs, normalise_outputs
from gradcheck.report import Finding

# What fails every eighth call shows; on many elements a call is dear.
_REPEATS, _FEW_REPEATS = 8, 3
_MANY_ELEMENTS = 20_000
_VJP = ("vjp", "gradients for its own arguments", "forward", "inputs and outputs, not from what forward kept")


def check_repeats(session: Session) -> list[Finding]:
    """Finds a forward or vjp whose results differ, by as little as a bit, between equal calls."""
    arrays = [value for value in (*session.inputs, *session.outputs) if isinstance(value, np.ndarray)]
    count = _REPEATS if sum(array.size for array in arrays) <= _MANY_ELEMENTS else _FEW_REPEATS
    findings = []
    outputs = _forward(session, session.inputs)
    if not all(identical(outputs, call_forward(session.subject, session.inputs)) for _ in range(count - 1)):
        findings.append(_impure("forward", "the same inputs", "remove randomness and state"))
    gradients = session.pull(session.inputs, outputs)
    steady = all(identical(gradients, session.pull(session.inputs, outputs)) for _ in range(count - 1))
    if not steady or not all(identical(first, session.pull(session.inputs, outputs, 0)) for first in session.first):
        findings.append(_impure("vjp", "the same arguments", "remove randomness and state"))
    return findings


def check_interleaving(session: Session) -> list[Finding]:
    """Finds results that depend on which calls ran before: two forwards, then their vjps in either order.

    A vjp also runs again after that of the other call. What counts is that each result equals, bit by bit, the one
    got with nothing in between.
    """
    other = other_inputs(session)
    if other is None:
        return []
    given = _isolated(session, session.inputs)
    try:
        varied = _isolated(session, other)
    except Exception:  # the varied values are outside what forward or vjp accepts
        return _judge_given(session, given, other)
    runs = [given, varied]
    return _judge(session, runs, (0, 1, 0)) or _judge(session, runs, (1, 0)) or _judge_rewritten(session, runs)


def _judge_rewritten(session: Session, runs: Sequence[_Run]) -> list[Finding]:
    """Passes the same array objects with other values in them, as an optimiser does that updates in place."""
    inputs = copy_inputs(runs[0].inputs)
    for run in runs:
        for target, value in zip(inputs, run.inputs, strict=True):
            if isinstance(target, np.ndarray):
                target[...] = value
        outputs = copy_arrays(normalise_outputs(session.subject.forward(*inputs)))
        if not identical(run.outputs, outputs):
            return [_rewritten("forward", "outputs")]
        if not identical(
            run.gradients, call_vjp(session.subject, inputs, copy_arrays(run.outputs), session.cotangents(1))
        ):
            return [_rewritten("vjp", "gradients")]
    return []


def _rewritten(function: str, results: str) -> Finding:
    message = (
        f"{function}: expected {results} for the values it is given, got others for new values in the same array; "
        "do not tell inputs by identity"
    )
    return Finding("interleaving", message, cause="values kept for the same array object are used")


def _judge_given(session: Session, given: _Run, other: Sequence[object]) -> list[Finding]:
    """Judges the given inputs alone, with a forward elsewhere in between where that works at all."""
    try:
        call_forward(session.subject, other)
    except Exception:
        return []
    again = session.pull(given.inputs, given.outputs)
    return [] if identical(given.gradients, again) else [_mixed(*_VJP)]


@dataclass(frozen=True)
class _Run:
    """A forward and its vjp, with nothing in between."""

    inputs: Sequence[object]
    outputs: tuple[Array, ...]
    gradients: tuple[Array | None, ...]


def _isolated(session: Session, inputs: Sequence[object]) -> _Run:
    outputs = _forward(session, inputs)
    return _Run(inputs, outputs, session.pull(inputs, outputs))


def _judge(session: Session, runs: Sequence[_Run], order: Sequence[int]) -> list[Finding]:
    made = [_forward(session, run.inputs) for run in runs]
    if not all(identical(run.outputs, outputs) for run, outputs in zip(runs, made, strict=True)):
        return [_mixed("forward", "outputs for its own inputs", "it", "the inputs, not from what it kept")]
    for run in (runs[k] for k in order):
        if not identical(run.gradients, session.pull(run.inputs, run.outputs)):
            return [_mixed(*_VJP)]
    return []


def _forward(session: Session, inputs: Sequence[object]) -> tuple[Array, ...]:
    return copy_arrays(call_forward(session.subject, inputs))


def _mixed(function: str, wanted: str, running: str, remedy: str) -> Finding:
    message = (
        f"{function}: expected {wanted}, got others once {running} ran elsewhere in between; compute from {remedy}"
    )
    return Finding("interleaving", message, cause="values kept from the last forward are used")


def other_inputs(session: Session) -> tuple[object, ...] | None:
    """Gives inputs of the same shapes with random values, inside the domain."""
    generator = np.random.default_rng(session.seed)
    for label, inputs in vary_inputs(session.subject, session.inputs, generator):
        if label == "random values":
            return inputs
    return None


def _impure(function: str, given: str, remedy: str) -> Finding:
    return Finding("repeats", f"{function}: expected equal results for {given}, got different ones; {remedy}")
