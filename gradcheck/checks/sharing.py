"""Memory that results share with arguments or with each other, so that a later in-place change corrupts both."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradcheck.checks.session import Session, copy_arrays
from gradcheck.model.dtypes import Array
from gradcheck.model.evaluation import call_vjp
from gradcheck.model.protocol import copy_inputs, normalise_outputs
from gradcheck.report import Finding

_WORK: Any = 100_000  # Any: NumPy's stubs know -1 and 0 only
_REMEDY = "return a copy, or list {kind!r} in alias_ok if that is meant"


def check_sharing(session: Session) -> list[Finding]:
    """Finds outputs that share memory with inputs or each other, and gradients that share memory with anything."""
    subject = session.subject
    inputs = copy_inputs(session.inputs)
    outputs = normalise_outputs(subject.forward(*inputs))
    findings = []
    for name, value in zip(subject.names, inputs, strict=True):
        for position, output in enumerate(outputs):
            if _shares(value, output):
                findings.append(_finding("output", f"output {position}", f"input {name!r}", name))
    for position, output in enumerate(outputs):
        before = [k for k in range(position) if _shares(outputs[k], output)]
        findings += [_finding("output", f"output {position}", f"output {k}", None) for k in before]
    inputs = copy_inputs(session.inputs)
    outputs = copy_arrays(outputs)
    cotangents = session.cotangents(1)
    gradients = call_vjp(subject, inputs, outputs, cotangents)
    others: list[tuple[str, str, object]] = [("cotangent", f"cotangent {i}", c) for i, c in enumerate(cotangents)]
    others += [("gradients", f"output {i}", o) for i, o in enumerate(outputs)]
    others += [("gradients", f"input {n!r}", v) for n, v in zip(subject.names, inputs, strict=True)]
    for k, (name, gradient) in enumerate(zip(subject.names, gradients, strict=True)):
        earlier = [("gradients", f"gradient of {subject.names[j]!r}", gradients[j]) for j in range(k)]
        for kind, label, other in others + earlier:
            if _shares(gradient, other):
                findings.append(_finding(kind, f"gradient of {name!r}", label, name))
    return [finding for kind, finding in findings if kind not in subject.alias_ok]


def _finding(kind: str, what: str, other: str, name: str | None) -> tuple[str, Finding]:
    message = f"{what}: expected memory of its own, got memory shared with {other}; {_REMEDY.format(kind=kind)}"
    return kind, Finding("sharing", message, input=name)


def _shares(first: object, second: object) -> bool:
    if not isinstance(first, np.ndarray) or not isinstance(second, np.ndarray) or not first.size or not second.size:
        return False
    return _overlap(first, second)


def _overlap(first: Array, second: Array) -> bool:
    """Says whether two arrays have a byte in common; where that is too hard to decide, whether their ranges meet."""
    if not np.may_share_memory(first, second):
        return False
    if first.flags.forc and second.flags.forc:
        return True
    try:
        return np.shares_memory(first, second, max_work=_WORK)
    except np.exceptions.TooHardError:
        return True
