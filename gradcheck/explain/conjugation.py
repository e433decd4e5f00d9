"""Complex gradients in the caller's convention, and wrong ones that the other convention would make right."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from gradcheck.judge.compare import Comparison, Status
from gradcheck.model.conventions import CONVENTIONS
from gradcheck.model.dtypes import FloatArray, is_complex
from gradcheck.model.evaluation import Point
from gradcheck.model.fitting import fit_gradient


def as_given(point: Point, k: int, comparison: Comparison) -> Comparison:
    """Takes a comparison from the convention of the judge to that of the caller, in which messages speak."""
    value = point.given[k]
    assert isinstance(value, np.ndarray)
    if point.subject.also.convention == "conjugate" or not is_complex(value.dtype):
        return comparison
    imaginary = comparison.elements % 2 == 1
    return replace(
        comparison,
        analytic=np.where(imaginary, 0.0 - comparison.analytic, comparison.analytic),
        low=np.where(imaginary, 0.0 - comparison.high, comparison.low),
        high=np.where(imaginary, 0.0 - comparison.low, comparison.high),
    )


def suits_other_convention(point: Point, k: int, comparison: Comparison, cotangents: FloatArray) -> str | None:
    """Says so, in words, if the subject's gradient of input `k` is right in the convention that was not chosen.

    Of a holomorphic function this is also what a forgotten or a needless conj looks like.
    """
    if not any(isinstance(a, np.ndarray) and is_complex(a.dtype) for a in (*point.given, *point.outputs)):
        return None
    also = point.subject.also
    (other,) = (name for name in CONVENTIONS if name != also.convention)
    subject = replace(point.subject, also=replace(also, convention=other))
    try:
        there = Point(subject, point.given, point.label)
        rows = [fit_gradient(there.gradients(row)[k], there.values(k).shape) for row in cotangents]
    except Exception:  # it refuses values that it took before; that is for other checks to say
        return None
    judged = np.isin(comparison.status, (Status.RIGHT, Status.WRONG))
    for row, gradient in enumerate(rows):
        if gradient is None:
            return None
        yours = gradient.ravel()[comparison.elements]
        nearest = np.clip(np.nan_to_num(yours), comparison.low[row], comparison.high[row])
        if not (np.abs(yours - nearest) <= comparison.allowance[row])[judged].all():
            return None
    fault = "a conj is missing" if also.convention == "conjugate" else "a conj is needless"
    return f"yours is right with convention={other!r}: {fault}, unless that is the convention meant"
