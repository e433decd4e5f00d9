"""`python -m benchmarks.mutation`: how many wrong gradients each checker misses, and how many right ones it blames."""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.mutation.judges import Judge, installed
from benchmarks.mutation.mutants import Mutant, mutants
from benchmarks.mutation.subjects import SUBJECTS, Subject
from benchmarks.report import machine

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
    found = [m for s in SUBJECTS for m in mutants(s.name, s.gradient) if _differs(s, m.gradient, seed)]
    order = np.random.default_rng(seed).permutation(len(found))[:limit]
    return [found[i] for i in sorted(order)]


def _differs(subject: Subject, gradient: Callable[..., Any], seed: int) -> bool:
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
    with np.errstate(all="ignore"):
        for name, judge in judges.items():
            started = time.perf_counter()
            for mutant in wrong:
                subject = subjects[mutant.subject]
                if not judge(subject, mutant.gradient, subject.draw(np.random.default_rng(seed))):
                    found[name].missed.append(mutant)
            for subject in SUBJECTS:
                for turn in range(DRAWS):
                    if judge(subject, subject.gradient, subject.draw(np.random.default_rng([seed, turn]))):
                        found[name].blamed.append(subject.name)
            found[name].seconds = time.perf_counter() - started
            print(f"{name} …", file=sys.stderr, flush=True)
    return found


def page(found: dict[str, Score], wrong: Sequence[Mutant], missing: Sequence[str]) -> str:
    """Returns the table in Markdown."""
    right = len(SUBJECTS) * DRAWS
    lines = [
        "# Wrong gradients that checkers miss",
        "",
        machine(),
        "",
        f"{len(wrong)} edits of the gradients of {len(SUBJECTS)} ops, each of which changes a gradient by more than "
        f"{SAME:g} of its largest element, and {right} runs on the right gradients. All checkers have their defaults "
        "and the same float64 inputs. Written by `python -m benchmarks.mutation`.",
        "",
        "| checker | missed | caught | right ones blamed | ms a check |",
        "|---|---:|---:|---:|---:|",
    ]
    for name, score in found.items():
        caught = 100 * (1 - len(score.missed) / max(1, len(wrong)))
        each = 1e3 * score.seconds / (len(wrong) + right)
        lines.append(f"| {name} | {len(score.missed)} | {caught:.1f} % | {len(score.blamed)} | {each:.1f} |")
    lines += ["", "| edit | how many | " + " | ".join(f"missed by {name}" for name in found) + " |"]
    lines += ["|---|---:|" + "---:|" * len(found)]
    kinds = Counter(mutant.kind for mutant in wrong)
    for kind, count in sorted(kinds.items()):
        misses = [sum(m.kind == kind for m in score.missed) for score in found.values()]
        lines.append(f"| {kind} | {count} | {' | '.join(map(str, misses))} |")
    lines += [f"\nNot measured: {', '.join(missing)}, not installed."] if missing else []
    return "\n".join([*lines, ""])


def details(found: dict[str, Score]) -> Iterator[dict[str, Any]]:
    """Yields what each checker missed and blamed, as JSON."""
    for name, score in found.items():
        missed = [f"{m.subject}, {m.kind}: {m.text}" for m in score.missed]
        yield {"checker": name, "missed": missed, "blamed": score.blamed, "seconds": score.seconds}


def main(arguments: list[str] | None = None) -> int:
    """Runs the bench; returns 1 where ours missed more than 1 % or blamed a right gradient."""
    made = argparse.ArgumentParser(prog="python -m benchmarks.mutation", description=__doc__)
    made.add_argument("--limit", type=int, default=1800, help="how many mutants, drawn from all")
    made.add_argument("--seed", type=int, default=0)
    made.add_argument("--checkers", nargs="*", help="only these, by name")
    made.add_argument("--out", type=Path, help="file for the page; what was missed goes beside it as JSON")
    options = made.parse_args(arguments)
    judges, missing = installed()
    judges = {name: judge for name, judge in judges.items() if not options.checkers or name in options.checkers}
    wrong = wrong_mutants(options.limit, options.seed)
    found = scores(judges, wrong, options.seed)
    text = page(found, wrong, missing)
    print(text)
    if options.out is not None:
        options.out.write_text(text, encoding="utf-8")
        listed = json.dumps(list(details(found)), indent=1, ensure_ascii=False)
        options.out.with_suffix(".json").write_text(f"{listed}\n", encoding="utf-8")
    own = found.get("opsdk", Score())
    return int(len(own.missed) > 0.01 * len(wrong) or bool(own.blamed))


if __name__ == "__main__":
    sys.exit(main())
