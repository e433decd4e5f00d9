"""The cause of a wrong gradient, as far as the numbers tell: first what is certain, then where and what."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import replace

import numpy as np

from gradcheck.explain.causes import Jacobians, explain
from gradcheck.explain.depict import settle, subject_rows
from gradcheck.explain.elements import NEAR_ONE, NEAR_ONE_SHARE, ZERO, describe_effect, describe_factor, describe_place
from gradcheck.explain.hypothesis import CLOSE, fitting, peak, same
from gradcheck.judge.outcome import Comparison, Outcome, Status
from gradcheck.model.dtypes import BoolArray, FloatArray, fit_gradient, is_complex
from gradcheck.model.evaluation import Point
from gradcheck.model.protocol import CONVENTIONS
from gradcheck.numeric.tolerance import BARS, FLOOR

# Whole Jacobians are compared up to that many outputs, one vjp each.
_MOST_OUTPUTS = 96
# Entries of the Jacobian looked at, all outputs by all tested elements.
_MOST_ENTRIES = 1 << 20
# Where not all elements were judged, so many ways to choose the wrong among the judged ones make a side of zero that
# fits worth telling, and so many their place: there are many more of those that could fit.
_LEAST_WAYS = 50
_LEAST_WAYS_OF_SOME = 2000
# Sums and means of one or two numbers differ by factors that much else gives as well. With twice as many, those of four
# are not told.
_LEAST_COUNT = 2
# Of some elements of many, what one shows is not said of all: that many have to.
_LEAST_EVERYWHERE = 2
# Last elements are a pattern of their own where they are no more than a quarter of all, four at least: of a half, or of
# three, their place says less than what they have in common.
_LAST_SHARE = 4
# A float32 rounds by 2**-24; a few such operations stay below four times that, and err to both sides: one in ten at
# least, as rounding does by chance and a factor does not; at one in five a cotangent rounded to float32 is missed.
_SHORT_ROUNDING = 2.0**-22
_BOTH_WAYS = 0.1
# Values that are rearranged are three different ones at least, and one is off by an eighth of the largest.
_LEAST_DIFFERENT = 3
_REARRANGED = 8


def explain_values(outcome: Outcome, others: Mapping[str, FloatArray]) -> str | None:
    """Gives the cause of wrong values in words; None where nothing fits.

    The rules go from the special to the general: complex conventions, one pattern of the gradient, one of the whole
    Jacobian, and last what the wrong elements and their places have in common.

    Args:
        outcome: the judgement, with at least one wrong element.
        others: right gradients of the other inputs of the same size, all elements, shape (C, size), by name.
    """
    if outcome.missing:
        return "vjp returned None, but the output depends on it"
    cause = _suits_other_convention(outcome) or _one_of_several(outcome) or _diagnose(outcome, others)
    if cause is None and not is_complex(outcome.given.dtype):
        jacobians = _whole_jacobians(outcome)
        cause = explain(jacobians, is_elementwise=outcome.owner is not None) if jacobians is not None else None
        cause = cause or _place_and_effect(outcome) or _rearranged(outcome)
    return cause


def _suits_other_convention(outcome: Outcome) -> str | None:
    """Says so, in words, if the subject's gradient is right in the convention that was not chosen.

    Of a holomorphic function this is also what a forgotten or a needless conj looks like.
    """
    point, comparison = outcome.point, outcome.comparison
    if not any(isinstance(a, np.ndarray) and is_complex(a.dtype) for a in (*point.given, *point.outputs)):
        return None
    also = point.subject.also
    (other,) = (name for name in CONVENTIONS if name != also.convention)
    subject = replace(point.subject, also=replace(also, convention=other))
    try:
        there = Point(subject, point.given, point.label)
        rows = [fit_gradient(there.gradients(c)[outcome.k], there.values(outcome.k).shape) for c in outcome.cotangents]
    except Exception:  # it refuses values that it took before; that is for other checks to say
        return None
    if any(row is None for row in rows):
        return None
    yours = np.array(rows, dtype=np.float64).reshape(len(rows), -1)[:, comparison.elements]
    nearest = np.clip(np.nan_to_num(yours), comparison.low, comparison.high)
    judged = np.isin(comparison.status, (Status.RIGHT, Status.WRONG))
    if not (np.abs(yours - nearest) <= comparison.allowance)[:, judged].all():
        return None
    fault = "a conj is missing" if also.convention == "conjugate" else "a conj is needless"
    return f"yours is right with convention={other!r}: {fault}, unless that is the convention meant"


def _one_of_several(outcome: Outcome) -> str | None:
    """Finds that where several outputs use an element, the contribution of one alone comes back."""
    comparison, outputs = outcome.comparison, np.arange(outcome.point.size)
    if is_complex(outcome.given.dtype) or outputs.size * comparison.elements.size > _MOST_ENTRIES:
        return None
    measured, unknown = settle(outcome.measured, outputs, comparison.elements)
    if unknown.any() or any(is_complex(output.dtype) for output in outcome.point.outputs):
        return None
    numeric, wrong = (measured.low + measured.high) / 2, comparison.wrong
    uses = numeric != 0
    several = uses.sum(axis=0) > 1
    if not several[wrong].all() or several[comparison.status == Status.RIGHT].any():
        return None
    places = np.flatnonzero(wrong)
    for which, order in (("last", -1), ("first", 0)):
        own = np.array([np.flatnonzero(uses[:, place])[order] for place in places])
        alone = outcome.cotangents[:, own] * numeric[own, places]
        if same(alone, comparison.analytic[:, wrong], peak(comparison.numeric)):
            where = "".join(f"wrong where {name!r} repeats: " for name in _repeating(outcome)[:1])
            text = f"{where}yours is the contribution of the {which} output alone"
            return f"{text}{';' if where else ':'} '=' where '+=' is meant does this"
    return None


def _repeating(outcome: Outcome) -> list[str]:
    """Gives the names of the inputs of whole numbers that hold one of them twice, as positions do."""
    given = zip(outcome.point.subject.names, outcome.point.given, strict=True)
    whole = [(name, value) for name, value in given if isinstance(value, np.ndarray) and value.dtype.kind in "iu"]
    return [name for name, value in whole if np.unique(value).size < value.size]


def _diagnose(outcome: Outcome, others: Mapping[str, FloatArray]) -> str | None:
    """Gives the one pattern that fits, in words.

    None when no pattern fits or several do: a wrong hint costs more than none.
    """
    comparison = outcome.comparison
    if not np.isfinite(comparison.analytic[:, comparison.wrong]).any():
        return "yours is not finite there"
    factor = _constant_factor(outcome)
    is_real = not is_complex(outcome.given.dtype)
    own = _real_patterns(outcome, factor) if is_real else _complex_patterns(comparison)
    found = [text for text in (factor, *_patterns(outcome, others, factor), *own) if text is not None]
    return found[0] if len(found) == 1 else None


def _constant_factor(outcome: Outcome) -> str | None:
    comparison, value = outcome.comparison, outcome.given
    analytic, numeric = comparison.analytic, comparison.numeric
    large = np.abs(numeric) > CLOSE * peak(numeric)
    if not outcome.is_complete and np.count_nonzero(large.any(axis=0)) < _LEAST_EVERYWHERE:
        return None
    if large.sum() < 2 or comparison.kink.any() or _far(comparison)[~large].any():
        return None
    ratios = analytic[large] / numeric[large]
    ratio = float(np.median(ratios))
    if ratio == 1.0:
        return None
    accuracy = CLOSE if abs(ratio - 1.0) > NEAR_ONE else NEAR_ONE_SHARE * abs(ratio - 1.0)
    if not np.all(np.abs(ratios - ratio) <= accuracy * max(abs(ratio), 1.0)):
        return None
    if ratio == 0.0:
        return f"{ZERO} everywhere; the gradient is never computed"
    if abs(ratio + 1.0) <= CLOSE:
        return "yours has the opposite sign everywhere"
    counts = {value.size, *value.shape}  # what a forgotten or needless mean would divide by
    for shape in outcome.point.shapes:
        elements = int(np.prod(shape))
        counts |= {*shape, elements, elements // value.size}
    for size in sorted(size for size in counts if size > _LEAST_COUNT):
        if abs(ratio - size) <= CLOSE * size:
            return f"yours is {size} times too large everywhere: a sum where a mean is meant does this"
        if abs(ratio * size - 1.0) <= CLOSE:
            return f"yours is {size} times too small everywhere: a mean where a sum is meant does this"
    return f"{describe_factor(ratio, ' everywhere', value.dtype)}: a constant factor"


def _patterns(outcome: Outcome, others: Mapping[str, FloatArray], factor: str | None) -> Iterator[str | None]:
    """Yields what real and complex gradients may show, beside a constant factor."""
    comparison, shape = outcome.comparison, outcome.given.shape
    analytic, numeric, wrong = comparison.analytic, comparison.numeric, comparison.wrong
    if len(shape) == 2 and min(shape) >= 2 and outcome.is_complete:
        turned = numeric.reshape(len(numeric), *shape, -1).transpose(0, 2, 1, 3).reshape(numeric.shape)
        yield fitting([("yours is the transpose of the derivative", turned)], analytic, numeric)
    gradients = ((f"yours is the gradient of {name!r}", right) for name, right in others.items())
    yield fitting(((said, right[:, comparison.elements]) for said, right in gradients), analytic)
    varies = not same(numeric[1:], np.broadcast_to(numeric[:1], numeric[1:].shape))
    if varies and analytic.any() and same(analytic[1:], np.broadcast_to(analytic[:1], analytic[1:].shape)):
        yield "yours does not change with the cotangent; multiply by it"
    large = np.abs(numeric[:, wrong]) > CLOSE * peak(numeric)
    error = (analytic - numeric)[:, wrong][large] / numeric[:, wrong][large]
    both_ways = min((error > 0).mean(), (error < 0).mean()) > _BOTH_WAYS if error.size else False
    is_rounding = both_ways and bool(np.all(np.abs(analytic - numeric) <= _SHORT_ROUNDING * np.abs(numeric)))
    if factor is None and wrong.sum() > 1 and is_rounding:
        yield "yours differs by float32's rounding: the backward computes in float32 somewhere"


def _real_patterns(outcome: Outcome, factor: str | None) -> Iterator[str]:
    """Yields what of a complex gradient would tell nothing: it has a side of zero and a last element for each part."""
    comparison = outcome.comparison
    values, wrong = outcome.point.values(outcome.k).ravel()[comparison.elements], comparison.wrong
    weights = _own_cotangent(outcome)
    for region, side in ((values < 0, "<"), (values > 0, ">")):
        outside = ~region & (values != 0)
        is_there = wrong[region].all() and region.sum() > 1 and outside.any() and not wrong[~region].any()
        is_clear = outcome.is_complete or math.comb(int(region.sum() + outside.sum()), int(region.sum())) >= _LEAST_WAYS
        is_there = is_there and is_clear
        if is_there and factor is None:  # else the other side is right only because its derivative is zero
            is_cotangent = weights is not None and same(comparison.analytic[:, wrong], weights[:, wrong])
            detail = "; there yours equals the cotangent" if is_cotangent else ""
            yield f"wrong exactly where {outcome.name} {side} 0{detail}"
    if weights is not None:
        far, active = _far(comparison), np.abs(comparison.numeric) > comparison.allowance
        if (weights < 0).any() and far.any() and np.array_equal(far, (weights < 0) & active):
            yield "wrong exactly where the cotangent is negative"
    count = int(wrong.sum())
    is_end = bool((comparison.elements[-count:] == np.arange(outcome.size - count, outcome.size)).all())
    if is_end and wrong.size >= _LAST_SHARE and count <= max(1, wrong.size // _LAST_SHARE) and wrong[-count:].all():
        yield "only the last element is wrong" if count == 1 else f"only the last {count} elements are wrong"


def _complex_patterns(comparison: Comparison) -> Iterator[str]:
    analytic, numeric, wrong = comparison.analytic, comparison.numeric, comparison.wrong
    imaginary = comparison.elements % 2 == 1
    is_mixed = numeric[:, ~imaginary].any() and numeric[:, imaginary].any()
    if is_mixed and not comparison.kink.any() and same(np.where(imaginary, -analytic, analytic), numeric):
        yield "yours is the conjugate of the derivative: the imaginary parts have the opposite sign"
    if analytic.any() and not analytic[:, imaginary].any() and wrong[imaginary].any() and not wrong[~imaginary].any():
        yield "the imaginary part of yours is zero everywhere: it was dropped"


def _far(comparison: Comparison) -> BoolArray:
    return np.asarray(np.abs(comparison.analytic - comparison.numeric) > comparison.allowance)


def _own_cotangent(outcome: Outcome, where: BoolArray | slice = slice(None)) -> FloatArray | None:
    """Gives the cotangent at each element's place, shape (C, E), for elementwise functions without broadcasting."""
    if outcome.owner is None or outcome.owner.size != outcome.size:
        return None
    return outcome.cotangents[:, outcome.comparison.elements[where]]


