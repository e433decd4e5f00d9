"""Intervals of numbers, whose ends belong to them or not, and the ways to bring numbers inside."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from gradcheck.model.dtypes import FloatArray

# How far from an open end what was moved off it lies, beside the others' distance from it.
_OFF = 2.0**-6


@dataclass(frozen=True)
class Interval:
    """The numbers between two ends.

    Args:
        low: the least number; -inf for none.
        high: the greatest; inf for none.
        is_open: whether the low and the high end are outside.
    """

    low: float = -math.inf
    high: float = math.inf
    is_open: tuple[bool, ...] = (False, False)

    @property
    def is_bounded(self) -> bool:
        """Whether an end is finite."""
        return self.low > -math.inf or self.high < math.inf

    def fold(self, values: FloatArray) -> FloatArray:
        """Reflects numbers at the ends of the interval; what lies on an open end is moved off it."""
        if not self.is_bounded:
            return values
        with np.errstate(all="ignore"):
            return self._fold(values)

    def _fold(self, values: FloatArray) -> FloatArray:
        low, high = self.low, self.high
        if math.isinf(low) or math.isinf(high):
            made = low + np.abs(values - low) if math.isinf(high) else high - np.abs(values - high)
        elif low < high:
            width = high - low
            made = low + width - np.abs(np.mod(values - low, 2.0 * width) - width)
        else:
            made = np.full_like(values, low)
        made = np.where((values < low) | (values > high), made, values)  # what lies inside keeps its last digit
        made = np.clip(np.where(np.isfinite(values), made, values), low, high)
        for end, is_open, sign in ((low, self.is_open[0], 1.0), (high, self.is_open[1], -1.0)):
            if is_open and (on := made == end).any():
                away = np.abs(made[~on & np.isfinite(made)] - end)
                made = np.where(on, end + sign * _OFF * (float(np.median(away)) if away.size else self._width()), made)
        return np.asarray(made)

    def pressed(self, values: FloatArray) -> FloatArray:
        """Moves numbers outside the interval to the end that they are beyond, every other one to just beside it."""
        beyond = [(values < self.low, self.low, 1.0), (values > self.high, self.high, -1.0)]
        turns = np.arange(values.size).reshape(values.shape) % 2
        for outside, end, inward in beyond:
            if outside.any():
                values = np.where(outside, end + inward * turns * _OFF * self._width(), values)
        return self.fold(values)

    def _width(self) -> float:
        width = self.high - self.low
        return width if math.isfinite(width) else 1.0
