"""Samples and ratios: many rounds in alternation, and what may be said about them."""

from __future__ import annotations

import gc
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import repeat

Samples = dict[str, list[float]]
Clock = Callable[[], float]


@dataclass(frozen=True)
class Ratio:
    """How one subject compares with another: the median of per-round ratios, and the middle 80 % of them."""

    value: float
    low: float
    high: float

    @property
    def is_same(self) -> bool:
        """Whether the rounds do not agree on which of the two is faster."""
        return self.low <= 1 <= self.high

    @property
    def margin(self) -> float:
        """Half the width of what the middle 80 % of the rounds gave."""
        return (self.high - self.low) / 2

    def __str__(self) -> str:
        return f"{self.value:.2f} ({self.low:.2f}–{self.high:.2f})"


@dataclass(frozen=True)
class Span:
    """A time, or how much longer one subject takes than another: the median over the rounds, and the middle 80 %."""

    value: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.value * 1e3:.1f} ms ({self.low * 1e3:.1f}–{self.high * 1e3:.1f})"


@dataclass(frozen=True)
class Spread:
    """A median in seconds, and the interquartile range around it as a share of it."""

    median: float
    share: float


class Sampler:
    """Times one call: a sample is the mean of as many repeats as fill a given time, found by the first sample.

    Args:
        call: what is timed; its result is dropped at once.
        seconds: about how long one sample takes, > 0.
        prepare: called before each sample, which is then a single repeat: for calls that change what they get.
        finish: called at the end of each sample, and counted: waits for what the call left unfinished.
        clock: returns seconds.
    """

    def __init__(
        self,
        call: Callable[[], object],
        seconds: float,
        *,
        prepare: Callable[[], object] | None = None,
        finish: Callable[[], object] | None = None,
        clock: Clock = time.perf_counter,
    ) -> None:
        self._call, self._seconds, self._prepare, self._finish, self._clock = call, seconds, prepare, finish, clock
        self._repeats = 1 if prepare is not None else 0

    def __call__(self) -> float:
        """Returns the seconds of one call."""
        if not self._repeats:
            count = 1
            while (taken := self._taken(count)) < self._seconds / 4:
                count *= 2
            self._repeats = max(1, round(count * self._seconds / taken))
        return self._taken(self._repeats) / self._repeats

    def _taken(self, count: int) -> float:
        if self._prepare is not None:
            self._prepare()
        call, clock, collects = self._call, self._clock, gc.isenabled()
        gc.disable()
        try:
            started = clock()
            for _ in repeat(None, count):
                call()
            if self._finish is not None:
                self._finish()
            return clock() - started
        finally:
            if collects:
                gc.enable()


def alternate(measures: Mapping[str, Callable[[], float]], rounds: int, *, is_warm: bool = False) -> Samples:
    """Returns `rounds` samples per subject; each round takes one of each, in an order that rotates.

    Args:
        measures: by subject, a function that takes one sample in seconds.
        rounds: at least 1.
        is_warm: whether each was measured once already.
    """
    names = list(measures)
    samples: Samples = {name: [] for name in names}
    for name in () if is_warm else names:
        measures[name]()  # warm-up: compiles, fills caches, finds the number of repeats
    for turn in range(rounds):
        shift = turn % len(names)
        for name in names[shift:] + names[:shift]:
            samples[name].append(measures[name]())
    return samples


def rounds_within(seconds: float, one_round: float, most: int, least: int) -> int:
    """Returns how many rounds fit in a time, at most `most`; the least are taken however long they last."""
    return max(least, min(most, int(seconds / one_round) if one_round > 0 else most))


def ratio(samples: Samples, numerator: str, denominator: str) -> Ratio:
    """Returns how many times longer the numerator takes than the denominator.

    Both were measured in the same rounds, the first ones, so what slows the machine for a while slows both.
    """
    each = sorted(a / b for a, b in zip(samples[numerator], samples[denominator], strict=False))
    return Ratio(statistics.median(each), percentile(each, 0.1), percentile(each, 0.9))


def span(samples: Samples, name: str, beyond: str = "") -> Span:
    """Returns how long a subject takes, or how much longer than another one."""
    less = samples[beyond] if beyond else [0.0] * len(samples[name])
    each = sorted(a - b for a, b in zip(samples[name], less, strict=False))
    return Span(statistics.median(each), percentile(each, 0.1), percentile(each, 0.9))


def spread(samples: Sequence[float]) -> Spread:
    """Returns the median of some samples and their interquartile range beside it."""
    ordered = sorted(samples)
    middle = statistics.median(ordered)
    width = percentile(ordered, 0.75) - percentile(ordered, 0.25)
    return Spread(middle, width / middle if middle else 0.0)


def percentile(ordered: Sequence[float], share: float) -> float:
    """Returns the value below which a share of the ordered values lies, interpolated."""
    position = share * (len(ordered) - 1)
    below = int(position)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (ordered[above] - ordered[below]) * (position - below)