def _rearranged(outcome: Outcome) -> str | None:
    """Finds the right values at other elements."""
    comparison = outcome.comparison
    yours, right = np.sort(comparison.analytic, axis=1), np.sort(comparison.numeric, axis=1)
    most = peak(right)
    if not outcome.is_complete or comparison.kink.any() or np.unique(right[-1]).size < _LEAST_DIFFERENT:
        return None
    if same(yours, right, most) and np.abs(comparison.analytic - comparison.numeric).max() > most / _REARRANGED:
        return "yours has the right values at other elements: an order, an axis or an index is mixed up"
    return None


def _whole_jacobians(outcome: Outcome) -> Jacobians | None:
    """Takes the subject's Jacobian beside the right one; None where they are too large, or not known throughout."""
    point, comparison = outcome.point, outcome.comparison
    is_whole = outcome.is_complete and point.size <= _MOST_OUTPUTS and np.isfinite(point.center).all()
    if not is_whole or any(is_complex(output.dtype) for output in point.outputs):
        return None
    outputs = np.arange(point.size)
    analytic = subject_rows(outcome, outputs)
    if analytic is None or not np.isfinite(analytic).all():
        return None
    measured, unknown = settle(outcome.measured, outputs, comparison.elements)
    if unknown.any():
        return None
    numeric = np.clip(analytic, measured.low, measured.high)
    slack = BARS * measured.bar + max(FLOOR, point.subject.also.accuracy) * peak(numeric)
    return Jacobians(
        outcome.name,
        point.values(outcome.k),
        tuple(out.shape for out, floating in zip(point.outputs, point.floating, strict=True) if floating),
        analytic,
        numeric,
        np.abs(analytic - numeric) > slack,
        outcome.cotangents,
        comparison.analytic,
    )


