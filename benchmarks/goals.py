"""Goals: a ratio between two subjects, or a time, that has to stay on one side of a bound."""

from __future__ import annotations

from dataclasses import dataclass

from opsdk.ship.bench.timing import Ratio, Samples, Span, ratio, span


@dataclass(frozen=True)
class Goal:
    """A claim about a ratio.

    Args:
        name: its short name.
        numerator, denominator: subjects; of several, the fastest that was measured, by its least sample.
        bound: what the ratio of their times is held to.
        at_most: whether the bound is an upper one.
        words: the claim in words.
        others: subjects that a bound of the machine is tried on: where none of them keeps it, it does not bind.
    """

    name: str
    numerator: str | tuple[str, ...]
    denominator: str | tuple[str, ...]
    bound: float
    at_most: bool
    words: str
    others: tuple[str, ...] = ()


@dataclass(frozen=True)
class Limit:
    """A claim about a time.

    Args:
        name: its short name.
        subject: whose time it is.
        beyond: the subject whose time is taken off it, if any.
        seconds: what the time is held to.
        words: the claim in words.
    """

    name: str
    subject: str
    beyond: str
    seconds: float
    words: str


@dataclass(frozen=True)
class Judged:
    """A goal with what was measured.

    `verdict` is `yes`, `no`, `within the spread`, `not measured` or `does not bind`; `words` are the goal's, with the
    subject that was compared with where there was a choice.
    """

    goal: Goal | Limit
    found: Ratio | Span | None
    verdict: str
    words: str


def judge(goal: Goal | Limit, samples: Samples) -> Judged:
    """Returns whether a goal holds; a bound inside the spread of the rounds is said to be just that."""
    if isinstance(goal, Limit):
        return _judge_time(goal, samples)
    numerator, denominator = _fastest(goal.numerator, samples), _fastest(goal.denominator, samples)
    if not numerator or not denominator:
        return Judged(goal, None, "not measured", goal.words)
    found = ratio(samples, numerator, denominator)
    worst, best = (found.high, found.low) if goal.at_most else (found.low, found.high)
    verdict = _verdict(_holds(goal, worst), _holds(goal, best))
    reached = [ratio(samples, name, denominator).low for name in goal.others if name in samples]
    if verdict == "no" and reached and not any(_holds(goal, least) for least in reached):
        verdict = "does not bind"
    pairs = ((goal.numerator, numerator), (goal.denominator, denominator))
    chosen = [name for given, name in pairs if isinstance(given, tuple)]
    return Judged(goal, found, verdict, f"{goal.words} ({', '.join(chosen)})" if chosen else goal.words)


def _judge_time(goal: Limit, samples: Samples) -> Judged:
    if goal.subject not in samples or goal.beyond not in ("", *samples):
        return Judged(goal, None, "not measured", goal.words)
    found = span(samples, goal.subject, goal.beyond)
    return Judged(goal, found, _verdict(found.high <= goal.seconds, found.low <= goal.seconds), goal.words)


def _fastest(given: str | tuple[str, ...], samples: Samples) -> str:
    """Returns the subject that is meant, the one of several with the least sample; empty where none was measured."""
    names = (given,) if isinstance(given, str) else given
    measured = [name for name in names if name in samples]
    return min(measured, key=lambda name: min(samples[name]), default="")


def _holds(goal: Goal, value: float) -> bool:
    return value <= goal.bound if goal.at_most else value >= goal.bound


def _verdict(at_worst: bool, at_best: bool) -> str:
    return "yes" if at_worst else "within the spread" if at_best else "no"
