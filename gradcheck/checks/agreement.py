"""Whether two runs gave the same arrays: to the bit, or as far as rounding takes two orders of one computation."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from gradcheck.model.dtypes import Array, as_float64, same_bits
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
    for other in moved:
        finite &= np.isfinite(other)
    reaction = np.max([np.abs(other - two) for other in moved], axis=0) if moved else np.zeros(two.shape)
    allowance = ROUNDINGS * eps * np.max(np.abs(two[finite]), initial=0.0) + _REACTIONS * reaction
    return bool(np.all(np.abs(one - two)[finite] <= allowance[finite]))