def _place_and_effect(outcome: Outcome) -> str | None:
    comparison = outcome.comparison
    weightless = (np.abs(comparison.numeric) <= comparison.allowance).all(axis=0)
    wrong, right = np.zeros((2, outcome.size), dtype=np.bool_)
    wrong[comparison.elements] = comparison.wrong
    right[comparison.elements] = (comparison.status == Status.RIGHT) & ~weightless
    values = outcome.point.values(outcome.k)
    is_clear = outcome.is_complete or math.comb(int(wrong.sum() + right.sum()), int(wrong.sum())) >= _LEAST_WAYS_OF_SOME
    place = None
    is_of_many = outcome.is_complete or int(wrong.sum()) >= _LEAST_EVERYWHERE
    if is_clear or (is_of_many and not right.any()):
        place = describe_place(wrong.reshape(values.shape), right.reshape(values.shape), values, outcome.name)
    weights = _own_cotangent(outcome, comparison.wrong)
    analytic, numeric = comparison.analytic[:, comparison.wrong], comparison.numeric[:, comparison.wrong]
    effect = describe_effect(analytic, numeric, weights, outcome.given.dtype)
    if effect is not None and (is_of_many or effect != ZERO):
        return f"wrong {place}; there {effect}" if place else f"in all wrong elements {effect}"
    return None if place in (None, "everywhere") else f"wrong {place}"
