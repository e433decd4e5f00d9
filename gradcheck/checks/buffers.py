"""Memory that a function returns and later writes to again, so that results that were kept change."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress

import numpy as np

from gradcheck.checks.session import Session, copy_arrays
from gradcheck.checks.state import other_inputs
from gradcheck.model.dtypes import Array, same_bits
from gradcheck.model.evaluation import call_forward, call_vjp
from gradcheck.model.protocol import copy_inputs, normalise_outputs
from gradcheck.report import Finding

_REMEDY = "return a new array from every call"


def check_buffers(session: Session) -> list[Finding]:
    """Finds outputs and gradients of one call that the next call changes, and outputs changed by being fed back."""
    findings = _between_calls(session)
    return findings or _fed_back(session)


def _between_calls(session: Session) -> list[Finding]:
    subject = session.subject
    outputs = call_forward(subject, session.inputs)
    first = copy_arrays(outputs)
    gradients = call_vjp(subject, copy_inputs(session.inputs), copy_arrays(first), session.cotangents(1))
    given = copy_arrays(gradients)
    other = other_inputs(session) or session.inputs
    with suppress(Exception):  # other values than the given may be refused; what was written until then counts
        session.pull(other, session.forward(other), 2)
    labels = [f"output {position}" for position in range(len(outputs))]
    findings = _changed(labels, first, outputs, "once forward ran again")
    labels = [f"gradient of {name!r}" for name in subject.names]
    return findings + _changed(labels, given, gradients, "once vjp ran again")


def _fed_back(session: Session) -> list[Finding]:
    """Gives an output, the very array, back as an input: forward must not write its results over it."""
    outputs = normalise_outputs(session.subject.forward(*copy_inputs(session.inputs)))
    for k in session.subject.differentiable:
        for position, output in enumerate(outputs):
            value = session.inputs[k]
            alike = isinstance(value, np.ndarray) and (output.shape, output.dtype) == (value.shape, value.dtype)
            if not (alike and output.size and np.isfinite(output).all() and session.fits(k, output)):
                continue
            before = np.array(output, order="C")
            inputs = list(copy_inputs(session.inputs))
            inputs[k] = output
            try:
                session.subject.forward(*inputs)
            except Exception:  # an output need not be a value that forward accepts
                return []
            name = session.subject.names[k]
            return _changed([f"output {position}"], [before], [output], f"once it was passed as {name!r}")
    return []


def _changed(
    labels: Sequence[str], before: Sequence[Array | None], after: Sequence[Array | None], when: str
) -> list[Finding]:
    for label, old, new in zip(labels, before, after, strict=True):
        if old is not None and new is not None and not same_bits(old, new):
            message = f"{label}: expected to stay as it was, got other values {when}; {_REMEDY}"
            return [Finding("buffers", message, cause="two calls return the same memory")]
    return []
