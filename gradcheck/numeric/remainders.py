"""Taylor remainders along rays: weighed outputs, less what the gradient foretells, and how fast they fall."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gradcheck.model.domain import Reach, Room, measure_room
from gradcheck.model.dtypes import FLOAT64_EPS, FloatArray, as_float64, fit_gradient, from_float64
from gradcheck.model.evaluation import Point
from gradcheck.model.perturb import perturb_cotangent
from gradcheck.numeric.ladder import Ladder, ladder_steps
from gradcheck.numeric.noise import least_noise, measure_noise
from gradcheck.numeric.quanta import flat_floor, hidden_change
from gradcheck.numeric.tolerance import BARS, FLOOR, PERTURBED, SHARP, UNITS
from gradcheck.report import Verdict

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
# A remainder of another order changes by at least two from one step to the next when divided by the step, so a tenth is
# far from it.
_SETTLED = 0.1
# A rate is read over four steps, a factor of 64, and not over less than three, which two points on noise may pass for.
_RUN = 4
_LEAST_RUN = 3
_LEAST_STEPS = 6
# Remainders that fall slower than this do not fall: what is left is rounding, larger than was measured.
_STANDING = 0.5
# Rates are 1, 2 or 3; the next term of the series bends what is measured by less than this.
_RATE_SLACK = 0.7


@dataclass(frozen=True)
class Pulled:
    """A cotangent, shape (outputs,), and for each input the gradient and its rounding, of the input's shape."""

    cotangent: FloatArray
    gradients: tuple[FloatArray, ...]
    rounding: tuple[FloatArray, ...]

    def weigh(self, outputs: FloatArray) -> FloatArray:
        """Gives the sum of outputs, or of their changes, each times its cotangent; shape (K,) for (K, outputs)."""
        return np.asarray(np.where(self.cotangent == 0, 0.0, outputs) @ self.cotangent)


