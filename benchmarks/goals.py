"""Goals: a ratio between two subjects that has to stay on one side of a bound."""

from __future__ import annotations

from dataclasses import dataclass

from benchmarks.timing import Ratio, Samples, ratio


@dataclass(frozen=True)
class Goal:
    """A claim to be judged.

    Args:
        name: its short name.
        numerator, denominator: subjects.
        bound: what the ratio of their times is held to.
        at_most: whether the bound is an upper one.
        words: the claim in words.
    """

    name: str
    numerator: str
    denominator: str
    bound: float
    at_most: bool
    words: str


@dataclass(frozen=True)
class Judged:
    """A goal with what was measured; `verdict` is `yes`, `no`, `within the spread` or `not measured`."""

    goal: Goal
    ratio: Ratio | None
    verdict: str


def judge(goal: Goal, samples: Samples) -> Judged:
    """Returns whether a goal holds; a bound inside the spread of the rounds is said to be just that."""
    if goal.numerator not in samples or goal.denominator not in samples:
        return Judged(goal, None, "not measured")
    found = ratio(samples, goal.numerator, goal.denominator)
    worst, best = (found.high, found.low) if goal.at_most else (found.low, found.high)
    if _holds(goal, worst):
        return Judged(goal, found, "yes")
    return Judged(goal, found, "within the spread" if _holds(goal, best) else "no")


def _holds(goal: Goal, value: float) -> bool:
    return value <= goal.bound if goal.at_most else value >= goal.bound
