"""Cotangents that are nan or inf.

A vjp may refuse them in words, and may guard 0 * inf with a mask that also hides a nan: both are noted, not blamed.
Only an exception that no refusal raises, such as an index error, is a finding. Inputs are not made nan: a kernel that
turns values into addresses might then leave its memory.
"""

from __future__ import annotations

import numpy as np

from gradcheck.checks.session import Session
from gradcheck.model.dtypes import Array, as_float64
from gradcheck.model.evaluation import VjpError
from gradcheck.report import Finding

# What arithmetic that was not thought through raises; a refusal is a ValueError, or an exception of its own.
_ACCIDENTS = (LookupError, TypeError, AttributeError, NameError, OverflowError, ZeroDivisionError, RecursionError)


def check_nonfinite(session: Session) -> list[Finding]:
    """Finds a vjp that breaks on an infinite cotangent, and notes where a nan in a cotangent is lost on its way."""
    flat = session.flat[1]
    used = np.flatnonzero(flat)
    if not used.size:
        return []
    place = int(used[session.seed % used.size])
    _note_inputs(session)
    for value in (np.inf, np.nan):
        changed = flat.copy()
        changed[place] = value
        try:
            gradients = session.gradients(session.shape_cotangents(changed))
        except VjpError as error:
            if isinstance(error.__cause__, _ACCIDENTS):
                message = (
                    f"vjp: expected to accept a cotangent with {value}, got {error}; compute without cases by size"
                )
                return [Finding("nonfinite cotangent", message)]
            session.notes.append(f"vjp refuses a cotangent with {value}: {error}")
            return []
    _note_lost(session, place, gradients)
    return []


def _note_lost(session: Session, place: int, gradients: tuple[Array | None, ...]) -> None:
    """Compares with the elements that answer to this cotangent: nan times what is not zero is nan."""
    only = np.zeros_like(session.flat[1])
    only[place] = 1.0
    answers = session.gradients(session.shape_cotangents(only))
    for name, gradient, answer in zip(session.subject.names, gradients, answers, strict=True):
        if gradient is None or answer is None or gradient.shape != answer.shape:
            continue
        lost = np.isfinite(as_float64(gradient)) & (as_float64(answer) != 0)
        if lost.any():
            elements = f"{int(lost.sum())} element{'s' * (int(lost.sum()) != 1)}"
            session.notes.append(f"a nan in a cotangent does not reach {elements} of the gradient of {name!r}")


def _note_inputs(session: Session) -> None:
    """Notes that a nan among the given inputs shows in the outputs, but in no gradient."""
    given = [name for name, value in zip(session.subject.names, session.inputs, strict=True) if _nans(value)]
    count = sum(_nans(output) for output in session.outputs)
    if not given or not count:
        return
    gradients = session.gradients(session.shape_cotangents(np.ones_like(session.flat[1])))
    if not any(map(_nans, gradients)):
        outputs = f"{count} output element{'s' * (count != 1)}"
        session.notes.append(f"nan in {', '.join(given)}: forward gives nan in {outputs}, every gradient is finite")


def _nans(value: object) -> int:
    return int(np.isnan(as_float64(value)).sum()) if isinstance(value, np.ndarray) else 0
