"""The score of each checker on a bank of wrong and right pairs, written by hand for every kind of fault."""

from __future__ import annotations

import sys
import time
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from benchmarks.mutation.judges import Judge
from tests.gradcheck.bank import RIGHT_ONES, WRONG_ONES


@dataclass
class Score:
    """What a checker did.

    Attributes:
        missed: names of wrong pairs that it let through, by kind.
        blamed: names of right pairs in which it found fault, by kind.
        seconds: time for all.
    """

    missed: dict[str, list[str]] = field(default_factory=dict)
    blamed: dict[str, list[str]] = field(default_factory=dict)
    seconds: float = 0.0


def scores(judges: dict[str, Judge]) -> dict[str, Score]:
    """Runs every checker on every pair."""
    found = {name: Score() for name in judges}
    with np.errstate(all="ignore"):
        for name, judge in judges.items():
            started = time.perf_counter()
            for kind, cases in WRONG_ONES.items():
                missed = [c[0] for c in cases if not judge(*c[1:4], {})]
                found[name].missed[kind] = missed
            for kind, cases in RIGHT_ONES.items():
                blamed = [c[0] for c in cases if judge(*c[1:5])]
                found[name].blamed[kind] = blamed
            found[name].seconds = time.perf_counter() - started
            print(f"bank, {name} …", file=sys.stderr, flush=True)
    return found


def lines(found: dict[str, Score]) -> list[str]:
    """Returns the tables in Markdown."""
    wrong, right = (sum(map(len, kinds.values())) for kinds in (WRONG_ONES, RIGHT_ONES))
    text = [
        "## A bank of pairs",
        "",
        f"{wrong} wrong pairs and {right} right ones that are hard to judge, in tests/gradcheck. Peers have no words "
        "for a domain, for shared memory that is meant, or for a state; what they cannot know counts all the same.",
        "",
        "| checker | wrong ones missed | right ones blamed | ms a check |",
        "|---|---:|---:|---:|",
    ]
    for name, score in found.items():
        missed, blamed = (sum(map(len, part.values())) for part in (score.missed, score.blamed))
        each = 1e3 * score.seconds / (wrong + right)
        text.append(f"| {name} | {missed} of {wrong} | {blamed} of {right} | {each:.0f} |")
    for title, kinds, part in (("wrong", WRONG_ONES, "missed"), ("right", RIGHT_ONES, "blamed")):
        text += ["", f"| {title} | how many | " + " | ".join(f"{part} by {name}" for name in found) + " |"]
        text += ["|---|---:|" + "---:|" * len(found)]
        for kind, cases in kinds.items():
            counts = [len(getattr(score, part)[kind]) for score in found.values()]
            text.append(f"| {kind} | {len(cases)} | {' | '.join(map(str, counts))} |")
    return [*text, ""]


def details(found: dict[str, Score]) -> list[dict[str, Any]]:
    """Returns what each checker missed and blamed, as JSON."""
    return [
        {"checker": name, "missed": score.missed, "blamed": score.blamed, "seconds": score.seconds}
        for name, score in found.items()
    ]
