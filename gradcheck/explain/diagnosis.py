"""Patterns in wrong gradients that point to one mistake."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from gradcheck.explain.hypothesis import CLOSE, fitting, peak, same
from gradcheck.judge.compare import Comparison
from gradcheck.model.dtypes import BoolArray, FloatArray, IntArray


@dataclass(frozen=True)
class Evidence:
    """What a diagnosis may look at.

    Args:
        name: the input's name.
        shape: its shape.
        values: its values, flat.
        comparison: the judgement of its gradient.
        cotangents: shape (C, outputs).
        owner: the element that each output depends on, for elementwise functions.
        others: right gradients of the other inputs of the same size, all elements, shape (C, size).
        counts: numbers that a forgotten or needless mean would divide by.
        is_complex: whether the input is; then each element is two values, its real and its imaginary part.
    """

    name: str
    shape: tuple[int, ...]
    values: FloatArray
    comparison: Comparison
    cotangents: FloatArray
    owner: IntArray | None
    others: Mapping[str, FloatArray]
    counts: frozenset[int]
    is_complex: bool = False

    @property
    def is_complete(self) -> bool:
        """Whether every element was compared."""
        return self.comparison.elements.size == self.values.size

    @property
    def own_cotangent(self) -> FloatArray | None:
        """The cotangent at the element's own place, shape (C, E), for elementwise functions without broadcasting."""
        if self.owner is None or self.owner.size != self.values.size:
            return None
        return self.cotangents[:, self.comparison.elements]


def diagnose(evidence: Evidence) -> str | None:
    """Gives the one pattern that fits, in words.

    None when no pattern fits or several do: a wrong hint costs more than none.
    """
    if not np.isfinite(evidence.comparison.analytic[:, evidence.comparison.wrong]).any():
        return "yours is not finite there"
    patterns = (pattern for pattern, may_show in _PATTERNS if may_show[evidence.is_complex])
    found = [text for pattern in patterns if (text := pattern(evidence)) is not None]
    return found[0] if len(found) == 1 else None


def _constant_factor(evidence: Evidence) -> str | None:
    analytic, numeric = evidence.comparison.analytic, evidence.comparison.numeric
    large = np.abs(numeric) > CLOSE * peak(numeric)
    if large.sum() < 2 or evidence.comparison.kink.any() or _far(evidence.comparison)[~large].any():
        return None
    ratios = analytic[large] / numeric[large]
    ratio = float(np.median(ratios))
    if ratio == 1.0:
        return None
    accuracy = CLOSE if abs(ratio - 1.0) > 1e-3 else 1e-2 * abs(ratio - 1.0)
    if not np.all(np.abs(ratios - ratio) <= accuracy * max(abs(ratio), 1.0)):
        return None
    if ratio == 0.0:
        return "yours is zero everywhere; the gradient is never computed"
    if abs(ratio + 1.0) <= CLOSE:
        return "yours has the opposite sign everywhere"
    elements = int(np.prod(evidence.shape))
    for size in sorted(size for size in {*evidence.counts, elements, *evidence.shape} if size > 2):
        if abs(ratio - size) <= CLOSE * size:
            return f"yours is {size} times too large everywhere: a sum where a mean is meant does this"
        if abs(ratio * size - 1.0) <= CLOSE:
            return f"yours is {size} times too small everywhere: a mean where a sum is meant does this"
    return f"yours is {ratio:.10g} times the derivative everywhere: a constant factor"


def _transposed(evidence: Evidence) -> str | None:
    if len(evidence.shape) != 2 or min(evidence.shape) < 2 or not evidence.is_complete:
        return None
    analytic, numeric = evidence.comparison.analytic, evidence.comparison.numeric
    turned = numeric.reshape(len(numeric), *evidence.shape, -1).transpose(0, 2, 1, 3).reshape(numeric.shape)
    return fitting([("yours is the transpose of the derivative", turned)], analytic, numeric)


def _other_input(evidence: Evidence) -> str | None:
    elements = evidence.comparison.elements
    others = ((f"yours is the gradient of {name!r}", right[:, elements]) for name, right in evidence.others.items())
    return fitting(others, evidence.comparison.analytic)


