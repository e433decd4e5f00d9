"""A subject along rays: outputs, weighed by a cotangent, less what the gradient foretells."""

from __future__ import annotations

import copy
from dataclasses import dataclass

import numpy as np

from gradcheck.model.cotangents import perturb_cotangent
from gradcheck.model.domain import Reach, Room, measure_room
from gradcheck.model.dtypes import FLOAT64_EPS, BoolArray, FloatArray, as_float64, from_float64
from gradcheck.model.evaluation import Point
from gradcheck.model.fitting import fit_gradient
from gradcheck.numeric.flatness import flat_floor, hidden_change
from gradcheck.numeric.ladder import Ladder, ladder_steps
from gradcheck.numeric.noise import least_noise, measure_noise
from gradcheck.numeric.tolerance import BARS, FLOOR, PERTURBED, UNITS

# Deviations of the weighed outputs' noise that a remainder may show, as bars are counted elsewhere.
_NOISE_UNITS = BARS
# Roundings of a sum of changes, in units of their magnitudes.
_ROUNDINGS = 8.0
# An output at rest stays the same at so many of the finest steps, over a factor of sixteen.
_RESTING = 3
# Weighed outputs that change there by this share of what they ever do oscillate faster than the steps.
_ROUGH = 1e-3
# Leaps of so many times its rounding are no unit in an output's last place.
_OWN = 16.0


@dataclass(frozen=True)
class Pulled:
    """A cotangent, shape (outputs,), and for each input the gradient and its rounding, of the input's shape."""

    cotangent: FloatArray
    gradients: tuple[FloatArray, ...]
    rounding: tuple[FloatArray, ...]


def pull(point: Point, generator: np.random.Generator) -> Pulled | str:
    """Calls vjp for a random cotangent of full length; gives a sentence where the result does not fit the inputs."""
    drawn = generator.choice([-1.0, 1.0], point.size) * generator.uniform(0.5, 1.5, point.size)
    drawn = np.where(np.isfinite(point.center), drawn, 0.0)
    # The subject sees the cotangent in the dtype of its output, so that is the one to weigh outputs with.
    split = zip(point.split(drawn, point.outputs), point.floating, strict=True)
    cotangent = np.concatenate([np.zeros(0), *(as_float64(part).ravel() for part, carried in split if carried)])
    rows = [point.gradients(row) for row in (cotangent, *perturb_cotangent(cotangent, point.vjp_eps, generator))]
    gradients, rounding = [], []
    for k, name in enumerate(point.subject.names):
        if k not in point.subject.differentiable:
            gradients.append(np.zeros(0))
            rounding.append(np.zeros(0))
            continue
        if len(rows[0]) <= k:
            return f"vjp: expected {len(point.subject.names)} gradients, got {len(rows[0])}; return one per input"
        shape = point.values(k).shape
        fitted = [fit_gradient(row[k], shape) for row in rows]
        if any(gradient is None for gradient in fitted):
            got = getattr(rows[0][k], "shape", None)
            return f"gradient of {name!r}: expected shape {shape}, got {got}; return the shape of the input"
        whole = np.array(fitted, dtype=np.float64)
        gradients.append(whole[0])
        rounding.append(np.max(np.nan_to_num(np.abs(whole[1:] - whole[0]), posinf=0.0), axis=0))
    return Pulled(cotangent, tuple(gradients), tuple(rounding))


@dataclass(frozen=True)
class Ray:
    """Remainders along one direction.

    Args:
        steps: lengths, shape (K,), largest first.
        ahead: <c, F(x + h d) - F(x)> - h s, shape (K,).
        behind: <c, F(x) - F(x - h d)> - h s; None where some element may not move to both sides.
        noise: what rounding of the outputs may add to them, as measured, shape (K,).
        least_noise: what it adds at least, shape (K,).
        allowed: error of s that rounding of the subject explains.
        slope: s, the gradient along d.
        size: the magnitude of s before its terms cancel; where that is zero, of a quotient of differences.
        is_resolved: outputs neither rest at the finest steps and leap above, like a staircase, nor change there by as
            much as they ever do, like an oscillation faster than the steps; nor
            is a zero slope told of stairs as fine as rounding.
    """

    steps: FloatArray
    ahead: FloatArray
    behind: FloatArray | None
    noise: FloatArray
    least_noise: FloatArray
    allowed: float
    slope: float
    size: float
    is_resolved: bool


def follow(point: Point, inputs: tuple[int, ...], pulled: Pulled, reach: Reach, generator: np.random.Generator) -> Ray:
    """Evaluates remainders along a random direction of some inputs, into the domain where an element is at its end."""
    rooms = {k: measure_room(point.values(k), point.subject.domain[k], reach) for k in inputs}
    directions = {k: _draw(room, generator) for k, room in rooms.items()}
    has_behind = all((room.up == room.down).all() for room in rooms.values())
    steps = ladder_steps(point.forward_eps)
    noise = np.max([measure_noise(point, k, room, generator) for k, room in rooms.items()], axis=0)
    ahead, told_ahead = _walk(point, directions, steps, pulled)
    behind, told_behind = _walk(point, directions, -steps, pulled) if has_behind else (ahead, told_ahead)
    change_ahead, change_behind = _weigh(ahead - point.center, pulled), _weigh(behind - point.center, pulled)
    center = np.where(pulled.cotangent == 0, 0.0, point.center)
    ladder = Ladder(steps, ahead, behind, center, noise, least_noise(point), *_everywhere(point))
    terms = np.concatenate([np.where(d == 0, 0.0, pulled.gradients[k] * d).ravel() for k, d in directions.items()])
    size = float(max(abs(terms.sum()), np.sqrt((terms**2).sum())))
    perturbed = sum(float((np.abs(d) * pulled.rounding[k]).sum()) for k, d in directions.items())
    eps = max(point.vjp_eps, point.forward_eps)
    swing = np.abs(_finite(ahead - point.center)) @ np.abs(pulled.cotangent)
    summing = _ROUNDINGS * FLOAT64_EPS * (swing + steps * np.abs(terms).sum())
    noise, least = _rounding(point, inputs, ladder, pulled)
    return Ray(
        steps,
        change_ahead - told_ahead,
        told_behind - change_behind if has_behind else None,
        noise + summing,
        least + summing,
        max(FLOOR, UNITS * eps) * size + PERTURBED * perturbed,
        float(terms.sum()),
        size or float(swing[0] / steps[0]),
        not (_is_unresolved(ladder, change_ahead, change_behind) or (not terms.any() and _is_coarse(point, ladder))),
    )


