"""The ladder of steps, powers of four, and the probe that climbs it: one input at a point, moved, and seen beside."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import ClassVar

import numpy as np

from gradcheck.model.domain import Room
from gradcheck.model.dtypes import BoolArray, FloatArray, IntArray, fit_gradient
from gradcheck.model.evaluation import Point
from gradcheck.model.protocol import copy_inputs
from gradcheck.numeric.noise import hidden_rounding, least_noise
from gradcheck.numeric.table import Table

# The first step is an eighth of the element's scale, the last about 1e-13 of it: beyond that rounding is all one sees.
FIRST_EXPONENT = -3
LAST_EXPONENT = -43
RATIO = 4.0
# Numbers of outputs on one side that a probe keeps, of all elements together: some megabytes.
_KEPT = 200_000


@dataclass(frozen=True)
class Ladder(Table):
    """Outputs at x + t d and x - t d for shrinking t.

    Args:
        steps: t, shape (K,), powers of two, largest first; in units of the displacement.
        plus: outputs at x + t d, shape (K, columns).
        minus: outputs at x - t d, shape (K, columns).
        center: outputs at x, shape (columns,).
        noise: rounding noise of each output, as far as it can be measured, shape (columns,).
        least_noise: what it is at least, shape (columns,).
        has_plus: columns whose element may move up.
        has_minus: columns whose element may move down.
    """

    _shared: ClassVar[tuple[str, ...]] = ("steps",)

    steps: FloatArray
    plus: FloatArray
    minus: FloatArray
    center: FloatArray
    noise: FloatArray
    least_noise: FloatArray
    has_plus: BoolArray
    has_minus: BoolArray

    @cached_property
    def changes(self) -> FloatArray:
        """How far each output moves, shape (2 K, columns): on the plus side, then on the minus side; may be NaN."""
        return np.abs(np.concatenate([self.plus, self.minus]) - self.center)

    @cached_property
    def moves(self) -> FloatArray:
        """The same with zero where a value is not finite."""
        return np.where(np.isfinite(self.changes), self.changes, 0.0)

    @cached_property
    def least_move(self) -> FloatArray:
        """The least change of each output, shape (columns,); inf where it moves at no step."""
        return np.asarray(np.min(np.where(self.moves > 0, self.moves, np.inf), axis=0))


def ladder_steps(eps: float) -> FloatArray:
    """Gives the steps, largest first, that are well above the resolution `eps` of the forward function."""
    finest = LAST_EXPONENT if eps <= 2.0**-50 else max(LAST_EXPONENT, int(np.log2(eps)) + 5)
    exponents = np.arange(FIRST_EXPONENT, min(finest, FIRST_EXPONENT - 8) - 1, -2)
    return np.asarray(2.0**exponents, dtype=np.float64)


def climb(
    point: Point, k: int, moves: FloatArray, steps: FloatArray, kept: IntArray | slice = slice(None)
) -> tuple[FloatArray, FloatArray]:
    """Evaluates forward along displacements of input `k`.

    Args:
        point: where.
        k: the input that moves.
        moves: displacement per unit step on the plus and on the minus side, from `displacements`.
        steps: shape (K,).
        kept: flat outputs that are wanted; the others are dropped at once to save memory.

    Returns:
        Outputs on the plus and on the minus side, each of shape (K, outputs).
    """
    values = point.values(k)
    ahead, behind = moves
    plus = np.array([point.forward_at(k, values + step * ahead)[kept] for step in steps])
    minus = np.array([point.forward_at(k, values - step * behind)[kept] for step in steps])
    return plus.reshape(len(steps), -1), minus.reshape(len(steps), -1)


def displacements(room: Room, signs: FloatArray) -> FloatArray:
    """Gives the displacement per unit step on the plus and on the minus side, stacked: shape (2, *input shape).

    An element that may not move in the wanted sense stays where it is on that side.
    """
    toward = np.where(signs > 0, room.up, room.down) * signs * room.scale
    away = np.where(signs > 0, room.down, room.up) * signs * room.scale
    return np.stack([toward, away])


@dataclass(frozen=True)
class Neighbour:
    """The subject at other values.

    Args:
        center: its outputs there, flat.
        gradients: for each cotangent, the gradient of the probed input in its shape; None where it does not fit.
    """

    center: FloatArray
    gradients: tuple[FloatArray | None, ...]


@dataclass(frozen=True)
class Probe:
    """Input `k` at a point.

    Args:
        point: where.
        k: the input that moves.
        room: how far its elements may.
        noise: rounding noise of the outputs while it moves, shape (outputs,).
        steps: of a ladder, in units of each element's scale, largest first.
        cotangents: shape (C, outputs).
    """

    point: Point
    k: int
    room: Room
    noise: FloatArray
    steps: FloatArray
    cotangents: FloatArray
    _climbed: dict[int, Ladder] = field(default_factory=dict, init=False, repr=False, compare=False)

    def only(self, element: int) -> FloatArray:
        """Gives the direction in which one element moves, by its flat index."""
        signs = np.zeros(self.room.scale.shape)
        signs.flat[element] = 1.0
        return signs

    def free(self) -> BoolArray:
        """Says which elements may move to both sides."""
        return np.asarray(self.room.up * self.room.down > 0)

    def along(
        self,
        signs: FloatArray,
        kept: IntArray | slice = slice(None),
        has_plus: BoolArray | bool = True,
        has_minus: BoolArray | bool = True,
    ) -> Ladder:
        """Climbs a ladder along a direction with entries -1, 0 and 1.

        Args:
            signs: in the shape of the input, in units of each element's scale.
            kept: flat outputs that are wanted.
            has_plus: whether what moves each output may move ahead.
            has_minus: likewise back.
        """
        plus, minus = climb(self.point, self.k, displacements(self.room, signs), self.steps, kept)
        center = self.point.center[kept]
        sides = [np.broadcast_to(np.asarray(side), center.shape) for side in (has_plus, has_minus)]
        digit, stray = hidden_rounding(self.point, self.k, center, np.stack([plus, minus]))
        least = np.maximum(least_noise(self.point)[kept], digit)
        measured = self.noise[kept]
        noise = np.maximum(np.where(measured == 0, stray, measured), least)
        return Ladder(self.steps, plus, minus, center, noise, least, *sides)

    def singly(self, element: int) -> Ladder:
        """Climbs a ladder along which one element moves, by its flat index; a small one is kept for who asks again."""
        found = self._climbed.get(element)
        if found is None:
            up, down = (side.flat[element] > 0 for side in (self.room.up, self.room.down))
            found = self.along(self.only(element), has_plus=up, has_minus=down)
            if (len(self._climbed) + 1) * found.plus.size <= _KEPT:
                self._climbed[element] = found
        return found

    def neighbour(self, shift: FloatArray) -> Neighbour | None:
        """Gives the subject with the probed input shifted, in the dtypes that vjp takes; None where that is refused."""
        inputs = list(self.point.vjp_inputs)
        inputs[self.k] = self.point.given_to_vjp(self.k, self.point.values(self.k) + shift)
        return self.at(inputs)

    def at(self, inputs: Sequence[object]) -> Neighbour | None:
        """Gives the subject at other values of all inputs; None where forward or vjp refuses them."""
        shape = self.room.scale.shape
        try:
            near = Point(self.point.subject, copy_inputs(inputs), self.point.label)
            found = tuple(fit_gradient(near.gradients(row)[self.k], shape) for row in self.cotangents)
        except Exception:  # a neighbour may be outside what the subject accepts
            return None
        self.point.evaluations += 1 + near.evaluations
        return Neighbour(near.center, found)
