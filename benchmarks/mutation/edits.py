"""The score of each checker on edited gradients: random changes of right ones."""

from __future__ import annotations

import sys
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from benchmarks.mutation.judges import SHARED, Judge
from benchmarks.mutation.mutants import Mutant, mutants
from benchmarks.mutation.subjects import SUBJECTS, Subject

SAME = 1e-9  # relative; what changes less on all of several draws is taken to be right
DRAWS = 5


@dataclass
class Score:
    """What a checker did.

    Attributes:
        missed: mutants that it let through.
        blamed: names of right gradients in which it found fault, one entry per draw.
        seconds: time for all.
    """

    missed: list[Mutant] = field(default_factory=list)
    blamed: list[str] = field(default_factory=list)
    seconds: float = 0.0


def wrong_mutants(limit: int, seed: int) -> list[Mutant]:
    """Returns mutants that do change a gradient, at most so many, drawn from all."""
    found = [m for s in SUBJECTS for m in mutants(s.name, s.gradient) if differs(s, m.gradient, seed)]
    order = np.random.default_rng(seed).permutation(len(found))[:limit]
    return [found[i] for i in sorted(order)]


def differs(subject: Subject, gradient: Callable[..., Any], seed: int) -> bool:
    """Whether a gradient is another one than the subject's; one that raises is no gradient, and left out."""
    rng = np.random.default_rng(seed)
    worst = 0.0
    with np.errstate(all="ignore"):
        for _ in range(DRAWS):
            inputs = subject.draw(rng)
            y = np.asarray(subject.forward(*inputs))
            dy = rng.normal(size=y.shape)
            right = subject.vjp(subject.gradient)(inputs, (y,), (dy,))
            try:
                made = subject.vjp(gradient)(inputs, (y,), (dy,))
                if len(made) != len(right):
                    return True
                for got, want in zip(made, right, strict=True):
                    if np.shape(got) != np.shape(want):
                        return True
                    distance = np.max(np.abs(got - want)) / np.max(np.abs(want))
                    worst = max(worst, np.nan_to_num(distance, nan=np.inf))
            except Exception:
                return False
    return bool(worst > SAME)


def scores(judges: dict[str, Judge], wrong: Sequence[Mutant], seed: int) -> dict[str, Score]:
    """Runs every checker on every mutant, and on the right gradients at several draws."""
    subjects = {subject.name: subject for subject in SUBJECTS}
    found = {name: Score() for name in judges}
    options = {"alias_ok": SHARED}  # about shared memory no peer has an opinion
    with np.errstate(all="ignore"):
        for name, judge in judges.items():
            started = time.perf_counter()
            for mutant in wrong:
                subject = subjects[mutant.subject]
                inputs = subject.draw(np.random.default_rng(seed))
                if not judge(subject.forward, subject.vjp(mutant.gradient), inputs, options):
                    found[name].missed.append(mutant)
            for subject in SUBJECTS:
                for turn in range(DRAWS):
                    inputs = subject.draw(np.random.default_rng([seed, turn]))
                    if judge(subject.forward, subject.vjp(subject.gradient), inputs, options):
                        found[name].blamed.append(subject.name)
            found[name].seconds = time.perf_counter() - started
            print(f"edits, {name} …", file=sys.stderr, flush=True)
    return found


def lines(found: dict[str, Score], wrong: Sequence[Mutant]) -> list[str]:
    """Returns the tables in Markdown."""
    right = len(SUBJECTS) * DRAWS
    text = [
        "## Random edits",
        "",
        f"{len(wrong)} edits of the gradients of {len(SUBJECTS)} ops, each of which changes a gradient by more than "
        f"{SAME:g} of its largest element, and {right} runs on the right gradients. All checkers have their defaults "
        "and the same float64 inputs.",
        "",
        "| checker | missed | caught | right ones blamed | ms a check |",
        "|---|---:|---:|---:|---:|",
    ]
    for name, score in found.items():
        caught = 100 * (1 - len(score.missed) / max(1, len(wrong)))
        each = 1e3 * score.seconds / (len(wrong) + right)
        text.append(f"| {name} | {len(score.missed)} | {caught:.1f} % | {len(score.blamed)} | {each:.1f} |")
    text += ["", "| edit | how many | " + " | ".join(f"missed by {name}" for name in found) + " |"]
    text += ["|---|---:|" + "---:|" * len(found)]
    for kind, count in sorted(Counter(mutant.kind for mutant in wrong).items()):
        misses = [sum(m.kind == kind for m in score.missed) for score in found.values()]
        text.append(f"| {kind} | {count} | {' | '.join(map(str, misses))} |")
    return [*text, ""]


def details(found: dict[str, Score]) -> list[dict[str, Any]]:
    """Returns what each checker missed and blamed, as JSON."""
    return [
        {
            "checker": name,
            "missed": [f"{m.subject}, {m.kind}: {m.text}" for m in score.missed],
            "blamed": score.blamed,
            "seconds": score.seconds,
        }
        for name, score in found.items()
    ]
