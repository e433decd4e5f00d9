"""How much rounding a right gradient may show."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from gradcheck.model.dtypes import FLOAT64_EPS, FloatArray
from gradcheck.numeric.table import Table

# A right derivative evaluated in float64 loses some digits to cancellation; seven are conceded, no more, so that a
# uniform relative error of 1e-8 is caught.
FLOOR = 1e-9
# At values that the checker chose, forward may iterate to an absolute error that is large beside them: with 1e-9 the
# bank's Jacobi iteration is blamed at small magnitudes, with 1e-8 nothing is.
VARIED_FLOOR = 1e-7
# Units of the subject's arithmetic: what some dozen operations leave. It counts where the dtype is short.
UNITS = 16.0
# What cancellation, in forward as in vjp, leaves of the terms that an element itself is the sum of.
_OWN_SHARE = 1e-9
# What it leaves in a small element of terms as large as the largest one, which a backward may add and take away: a
# thousandth of what is conceded in any case. Right pairs of the bank pass with a tenth of it.
_PEAK_SHARE = 1e-3
_PEAK_UNITS = 256.0
# Of float16 that would be a quarter, which says nothing: there it is what a few operations leave.
_MOST_CANCELLED = 2.0**-7
_FEW_UNITS = 8.0
# A product on the way to a value below this may have been less than the least float64, and lost.
UNDERFLOW = 2.0**-1000
# Error bars are near one standard deviation where noise dominates, and far above the error where it does not.
BARS = 4.0
# A derivative is seen sharply where its bars leave no room for an error of so large a share of it, or of the largest.
SHARP = 0.05
SHARP_PEAK = 1e-6
# A gradient is called wrong only where one bar is so small a share of the larger value. Outside four bars it is at
# most a half, and above a quarter only with the opposite sign.
CLEAR = 0.3
# Two derivatives are different where they are further apart than their bars and this share of them.
APART = 1e-9
# Changes of the gradient, beyond what three changed cotangents showed, that another may show.
PERTURBED = 8.0
# Rounding units conceded between two runs that sum in another order: a million terms at random differ by as much.
ROUNDINGS = 1024.0


@dataclass(frozen=True)
class Tolerance(Table):
    """The rounding allowed to one gradient.

    Args:
        eps: resolution of the arithmetic in which the gradient was computed.
        perturbed: change of the gradient's elements, shape (E,), when the cotangent changes by one unit in its last
            place.
        floor: relative error conceded in any case.
        declared: the error that the caller declared of every element, in its unit; 0 where gradients are exact.
    """

    _shared: ClassVar[tuple[str, ...]] = ("eps", "floor", "declared")

    eps: float
    perturbed: FloatArray
    floor: float = FLOOR
    declared: float = 0.0

    def allowance(self, numeric: FloatArray, bar: FloatArray, own: FloatArray, peak: FloatArray) -> FloatArray:
        """Gives the accepted distance from `numeric`, shape (C, E): error bars plus the subject's own rounding.

        Args:
            numeric: the right values, shape (C, E).
            bar: their uncertainty, shape (C, E).
            own: the magnitudes that enter each element before they cancel, shape (C, E).
            peak: the largest of them that enter any element; broadcasts to (C, E).
        """
        relative = max(self.floor, UNITS * self.eps) * np.abs(numeric)
        cancelled = max(_OWN_SHARE, self.floor, self._cancelled) * own + self.shared(peak)
        return BARS * bar + relative + cancelled + PERTURBED * self.perturbed + UNDERFLOW + self.declared

    def shared(self, peak: FloatArray) -> FloatArray:
        """Gives the part of it that rounding of the largest terms may have, in any element."""
        return max(_PEAK_SHARE * self.floor, self._cancelled) * peak

    @property
    def _cancelled(self) -> float:
        return min(_PEAK_UNITS * self.eps, max(_FEW_UNITS * self.eps, _MOST_CANCELLED))


def gradients_close(first: FloatArray, second: FloatArray, eps: float = FLOAT64_EPS, least_peak: float = 0.0) -> bool:
    """Says whether two runs of the same mathematics agree, up to a change in the order of summation.

    Rounding is measured against the largest element of `second`, or `least_peak` if that is larger. Elements that
    are not finite must agree exactly.
    """
    if first.shape != second.shape:
        return False
    finite = np.isfinite(first) & np.isfinite(second)
    if not np.array_equal(first[~finite], second[~finite], equal_nan=True):
        return False
    peak = np.max(np.abs(second[finite]), initial=least_peak)
    return bool(np.all(np.abs(first[finite] - second[finite]) <= ROUNDINGS * eps * peak))
