"""Where the wrong elements of a gradient lie, in words: an end of an axis, a triangle, a side of a threshold."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from gradcheck.model.dtypes import BoolArray, FloatArray

_TRIANGLES: tuple[tuple[str, Callable[[FloatArray], FloatArray]], ...] = (
    ("on the diagonal", lambda a: a * np.eye(*a.shape)),
    ("off the diagonal", lambda a: a * (1 - np.eye(*a.shape))),
    ("above the diagonal", lambda a: np.triu(a, 1)),
    ("below the diagonal", lambda a: np.tril(a, -1)),
    ("on and above the diagonal", np.triu),
    ("on and below the diagonal", np.tril),
)


def describe_place(wrong: BoolArray, right: BoolArray, values: FloatArray, name: str) -> str | None:
    """Says where the wrong elements are, if a few words do.

    Args:
        wrong: of the input's shape; elements found wrong. At least one is.
        right: elements found right. What is neither was not judged, or has no weight: both readings fit it.
        values: the input.
        name: of the input.

    Returns:
        Words that follow "wrong", such as "everywhere" or "only where x > 2"; None where no rule fits.
    """
    if not right.any():
        return "everywhere"
    for rule in (_at_zero, _in_a_slab, _by_value, _at_repeated_values, _in_a_triangle, _in_the_tail):
        found = rule(wrong, right, values, name)
        if found is not None:
            return found
    return None


def _at_zero(wrong: BoolArray, right: BoolArray, values: FloatArray, name: str) -> str | None:
    return f"only where {name} = 0" if not values[wrong].any() and values[right].all() else None


def _in_a_slab(wrong: BoolArray, right: BoolArray, values: FloatArray, name: str) -> str | None:
    """Finds an index, or a run of them at an end, along one axis."""
    if wrong.ndim == 1 and wrong.sum() == 1:
        place = int(np.flatnonzero(wrong)[0])
        return {0: "only at the first element", wrong.size - 1: "only at the last element"}.get(place)
    for axis in range(wrong.ndim):
        others = tuple(k for k in range(wrong.ndim) if k != axis)
        bad, good = np.asarray(wrong.any(axis=others)), np.asarray(right.any(axis=others))
        if (bad & good).any() or not good.any():
            continue
        indices = np.flatnonzero(bad)
        along = f"along axis {axis} of {name}"
        if indices.size == 1:
            word = {0: "first", bad.size - 1: "last"}.get(int(indices[0]), f"index {int(indices[0])}")
            return f"only at the {word} {along}" if word in ("first", "last") else f"only at {word} {along}"
        if not good[indices[0] :].any():
            return f"only from index {int(indices[0])} on {along}"
        if not good[: indices[-1] + 1].any():
            return f"only at the first {int(indices[-1]) + 1} {along}"
        for parity, word in ((0, "even"), (1, "odd")):
            if not bad[1 - parity :: 2].any() and not good[parity::2].any():
                return f"only at {word} indices {along}"
    return None


def _by_value(wrong: BoolArray, right: BoolArray, values: FloatArray, name: str) -> str | None:
    """Finds a threshold of the values, or of their magnitude, that tells wrong from right; needs two on each side."""
    if wrong.sum() < 2 or right.sum() < 2:
        return None
    for measure, said in ((values, name), (np.abs(values), f"|{name}|")):
        bad, good = measure[wrong], measure[right]
        if bad.min() > good.max():
            return f"only where {said} > {_between(good.max(), bad.min())}"
        if bad.max() < good.min():
            return f"only where {said} < {_between(bad.max(), good.min())}"
    return None


def _between(low: float, high: float) -> str:
    """Writes the plainest number in [low, high]: zero, or the one with the fewest digits."""
    if low <= 0 <= high:
        return "0"
    for digits in range(1, 17):
        text = f"{(low + high) / 2:.{digits}g}"
        if low <= float(text) <= high:
            return text
    return repr(high)


def _at_repeated_values(wrong: BoolArray, right: BoolArray, values: FloatArray, name: str) -> str | None:
    _, place, count = np.unique(values, return_inverse=True, return_counts=True)
    repeated = (count > 1)[place.reshape(values.shape)]
    if wrong[repeated].any() and not wrong[~repeated].any() and not right[repeated].any():
        return f"only where values of {name} repeat"
    return None


def _in_a_triangle(wrong: BoolArray, right: BoolArray, values: FloatArray, name: str) -> str | None:
    if wrong.ndim != 2 or min(wrong.shape) < 2:
        return None
    for said, part in _TRIANGLES:
        inside = part(np.ones(wrong.shape)) != 0
        if not wrong[~inside].any() and not right[inside].any():
            return f"only {said}"
    return None


def _in_the_tail(wrong: BoolArray, right: BoolArray, values: FloatArray, name: str) -> str | None:
    """Finds that only the last elements are wrong, or the first ones, counted over all axes."""
    bad, good = np.flatnonzero(wrong), np.flatnonzero(right)
    if bad.min() > good.max():
        count = wrong.size - int(bad.min())
        return f"only at the last {count} of {wrong.size} elements" if count > 1 else "only at the last element"
    if bad.max() < good.min():
        count = int(bad.max()) + 1
        return f"only at the first {count} of {wrong.size} elements" if count > 1 else "only at the first element"
    return None
