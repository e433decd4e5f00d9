"""Taylor remainders on a ladder of steps: how fast they fall, and what that says of the slope subtracted."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gradcheck.model.dtypes import FloatArray
from gradcheck.numeric.tolerance import SHARP
from gradcheck.report import Verdict

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
# Above this share of the slope nothing was really judged.
_BLUNT = SHARP


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
    is_sharp = seen <= _BLUNT * size or seen == 0
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
