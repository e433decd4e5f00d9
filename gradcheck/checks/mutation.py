"""Arrays that forward or vjp change although they are not theirs, found bit by bit."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from gradcheck.checks.relation import describe_error
from gradcheck.checks.session import Session, copy_arrays
from gradcheck.model.dtypes import Array, same_bits
from gradcheck.model.evaluation import call_vjp
from gradcheck.model.protocol import copy_inputs, normalise_outputs
from gradcheck.report import Finding


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
