"""The ops of contrib_ops beside PyTorch's own, or the formula in its ops, and beside their NumPy kernels."""

from __future__ import annotations

from functools import partial

from benchmarks.cases.large import KEEP, OURS
from benchmarks.goals import Goal, judge
from benchmarks.peers import Missing, start
from benchmarks.report import Section, microseconds
from benchmarks.subjects.contrib_tasks import TASKS, TOLERANCE
from opsdk.ship.bench.timing import alternate

TITLE = "The ops of contrib_ops"
HELD = ("roi_align", "ctc_loss", "embedding_bag", "cholesky", "rms_norm")
HOW = (
    "PyTorch has no box pooling of its own without torchvision, so `roi_align` stands beside the same samples by its "
    "grid_sample. A sample is `timeit` on a statement with its names as globals, for about {seconds:g} s or once; "
    "{rounds} rounds take one sample of every subject in rotating order, each after a rest in which the threads of "
    "the one before fall asleep; each framework runs in a process of its own, on all cores. Values and gradients of "
    "PyTorch are compared with ours, to {tolerance:g} of the largest element, before anything is timed; ours are "
    "proven by `opsdk check contrib_ops`. Forward and backward takes the gradients of all float inputs that have one; "
    "`ctc_loss` includes the log_softmax in front of it."
)


def run(rounds: int, seconds: float, wanted: tuple[str, ...], pythons: dict[str, str]) -> list[Section]:
    """Measures every op; returns one section for each and direction."""
    peers, missing = start(tuple(set(wanted) & {"torch"}), pythons, "contrib", "", KEEP)
    missing = [gone for gone in missing if gone.name == "torch"]
    try:
        wrong = [Missing(s["name"], s["problem"]) for peer in peers for s in peer.subjects if s["problem"]]
        sections = []
        for task in TASKS:
            for direction in task.directions:
                work = task.work(direction)
                measures = {
                    subject["name"]: partial(peer.sample, subject["name"], work, seconds)
                    for peer in peers
                    for subject in peer.subjects
                    if work in subject["works"] and not subject["problem"]
                }
                samples = alternate(measures, rounds)
                goals = [Goal("contrib", ("torch", "torch, formula"), OURS, 1.0, False, "at least as fast as torch")]
                sections.append(
                    Section(
                        title=work,
                        samples=samples,
                        reference=OURS,
                        unit=microseconds,
                        judged=tuple(judge(goal, samples) for goal in goals if task.op in HELD),
                        missing=(*missing, *(gone for gone in wrong if gone.reason.startswith(task.title))),
                        versions=tuple(f"{peer.name} {peer.version}" for peer in peers),
                        how=HOW.format(seconds=seconds, rounds=rounds, tolerance=TOLERANCE),
                    )
                )
        return sections
    finally:
        for peer in peers:
            peer.close()
