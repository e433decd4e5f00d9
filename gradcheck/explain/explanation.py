"""The cause of a wrong gradient, as far as the numbers tell: first what is certain, then where and what."""

from __future__ import annotations

import numpy as np

from gradcheck.explain.causes import Jacobians, explain
from gradcheck.explain.conjugation import suits_other_convention
from gradcheck.explain.diagnosis import Evidence, diagnose
from gradcheck.explain.effects import describe_effect
from gradcheck.explain.hypothesis import peak, same
from gradcheck.explain.jacobian import settle, subject_rows
from gradcheck.explain.places import describe_place
from gradcheck.judge.compare import Status
from gradcheck.judge.outcome import Outcome
from gradcheck.model.dtypes import is_complex
from gradcheck.model.evaluation import Point

# Whole Jacobians are compared up to that many outputs, one vjp each.
_MOST_OUTPUTS = 96


def explain_values(point: Point, outcome: Outcome, evidence: Evidence) -> str | None:
    """Gives the cause of wrong values in words; None where nothing fits.

    The rules go from the special to the general: complex conventions, one pattern of the gradient, one of the whole
    Jacobian, and last what the wrong elements and their places have in common.
    """
    if outcome.missing:
        return "vjp returned None, but the output depends on it"
    cause = suits_other_convention(point, outcome.k, evidence.comparison, evidence.cotangents)
    cause = cause or diagnose(evidence)
    if cause is None and not evidence.is_complex:
        jacobians = _whole_jacobians(point, outcome, evidence)
        cause = explain(jacobians, is_elementwise=evidence.owner is not None) if jacobians is not None else None
        cause = cause or _place_and_effect(evidence) or _rearranged(evidence)
    return cause


def _rearranged(evidence: Evidence) -> str | None:
    """Finds the right values at other elements."""
    comparison = evidence.comparison
    yours, right = np.sort(comparison.analytic, axis=1), np.sort(comparison.numeric, axis=1)
    most = peak(right)
    if not evidence.is_complete or comparison.kink.any() or np.unique(right[-1]).size < 3:
        return None
    if same(yours, right, most) and np.abs(comparison.analytic - comparison.numeric).max() > most / 8:
        return "yours has the right values at other elements: an order, an axis or an index is mixed up"
    return None


def _whole_jacobians(point: Point, outcome: Outcome, evidence: Evidence) -> Jacobians | None:
    """Takes the subject's Jacobian beside the right one; None where they are too large, or not known throughout."""
    comparison = evidence.comparison
    is_whole = evidence.is_complete and point.size <= _MOST_OUTPUTS and np.isfinite(point.center).all()
    if not is_whole or any(is_complex(output.dtype) for output in point.outputs):
        return None
    outputs = np.arange(point.size)
    analytic = subject_rows(point, outcome.k, outputs)
    if analytic is None or not np.isfinite(analytic).all():
        return None
    low, high, bar, unknown = settle(outcome.measured, outputs, comparison.elements)
    if unknown.any():
        return None
    numeric = np.clip(analytic, low, high)
    slack = 4.0 * bar + 1e-9 * np.max(np.abs(numeric), initial=0.0)
    return Jacobians(
        evidence.name,
        evidence.values.reshape(evidence.shape),
        tuple(out.shape for out, floating in zip(point.outputs, point.floating, strict=True) if floating),
        analytic,
        numeric,
        np.abs(analytic - numeric) > slack,
        evidence.cotangents,
        comparison.analytic,
    )


def _place_and_effect(evidence: Evidence) -> str | None:
    comparison = evidence.comparison
    weightless = (np.abs(comparison.numeric) <= comparison.allowance).all(axis=0)
    wrong, right = (np.zeros(evidence.values.size, dtype=np.bool_) for _ in range(2))
    wrong[comparison.elements] = comparison.wrong
    right[comparison.elements] = (comparison.status == Status.RIGHT) & ~weightless
    values = evidence.values.reshape(evidence.shape)
    place = describe_place(wrong.reshape(evidence.shape), right.reshape(evidence.shape), values, evidence.name)
    weights = evidence.own_cotangent
    weights = None if weights is None else weights[:, comparison.wrong]
    effect = describe_effect(comparison.analytic[:, comparison.wrong], comparison.numeric[:, comparison.wrong], weights)
    if effect is not None:
        return f"wrong {place}; there {effect}" if place else f"in all wrong elements {effect}"
    return None if place in (None, "everywhere") else f"wrong {place}"
