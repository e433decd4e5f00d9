"""Claims of the demonstration, each decided by what the runs left behind."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from opsdk.ship.demo.train import Run

LEAST_ACCURACY = 0.95


@dataclass(frozen=True)
class Claim:
    """A sentence, whether it holds, and the evidence."""

    text: str
    holds: bool
    evidence: str


def claims_of(runs: Sequence[Run]) -> list[Claim]:
    """Returns the claims on runs in two modes, each with the same ReLUs; the first of a mode is the NumPy pair."""
    modes = {mode: [run for run in runs if run.mode == mode] for mode in dict.fromkeys(run.mode for run in runs)}
    (first, *_), *others = modes.values()
    made = [_equal(f"{first.mode} and {other.mode} agree, NumPy pair", first, other) for other, *_ in others]
    for reference, *rest in modes.values():
        made += [_equal(f"{run.relu} ({run.row}) equals the NumPy pair, {run.mode}", run, reference) for run in rest]
    worst = min(runs, key=lambda run: run.last.accuracy)
    made.append(
        Claim(
            f"every run recognises {LEAST_ACCURACY:.0%} of the test digits",
            worst.last.accuracy >= LEAST_ACCURACY,
            f"least: {worst.last.accuracy:.2%}, {worst.name}",
        )
    )
    return made


def _equal(text: str, first: Run, second: Run) -> Claim:
    """Returns the claim that two runs ended with the same parameters, byte for byte."""
    pairs = list(zip(first.parameters, second.parameters, strict=True))
    if all(a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes() for a, b in pairs):
        return Claim(text, True, f"{sum(array.size for array in first.parameters)} parameters, byte for byte")
    return Claim(text, False, f"parameters differ by up to {max(np.abs(a - b).max() for a, b in pairs):.1e}")
