"""Samples and ratios: many rounds in alternation, and what may be said about them."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

Samples = dict[str, list[float]]


@dataclass(frozen=True)
class Ratio:
    """How one subject compares with another: the median of per-round ratios, and the middle 80 % of them."""

    value: float
    low: float
    high: float

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


def alternate(measures: Mapping[str, Callable[[], float]], rounds: int) -> Samples:
    """Returns `rounds` samples per subject; each round takes one of each, in an order that rotates.

    Args:
        measures: by subject, a function that takes one sample in seconds.
        rounds: at least 1.
    """
    names = list(measures)
    samples: Samples = {name: [] for name in names}
    for name in names:
        measures[name]()  # warm-up: compiles, fills caches, finds the number of repeats
    for turn in range(rounds):
        shift = turn % len(names)
        for name in names[shift:] + names[:shift]:
            samples[name].append(measures[name]())
    return samples


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


def percentile(ordered: Sequence[float], share: float) -> float:
    """Returns the value below which a share of the ordered values lies, interpolated."""
    position = share * (len(ordered) - 1)
    below = int(position)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (ordered[above] - ordered[below]) * (position - below)
