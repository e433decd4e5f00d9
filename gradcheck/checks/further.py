"""The checks of what a caller may give beside forward and vjp: each is asked for, or does not run."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np

from gradcheck.checks.batched import check_batched, check_batched_vjp
from gradcheck.checks.second import check_jvp2, check_vjp2
from gradcheck.checks.transpose import check_jvp
from gradcheck.checks.undefined import check_declared_outputs, check_none_cotangents
from gradcheck.model.evaluation import Point
from gradcheck.model.protocol import Subject
from gradcheck.report import Finding, Tally

# Text, because naming np.random at import time loads it.
_Check: TypeAlias = "Callable[[Point, Tally, np.random.Generator], list[Finding]]"


def check_further(point: Point, tally: Tally, seed: int) -> list[Finding]:
    """Runs every check that the subject asks for, at the given inputs; each enters its name into the tally."""
    findings = []
    for place, (wants, run) in enumerate(_CHECKS):
        if wants(point.subject):
            findings += run(point, tally, np.random.default_rng([seed, 1, place]))
    return findings


_CHECKS: tuple[tuple[Callable[[Subject], bool], _Check], ...] = (
    (lambda subject: subject.jvp is not None, check_jvp),
    (lambda subject: bool(subject.also.nondifferentiable_outputs), check_declared_outputs),
    (lambda subject: subject.also.none_cotangents, check_none_cotangents),
    (lambda subject: subject.also.vjp2 is not None, check_vjp2),
    (lambda subject: subject.also.jvp2 is not None, check_jvp2),
    (lambda subject: subject.also.batched is not None, check_batched),
    (lambda subject: subject.also.batched_vjp is not None, check_batched_vjp),
)