def _draw(room: Room, generator: np.random.Generator) -> FloatArray:
    """Draws signs and magnitudes of few bits, so that steps are exact; zero where an element may not move."""
    signs = generator.choice([-1.0, 1.0], room.scale.shape)
    signs = np.where(room.up > 0, np.where(room.down > 0, signs, 1.0), np.where(room.down > 0, -1.0, 0.0))
    return np.asarray(signs * room.scale * (2 * generator.integers(64, 128, room.scale.shape) + 1) / 256.0)


def _walk(
    point: Point, directions: dict[int, FloatArray], steps: FloatArray, pulled: Pulled
) -> tuple[FloatArray, FloatArray]:
    """Gives outputs, shape (K, outputs), and the changes that the gradient foretells, shape (K,).

    What an input really moves by, after rounding to its dtype, is what the gradient has to foretell.
    """
    outputs, told = [], []
    for step in steps:
        moved, sum_told = {}, 0.0
        for k, direction in directions.items():
            array = point.inputs[k]
            assert isinstance(array, np.ndarray)
            values = point.values(k)
            changed = from_float64(values + step * direction, array)
            moved[k] = as_float64(changed)
            change = np.where(direction == 0, 0.0, moved[k] - values)
            sum_told += float(np.where(change == 0, 0.0, pulled.gradients[k] * change).sum())
        outputs.append(_forward(point, moved))
        told.append(sum_told)
    return np.array(outputs).reshape(len(steps), -1), np.array(told)


def _forward(point: Point, moved: dict[int, FloatArray]) -> FloatArray:
    """Gives all floating outputs, flat, with several inputs replaced."""
    seen_from = copy.copy(point)
    (last, values), rest = list(moved.items())[-1], list(moved.items())[:-1]
    inputs = list(point.inputs)
    for k, other in rest:
        array = inputs[k]
        assert isinstance(array, np.ndarray)
        inputs[k] = from_float64(other, array)
    seen_from.inputs = tuple(inputs)
    return seen_from.forward_at(last, values)


def _weigh(changes: FloatArray, pulled: Pulled) -> FloatArray:
    return np.asarray(np.where(pulled.cotangent == 0, 0.0, changes) @ pulled.cotangent)


def _rounding(point: Point, inputs: tuple[int, ...], ladder: Ladder, pulled: Pulled) -> tuple[float, float]:
    """Gives the rounding of weighed outputs, measured and least.

    An output that rests at the finest steps and moves above them may do so because of rounding inside forward, which
    hides changes as large as the least that is seen.
    """
    hidden = _leaps(ladder)
    for k in inputs:
        change = hidden_change(ladder, point.values(k), point.forward_eps)
        hidden = np.maximum(hidden, np.where(flat_floor(ladder, change) > 0, change, 0.0))
    weighed = [pulled.cotangent * np.maximum(noise, hidden) for noise in (ladder.noise, ladder.least_noise)]
    measured, least = (float(_NOISE_UNITS * np.sqrt(np.sum(part**2))) for part in weighed)
    return measured, least


def _leaps(ladder: Ladder) -> FloatArray:
    """Gives the least change of outputs that rest at the finest steps and move above to both sides; zero of others."""
    sides = [np.abs(_finite(side - ladder.center)) for side in (ladder.plus, ladder.minus)]
    rests = (np.maximum(*sides)[-_RESTING:] == 0).all(axis=0)
    found = rests & (sides[0] > 0).any(axis=0) & (sides[1] > 0).any(axis=0)
    changes = np.concatenate(sides)
    return np.where(found, np.min(changes, axis=0, initial=np.inf, where=changes > 0), 0.0)


def _is_unresolved(ladder: Ladder, change_ahead: FloatArray, change_behind: FloatArray) -> bool:
    leaps = bool((_leaps(ladder) > _OWN * ladder.least_noise).any())
    return leaps or _is_rough(change_ahead) or _is_rough(change_behind)


def _is_coarse(point: Point, ladder: Ladder) -> bool:
    """Says whether outputs are rounded more coarsely than float64: a zero slope may then be meant, of fine stairs."""
    return point.forward_eps > FLOAT64_EPS or bool((ladder.noise > _OWN * ladder.least_noise).any())


def _is_rough(changes: FloatArray) -> bool:
    fine, most = np.median(np.abs(changes[-_RESTING:])), np.max(np.abs(_finite(changes)))
    return bool(fine > _ROUGH * most)


def _everywhere(point: Point) -> tuple[BoolArray, BoolArray]:
    return np.ones(point.size, dtype=np.bool_), np.ones(point.size, dtype=np.bool_)


def _finite(values: FloatArray) -> FloatArray:
    return np.nan_to_num(values, nan=0.0, posinf=0.0, neginf=0.0)
