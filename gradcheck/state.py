"""Results that depend on anything but the arguments: randomness, counters, values kept from another call."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from gradcheck.dtypes import Array, same_bits
from gradcheck.evaluation import call_forward, call_vjp
from gradcheck.protocol import copy_inputs, normalise_outputs
from gradcheck.report import Finding
from gradcheck.session import Session
from gradcheck.variation import vary_inputs

_REPEATS = 3


def check_repeats(session: Session) -> list[Finding]:
    """Finds a forward or vjp whose results differ, by as little as a bit, between equal calls."""
    subject = session.subject
    findings = []
    runs = [call_forward(subject, session.inputs) for _ in range(_REPEATS)]
    if any(_differs(runs[0], run) for run in runs[1:]):
        findings.append(_impure("forward", "the same inputs", "remove randomness and state"))
    outputs = runs[0]
    calls = [_vjp(session, session.inputs, outputs) for _ in range(_REPEATS)]
    if any(_differs(calls[0], call) for call in calls[1:]):
        findings.append(_impure("vjp", "the same arguments", "remove randomness and state"))
    return findings


def check_interleaving(session: Session) -> list[Finding]:
    """Finds a vjp that uses values of the most recent forward instead of its arguments: two forwards, then two vjps."""
    subject = session.subject
    other = _other_inputs(session)
    if other is None:
        return []
    first_outputs = call_forward(subject, session.inputs)
    expected = _vjp(session, session.inputs, first_outputs)
    first_outputs = call_forward(subject, session.inputs)
    try:
        call_forward(subject, other)
    except Exception:  # the varied values are outside what forward accepts; then there is nothing to interleave with
        return []
    if _differs(expected, _vjp(session, session.inputs, first_outputs)):
        return [
            Finding(
                "interleaving",
                "vjp: expected gradients for its own arguments, got others once forward ran elsewhere in between; "
                "compute from inputs and outputs, not from what forward kept",
                cause="values kept from the last forward are used",
            )
        ]
    return []


def _vjp(session: Session, inputs: Sequence[object], outputs: Sequence[Array]) -> tuple[Array | None, ...]:
    copies = normalise_outputs(copy_inputs(outputs))
    return call_vjp(session.subject, copy_inputs(inputs), copies, session.cotangents(1))


def _other_inputs(session: Session) -> tuple[object, ...] | None:
    generator = np.random.default_rng(session.seed)
    for label, inputs in vary_inputs(session.subject, session.inputs, generator):
        if label == "random values":
            return inputs
    return None


def _differs(first: Sequence[Array | None], second: Sequence[Array | None]) -> bool:
    if len(first) != len(second):
        return True
    for one, two in zip(first, second, strict=True):
        if (one is None) != (two is None):
            return True
        if one is not None and two is not None and not same_bits(one, two):
            return True
    return False


def _impure(function: str, given: str, remedy: str) -> Finding:
    return Finding("repeats", f"{function}: expected equal results for {given}, got different ones; {remedy}")
