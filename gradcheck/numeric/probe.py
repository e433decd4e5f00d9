"""A probe: one input at a point, moved along ladders of steps, and looked at from values beside its own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from gradcheck.model.domain import Room
from gradcheck.model.dtypes import BoolArray, FloatArray, IntArray, fit_gradient, from_float64
from gradcheck.model.evaluation import Point
from gradcheck.model.protocol import copy_inputs
from gradcheck.numeric.ladder import Ladder, climb, displacements
from gradcheck.numeric.noise import least_noise


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
        return Ladder(self.steps, plus, minus, center, self.noise[kept], least_noise(self.point)[kept], *sides)

    def neighbour(self, shift: FloatArray) -> Neighbour | None:
        """Gives the subject with the probed input shifted; None where forward or vjp refuses that."""
        inputs = list(self.point.inputs)
        target = inputs[self.k]
        assert isinstance(target, np.ndarray)
        inputs[self.k] = from_float64(self.point.values(self.k) + shift, target)
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
