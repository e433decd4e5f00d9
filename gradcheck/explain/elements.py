"""What the wrong elements of a gradient have in common, in words: where they lie, and how they are wrong."""

from __future__ import annotations

import math
import operator
from collections.abc import Iterator
from typing import Any

import numpy as np

from gradcheck.explain.hypothesis import CLOSE, peak, same
from gradcheck.model.dtypes import BoolArray, FloatArray, IntArray, resolution

ZERO = "yours is zero"
# A factor so near to one is told from one to a hundredth of the difference only.
NEAR_ONE = 1e-3
NEAR_ONE_SHARE = 1e-2
# A factor is written with so many digits, of a dtype that has fewer with those.
_DIGITS = 10
_LONG = np.dtype("float64")
# A threshold has two elements on each side: between one and the rest there always is one.
_EACH_SIDE = 2
_TRIANGLES = (
    ("on the diagonal", operator.eq),
    ("off the diagonal", operator.ne),
    ("above the diagonal", operator.lt),
    ("below the diagonal", operator.gt),
    ("on and above the diagonal", operator.le),
    ("on and below the diagonal", operator.ge),
)


def describe_place(wrong: BoolArray, right: BoolArray, values: FloatArray, name: str) -> str | None:
    """Says where the wrong elements are, if a few words do: an end of an axis, a triangle, a side of a threshold.

    Args:
        wrong: of the input's shape; elements found wrong. At least one is.
        right: elements found right. What is neither was not judged, or has no weight: both readings fit it.
        values: the input.
        name: of the input.

    Returns:
        Words that follow "wrong", such as "everywhere" or "only where x > 2"; None where no region fits.
    """
    if not right.any():
        return "everywhere"
    for said, region in _regions(wrong, right, values, name):
        if not wrong[~region].any() and not right[region].any():
            return f"only {said}"
    return None


def _regions(wrong: BoolArray, right: BoolArray, values: FloatArray, name: str) -> Iterator[tuple[str, BoolArray]]:
    """Yields the regions that wrong elements may fill, and how they are called, the plainest first."""
    yield f"where {name} = 0", values == 0
    flat = np.arange(wrong.size).reshape(wrong.shape)
    if wrong.ndim == 1 and wrong.sum() == 1:
        yield "at the first element", flat == 0
        yield "at the last element", flat == wrong.size - 1
    else:
        yield from _slabs(wrong, name)
    if wrong.sum() >= _EACH_SIDE and right.sum() >= _EACH_SIDE:
        for measure, said in ((values, name), (np.abs(values), f"|{name}|")):
            bad, good = measure[wrong], measure[right]
            yield f"where {said} > {_between(good.max(), bad.min())}", measure >= bad.min()
            yield f"where {said} < {_between(bad.max(), good.min())}", measure <= bad.max()
    _, place, counts = np.unique(values, return_inverse=True, return_counts=True)
    yield f"where values of {name} repeat", (counts > 1)[place.reshape(values.shape)]
    if wrong.ndim == 2 and min(wrong.shape) >= 2:
        row, column = np.indices(wrong.shape)
        for said, inside in _TRIANGLES:
            yield said, inside(row, column)
    first, last = int(flat[wrong].min()), int(flat[wrong].max())
    for end, count, region in (("last", wrong.size - first, flat >= first), ("first", last + 1, flat <= last)):
        yield f"at the {end} {count} of {wrong.size} elements" if count > 1 else f"at the {end} element", region


def _slabs(wrong: BoolArray, name: str) -> Iterator[tuple[str, BoolArray]]:
    """Yields, for each axis, an index, or a run of them at an end, or every other one."""
    for axis in range(wrong.ndim):
        place: IntArray = np.indices(wrong.shape)[axis]
        bad, last = np.unique(place[wrong]), wrong.shape[axis] - 1
        along = f"along axis {axis} of {name}"
        if bad.size == 1:
            where = {0: "the first", last: "the last"}.get(int(bad[0]), f"index {bad[0]}")
            yield f"at {where} {along}", place == bad[0]
        yield f"from index {bad[0]} on {along}", place >= bad[0]
        yield f"at the first {bad[-1] + 1} {along}", place <= bad[-1]
        yield f"at even indices {along}", place % 2 == 0
        yield f"at odd indices {along}", place % 2 == 1


def _between(low: float, high: float) -> str:
    """Writes the plainest number in [low, high]: zero, or the one with the fewest digits."""
    if low <= 0 <= high:
        return "0"
    for digits in range(1, 17):
        text = f"{(low + high) / 2:.{digits}g}"
        if low <= float(text) <= high:
            return text
    return repr(high)


def describe_effect(
    analytic: FloatArray, numeric: FloatArray, weights: FloatArray | None, dtype: np.dtype[Any] = _LONG
) -> str | None:
    """Says how wrong elements relate to the right ones, if a few words do.

    Args:
        analytic: the subject's, shape (C, wrong elements), one row per cotangent.
        numeric: the right ones.
        weights: the cotangent at each element's own place, for elementwise functions.
        dtype: in which the subject computed.

    Returns:
        Words that follow "there", such as "yours is zero"; None where no rule fits.
    """
    if not np.isfinite(analytic).all():
        return "yours is not finite" if not np.isfinite(analytic).all(axis=0).any() else None
    if not analytic.any():
        return ZERO
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
    spread = np.abs(ratios - ratio).max(initial=0.0)
    is_one_factor = abs(ratio - 1) > NEAR_ONE or spread <= NEAR_ONE_SHARE * abs(ratio - 1)
    if ratios.size > 1 and is_one_factor and same(analytic, ratio * numeric, most):
        return "yours has the opposite sign" if abs(ratio + 1) <= CLOSE else describe_factor(ratio, "", dtype)
    return None


def describe_factor(ratio: float, place: str, dtype: np.dtype[Any] = _LONG) -> str:
    """Writes a factor with as many digits as the dtype has, which is told where it is not float64."""
    digits = min(_DIGITS, round(-math.log10(resolution(dtype))))
    told = "" if digits == _DIGITS else f" in {dtype}"
    return f"yours is {ratio:.{digits}g} times the derivative{place}{told}"
