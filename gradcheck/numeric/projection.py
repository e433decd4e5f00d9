"""Directional derivatives: all elements of an input at once, and the search for the one that is wrong."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gradcheck.model.dtypes import FloatArray, IntArray
from gradcheck.numeric.columns import derive
from gradcheck.numeric.kinks import Kind
from gradcheck.numeric.ladder import displacements
from gradcheck.numeric.probe import Probe
from gradcheck.numeric.tolerance import BARS, CLEAR, PERTURBED, SHARP, UNDERFLOW, UNITS, Tolerance

# Units of what a step of one scale can move the outputs by, which terms of a backward may lose when they cancel.
_CANCELLED = 256.0
# Elements that a failing direction leads to: enough to name a place, as of those that are not finite.
_SUSPECTS = 8
# A fault of less than this share is none of a gradient of which rounding alone is left: that is off by its own size.
_GROSS = 1e-2
# Else it has to be the same, to a tenth, at four places so near that a smooth gradient is.
_REPEATS = 4
_REPEAT_DISTANCE = 2.0**-24
_STEADY = 0.1


@dataclass(frozen=True)
class Directional:
    """The judgement along one direction, the worst over cotangents.

    Args:
        wrong: the subject's derivative is outside the interval, beyond doubt.
        sharp: the bars are small enough to see a fault.
        sensitivity: smallest relative error of the gradient that would have been seen.
        analytic: the subject's directional derivative.
        numeric: the nearest right one.
        bar: half width of its uncertainty.
    """

    wrong: bool
    sharp: bool
    sensitivity: float
    analytic: float
    numeric: float
    bar: float


@dataclass(frozen=True)
class Projector:
    """Directional checks of a probed input.

    Args:
        probe: the input.
        gradients: the subject's gradients, shape (C, n).
        tolerance: rounding allowed to the gradients; its `perturbed` has shape (n,).
    """

    probe: Probe
    gradients: FloatArray
    tolerance: Tolerance

    def usable(self) -> FloatArray:
        """Gives 1.0 for elements that may move and have a finite gradient, else 0.0; shape (n,)."""
        moves = np.isfinite(self.probe.point.values(self.probe.k)).ravel()
        return np.asarray(moves & np.isfinite(self.gradients).all(axis=0), dtype=np.float64)

    def along(self, signs: FloatArray) -> Directional:
        """Compares derivatives along a direction with entries -1, 0 and 1, shape (n,), in units of each scale."""
        free = self._free(signs)
        derivative = derive(self.probe.along(free))
        lost = np.isin(derivative.kind, (Kind.JUMP, Kind.STEEP)) | ~np.isfinite(derivative.bar)
        lost &= derivative.kind != Kind.UNDEFINED
        if lost.any():
            return Directional(False, False, np.inf, np.nan, np.nan, np.inf)
        defined = derivative.kind != Kind.UNDEFINED
        if (self.probe.cotangents[:, ~defined] != 0).any():  # finite itself, but nothing beside it is
            return Directional(False, False, np.inf, np.nan, np.nan, np.inf)
        weights = self.probe.cotangents[:, defined]
        ends = weights * derivative.low[defined], weights * derivative.high[defined]
        low, high = np.minimum(*ends).sum(axis=1), np.maximum(*ends).sum(axis=1)
        bar = np.abs(weights) @ derivative.bar[defined]
        # A step of one scale moves an output by its size at most; terms as large may cancel in a backward.
        floor = _CANCELLED * self.tolerance.eps * np.abs(weights) @ np.abs(self.probe.point.center[defined])
        return self._worst(self._ahead(free).ravel(), low, high, bar, floor)

    def persists(self, signs: FloatArray, judged: Directional, generator: np.random.Generator) -> bool:
        """Says whether the subject's derivative stays what it was when all elements have moved on together.

        Elements that are counted too often at a tie still are. Where nothing but rounding is left of the gradient, as
        that of a deviation of equal numbers, it is another one each time.
        """
        distance = abs(judged.analytic - judged.numeric)
        if distance < _GROSS * max(abs(judged.analytic), abs(judged.numeric)):
            return True
        move = self._ahead(self._free(signs))
        before = (np.where(move.ravel() == 0, 0.0, self.gradients) * move.ravel()).sum(axis=1)
        for _ in range(_REPEATS):
            near = self.probe.neighbour(_REPEAT_DISTANCE * float(generator.uniform(0.5, 1.0)) * move)
            if near is None:
                continue
            after = np.array([np.nan if g is None else float((g * move).sum()) for g in near.gradients])
            if not (np.abs(after - before) <= _STEADY * distance).all():
                return False
        return True

    def _free(self, signs: FloatArray) -> FloatArray:
        """Leaves out elements at a bound, which can not move both ways; they are left to single checks."""
        return signs.reshape(self.probe.room.scale.shape) * self.probe.free()

    def _ahead(self, signs: FloatArray) -> FloatArray:
        return np.asarray(displacements(self.probe.room, signs)[0])

    def _worst(
        self, move: FloatArray, low: FloatArray, high: FloatArray, bar: FloatArray, floor: FloatArray
    ) -> Directional:
        terms = np.where(move == 0, 0.0, self.gradients) * move
        analytic = terms.sum(axis=1)
        numeric = np.clip(np.nan_to_num(analytic), low, high)
        spread = np.sqrt((terms**2).sum(axis=1))
        perturbed = float(np.abs(move) @ self.tolerance.perturbed)
        relative = max(self.tolerance.floor, UNITS * self.tolerance.eps)
        allowance = BARS * bar + relative * np.maximum(spread, np.abs(numeric)) + PERTURBED * perturbed + floor
        allowance = allowance + UNDERFLOW * np.count_nonzero(move)
        distance = np.abs(analytic - numeric)
        with np.errstate(all="ignore"):
            excess = distance / allowance
            seen = allowance / np.abs(numeric)
        worst = int(np.argmax(np.nan_to_num(excess)))
        size = max(abs(analytic[worst]), abs(numeric[worst]), spread[worst])
        sharp = bool(BARS * bar[worst] <= SHARP * size or size == 0.0)
        wrong = bool(distance[worst] > allowance[worst]) and bool(bar[worst] < CLEAR * distance[worst])
        return Directional(
            wrong, sharp, float(np.min(seen)), float(analytic[worst]), float(numeric[worst]), float(bar[worst])
        )


def locate(projector: Projector, signs: FloatArray) -> IntArray:
    """Halves a direction that fails until single elements fail; gives up to 8 suspicious flat indices."""
    suspects: list[int] = []
    pending = [np.flatnonzero(signs)]
    while pending and len(suspects) < _SUSPECTS:
        part = pending.pop()
        if part.size == 1:
            suspects.append(int(part[0]))
            continue
        for half in (part[part.size // 2 :], part[: part.size // 2]):
            masked = np.zeros_like(signs)
            masked[half] = signs[half]
            if projector.along(masked).wrong:
                pending.append(half)
    return np.array(sorted(suspects), dtype=np.int64)
