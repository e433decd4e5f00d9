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
from gradcheck.numeric.table import Table

# A zero derivative is believed where bars are this small beside output / scale: the function may forbid large steps, as
# a floor does, so bars of many rounding units are no fault of its own.
_RESOLVABLE_UNITS = 2.0**24
_RESOLVABLE_SHARE = 1e-3
_SWING_SHARE = 1e-8
# Numbers held at once while many elements are measured; bounds memory to some tens of megabytes.
_BATCH = 400_000


@dataclass(frozen=True)
class Elements(Table):
    """The input elements that were measured, all of shape (E,).

    Args:
        index: flat, in the input.
        idle_bar: the largest derivative that an output not listed could hide, times the count of such outputs. Outputs
            that did not change at any step are not listed.
        idle_floor: what the derivative of an element without any entry may be below the rounding inside forward.
        resolvable: the smallest derivative that rounding of the outputs lets one see.
    """

    index: IntArray
    idle_bar: FloatArray
    idle_floor: FloatArray
    resolvable: FloatArray


@dataclass(frozen=True)
class Entries(Derivative):
    """Measured entries of the Jacobian, per unit of the input, all of shape (entries,).

    Args:
        owner: position of each entry's element among those measured.
        output: flat output index of each entry.
        floor: what its derivative may be below the rounding inside forward; zero unless the output rests under all
            small steps.
        stairs: where an entry rests under small steps and moves by leaps above, the least leap beside the largest,
            else zero.
    """

    owner: IntArray
    output: IntArray
    floor: FloatArray
    stairs: FloatArray


@dataclass(frozen=True)
class Columns:
    """The Jacobian with respect to some elements of one input: the elements, and the entries that are not idle."""

    measured: Elements
    entries: Entries

    @property
    def elements(self) -> IntArray:
        """Flat indices of the input elements measured, shape (E,)."""
        return self.measured.index


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
    size = np.zeros(elements.size)
    np.maximum.at(size, place[owner[kept]], np.nan_to_num(np.abs(point.center[kept]), posinf=0.0))
    resolvable = _resolvable(point) * size / room.scale.ravel()[elements]
    np.maximum.at(resolvable, place[owner[kept]], _swing(ladder) / scale)
    floor = flat_floor(ladder, hidden_change(ladder, values, point.forward_eps)) / scale
    none = np.zeros(elements.size)
    entries = _entries(ladder, scale, place[owner[kept]], kept, floor, values)
    return Columns(Elements(elements, none, none, resolvable), entries)


def measure_singly(
    point: Point, k: int, room: Room, noise: FloatArray, steps: FloatArray, elements: IntArray
) -> Columns:
    """Measures each of `elements` with a ladder of its own."""
    batch = max(1, _BATCH // max(1, point.size * len(steps)))
    parts = [
        _measure_batch(point, k, room, noise, steps, elements[start : start + batch], start)
        for start in range(0, elements.size, batch)
    ]
    measured, entries = [part.measured for part in parts], [part.entries for part in parts]
    return Columns(Elements.concat(measured), Entries.concat(entries))


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
    size = np.max(np.nan_to_num(np.abs(point.center), posinf=0.0), initial=0.0)
    resolvable = _resolvable(point) * size / room.scale.ravel()[elements]
    np.maximum.at(resolvable, owner, _swing(ladder) / room.scale.ravel()[moved])
    change = hidden_change(ladder, point.values(k), point.forward_eps)
    floor = flat_floor(ladder, change) / room.scale.ravel()[moved]
    rests = np.bincount(owner, minlength=elements.size) == 0
    idle_floor = np.where(rests, change / (steps[0] * room.scale.ravel()[elements]), 0.0)
    entries = _entries(ladder, room.scale.ravel()[moved], owner + start, output, floor, point.values(k))
    return Columns(Elements(elements, np.array(idle), idle_floor, resolvable), entries)


def _resolvable(point: Point) -> float:
    return min(_RESOLVABLE_UNITS * point.forward_eps, _RESOLVABLE_SHARE)


def _swing(ladder: Ladder) -> FloatArray:
    """Gives a tiny share of the steepest mean slope over the ladder, per unit step; a derivative below it is zero."""
    most = np.max(ladder.changes, axis=0, initial=0.0, where=np.isfinite(ladder.changes))
    return np.asarray(_SWING_SHARE * most / ladder.steps[0])


def _entries(
    ladder: Ladder, scale: FloatArray, owner: IntArray, output: IntArray, floor: FloatArray, values: FloatArray
) -> Entries:
    """Reads the derivatives off a ladder whose unit step moves each column's element by `scale`."""
    size = float(np.max(np.abs(values), initial=0.0, where=np.isfinite(values)))
    found = derive(ladder)
    low, high, bar = found.low / scale, found.high / scale, found.bar / scale
    return Entries(low, high, bar, found.kind, owner, output, floor, stairs(ladder, size))


def derive(ladder: Ladder) -> Derivative:
    """Reads each column's derivative per unit step, with quanta counted as noise."""
    honest = with_quanta(ladder)
    return judge(honest, differentiate(honest))
