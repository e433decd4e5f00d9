"""Memory layouts: results must not depend on how the arguments lie in memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np

from gradcheck.checks.agreement import Reactions, judge, largest_given
from gradcheck.checks.session import Session, copy_arrays
from gradcheck.model.dtypes import Array, as_float64, is_continuous
from gradcheck.model.evaluation import call_vjp
from gradcheck.model.protocol import copy_inputs, normalise_outputs
from gradcheck.numeric.tolerance import ROUNDINGS, gradients_close
from gradcheck.report import Finding

_MANY_ROUNDINGS = 64.0


def reversed_copy(array: Array) -> Array:
    """Gives equal values with negative strides along every axis."""
    return np.asarray(np.flip(np.array(np.flip(array), order="C")))  # np.flip turns a 0-d array into a scalar


def strided_copy(array: Array) -> Array:
    """Gives equal values as every second element of a larger array, along every axis."""
    if not array.ndim:
        return np.array(array)
    larger = np.zeros([2 * length + 1 for length in array.shape], dtype=array.dtype)
    view: Array = larger[tuple(slice(1, None, 2) for _ in array.shape)]
    view[...] = array
    return view


def fortran_copy(array: Array) -> Array:
    """Gives equal values with the first axis contiguous."""
    return np.array(array, order="F")


def unaligned_copy(array: Array) -> Array:
    """Gives equal values at an address that is no multiple of the item size."""
    raw = np.zeros(array.nbytes + 1, dtype=np.uint8)
    view = raw[1:].view(array.dtype).reshape(array.shape)
    view[...] = array
    return view


LAYOUTS: dict[str, Callable[[Array], Array]] = {
    "Fortran order": fortran_copy,
    "negative strides": reversed_copy,
    "a strided slice": strided_copy,
    "an unaligned address": unaligned_copy,
}


def check_layouts(session: Session) -> list[Finding]:
    """Finds results that differ from those for contiguous copies of the same values; each function is named once.

    A difference of a few roundings of inputs, or of numbers near one, may come from the order of arithmetic (vector
    and scalar code round differently) where results are tiny. It counts if values of ordinary size show one too.
    """
    findings = _differences(session, session.inputs, _MANY_ROUNDINGS)
    if not findings and _differences(session, session.inputs, 0.0):
        ordinary = tuple(_ordinary(session, k) for k in range(len(session.inputs)))
        findings = _differences(session, ordinary, 0.0)
    unique = {(finding.input, finding.message.split(":")[0]): finding for finding in reversed(findings)}
    return list(unique.values())[::-1]


def _differences(session: Session, inputs: Sequence[object], roundings: float) -> list[Finding]:
    findings = []
    cotangents = session.cotangents(1)
    slack = roundings * session.eps * largest_given(inputs)
    for label, change in LAYOUTS.items():
        changed = tuple(change(value) if isinstance(value, np.ndarray) else value for value in inputs)
        findings += _compare(session, f"inputs in {label}", (inputs, changed), (cotangents, cotangents), slack)
        other = tuple(change(cotangent) for cotangent in cotangents)
        findings += _compare(session, f"cotangents in {label}", (inputs, inputs), (cotangents, other), slack)
    even = tuple(_even(cotangent) for cotangent in cotangents)
    findings += _compare(session, "cotangents of stride 0", (inputs, inputs), (copy_arrays(even), even), slack)
    level = tuple(_level(session, k, value) for k, value in enumerate(inputs))
    return findings + _compare(session, "inputs of stride 0", (level, level), (cotangents, cotangents), slack)


def _level(session: Session, k: int, value: object) -> object:
    """Gives a floating input as one value at every place, if it may be so."""
    if not isinstance(value, np.ndarray) or not is_continuous(value.dtype):
        return value
    even = _even(value)
    return even if session.fits(k, even) else value


def _ordinary(session: Session, k: int) -> object:
    """Gives floating values brought to magnitudes near one, inside their domain."""
    value = session.inputs[k]
    if not isinstance(value, np.ndarray) or not is_continuous(value.dtype):
        return value
    values = as_float64(value)
    used = np.abs(values[np.isfinite(values) & (values != 0)])
    scaled = values / float(np.median(used)) if used.size else values
    return session.subject.inside(k, scaled, session.inputs)


def _even(array: Array) -> Array:
    return np.broadcast_to(array.ravel()[0], array.shape) if array.size else array


def _compare(
    session: Session,
    label: str,
    both_inputs: tuple[Sequence[object], Sequence[object]],
    both_cotangents: tuple[Sequence[Array], Sequence[Array]],
    slack: float,
) -> list[Finding]:
    """Compares results for (contiguous, changed) inputs and cotangents; differences up to `slack` are let be."""
    (inputs, changed), (cotangents, other) = both_inputs, both_cotangents
    subject = session.subject
    try:
        plain = session.run(copy_inputs(inputs), cotangents)
    except Exception:  # values that forward or vjp refuse in any layout say nothing about layouts
        return []
    reactions = Reactions(session, inputs, cotangents)

    def variant() -> Iterator[Sequence[Array | None]]:
        yield normalise_outputs(subject.forward(*changed))
        yield call_vjp(subject, changed, copy_arrays(plain.outputs), other)

    def agrees(place: int, got: Array | None, want: Array | None) -> bool:
        if want is None or got is None or (want.shape, want.dtype) != (got.shape, got.dtype):
            return want is got
        least_peak = slack / (ROUNDINGS * session.eps)
        close = gradients_close(as_float64(got), as_float64(want), session.eps, least_peak)
        return close or reactions.explain(place, got, want)

    def refusal(function: str, reason: str) -> str | None:
        if "unaligned" in label:  # libraries refuse it in words, and arrays seldom lie so
            session.notes.append(f"{function} refuses {label}: {reason}")
            return None
        return f"{function}: expected to accept {label}, got {reason}; copy to the layout it needs"

    sentence = f"expected what contiguous copies give, got other values for {label}; index by element, not by memory"
    return judge(subject.names, "layouts", variant, plain, agrees, sentence, refusal)
