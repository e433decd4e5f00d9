"""Directional derivatives: all elements of an input at once, and the search for the one that is wrong."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gradcheck.model.domain import Room
from gradcheck.model.dtypes import FloatArray, IntArray, from_float64
from gradcheck.model.evaluation import Point
from gradcheck.model.fitting import fit_gradient
from gradcheck.model.protocol import copy_inputs
from gradcheck.numeric.kinks import Kind, judge
from gradcheck.numeric.ladder import Ladder, climb, displacements
from gradcheck.numeric.noise import least_noise
from gradcheck.numeric.quanta import with_quanta
from gradcheck.numeric.slopes import differentiate
from gradcheck.numeric.tolerance import UNDERFLOW, Tolerance

_CANCELLED = 256.0
_REPEATS = 4
_REPEAT_DISTANCE = 2.0**-24
_STEADY = 0.1
_GROSS = 1e-2


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
    """Directional checks of input `k` at a point.

    Args:
        gradients: the subject's gradients, shape (C, n).
        cotangents: shape (C, outputs).
        tolerance: rounding allowed to the gradients; its wiggle has shape (n,).
    """

    point: Point
    k: int
    room: Room
    noise: FloatArray
    steps: FloatArray
    gradients: FloatArray
    cotangents: FloatArray
    tolerance: Tolerance

    def usable(self) -> FloatArray:
        """Gives 1.0 for elements that may move and have a finite gradient, else 0.0; shape (n,)."""
        moves = np.isfinite(self.point.values(self.k)).ravel()
        return np.asarray(moves & np.isfinite(self.gradients).all(axis=0), dtype=np.float64)

    def along(self, signs: FloatArray) -> Directional:
        """Compares derivatives along a direction with entries -1, 0 and 1, shape (n,), in units of each scale."""
        shape = self.room.scale.shape
        moves = displacements(self.room, signs.reshape(shape))
        free = self.room.up.ravel() * self.room.down.ravel() > 0
        moves = moves * free.reshape(shape)  # an element at a bound can not move both ways; it is left to single checks
        plus, minus = climb(self.point, self.k, moves, self.steps)
        everywhere = np.ones(self.point.size, dtype=np.bool_)
        ladder = with_quanta(
            Ladder(
                self.steps,
                plus,
                minus,
                self.point.center,
                self.noise,
                least_noise(self.point),
                everywhere,
                everywhere,
            )
        )
        derivative = judge(ladder, differentiate(ladder))
        lost = np.isin(derivative.kind, (Kind.JUMP, Kind.STEEP)) | ~np.isfinite(derivative.bar)
        lost &= derivative.kind != Kind.UNDEFINED
        if lost.any():
            return Directional(False, False, np.inf, np.nan, np.nan, np.inf)
        defined = derivative.kind != Kind.UNDEFINED
        if (self.cotangents[:, ~defined] != 0).any():  # finite itself, but nothing beside it is
            return Directional(False, False, np.inf, np.nan, np.nan, np.inf)
        weights = self.cotangents[:, defined]
        ends = weights * derivative.low[defined], weights * derivative.high[defined]
        low, high = np.minimum(*ends).sum(axis=1), np.maximum(*ends).sum(axis=1)
        bar = np.abs(weights) @ derivative.bar[defined]
        # A step of one scale moves an output by its size at most; terms as large may cancel in a backward.
        floor = _CANCELLED * self.tolerance.eps * np.abs(weights) @ np.abs(self.point.center[defined])
        return self._worst(moves[0].ravel(), low, high, bar, floor)

    def persists(self, signs: FloatArray, judged: Directional, generator: np.random.Generator) -> bool:
        """Says whether the subject's derivative stays what it was when all elements have moved on together.

        Elements that are counted too often at a tie still are. Where nothing but rounding is left of the gradient, as
        that of a deviation of equal numbers, it is another one each time.
        """
        distance = abs(judged.analytic - judged.numeric)
        if distance < _GROSS * max(abs(judged.analytic), abs(judged.numeric)):
            return True
        shape = self.room.scale.shape
        ahead = displacements(self.room, signs.reshape(shape))[0]
        move = ahead * (self.room.up * self.room.down > 0)
        before = (np.where(move.ravel() == 0, 0.0, self.gradients) * move.ravel()).sum(axis=1)
        for _ in range(_REPEATS):
            share = _REPEAT_DISTANCE * float(generator.uniform(0.5, 1.0))
            inputs = list(copy_inputs(self.point.inputs))
            target = inputs[self.k]
            assert isinstance(target, np.ndarray)
            inputs[self.k] = from_float64(self.point.values(self.k) + share * move, target)
            try:
                near = Point(self.point.subject, inputs, self.point.label)
                rows = [fit_gradient(near.gradients(row)[self.k], shape) for row in self.cotangents]
            except Exception:  # the neighbour may be outside what the subject accepts
                continue
            self.point.evaluations += 1 + near.evaluations
            after = np.array([np.nan if g is None else float((g * move).sum()) for g in rows])
            if not (np.abs(after - before) <= _STEADY * distance).all():
                return False
        return True

    def _worst(
        self, move: FloatArray, low: FloatArray, high: FloatArray, bar: FloatArray, floor: FloatArray
    ) -> Directional:
        terms = np.where(move == 0, 0.0, self.gradients) * move
        analytic = terms.sum(axis=1)
        numeric = np.clip(np.nan_to_num(analytic), low, high)
        spread = np.sqrt((terms**2).sum(axis=1))
        wiggle = float(np.abs(move) @ self.tolerance.wiggle)
        relative = max(self.tolerance.floor, 16.0 * self.tolerance.eps)
        allowance = 4.0 * bar + relative * np.maximum(spread, np.abs(numeric)) + 8.0 * wiggle + floor
        allowance = allowance + UNDERFLOW * np.count_nonzero(move)
        distance = np.abs(analytic - numeric)
        with np.errstate(all="ignore"):
            excess = distance / allowance
            seen = allowance / np.abs(numeric)
        worst = int(np.argmax(np.nan_to_num(excess)))
        size = max(abs(analytic[worst]), abs(numeric[worst]), spread[worst])
        sharp = bool(4.0 * bar[worst] <= 0.05 * size or size == 0.0)
        wrong = bool(distance[worst] > allowance[worst]) and bool(bar[worst] < 0.3 * distance[worst])
        return Directional(
            wrong, sharp, float(np.min(seen)), float(analytic[worst]), float(numeric[worst]), float(bar[worst])
        )


def locate(projector: Projector, signs: FloatArray) -> IntArray:
    """Halves a direction that fails until single elements fail; gives up to 8 suspicious flat indices."""
    suspects: list[int] = []
    pending = [np.flatnonzero(signs)]
    while pending and len(suspects) < 8:
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
