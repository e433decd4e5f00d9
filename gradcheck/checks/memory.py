"""Memory: arrays that forward or vjp change although they are not theirs, share, or write to again in a later call."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import numpy as np

from gradcheck.checks.agreement import describe_error
from gradcheck.checks.session import Session, copy_arrays
from gradcheck.checks.state import other_inputs
from gradcheck.model.dtypes import Array, same_bits
from gradcheck.model.evaluation import call_forward, call_vjp
from gradcheck.model.protocol import copy_inputs, normalise_outputs
from gradcheck.report import Finding

_WORK: Any = 100_000  # Any: NumPy's stubs know -1 and 0 only


def check_mutation(session: Session) -> list[Finding]:
    """Finds inputs, outputs and cotangents that change during a call; all are writable, nothing stops the subject."""
    subject = session.subject
    inputs = copy_inputs(session.inputs)
    before = copy_inputs(inputs)
    outputs = normalise_outputs(subject.forward(*inputs))
    findings = _compare("forward", "input", subject.names, before, inputs)
    inputs = copy_inputs(session.inputs)
    outputs = copy_arrays(outputs)
    cotangents = session.cotangents(1)
    kept = copy_inputs(outputs), copy_inputs(cotangents)
    call_vjp(subject, inputs, outputs, cotangents)
    numbers = [str(position) for position in range(len(outputs))]
    findings += _compare("vjp", "input", subject.names, session.inputs, inputs)
    findings += _compare("vjp", "output", numbers, kept[0], outputs)
    findings += _compare("vjp", "cotangent", numbers, kept[1], cotangents)
    return findings


def check_read_only(session: Session) -> list[Finding]:
    """Finds a forward or vjp that raises when its arrays are read-only, although it changes none of them."""
    inputs = tuple(_frozen(value) if isinstance(value, np.ndarray) else value for value in session.inputs)
    try:
        outputs = normalise_outputs(session.subject.forward(*inputs))
        call_vjp(session.subject, inputs, [_frozen(o) for o in outputs], [_frozen(c) for c in session.cotangents(1)])
    except Exception as error:
        function, reason = describe_error(error)
        what = "inputs" if function == "forward" else "arrays"
        message = f"{function}: expected to accept read-only {what}, got {reason}; copy before writing"
        return [Finding("read-only", message)]
    return []


def _compare(
    function: str, role: str, names: Sequence[str], before: Sequence[object], after: Sequence[object]
) -> list[Finding]:
    findings = []
    for name, old, new in zip(names, before, after, strict=True):
        if not isinstance(old, np.ndarray) or not isinstance(new, np.ndarray) or same_bits(old, new):
            continue
        index, was, now = _first_difference(old, new)
        label = repr(name) if role == "input" else name
        message = (
            f"{function}: expected to leave {role} {label} as it was, got {now!r} for {was!r} at {list(index)}; "
            "work on a copy"
        )
        findings.append(Finding("mutation", message, input=name if role == "input" else None, index=index))
    return findings


def _first_difference(old: Array, new: Array) -> tuple[tuple[int, ...], object, object]:
    raw_old = np.frombuffer(old.tobytes(), dtype=np.uint8).reshape(old.size, -1)
    raw_new = np.frombuffer(new.tobytes(), dtype=np.uint8).reshape(new.size, -1)
    flat = int(np.flatnonzero((raw_old != raw_new).any(axis=1))[0])
    index = tuple(int(i) for i in np.unravel_index(flat, old.shape))
    return index, old[index].item(), new[index].item()


def _frozen(array: Array) -> Array:
    copy = np.array(array, order="C")
    copy.flags.writeable = False
    return copy


def check_sharing(session: Session) -> list[Finding]:
    """Finds outputs that share memory with inputs or each other, and gradients that share memory with anything.

    A later in-place change would corrupt both.
    """
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
    message = (
        f"{what}: expected memory of its own, got memory shared with {other}; "
        f"return a copy, or list {kind!r} in alias_ok if that is meant"
    )
    return kind, Finding("sharing", message, input=name)


def _shares(first: object, second: object) -> bool:
    """Says whether two arrays have a byte in common; where that is too hard to decide, whether their ranges meet."""
    if not isinstance(first, np.ndarray) or not isinstance(second, np.ndarray) or not first.size or not second.size:
        return False
    if not np.may_share_memory(first, second):
        return False
    if first.flags.forc and second.flags.forc:
        return True
    try:
        return np.shares_memory(first, second, max_work=_WORK)
    except np.exceptions.TooHardError:
        return True


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
            message = (
                f"{label}: expected to stay as it was, got other values {when}; return a new array from every call"
            )
            return [Finding("buffers", message, cause="two calls return the same memory")]
    return []