def _one_side(evidence: Evidence) -> str | None:
    if _constant_factor(evidence) is not None:  # then the other side is right only because its derivative is zero
        return None
    values = evidence.values[evidence.comparison.elements]
    wrong = evidence.comparison.wrong
    for region, side in ((values < 0, "<"), (values > 0, ">")):
        outside = ~region & (values != 0)
        if wrong[region].all() and region.sum() > 1 and outside.any() and not wrong[~region].any():
            same = _equals_cotangent(evidence, wrong)
            detail = "; there yours equals the cotangent" if same else ""
            return f"wrong exactly where {evidence.name} {side} 0{detail}"
    return None


def _ignores_cotangent(evidence: Evidence) -> str | None:
    analytic, numeric = evidence.comparison.analytic, evidence.comparison.numeric
    varies = not same(numeric[1:], np.broadcast_to(numeric[:1], numeric[1:].shape))
    if varies and analytic.any() and same(analytic[1:], np.broadcast_to(analytic[:1], analytic[1:].shape)):
        return "yours does not change with the cotangent; multiply by it"
    return None


def _absolute_cotangent(evidence: Evidence) -> str | None:
    weights = evidence.own_cotangent
    if weights is None:
        return None
    far = _far(evidence.comparison)
    negative = weights < 0
    active = np.abs(evidence.comparison.numeric) > evidence.comparison.allowance
    if negative.any() and far.any() and np.array_equal(far, negative & active):
        return "wrong exactly where the cotangent is negative"
    return None


def _last_elements(evidence: Evidence) -> str | None:
    wrong = evidence.comparison.wrong
    count = int(wrong.sum())
    if wrong.size < 4 or count > max(1, wrong.size // 4) or not wrong[-count:].all():
        return None
    return "only the last element is wrong" if count == 1 else f"only the last {count} elements are wrong"


def _rounded_short(evidence: Evidence) -> str | None:
    analytic, numeric = evidence.comparison.analytic, evidence.comparison.numeric
    if _constant_factor(evidence) is not None:
        return None
    wrong = evidence.comparison.wrong
    large = np.abs(numeric[:, wrong]) > CLOSE * peak(numeric)
    error = (analytic - numeric)[:, wrong][large] / numeric[:, wrong][large]
    both_ways = min((error > 0).mean(), (error < 0).mean()) > 0.1 if error.size else False
    if wrong.sum() > 1 and both_ways and np.all(np.abs(analytic - numeric) <= 2.0**-22 * np.abs(numeric)):
        return "yours differs by float32's rounding: the backward computes in float32 somewhere"
    return None


def _conjugated(evidence: Evidence) -> str | None:
    analytic, numeric = evidence.comparison.analytic, evidence.comparison.numeric
    signs = np.where(evidence.comparison.elements % 2 == 1, -1.0, 1.0)
    is_mixed = numeric[:, signs > 0].any() and numeric[:, signs < 0].any()
    if is_mixed and not evidence.comparison.kink.any() and same(signs * analytic, numeric):
        return "yours is the conjugate of the derivative: the imaginary parts have the opposite sign"
    return None


def _real_only(evidence: Evidence) -> str | None:
    analytic, wrong = evidence.comparison.analytic, evidence.comparison.wrong
    imaginary = evidence.comparison.elements % 2 == 1
    if analytic.any() and not analytic[:, imaginary].any() and wrong[imaginary].any() and not wrong[~imaginary].any():
        return "the imaginary part of yours is zero everywhere: it was dropped"
    return None


def _equals_cotangent(evidence: Evidence, where: BoolArray) -> bool:
    weights = evidence.own_cotangent
    return weights is not None and same(evidence.comparison.analytic[:, where], weights[:, where])


def _far(comparison: Comparison) -> BoolArray:
    return np.asarray(np.abs(comparison.analytic - comparison.numeric) > comparison.allowance)


_BOTH, _REAL, _COMPLEX = (True, True), (True, False), (False, True)
# Each pattern, and whether real and complex gradients may show it. A complex gradient has a side of zero, a last
# element and a sign of the cotangent for each part: they tell nothing.
_PATTERNS: tuple[tuple[Callable[[Evidence], str | None], tuple[bool, bool]], ...] = (
    (_constant_factor, _BOTH),
    (_transposed, _BOTH),
    (_other_input, _BOTH),
    (_one_side, _REAL),
    (_ignores_cotangent, _BOTH),
    (_absolute_cotangent, _REAL),
    (_last_elements, _REAL),
    (_rounded_short, _BOTH),
    (_conjugated, _COMPLEX),
    (_real_only, _COMPLEX),
)
