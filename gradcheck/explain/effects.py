"""What the wrong elements of a gradient have in common, in words: zero, a factor, a constant too much."""

from __future__ import annotations

import numpy as np

from gradcheck.explain.hypothesis import CLOSE, peak, same
from gradcheck.model.dtypes import FloatArray


def describe_effect(analytic: FloatArray, numeric: FloatArray, weights: FloatArray | None) -> str | None:
    """Says how wrong elements relate to the right ones, if a few words do.

    Args:
        analytic: the subject's, shape (C, wrong elements), one row per cotangent.
        numeric: the right ones.
        weights: the cotangent at each element's own place, for elementwise functions.

    Returns:
        Words that follow "there", such as "yours is zero"; None where no rule fits.
    """
    if not np.isfinite(analytic).all():
        return "yours is not finite" if not np.isfinite(analytic).all(axis=0).any() else None
    if not analytic.any():
        return "yours is zero"
    most = peak(numeric)
    if weights is not None and same(analytic, weights, most):
        return "yours equals the cotangent"
    if weights is not None and same(analytic, -weights, most):
        return "yours is the negative cotangent"
    error = analytic - numeric
    if analytic.size > 1 and same(error, np.full_like(error, error.flat[0]), peak(error)):
        return (
            f"yours is {abs(error.flat[0]):.6g} too {'large' if error.flat[0] > 0 else 'small'}, whatever the cotangent"
        )
    if most == 0.0:
        return "nothing depends on the element"
    large = np.abs(numeric) > CLOSE * most
    ratios = analytic[large] / numeric[large]
    ratio = float(np.median(ratios))
    if ratios.size > 1 and same(analytic, ratio * numeric, most):
        return (
            "yours has the opposite sign" if abs(ratio + 1) <= CLOSE else f"yours is {ratio:.10g} times the derivative"
        )
    return None
