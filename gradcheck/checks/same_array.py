"""One array passed for two inputs: results must be those of two equal arrays."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations, islice

import numpy as np

from gradcheck.checks.agreement import close, identical
from gradcheck.checks.jitter import inside, jitter
from gradcheck.checks.session import Session, copy_arrays
from gradcheck.model.dtypes import Array, is_continuous
from gradcheck.model.evaluation import VjpError, call_vjp
from gradcheck.model.protocol import copy_inputs, normalise_outputs
from gradcheck.report import Finding

_PAIRS = 2
_JITTERS = 2

_Results = tuple[Array | None, ...]


def check_same_array(session: Session) -> list[Finding]:
    """Finds results that change when two inputs are one array object instead of two with equal values.

    A library may compute the two in another order (a product of a matrix with itself is a call of its own in BLAS), so
    a difference counts only beyond rounding, and beyond what a rounding of the inputs changes.
    """
    findings: list[Finding] = []
    for i, j in equal_pairs(session):
        findings += _judge(session, i, j)
    return findings


def equal_pairs(session: Session) -> list[tuple[int, int]]:
    """Gives the first few pairs of inputs that may be equal."""
    return list(islice(_pairs(session), _PAIRS))


def _pairs(session: Session) -> Iterator[tuple[int, int]]:
    """Gives pairs of floating inputs of one shape and dtype, the values of the first inside the second's domain."""
    for i, j in combinations(range(len(session.inputs)), 2):
        first, second = session.inputs[i], session.inputs[j]
        if not isinstance(first, np.ndarray) or not isinstance(second, np.ndarray) or not is_continuous(first.dtype):
            continue
        alike = first.size and (first.shape, first.dtype) == (second.shape, second.dtype)
        if alike and np.array_equal(inside(session, j, first), first):
            yield i, j


def _judge(session: Session, i: int, j: int) -> list[Finding]:
    names = session.subject.names
    inputs = list(session.inputs)
    inputs[j] = inputs[i]
    try:
        apart = _run(session, copy_inputs(inputs))
    except Exception:  # equal values are refused, whether they are one array or two
        return []
    shared = list(copy_inputs(inputs))
    shared[j] = shared[i]
    both = f"{names[i]!r} and {names[j]!r}"
    try:
        together = _run(session, shared)
    except Exception as error:
        reason = str(error) if isinstance(error, VjpError) else f"{type(error).__name__}: {error}"
        message = f"inputs {both}: expected to be accepted as one array, got {reason}; do not tell inputs by identity"
        return [Finding("same array", message, input=names[j])]
    if all(identical(one, two) for one, two in zip(apart, together, strict=True)):
        return []
    try:
        moved = [_run(session, jitter(session, inputs, seed, (i, j))) for seed in range(_JITTERS)]
    except Exception:  # equal values lie at the edge of what is accepted: nothing to measure rounding by
        return []
    labels = [f"output {p}" for p in range(len(apart[0]))], [f"gradient of {name!r}" for name in names]
    for part in (0, 1):
        for position, label in enumerate(labels[part]):
            reactions = [run[part][position] for run in moved]
            if not close(together[part][position], apart[part][position], session.eps, reactions):
                message = (
                    f"{label}: expected the same for one array passed as {both} as for two equal ones, got other "
                    "values; do not tell inputs by identity, and write to neither"
                )
                return [Finding("same array", message, input=names[j])]
    return []


def _run(session: Session, inputs: Sequence[object]) -> tuple[_Results, _Results]:
    outputs = copy_arrays(normalise_outputs(session.subject.forward(*inputs)))
    gradients = call_vjp(session.subject, inputs, copy_arrays(outputs), session.cotangents(1))
    return outputs, tuple(None if gradient is None else np.array(gradient, order="C") for gradient in gradients)
