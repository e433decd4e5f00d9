"""Measured derivatives of outputs with respect to single elements of one input."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gradcheck.model.domain import Room
from gradcheck.model.dtypes import FloatArray, IntArray
from gradcheck.model.evaluation import Point
from gradcheck.numeric.flatness import flat_floor, hidden_change
from gradcheck.numeric.kinks import Derivative, judge
from gradcheck.numeric.ladder import Ladder, climb, displacements
from gradcheck.numeric.noise import least_noise
from gradcheck.numeric.quanta import stairs, with_quanta
from gradcheck.numeric.slopes import differentiate

# A zero derivative is believed where bars are this small beside output / scale: the function may forbid large steps, as
# a floor does, so bars of many rounding units are no fault of its own.
_RESOLVABLE_UNITS = 2.0**24
_RESOLVABLE_SHARE = 1e-3
_SWING_SHARE = 1e-8
# Numbers held at once while many elements are measured; bounds memory to some tens of megabytes.
_BATCH = 400_000


@dataclass(frozen=True)
class Columns:
    """Entries of the Jacobian with respect to one input.

    Args:
        elements: flat indices of the input elements measured, shape (E,).
        owner: position in `elements` of each entry, shape (entries,).
        output: flat output index of each entry, shape (entries,).
        derivative: the entries, arrays of shape (entries,).
        idle_bar: for each element, the largest derivative that an output not listed could hide, times its count of
            outputs; shape (E,). Outputs that did not change at any step are not listed.
        floor: for each entry, what its derivative may be below the rounding inside forward, shape (entries,); zero
            unless the output rests under all small steps.
        idle_floor: the same for elements without any entry, shape (E,).
        resolvable: for each element, the smallest derivative that rounding of the outputs lets one see; shape (E,).
        stairs: for each entry that rests under small steps and moves by leaps above, the least leap beside the
            largest, else zero; shape (entries,).
    """

    elements: IntArray
    owner: IntArray
    output: IntArray
    derivative: Derivative
    idle_bar: FloatArray
    floor: FloatArray
    idle_floor: FloatArray
    resolvable: FloatArray
    stairs: FloatArray


def measure_elementwise(
    point: Point, k: int, room: Room, noise: FloatArray, steps: FloatArray, owner: IntArray, elements: IntArray
) -> Columns:
    """Measures all `elements` with one ladder; every output depends on its owner only."""
    values = point.values(k)
    place = np.full(values.size, -1, dtype=np.int64)
    place[elements] = np.arange(elements.size)
    kept = np.flatnonzero(place[owner] >= 0)
    plus, minus = climb(point, k, displacements(room, np.ones(values.shape)), steps, kept)
    scale = room.scale.ravel()[owner[kept]]
    ladder = Ladder(
        steps,
        plus,
        minus,
        point.center[kept],
        noise[kept],
        least_noise(point)[kept],
        room.up.ravel()[owner[kept]] > 0,
        room.down.ravel()[owner[kept]] > 0,
    )
    derivative = _per_unit(_derive(ladder), scale)
    size = np.zeros(elements.size)
    np.maximum.at(size, place[owner[kept]], np.nan_to_num(np.abs(point.center[kept]), posinf=0.0))
    resolvable = _resolvable(point) * size / room.scale.ravel()[elements]
    np.maximum.at(resolvable, place[owner[kept]], _swing(ladder) / scale)
    floor = flat_floor(ladder, hidden_change(ladder, values, point.forward_eps)) / scale
    none = np.zeros(elements.size)
    leaps = stairs(ladder, _size(values))
    return Columns(elements, place[owner[kept]], kept, derivative, none, floor, none, resolvable, leaps)


def measure_singly(
    point: Point, k: int, room: Room, noise: FloatArray, steps: FloatArray, elements: IntArray
) -> Columns:
    """Measures each of `elements` with a ladder of its own."""
    batch = max(1, _BATCH // max(1, point.size * len(steps)))
    parts = [
        _measure_batch(point, k, room, noise, steps, elements[start : start + batch], start)
        for start in range(0, elements.size, batch)
    ]
    derivative = Derivative(
        np.concatenate([part.derivative.low for part in parts]),
        np.concatenate([part.derivative.high for part in parts]),
        np.concatenate([part.derivative.bar for part in parts]),
        np.concatenate([part.derivative.kind for part in parts]),
    )
    return Columns(
        elements,
        np.concatenate([part.owner for part in parts]),
        np.concatenate([part.output for part in parts]),
        derivative,
        np.concatenate([part.idle_bar for part in parts]),
        np.concatenate([part.floor for part in parts]),
        np.concatenate([part.idle_floor for part in parts]),
        np.concatenate([part.resolvable for part in parts]),
        np.concatenate([part.stairs for part in parts]),
    )


def _measure_batch(
    point: Point, k: int, room: Room, noise: FloatArray, steps: FloatArray, elements: IntArray, start: int
) -> Columns:
    shape = point.values(k).shape
    owners, outputs, pluses, minuses, idle = [], [], [], [], []
    for place, element in enumerate(elements):
        signs = np.zeros(shape)
        signs.flat[element] = 1.0
        plus, minus = climb(point, k, displacements(room, signs), steps)
        still = (plus == point.center).all(axis=0) & (minus == point.center).all(axis=0)
        still &= np.isfinite(point.center)  # an infinite output stays, but says nothing
        active = np.flatnonzero(~still)
        owners.append(np.full(active.size, place, dtype=np.int64))
        outputs.append(active)
        pluses.append(plus[:, active])
        minuses.append(minus[:, active])
        idle.append(2.0 * float(np.sum(noise[still])) / (steps[0] * room.scale.flat[element]))
    owner, output = np.concatenate(owners), np.concatenate(outputs)
    moved = elements[owner]
    ladder = Ladder(
        steps,
        np.concatenate(pluses, axis=1),
        np.concatenate(minuses, axis=1),
        point.center[output],
        noise[output],
        least_noise(point)[output],
        room.up.ravel()[moved] > 0,
        room.down.ravel()[moved] > 0,
    )
    derivative = _per_unit(_derive(ladder), room.scale.ravel()[moved])
    size = np.max(np.nan_to_num(np.abs(point.center), posinf=0.0), initial=0.0)
    resolvable = _resolvable(point) * size / room.scale.ravel()[elements]
    np.maximum.at(resolvable, owner, _swing(ladder) / room.scale.ravel()[moved])
    change = hidden_change(ladder, point.values(k), point.forward_eps)
    floor = flat_floor(ladder, change) / room.scale.ravel()[moved]
    rests = np.bincount(owner, minlength=elements.size) == 0
    idle_floor = np.where(rests, change / (steps[0] * room.scale.ravel()[elements]), 0.0)
    leaps = stairs(ladder, _size(point.values(k)))
    return Columns(elements, owner + start, output, derivative, np.array(idle), floor, idle_floor, resolvable, leaps)


def _size(values: FloatArray) -> float:
    return float(np.max(np.abs(values), initial=0.0, where=np.isfinite(values)))


def _resolvable(point: Point) -> float:
    return min(_RESOLVABLE_UNITS * point.forward_eps, _RESOLVABLE_SHARE)


def _swing(ladder: Ladder) -> FloatArray:
    """Gives a tiny share of the steepest mean slope over the ladder, per unit step; a derivative below it is zero."""
    most = np.max(ladder.changes, axis=0, initial=0.0, where=np.isfinite(ladder.changes))
    return np.asarray(_SWING_SHARE * most / ladder.steps[0])


def _derive(ladder: Ladder) -> Derivative:
    honest = with_quanta(ladder)
    return judge(honest, differentiate(honest))


def _per_unit(derivative: Derivative, scale: FloatArray) -> Derivative:
    return Derivative(derivative.low / scale, derivative.high / scale, derivative.bar / scale, derivative.kind)
