"""Schedules of learning rates: each is an entry, the rate as a function of the number of steps."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, ClassVar

from opsdk.core.errors import AttributeValueError, ScheduleError
from opsdk.optimizer.schedule import AT_LEAST_1, CALLED, GROWING, NUMBERS, LRScheduler, Schedule


@dataclass(eq=False, repr=False)
class StepDecay(Schedule, checks={"step_size": AT_LEAST_1, "gamma": NUMBERS}):
    """Times `gamma` every `step_size` steps."""

    learning_rate: float
    step_size: int
    gamma: float = 0.1

    def _rate(self, step: int) -> float:
        return self.base_lr * self.gamma ** (step // self.step_size)


@dataclass(eq=False, repr=False)
class MultiStepDecay(Schedule, checks={"milestones": GROWING, "gamma": NUMBERS}):
    """Times `gamma` at each of the `milestones`."""

    learning_rate: float
    milestones: Sequence[int]
    gamma: float = 0.1

    def _rate(self, step: int) -> float:
        return self.base_lr * self.gamma ** sum(step >= each for each in self.milestones)


@dataclass(eq=False, repr=False)
class ExponentialDecay(Schedule, checks={"gamma": NUMBERS}):
    """Times `gamma` every step."""

    learning_rate: float
    gamma: float

    def _rate(self, step: int) -> float:
        return self.base_lr * self.gamma**step


@dataclass(eq=False, repr=False)
class NaturalExpDecay(Schedule, checks={"gamma": NUMBERS}):
    """Times exp(-gamma) every step."""

    learning_rate: float
    gamma: float

    def _rate(self, step: int) -> float:
        return self.base_lr * math.exp(-self.gamma * step)


@dataclass(eq=False, repr=False)
class InverseTimeDecay(Schedule, checks={"gamma": NUMBERS}):
    """Divided by 1 + gamma · step."""

    learning_rate: float
    gamma: float

    def _rate(self, step: int) -> float:
        return self.base_lr / (1 + self.gamma * step)


@dataclass(eq=False, repr=False)
class PolynomialDecay(
    Schedule, checks={"decay_steps": AT_LEAST_1, "end_lr": NUMBERS, "power": (lambda n: n > 0, "a number > 0")}
):
    """Falls to `end_lr` in `decay_steps`, as a power of what is left; with `cycle` it starts over, ever longer."""

    learning_rate: float
    decay_steps: int
    end_lr: float = 0.0001
    power: float = 1.0
    cycle: bool = False

    def _rate(self, step: int) -> float:
        turns = max(math.ceil(step / self.decay_steps), 1) if self.cycle else 1
        left = 1 - min(step / (self.decay_steps * turns), 1)
        return float((self.base_lr - self.end_lr) * left**self.power + self.end_lr)


@dataclass(eq=False, repr=False)
class PiecewiseDecay(Schedule, checks={"boundaries": GROWING}):
    """`values[i]` before `boundaries[i]`, and the last value from the last boundary on."""

    boundaries: Sequence[int]
    values: Sequence[float]

    def _base(self) -> float:
        if len(self.values) != len(self.boundaries) + 1:
            raise AttributeValueError(
                f"PiecewiseDecay: values expected one more than boundaries, {len(self.boundaries) + 1}, got "
                f"{len(self.values)}"
            )
        return self.values[0]

    def _rate(self, step: int) -> float:
        return self.values[sum(step >= each for each in self.boundaries)]


@dataclass(eq=False, repr=False)
class CosineAnnealingDecay(Schedule, checks={"T_max": AT_LEAST_1, "eta_min": NUMBERS}):
    """Half a cosine down to `eta_min` in `T_max` steps, and up again (Loshchilov & Hutter, 2017, without restarts)."""

    learning_rate: float
    T_max: int
    eta_min: float = 0.0

    def _rate(self, step: int) -> float:
        return _cosine(self.base_lr, self.eta_min, step / self.T_max)


@dataclass(eq=False, repr=False)
class CosineAnnealingWarmRestarts(Schedule, checks={"T_0": AT_LEAST_1, "T_mult": AT_LEAST_1, "eta_min": NUMBERS}):
    """Half a cosine down to `eta_min` in `T_0` steps, then anew, `T_mult` times as long (Loshchilov & Hutter, 2017)."""

    learning_rate: float
    T_0: int
    T_mult: int = 1
    eta_min: float = 0.0

    def _rate(self, step: int) -> float:
        turn = self.T_0
        while step >= turn and self.T_mult > 1:
            step, turn = step - turn, turn * self.T_mult
        return _cosine(self.base_lr, self.eta_min, step % turn / turn)


@dataclass(eq=False, repr=False)
class NoamDecay(Schedule, checks={"d_model": AT_LEAST_1, "warmup_steps": AT_LEAST_1}):
    """d^-0.5 · min(step^-0.5, step · warmup^-1.5), times `learning_rate` (Vaswani et al., 2017, equation 3)."""

    d_model: int
    warmup_steps: int
    learning_rate: float = 1.0

    def _rate(self, step: int) -> float:
        factor = min(math.pow(max(step, 1), -0.5), step * math.pow(self.warmup_steps, -1.5))
        return self.base_lr * math.pow(self.d_model, -0.5) * factor


@dataclass(eq=False, repr=False)
class LambdaDecay(Schedule, checks={"lr_lambda": CALLED}):
    """Times `lr_lambda(step)`."""

    learning_rate: float
    lr_lambda: Callable[[int], float]

    def _rate(self, step: int) -> float:
        return self.base_lr * self.lr_lambda(step)


@dataclass(eq=False, repr=False)
class MultiplicativeDecay(Schedule, checks={"lr_lambda": CALLED}):
    """Times `lr_lambda(1)`, then `lr_lambda(2)`, and so on."""

    learning_rate: float
    lr_lambda: Callable[[int], float]

    def _rate(self, step: int) -> float:
        return self.base_lr * math.prod(self.lr_lambda(each) for each in range(1, step + 1))


@dataclass(eq=False, repr=False)
class LinearLR(Schedule, checks={"total_steps": AT_LEAST_1, "start_factor": NUMBERS, "end_factor": NUMBERS}):
    """From `start_factor` to `end_factor` of the rate, in a line, in `total_steps`."""

    learning_rate: float
    total_steps: int
    start_factor: float = 1 / 3
    end_factor: float = 1.0

    def _rate(self, step: int) -> float:
        part = min(step, self.total_steps) / self.total_steps
        return self.base_lr * (self.start_factor + (self.end_factor - self.start_factor) * part)


@dataclass(eq=False, repr=False)
class LinearWarmup(Schedule, checks={"warmup_steps": AT_LEAST_1, "start_lr": NUMBERS, "end_lr": NUMBERS}):
    """From `start_lr` to `end_lr`, in a line, in `warmup_steps`; then a rate, or another schedule from its step 0."""

    learning_rate: float | LRScheduler
    warmup_steps: int
    start_lr: float
    end_lr: float

    def _base(self) -> float:
        if isinstance(self.learning_rate, ReduceOnPlateau):
            raise AttributeValueError(
                "LinearWarmup: learning_rate expected a number or a schedule of the step, got ReduceOnPlateau, which "
                "goes by metrics; step it by itself after the warmup"
            )
        self.keys = ("learning_rate",) if isinstance(self.learning_rate, LRScheduler) else ()  # type: ignore[misc]
        return self.learning_rate() if isinstance(self.learning_rate, LRScheduler) else self.learning_rate

    def _rate(self, step: int) -> float:
        if step < self.warmup_steps:
            return self.start_lr + (self.end_lr - self.start_lr) * step / self.warmup_steps
        if not isinstance(self.learning_rate, LRScheduler):
            return self.base_lr
        self.learning_rate.step(step - self.warmup_steps)
        return self.learning_rate()


@dataclass(eq=False, repr=False)
class OneCycleLR(
    Schedule,
    checks={
        "total_steps": AT_LEAST_1,
        "phase_pct": (lambda n: 0 <= n <= 1, "a number from 0 to 1"),
        "anneal_strategy": (lambda word: word in ("cos", "linear"), "cos or linear"),
    },
):
    """Up to the greatest rate and down to almost nothing, once (Smith & Topin, 2018).

    It starts at `max_learning_rate / divide_factor` and is at its greatest after `phase_pct` of `total_steps`. With
    `three_phase` it comes down as it went up before it falls to `end_learning_rate`.
    """

    max_learning_rate: float
    total_steps: int
    divide_factor: float = 25.0
    end_learning_rate: float = 0.0001
    phase_pct: float = 0.3
    anneal_strategy: str = "cos"
    three_phase: bool = False
    momenta: tuple[float, float] | None = None  # the least, at the greatest rate, and the greatest
    is_absolute: ClassVar[bool] = True

    def momentum(self) -> float | None:
        """Returns what is high where the rate is low; None unless it is cycled."""
        if self.momenta is None:
            return None
        least, greatest = self.momenta
        return self._along(max(self.last_epoch, 0), greatest, least, greatest)

    def _base(self) -> float:
        return self.max_learning_rate / self.divide_factor

    def _rate(self, step: int) -> float:
        if step > self.total_steps:
            raise ScheduleError(
                f"OneCycleLR: expected at most {self.total_steps} steps, got step {step}; make a longer one"
            )
        return self._along(step, self.base_lr, self.max_learning_rate, self.end_learning_rate)

    def _along(self, step: int, low: float, high: float, end: float) -> float:
        top = self.phase_pct * self.total_steps - 1
        turns = [(0.0, low), (top, high), (self.total_steps - 1.0, end)]
        if self.three_phase:
            turns.insert(2, (2 * top, low))
        (start, before), (stop, after) = next((p for p in pairwise(turns) if step <= p[1][0]), tuple(turns[-2:]))
        part = (step - start) / (stop - start) if stop > start else 1.0
        return _cosine(before, after, part) if self.anneal_strategy == "cos" else before + (after - before) * part


@dataclass(eq=False, repr=False)
class CyclicLR(
    Schedule,
    checks={
        "step_size_up": AT_LEAST_1,
        "step_size_down": (lambda n: n is None or AT_LEAST_1[0](n), "None or an integer ≥ 1"),
        "mode": (lambda m: m in ("triangular", "triangular2", "exp_range"), "triangular, triangular2 or exp_range"),
        "scale_mode": (lambda mode: mode in ("cycle", "iterations"), "cycle or iterations"),
    },
):
    """Up and down between two rates, for ever (Smith, 2017).

    `mode` is "triangular", "triangular2", each cycle half as high as the one before, or "exp_range", `exp_gamma` to the
    power of the step; or `scale_fn` says how high, of the cycle's number or, with `scale_mode="iterations"`, the step.
    """

    base_learning_rate: float
    max_learning_rate: float
    step_size_up: int
    step_size_down: int | None = None
    mode: str = "triangular"
    exp_gamma: float = 1.0
    scale_fn: Callable[[float], float] | None = None
    scale_mode: str = "cycle"
    momenta: tuple[float, float] | None = None  # the least, at the greatest rate, and the greatest
    is_absolute: ClassVar[bool] = True

    def momentum(self) -> float | None:
        """Returns what is high where the rate is low; None unless it is cycled."""
        if self.momenta is None:
            return None
        least, greatest = self.momenta
        return greatest - (greatest - least) * self._height(max(self.last_epoch, 0))

    def _base(self) -> float:
        return self.base_learning_rate

    def _rate(self, step: int) -> float:
        return self.base_lr + (self.max_learning_rate - self.base_lr) * self._height(step)

    def _height(self, step: int) -> float:
        up = self.step_size_up
        whole = up + (self.step_size_down or up)
        cycle, place = 1 + step // whole, step % whole
        part = place / up if place <= up else (whole - place) / (whole - up)
        if self.scale_fn is not None:
            scale = self.scale_fn(cycle if self.scale_mode == "cycle" else step)
        else:
            scale = {"triangular": 1.0, "triangular2": 0.5 ** (cycle - 1), "exp_range": self.exp_gamma**step}[self.mode]
        return part * scale


@dataclass(eq=False, repr=False)
class ReduceOnPlateau(
    Schedule,
    checks={
        "mode": (lambda word: word in ("min", "max"), "min or max"),
        "threshold_mode": (lambda word: word in ("rel", "abs"), "rel or abs"),
        "factor": (lambda n: 0 < n < 1, "a number in (0, 1)"),
    },
):
    """Times `factor` once `patience` steps in a row were no better than the best; `step(metrics)` takes what is judged.

    A step is better by more than `threshold`, of the best itself or, with `threshold_mode="abs"`, as it is. After a
    change nothing is counted for `cooldown` steps; the rate stays above `min_lr`, and where it is by less than
    `epsilon`, as it is.
    """

    learning_rate: float
    mode: str = "min"
    factor: float = 0.1
    patience: int = 10
    threshold: float = 1e-4
    threshold_mode: str = "rel"
    cooldown: int = 0
    min_lr: float = 0.0
    epsilon: float = 1e-8
    best: float | None = field(default=None, init=False)
    num_bad_epochs: int = field(default=0, init=False)
    cooldown_counter: int = field(default=0, init=False)
    keys: ClassVar[tuple[str, ...]] = ("best", "num_bad_epochs", "cooldown_counter")

    def get_lr(self) -> float:
        """Returns the rate as it is."""
        return self.last_lr

    def rate_from(self, base: float) -> float:
        """Returns the rate that it has where it starts from another rate.

        Raises:
            ScheduleError: `min_lr` is above 0, which rates that start from others reach at other steps.
        """
        if base != self.base_lr and self.min_lr > 0:
            raise ScheduleError(
                f"{type(self).__name__}: expected min_lr=0 where groups have an lr of their own, got {self.min_lr}"
            )
        return self.last_lr if base == self.base_lr else base * (self.last_lr / self.base_lr)

    # Any: a number, or a tensor or array of one element.
    def step(self, metrics: Any = None, epoch: int | None = None) -> None:  # type: ignore[override]
        """Counts a step that was as good as `metrics`."""
        if metrics is None:
            return super().step(epoch)
        value = float(metrics.item() if hasattr(metrics, "item") else metrics)
        rate = self.last_lr
        bad, cooldown, best = self.num_bad_epochs, max(self.cooldown_counter - 1, 0), self.best
        if self.cooldown_counter == 0:
            is_better = best is None or self._is_better(value, best)
            best, bad = (value, 0) if is_better else (best, bad + 1)
            if bad > self.patience:
                bad, cooldown = 0, self.cooldown
                lower = max(rate * self.factor, self.min_lr)
                rate = lower if rate - lower > self.epsilon else rate
        self._follow(rate)
        self.last_epoch = self.last_epoch + 1 if epoch is None else epoch
        self.best, self.num_bad_epochs, self.cooldown_counter = best, bad, cooldown

    def _is_better(self, value: float, best: float) -> bool:
        sign = 1 if self.mode == "min" else -1
        margin = self.threshold * (abs(best) if self.threshold_mode == "rel" else 1)
        return sign * value < sign * best - margin


def _cosine(high: float, low: float, part: float) -> float:
    return low + (high - low) * (1 + math.cos(math.pi * part)) / 2


_classes = {name: value for name, value in globals().items() if isinstance(value, type) and value is not Schedule}
__all__ = [name for name, value in _classes.items() if issubclass(value, LRScheduler)]