def pull(point: Point, generator: np.random.Generator) -> Pulled | str:
    """Calls vjp for a random cotangent of full length; gives a sentence where the result does not fit the inputs."""
    drawn = generator.choice([-1.0, 1.0], point.size) * generator.uniform(0.5, 1.5, point.size)
    drawn = np.where(np.isfinite(point.center), drawn, 0.0)
    # The subject sees the cotangent in the dtype of its output, so that is the one to weigh outputs with.
    split = zip(point.split(drawn, point.outputs), point.floating, strict=True)
    cotangent = np.concatenate([np.zeros(0), *(as_float64(part).ravel() for part, carried in split if carried)])
    rows = [point.gradients(row) for row in (cotangent, *perturb_cotangent(cotangent, point.vjp_eps, generator))]
    gradients, rounding = [np.zeros(0)] * len(point.inputs), [np.zeros(0)] * len(point.inputs)
    for k in point.subject.differentiable:
        name, shape = point.subject.names[k], point.values(k).shape
        if len(rows[0]) <= k:
            return f"vjp: expected {len(point.inputs)} gradients, got {len(rows[0])}; return one per input"
        fitted = [fit_gradient(row[k], shape) for row in rows]
        if any(gradient is None for gradient in fitted):
            got = getattr(rows[0][k], "shape", None)
            return f"gradient of {name!r}: expected shape {shape}, got {got}; return the shape of the input"
        whole = np.array(fitted, dtype=np.float64)
        gradients[k] = whole[0]
        rounding[k] = np.max(np.nan_to_num(np.abs(whole[1:] - whole[0]), posinf=0.0), axis=0)
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
    changes = [pulled.weigh(side - point.center) for side in (ahead, behind)]
    center = np.where(pulled.cotangent == 0, 0.0, point.center)
    everywhere = np.ones(point.size, dtype=np.bool_)
    ladder = Ladder(steps, ahead, behind, center, noise, least_noise(point), everywhere, everywhere)
    terms = np.concatenate([np.where(d == 0, 0.0, pulled.gradients[k] * d).ravel() for k, d in directions.items()])
    size = float(max(abs(terms.sum()), np.sqrt((terms**2).sum())))
    perturbed = sum(float((np.abs(d) * pulled.rounding[k]).sum()) for k, d in directions.items())
    eps = max(point.vjp_eps, point.forward_eps)
    swing = np.abs(_finite(ahead - point.center)) @ np.abs(pulled.cotangent)
    summing = _ROUNDINGS * FLOAT64_EPS * (swing + steps * np.abs(terms).sum())
    leaps = _leaps(ladder)
    # An output that rests at the finest steps and moves above them may do so because of rounding inside forward, which
    # hides changes as large as the least that is seen.
    hidden = leaps
    for k in inputs:
        change = hidden_change(ladder, point.values(k), point.forward_eps)
        hidden = np.maximum(hidden, np.where(flat_floor(ladder, change) > 0, change, 0.0))
    weighed = [pulled.cotangent * np.maximum(one, hidden) for one in (ladder.noise, ladder.least_noise)]
    measured, least = (float(_NOISE_UNITS * np.sqrt(np.sum(part**2))) for part in weighed)
    is_unresolved = bool((leaps > _OWN * ladder.least_noise).any()) or any(map(_is_rough, changes))
    # Where outputs are rounded more coarsely than float64, a zero slope may be meant, of fine stairs.
    is_coarse = point.forward_eps > FLOAT64_EPS or bool((ladder.noise > _OWN * ladder.least_noise).any())
    return Ray(
        steps,
        changes[0] - told_ahead,
        told_behind - changes[1] if has_behind else None,
        measured + summing,
        least + summing,
        max(FLOOR, UNITS * eps) * size + PERTURBED * perturbed,
        float(terms.sum()),
        size or float(swing[0] / steps[0]),
        not (is_unresolved or (is_coarse and not terms.any())),
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
            moved[k] = as_float64(from_float64(values + step * direction, array))
            change = np.where(direction == 0, 0.0, moved[k] - values)
            sum_told += float(np.where(change == 0, 0.0, pulled.gradients[k] * change).sum())
        outputs.append(point.outputs_at(moved))
        told.append(sum_told)
    return np.array(outputs).reshape(len(steps), -1), np.array(told)


def _leaps(ladder: Ladder) -> FloatArray:
    """Gives the least change of outputs that rest at the finest steps and move above to both sides; zero of others."""
    moving = ladder.moves.reshape(2, *ladder.plus.shape) > 0
    rests = ~moving[:, -_RESTING:].any(axis=(0, 1))
    return np.where(rests & moving.any(axis=1).all(axis=0), ladder.least_move, 0.0)


def _is_rough(changes: FloatArray) -> bool:
    fine, most = np.median(np.abs(changes[-_RESTING:])), np.max(np.abs(_finite(changes)))
    return bool(fine > _ROUGH * most)


def _finite(values: FloatArray) -> FloatArray:
    return np.nan_to_num(values, nan=0.0, posinf=0.0, neginf=0.0)


@dataclass(frozen=True)
class Rate:
    """What a ladder of remainders says.

    Args:
        verdict: "fail" where the remainder falls like the step, beyond doubt.
        order: the measured rate, over the last steps above rounding; nan where the remainder is rounding only.
        slope: remainder / step where that settles, else zero: the error of the slope subtracted.
        seen: the smallest error of the slope that would have shown.
        reason: why the verdict is not "pass", in words; empty where it is.
        run: first and last place among the steps where the rate was read.
    """

    verdict: Verdict
    order: float
    slope: float
    seen: float
    reason: str = ""
    run: tuple[int, int] = (0, 0)


def read_rate(
    steps: FloatArray, remainders: FloatArray, noise: FloatArray, order: int, allowed: float, size: float
) -> Rate:
    """Judges remainders R(h) of a function of one variable.

    Args:
        steps: h, shape (K,), largest first.
        remainders: R(h), shape (K,).
        noise: the largest |R(h)| that rounding explains, shape (K,).
        order: the rate at which R falls if the slope is right.
        allowed: error of the slope that rounding of the subject explains.
        size: magnitude of the slope, to compare errors with.
    """
    broken = np.flatnonzero(~np.isfinite(remainders))
    start = int(broken[-1]) + 1 if broken.size else 0
    steps, remainders, noise = steps[start:], remainders[start:], noise[start:]
    if len(steps) < _LEAST_STEPS:
        return Rate("inconclusive", np.nan, 0.0, np.inf, "the outputs are not finite beside the inputs")
    noise = _with_standing(steps, remainders, noise)
    quotients = remainders / steps
    bounds = np.abs(quotients) + noise / steps + allowed
    # One remainder may vanish by chance, where terms of two orders cancel; three in a row do not.
    seen = float(np.min(np.maximum(np.maximum(bounds[:-2], bounds[1:-1]), bounds[2:])))
    is_sharp = seen <= SHARP * size or seen == 0
    above = np.abs(remainders) > noise + allowed * steps
    if not above.any():
        return _outcome(is_sharp, np.nan, seen)
    last = int(np.flatnonzero(above)[-1])
    first = int(np.flatnonzero(~above[: last + 1])[-1]) + 1 if not above[: last + 1].all() else 0
    run = slice(max(first, last + 1 - _RUN), last + 1)
    if last + 1 - first < _LEAST_RUN:
        return _outcome(is_sharp, np.nan, seen)
    rate = _fit(steps[run], remainders[run])
    slope = _settled(steps, remainders, noise, first, last)
    if slope is not None:
        places = (start + run.start, start + last)
        return Rate("fail", rate, slope, seen, "the remainder falls like the step itself", places)
    finer = min(last + 1, len(steps) - 1)
    fell_off = last < finer and abs(quotients[last]) * steps[finer] > 4.0 * noise[finer]
    if rate < order - _RATE_SLACK and not fell_off:
        return Rate("inconclusive", rate, 0.0, seen, f"the remainder falls at rate {rate:.1f}, neither 1 nor {order}")
    return _outcome(is_sharp, rate, seen)


def _outcome(is_sharp: bool, rate: float, seen: float) -> Rate:
    if is_sharp:
        return Rate("pass", rate, 0.0, seen)
    return Rate("inconclusive", rate, 0.0, seen, "rounding of the outputs hides the remainder at too many steps")


def _with_standing(steps: FloatArray, remainders: FloatArray, noise: FloatArray) -> FloatArray:
    """Raises noise where the remainders at the finest steps are above it, but no longer fall."""
    tail = slice(len(steps) - _RUN, len(steps))
    size = np.abs(remainders[tail])
    if (size <= noise[tail]).all():
        return noise
    with np.errstate(all="ignore"):
        if _fit(steps[tail], np.maximum(size, np.finfo(np.float64).tiny)) >= _STANDING:
            return noise
    return np.asarray(np.maximum(noise, 4.0 * size.max()))


def _settled(steps: FloatArray, remainders: FloatArray, noise: FloatArray, first: int, last: int) -> float | None:
    """Gives what remainder / step settles at before rounding hides it, or None if it does not settle.

    It has to be the same at three or more steps, and at every finer one as far as rounding lets one see: beside a
    kink it is constant too, down to the distance from the kink, but not below that.
    """
    quotients, doubt = remainders / steps, noise / steps
    for count in (_RUN, _LEAST_RUN):
        run = slice(last + 1 - count, last + 1)
        if run.start < first:
            continue
        middle = float(np.median(quotients[run]))
        spread = np.abs(quotients[run] - middle)
        clear = doubt[run] <= _SETTLED * abs(middle)
        if clear.sum() < 2 or (spread > _SETTLED * abs(middle) + np.where(clear, 0.0, doubt[run])).any():
            continue
        finer = slice(last + 1, len(steps))
        if (np.abs(quotients[finer] - middle) <= 2.0 * doubt[finer] + _SETTLED * abs(middle)).all():
            return middle
    return None


def _fit(steps: FloatArray, remainders: FloatArray) -> float:
    return float(np.polyfit(np.log(steps), np.log(np.abs(remainders)), 1)[0])
