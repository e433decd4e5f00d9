"""Results that depend on anything but the arguments: randomness, counters, values kept from another call."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np

from gradcheck.checks.agreement import identical
from gradcheck.checks.session import Results, Session, copy_arrays
from gradcheck.judge.variation import vary_inputs
from gradcheck.model.evaluation import call_forward, call_vjp
from gradcheck.model.protocol import copy_inputs, normalise_outputs
from gradcheck.report import Finding

# What fails every eighth call shows; on many elements a call is dear.
_REPEATS, _FEW_REPEATS = 8, 3
_MANY_ELEMENTS = 20_000
_Run: TypeAlias = tuple[Sequence[object], Results]
_VJP = ("vjp", "gradients for its own arguments", "forward", "inputs and outputs, not from what forward kept")


def check_repeats(session: Session) -> list[Finding]:
    """Finds a forward or vjp whose results differ, by as little as a bit, between equal calls."""
    arrays = [value for value in (*session.inputs, *session.outputs) if isinstance(value, np.ndarray)]
    count = _REPEATS if sum(array.size for array in arrays) <= _MANY_ELEMENTS else _FEW_REPEATS
    findings = []
    once = session.isolated(session.inputs)
    if not all(identical(once.outputs, session.forward(session.inputs)) for _ in range(count - 1)):
        findings.append(_impure("forward", "the same inputs", "remove randomness and state"))
    steady = all(identical(once.gradients, session.pull(session.inputs, once.outputs)) for _ in range(count - 1))
    if not steady or not all(
        identical(first, session.pull(session.inputs, once.outputs, 0)) for first in session.first
    ):
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
    given = session.isolated(session.inputs)
    try:
        varied = session.isolated(other)
    except Exception:  # the varied values are outside what forward or vjp accepts
        return _judge_given(session, given, other)
    runs = [(session.inputs, given), (other, varied)]
    return _judge(session, runs, (0, 1, 0)) or _judge(session, runs, (1, 0)) or _judge_rewritten(session, runs)


def _judge_rewritten(session: Session, runs: Sequence[_Run]) -> list[Finding]:
    """Passes the same array objects with other values in them, as an optimiser does that updates in place."""
    given = copy_inputs(session.inputs)
    for inputs, results in runs:
        for target, value in zip(given, inputs, strict=True):
            if isinstance(target, np.ndarray):
                target[...] = value
        if not identical(results.outputs, copy_arrays(normalise_outputs(session.subject.forward(*given)))):
            return [_rewritten("forward", "outputs")]
        found = call_vjp(session.subject, given, copy_arrays(results.outputs), session.cotangents(1))
        if not identical(results.gradients, found):
            return [_rewritten("vjp", "gradients")]
    return []


def _rewritten(function: str, results: str) -> Finding:
    message = (
        f"{function}: expected {results} for the values it is given, got others for new values in the same array; "
        "do not tell inputs by identity"
    )
    return Finding("interleaving", message, cause="values kept for the same array object are used")


def _judge_given(session: Session, given: Results, other: Sequence[object]) -> list[Finding]:
    """Judges the given inputs alone, with a forward elsewhere in between where that works at all."""
    try:
        call_forward(session.subject, other)
    except Exception:
        return []
    again = session.pull(session.inputs, given.outputs)
    return [] if identical(given.gradients, again) else [_mixed(*_VJP)]


def _judge(session: Session, runs: Sequence[_Run], order: Sequence[int]) -> list[Finding]:
    made = [session.forward(inputs) for inputs, _ in runs]
    if not all(identical(results.outputs, outputs) for (_, results), outputs in zip(runs, made, strict=True)):
        return [_mixed("forward", "outputs for its own inputs", "it", "the inputs, not from what it kept")]
    for inputs, results in (runs[k] for k in order):
        if not identical(results.gradients, session.pull(inputs, results.outputs)):
            return [_mixed(*_VJP)]
    return []


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
