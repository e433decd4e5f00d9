"""P14: elementwise ops on a GPU, against PyTorch, its Triton kernels, and a copy of the same bytes."""

from __future__ import annotations

from benchmarks.cases.large import measure, never_slower
from benchmarks.goals import Goal
from benchmarks.report import Section
from benchmarks.subjects.tasks import CUDA_TASKS, LARGE, Task

TITLE = "Elementwise ops on a GPU"
OURS, COPY = "opsdk", "copy, torch"
BANDWIDTH = 0.9  # of what a copy reaches
HOW = (
    "One GPU. A statement makes 20 calls, which queue on the device, and waits for all; a sample is `timeit` on it for "
    "about {seconds:g} s, and a time is that of one call. {rounds} rounds take one sample of every subject in rotating "
    "order. Value and gradients on 1 M are compared with NumPy's in float64 before anything is timed. Forward is "
    "without a graph; forward and backward makes the value and, from a given cotangent, the gradient. A copy on the "
    "device moves as many bytes as the op has to read and write at least. On 64 M float32 (256 MB) memory decides, on "
    "1 M, which the caches hold, what the host does for a call."
)


def run(rounds: int, seconds: float, wanted: tuple[str, ...], pythons: dict[str, str]) -> list[Section]:
    """Measures the ops on 1 M and 64 M elements; returns one section for each task and direction."""
    kept = tuple(name for name in wanted if name == "torch")
    return measure("cuda", goals, rounds, seconds, kept, pythons, CUDA_TASKS, "cuda", HOW)


def goals(task: Task, direction: str) -> list[Goal]:
    """Returns what a task is held to: where memory decides, the copy's bandwidth and the best peer."""
    if task.shape != LARGE:
        return []
    words = f"at least {BANDWIDTH:g} of a copy's bandwidth"
    return [Goal("P14", OURS, COPY, 1 / BANDWIDTH, True, words), never_slower("P14")]
