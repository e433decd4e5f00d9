"""A second judge of gradients: the rate at which Taylor remainders fall, which needs no step and no tolerance."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from gradcheck.errors import UsageError
from gradcheck.model.domain import Reach
from gradcheck.model.dtypes import FloatArray
from gradcheck.model.evaluation import Point, VjpError, start_point
from gradcheck.model.protocol import Forward, Vjp, build_subject, read_inputs
from gradcheck.numeric.hidden import hidden_eps
from gradcheck.numeric.remainders import Pulled, Rate, Ray, follow, pull, read_rate
from gradcheck.report import Verdict, counted

_TOGETHER = "all"
# Where s is one of the two slopes at a kink, bend and fault are as large; of a smooth function the bend falls with the
# step, to nothing. A quarter lies between.
_BEND = 0.25
_KINK = "the slopes on both sides differ: a kink"
_REACHES: tuple[Reach, ...] = ("typical", "wide", "narrow")


@dataclass(frozen=True)
class TaylorDirection:
    """The judgement along one random direction.

    Args:
        input: the name of the input that moved; "all" where all did.
        verdict: as in the report.
        rate: the measured rate, over the last steps above rounding; nan where the remainder is rounding only, as for
            linear functions.
        expected_rate: 3 where both sides of the point could be used, else 2.
        slope: the directional derivative that vjp gives.
        relative_error: of that slope, where it is wrong; else zero.
        smallest_error_seen: the smallest relative error of the slope that would have shown.
        steps: the step lengths, largest first, in units of the direction.
        remainders: one for each step.
        reason: why the verdict is not "pass"; empty where it is.
    """

    input: str
    verdict: Verdict
    rate: float
    expected_rate: int
    slope: float
    relative_error: float
    smallest_error_seen: float
    steps: tuple[float, ...]
    remainders: tuple[float, ...]
    reason: str


@dataclass(frozen=True)
class TaylorReport:
    """The outcome of `taylor_test`.

    Args:
        verdict: "fail" when a direction fails; "pass" when none does, and one passes for each input and for all
            together; else "inconclusive".
        directions: one entry each.
        smallest_error_seen: the smallest relative error, uniform over the gradient, that would have shown for every
            input; inf where an input was not judged.
        reason: of the first direction that decided a verdict other than "pass"; else empty.
        seed: the seed of the run.
    """

    verdict: Verdict
    directions: tuple[TaylorDirection, ...]
    smallest_error_seen: float
    reason: str
    seed: int

    def __str__(self) -> str:
        """A few lines: the verdict, the direction that is worst, and the rates for each input."""
        word = "FAIL" if self.verdict == "fail" else self.verdict
        seen = f"; sees down to {self.smallest_error_seen:.0e}" if np.isfinite(self.smallest_error_seen) else ""
        lines = [f"{word}  {counted(len(self.directions), 'direction')}{seen}; seed {self.seed}"]
        decided = [entry for entry in self.directions if entry.verdict == self.verdict and entry.reason]
        worst = max(decided, key=lambda entry: entry.relative_error, default=None)
        if worst is not None:
            error = f"; relative error {worst.relative_error:.1e}" if worst.verdict == "fail" else ""
            lines.append(f"  worst    {worst.input}: {worst.reason}{error}")
        elif self.reason:
            lines.append(f"  reason   {self.reason}")
        for name in dict.fromkeys(entry.input for entry in self.directions):
            entries = [entry for entry in self.directions if entry.input == name]
            wanted = " or ".join(str(rate) for rate in sorted({entry.expected_rate for entry in entries}))
            rates = ", ".join("rounding only" if np.isnan(e.rate) else f"{e.rate:.1f}" for e in entries)
            lines.append(f"  rates    {name}: {rates}; expected {wanted}")
        return "\n".join(lines)


def taylor_test(
    forward: Forward,
    vjp: Vjp,
    inputs: Sequence[object],
    *,
    domain: object = None,
    nondifferentiable: Iterable[str | int] = (),
    directions: int = 4,
    seed: int = 0,
    names: Sequence[str] | None = None,
) -> TaylorReport:
    """Judges a vector-Jacobian product by the rate at which Taylor remainders fall.

    For a random cotangent c and a random direction d, phi(h) = <c, forward(x + h d)> is a function of one variable,
    whose slope at 0 is s = <vjp(c), d> if vjp is right. Then phi(h) - phi(0) - h s has no term linear in h: halving h
    quarters it, a rate of 2. The mean of it and of its mirror image, (phi(h) - phi(-h)) / 2 - h s, has no quadratic
    term either: rate 3. With a wrong s both keep the term (phi'(0) - s) h, so the remainder divided by h settles at
    the error of the slope: rate 1. The rate is read over many steps, each a quarter of the one before, down to where
    the measured rounding of forward takes over; so neither a step nor a tolerance has to be chosen. Half the
    difference of the two one-sided remainders has rate 2, or rate 1 at a kink, where the slope is not unique and
    nothing is concluded.

    The smallest error seen is about 1e-9 of the slope for smooth functions in float64, and rises with the rounding of
    forward. A single wrong element among n is diluted to about 1 / sqrt(n) of its relative error.

    Args:
        forward: forward(*inputs) -> array or tuple of arrays, as for `gradcheck.check`.
        vjp: vjp(inputs, outputs, cotangents) -> one gradient, or None, per input; None counts as zeros.
        inputs: arrays and scalars; floating ones are differentiated.
        domain: as for `gradcheck.check`.
        nondifferentiable: names or positions of floating inputs to leave out.
        directions: how many random directions, >= 1, for each input alone and for all together.
        seed: any integer >= 0; equal seeds give equal reports.
        names: one name per input; by default the parameter names of forward.

    Returns:
        A report with one entry per direction.

    Raises:
        UsageError: an argument is of the wrong form, no input is differentiable, or forward raises at the given inputs
            or returns what is no number.
    """
    if isinstance(directions, bool) or not isinstance(directions, (int, np.integer)) or directions < 1:
        raise UsageError(f"directions: expected an integer >= 1, got {directions!r}; leave it out")
    if isinstance(seed, bool) or not isinstance(seed, (int, np.integer)) or seed < 0:
        raise UsageError(f"seed: expected an integer >= 0, got {seed!r}; pass any such number")
    values = read_inputs(inputs)
    subject = build_subject(forward, vjp, None, values, names, domain, nondifferentiable, ())
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        point = start_point(subject, values, "gradcheck.taylor_test")
        generator = np.random.default_rng([int(seed), 5])
        point.forward_eps = hidden_eps(point, generator)
        return _run(point, int(directions), int(seed), generator)


def _run(point: Point, count: int, seed: int, generator: np.random.Generator) -> TaylorReport:
    moving = tuple(k for k in point.subject.differentiable if point.values(k).size)
    groups: list[tuple[str, tuple[int, ...]]] = [(point.subject.names[k], (k,)) for k in moving]
    if len(moving) > 1:
        groups.append((_TOGETHER, moving))
    if not groups or not point.size:
        return TaylorReport("pass", (), np.inf, "", seed)
    found: list[TaylorDirection] = []
    for _ in range(count):
        try:
            pulled = pull(point, generator)
        except VjpError as error:
            return TaylorReport("fail", tuple(found), np.inf, f"vjp: expected gradients, got {error}", seed)
        if isinstance(pulled, str):
            return TaylorReport("fail", tuple(found), np.inf, pulled, seed)
        found += [_judge(point, name, inputs, pulled, generator) for name, inputs in groups]
    return _report(found, seed)


def _report(found: list[TaylorDirection], seed: int) -> TaylorReport:
    wrong = [entry for entry in found if entry.verdict == "fail"]
    if wrong:
        return TaylorReport("fail", tuple(found), np.inf, f"{wrong[0].input}: {wrong[0].reason}", seed)
    seen: dict[str, float] = {}
    for entry in found:
        judged = entry.smallest_error_seen if entry.verdict == "pass" else np.inf
        seen[entry.input] = min(seen.get(entry.input, np.inf), judged)
    passed = {entry.input for entry in found if entry.verdict == "pass"}
    unsure = [entry for entry in found if entry.input not in passed]
    if unsure:
        return TaylorReport("inconclusive", tuple(found), np.inf, f"{unsure[0].input}: {unsure[0].reason}", seed)
    return TaylorReport("pass", tuple(found), max(seen.values()), "", seed)


def _judge(
    point: Point, name: str, inputs: tuple[int, ...], pulled: Pulled, generator: np.random.Generator
) -> TaylorDirection:
    """Judges one direction; where rounding hides everything, at steps of another scale too."""
    if not all(np.isfinite(pulled.gradients[k][np.isfinite(point.values(k))]).all() for k in inputs):
        reason = "vjp gives a value that is not finite"
        return TaylorDirection(name, "inconclusive", np.nan, 3, np.nan, 0.0, np.inf, (), (), reason)
    tried: list[TaylorDirection] = []
    for reach in _REACHES:
        tried.append(_read(name, follow(point, inputs, pulled, reach, generator)))
        if tried[-1].verdict != "inconclusive" or tried[-1].reason == _KINK:
            return tried[-1]
    return tried[0]


def _read(name: str, ray: Ray) -> TaylorDirection:
    if ray.behind is None:
        return _entry(name, ray, ray.ahead, 2, _rate(ray, ray.ahead, 2))
    mean = (ray.ahead + ray.behind) / 2.0
    rate = _rate(ray, mean, 3)
    bend = (ray.ahead - ray.behind) / 2.0
    # At a kink the difference of the slopes on both sides stays as large as the fault found.
    first, last = np.abs(bend / ray.steps)[list(rate.run)]
    stands = rate.verdict == "fail" and last >= _BEND * max(abs(rate.slope), first)
    if stands or _rate(ray, bend, 2).verdict == "fail":
        rate = Rate("inconclusive", rate.order, 0.0, np.inf, _KINK)
    return _entry(name, ray, mean, 3, rate)


def _rate(ray: Ray, remainders: FloatArray, order: int) -> Rate:
    """Reads the rate with the measured noise and with the least: either structure or noise may pass for the other."""
    measured = read_rate(ray.steps, remainders, ray.noise, order, ray.allowed, ray.size)
    least = read_rate(ray.steps, remainders, ray.least_noise, order, ray.allowed, ray.size)
    if measured.verdict == "fail" == least.verdict and not ray.is_resolved:
        return Rate("inconclusive", measured.order, 0.0, np.inf, "the outputs leap, or change faster than the steps")
    if measured.verdict == least.verdict or measured.verdict == "pass":
        return measured
    if least.verdict == "pass":
        return least
    return Rate("inconclusive", measured.order, 0.0, np.inf, "the remainder cannot be told from rounding")


def _entry(name: str, ray: Ray, remainders: FloatArray, expected: int, rate: Rate) -> TaylorDirection:
    slope, error, reason = ray.slope, 0.0, rate.reason
    size = abs(slope) or ray.size
    seen = rate.seen / size if size else np.inf
    if rate.verdict == "fail":
        error = abs(rate.slope) / max(abs(slope + rate.slope), abs(slope))
        reason = (
            f"slope expected {slope + rate.slope:.6g}, got {slope:.6g} from vjp: "
            f"the remainder falls at rate {rate.order:.1f} instead of {expected}"
        )
    steps, values = tuple(map(float, ray.steps)), tuple(map(float, remainders))
    return TaylorDirection(name, rate.verdict, rate.order, expected, slope, error, seen, steps, values, reason)
