"""Measured derivatives of outputs with respect to single elements of one input, or to all that no output has two of."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gradcheck.model.domain import Room
from gradcheck.model.dtypes import FloatArray, IntArray, is_complex
from gradcheck.model.evaluation import Point
from gradcheck.numeric.kinks import Derivative, judge
from gradcheck.numeric.ladder import FIRST_EXPONENT, Ladder, Probe
from gradcheck.numeric.quanta import flat_floor, hidden_change, quantisation, with_quanta
from gradcheck.numeric.slopes import differentiate
from gradcheck.numeric.table import Table

# A zero derivative is believed where bars are this small beside output / scale: the function may forbid large steps, as
# a floor does, so bars of many rounding units are no fault of its own. Units for float64, a share for short dtypes.
_RESOLVABLE_UNITS = 2.0**24
_RESOLVABLE_SHARE = 1e-3
# Likewise beside the steepest mean slope of the ladder; ten times what any right gradient is conceded.
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


def measure_elementwise(probe: Probe, owner: IntArray, elements: IntArray) -> Columns:
    """Measures all `elements` with one ladder; every output depends on its owner only."""
    place = np.full(probe.room.scale.size, -1, dtype=np.int64)
    place[elements] = np.arange(elements.size)
    kept = np.flatnonzero(place[owner] >= 0)
    up, down = (side.ravel()[owner[kept]] > 0 for side in (probe.room.up, probe.room.down))
    ladder = probe.along(np.ones(probe.room.scale.shape), kept, up, down)
    size = np.zeros(elements.size)
    np.maximum.at(size, place[owner[kept]], np.nan_to_num(np.abs(ladder.center), posinf=0.0))
    return _read(probe, ladder, elements, place[owner[kept]], kept, size, np.zeros(elements.size))


def measure_singly(probe: Probe, elements: IntArray) -> Columns:
    """Measures each of `elements` with a ladder of its own."""
    batch = max(1, _BATCH // max(1, probe.point.size * len(probe.steps)))
    parts = [_measure_batch(probe, elements[start : start + batch], start) for start in range(0, elements.size, batch)]
    measured, entries = [part.measured for part in parts], [part.entries for part in parts]
    return Columns(Elements.concat(measured), Entries.concat(entries))


def _measure_batch(probe: Probe, elements: IntArray, start: int) -> Columns:
    room, center = probe.room, probe.point.center
    owners, outputs, ladders, idle = [], [], [], []
    for place, element in enumerate(elements):
        alone = probe.singly(int(element))
        still = (alone.plus == center).all(axis=0) & (alone.minus == center).all(axis=0)
        still &= np.isfinite(center)  # an infinite output stays, but says nothing
        active = np.flatnonzero(~still)
        owners.append(np.full(active.size, place, dtype=np.int64))
        outputs.append(active)
        ladders.append(alone[active])
        idle.append(2.0 * float(np.sum(probe.noise[still])) / (probe.steps[0] * room.scale.flat[element]))
    owner, output = np.concatenate(owners), np.concatenate(outputs)
    size = np.max(np.nan_to_num(np.abs(center), posinf=0.0), initial=0.0)
    return _read(probe, Ladder.concat(ladders), elements, owner, output, size, np.array(idle), start)


def _read(
    probe: Probe,
    ladder: Ladder,
    elements: IntArray,
    owner: IntArray,
    output: IntArray,
    size: FloatArray,
    idle: FloatArray,
    start: int = 0,
) -> Columns:
    """Reads the derivatives off a ladder; `size` is that of the outputs that an element moves."""
    point, values, first = probe.point, probe.point.values(probe.k), ladder.steps[0]
    scale = probe.room.scale.ravel()[elements]
    moved = scale[owner]
    resolvable = min(_RESOLVABLE_UNITS * point.forward_eps, _RESOLVABLE_SHARE) * size / scale
    np.maximum.at(resolvable, owner, _SWING_SHARE * ladder.moves.max(axis=0) / first / moved)
    change = hidden_change(ladder, values, point.forward_eps)
    rests = np.bincount(owner, minlength=elements.size) == 0
    measured = Elements(elements, idle, np.where(rests, change / (first * scale), 0.0), resolvable)
    found, floor = derive(ladder), flat_floor(ladder, change) / moved
    stairs = quantisation(ladder, float(np.max(np.abs(values), initial=0.0, where=np.isfinite(values))))
    low, high, bar = found.low / moved, found.high / moved, found.bar / moved
    return Columns(measured, Entries(low, high, bar, found.kind, owner + start, output, floor, stairs))


def derive(ladder: Ladder) -> Derivative:
    """Reads each column's derivative per unit step, with quanta counted as noise."""
    honest = with_quanta(ladder)
    return judge(honest, differentiate(honest))


def owners(point: Point, k: int) -> IntArray | None:
    """Gives, for each output element, the element of input `k` at the same place after broadcasting.

    Returns:
        Flat indices of shape (outputs,), or None when the input does not broadcast to every floating output.
    """
    target = point.inputs[k]
    assert isinstance(target, np.ndarray)
    shape = point.values(k).shape
    numbers = np.arange(int(np.prod(shape)), dtype=np.int64).reshape(shape)
    parts = []
    for output, floating in zip(point.outputs, point.floating, strict=True):
        if not floating:
            continue
        pairs = is_complex(output.dtype)
        if is_complex(target.dtype) and not pairs:
            return None
        own = numbers[..., None] if pairs and not is_complex(target.dtype) else numbers
        try:
            parts.append(np.broadcast_to(own, (*output.shape, 2) if pairs else output.shape).ravel())
        except ValueError:
            return None
    return np.concatenate(parts) if parts else None


def is_elementwise(point: Point, k: int, owner: IntArray, room: Room) -> bool:
    """Says whether every output depends on its owner only, near this point.

    For each binary digit of the element numbers, the elements with that digit 0 move, then those with digit 1; no
    output owned by an element at rest may change by a single bit. Any two elements differ in some digit, so a
    dependence on a wrong element shows in one of the 2 log2(n) calls.
    """
    values = point.values(k)
    if values.size < 2:
        return True
    numbers = np.arange(values.size, dtype=np.int64).reshape(values.shape)
    step = 2.0**FIRST_EXPONENT * room.scale * np.where(room.up > 0, 1.0, -1.0) * np.where(room.up + room.down > 0, 1, 0)
    moved = values + step
    lost = np.isnan(point.center)
    for digit in range(int(values.size - 1).bit_length()):
        has_digit, owner_has = (numbers >> digit) & 1 == 1, (owner >> digit) & 1 == 1
        for moves, may_change in ((~has_digit, ~owner_has), (has_digit, owner_has)):
            outputs = point.forward_at(k, np.where(moves, moved, values))
            same = (outputs == point.center) | (np.isnan(outputs) & lost)
            if not (same | may_change).all():
                return False
    return True
