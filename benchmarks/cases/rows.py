"""P7: softmax, cross entropy and the norms on 4096 rows of 1024, against the frameworks and a copy of their bytes."""

from __future__ import annotations

from benchmarks.cases.large import at_least, measure, near_copy_if_bound, never_slower
from benchmarks.goals import Goal
from benchmarks.report import Section
from benchmarks.subjects.tasks import BOTH, Task

TITLE = "Row ops on 4096 × 1024 float32"
TIMES = {"cross_entropy": 1.5, "rms_norm": 1.5}  # of the best peer's speed, forward and backward
AT_BOUND = ("layer_norm", "rms_norm")  # the others compute an exponential per element


def run(rounds: int, seconds: float, wanted: tuple[str, ...], pythons: dict[str, str]) -> list[Section]:
    """Measures the row ops; returns one section for each and direction."""
    return measure("rows", goals, rounds, seconds, wanted, pythons)


def goals(task: Task, direction: str) -> list[Goal]:
    """Returns what a task is held to."""
    found = [never_slower("P7")]
    if direction == BOTH and task.op in TIMES:
        found.append(at_least("P7", TIMES[task.op]))
    if task.op in AT_BOUND:
        found.append(near_copy_if_bound("P7"))
    return found
