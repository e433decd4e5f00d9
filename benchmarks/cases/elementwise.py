"""P3 and P4: elementwise ops on large arrays, against the frameworks and against a copy of the same bytes."""

from __future__ import annotations

from benchmarks.cases.large import ahead_of_eager, at_least, measure, near_copy, near_copy_if_bound, never_slower
from benchmarks.goals import Goal
from benchmarks.report import Section
from benchmarks.subjects.tasks import STEP, Task

TITLE = "Elementwise ops on large arrays"
TIMES = {"softplus": 1.5, "mish": 3.0, "gelu": 3.0}  # of the best peer's speed
STEP_TIMES = {"mish": 2.0, "gelu": 2.0}  # of torch eager's speed


def run(rounds: int, seconds: float, wanted: tuple[str, ...], pythons: dict[str, str]) -> list[Section]:
    """Measures ReLU, swish, softplus, mish and gelu; returns one section for each task and direction."""
    return measure("elementwise", goals, rounds, seconds, wanted, pythons)


def goals(task: Task, direction: str) -> list[Goal]:
    """Returns what a task is held to: memory bounds ReLU, and swish where many cores share it."""
    if direction == STEP:
        return [ahead_of_eager("P3", STEP_TIMES.get(task.op, 1.0))]
    if task.op == "relu":
        return [near_copy("P4")]
    found = [never_slower("P3")]
    if task.op in TIMES:
        found.append(at_least("P3", TIMES[task.op]))
    if task.op == "swish":
        found.append(near_copy_if_bound("P3"))
    return found
