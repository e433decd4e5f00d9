"""Whether two runs gave the same arrays: to the bit, or as far as rounding takes two orders of one computation."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from gradcheck.model.dtypes import Array, BoolArray, FloatArray, as_float64, same_bits
from gradcheck.model.evaluation import floating_arrays
from gradcheck.numeric.tolerance import ROUNDINGS

_REACTIONS = 16.0


def identical(first: Sequence[Array | None], second: Sequence[Array | None]) -> bool:
    """Says whether two results have the same arrays, bit by bit, and None at the same places."""
    if len(first) != len(second):
        return False
    for one, two in zip(first, second, strict=True):
        if one is None or two is None:
            if one is not two:
                return False
        elif not same_bits(one, two):
            return False
    return True


def close(first: Array | None, second: Array | None, eps: float, reactions: Sequence[Array | None] = ()) -> bool:
    """Says whether two results agree up to rounding; None counts as zeros.

    Args:
        first: one result.
        second: the other.
        eps: resolution of the arithmetic.
        reactions: `second` once more, from arguments changed by a rounding; how far it moved is conceded, and elements
            that are not finite in any of the results are not compared.
    """
    shape = next((as_float64(array).shape for array in (first, second) if array is not None), ())
    one, two, *moved = (np.zeros(shape) if a is None else as_float64(a) for a in (first, second, *reactions))
    if one.shape != two.shape or any(other.shape != two.shape for other in moved):
        return False
    finite = np.isfinite(one) & np.isfinite(two)
    if not moved and not np.array_equal(one[~finite], two[~finite], equal_nan=True):
        return False
    return not (beyond(one, two, eps, moved) & finite).any()


def beyond(
    first: FloatArray, second: FloatArray, eps: float, reactions: Sequence[FloatArray], roundings: float = ROUNDINGS
) -> BoolArray:
    """Says which elements are further apart than `roundings` of the largest of `second`, and `reactions`, explain."""
    reaction = np.max([np.abs(other - second) for other in reactions], axis=0, initial=0.0)
    allowance = roundings * eps * largest(second) + _REACTIONS * reaction
    return np.asarray(np.abs(first - second) > allowance)  # False where one of them is nan


def largest(array: Array) -> float:
    """Gives the largest finite magnitude, of a complex array that of a part."""
    values = as_float64(array)
    return float(np.max(np.abs(values), initial=0.0, where=np.isfinite(values)))


def largest_given(values: Sequence[object]) -> float:
    """Gives the largest finite magnitude among floating arrays, 1 at least, beside which roundings are counted."""
    return max([1.0, *map(largest, floating_arrays(values))])
