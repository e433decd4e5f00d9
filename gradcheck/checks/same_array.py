"""One array passed for two inputs: results must be those of two equal arrays."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations, islice

import numpy as np

from gradcheck.checks.agreement import identical
from gradcheck.checks.relation import REPEATS, Reactions, Relation, judge
from gradcheck.checks.session import Session
from gradcheck.model.dtypes import Array, is_continuous
from gradcheck.model.protocol import copy_inputs
from gradcheck.report import Finding

_PAIRS = 2


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
        if alike and session.fits(j, first):
            yield i, j


def _judge(session: Session, i: int, j: int) -> list[Finding]:
    names = session.subject.names
    inputs = list(session.inputs)
    inputs[j] = inputs[i]
    try:
        apart = session.run(copy_inputs(inputs))
    except Exception:  # equal values are refused, whether they are one array or two
        return []
    shared = list(copy_inputs(inputs))
    shared[j] = shared[i]
    both = f"{names[i]!r} and {names[j]!r}"
    reactions = Reactions(session, inputs, places=(i, j))

    def variant() -> tuple[Sequence[Array | None], ...]:
        together = session.run(shared)
        return together.outputs, together.gradients

    def agrees(place: int, got: Array | None, want: Array | None) -> bool:
        if identical([got], [want]) or len(reactions.runs) < REPEATS:
            return True  # in the second case there is nothing to measure rounding by
        return reactions.explain(place, got, want)

    relation = Relation(
        "same array",
        variant,
        apart,
        agrees,
        f"expected the same for one array passed as {both} as for two equal ones, got other values; do not tell inputs "
        "by identity, and write to neither",
        lambda _, reason: (
            f"inputs {both}: expected to be accepted as one array, got {reason}; do not tell inputs by identity"
        ),
        input=names[j],
        is_told_once=True,
    )
    return judge(names, relation)
