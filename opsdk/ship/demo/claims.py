"""Claims of the demonstration, each decided by what the runs left behind."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from opsdk.ship.demo.record import Run, largest_difference, same_bits

LEAST_ACCURACY = 0.95


@dataclass(frozen=True)
class Claim:
    """A sentence, whether it holds, and the evidence."""

    text: str
    holds: bool
    evidence: str


def claims_of(runs: Sequence[Run]) -> list[Claim]:
    """Returns the claims on six runs: two modes, each with the NumPy row, the Numba row and the built-in ReLU."""
    found = {(run.mode, run.relu, run.row): run for run in runs}
    references = [run for run in runs if run.row == "numpy"]
    relus = dict.fromkeys(run.relu for run in references)
    modes = dict.fromkeys(run.mode for run in references)
    made = [
        _equal(
            f"dynamic and static agree, {relu} ReLU",
            found["dynamic", relu, "numpy"],
            found["static", relu, "numpy"],
        )
        for relu in relus
    ]
    made += [
        _equal(
            f"custom ReLU equals the built-in one, {mode}",
            found[mode, "custom", "numpy"],
            found[mode, "built-in", "numpy"],
        )
        for mode in modes
    ]
    made += [
        _equal(f"the numba row equals the numpy row, {run.mode}", run, found[run.mode, run.relu, "numpy"])
        for run in runs
        if run.row == "numba"
    ]
    worst = min(runs, key=lambda run: run.last.accuracy)
    made.append(
        Claim(
            f"every run recognises at least {LEAST_ACCURACY:.0%} of the test digits",
            worst.last.accuracy >= LEAST_ACCURACY,
            f"least: {worst.last.accuracy:.2%}, {worst.name}",
        )
    )
    return made


def _equal(text: str, first: Run, second: Run) -> Claim:
    count = sum(array.size for array in first.parameters)
    if same_bits(first, second):
        return Claim(text, True, f"{count} parameters, byte for byte")
    return Claim(text, False, f"parameters differ by up to {largest_difference(first, second):.1e}")
