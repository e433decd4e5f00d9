"""P16: what a training loop adds to forward and backward, on a large parameter and on many small ones."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from benchmarks.cases.large import KEEP
from benchmarks.goals import Goal, Limit, judge
from benchmarks.peers import Missing, Peer, start
from benchmarks.report import Section, microseconds
from benchmarks.subjects.training import SMALL, WORKS, Trained
from opsdk.ship.bench.timing import Samples, alternate

OURS = "opsdk"
TITLE = "Steps of optimizers"
HOW = (
    "Each framework runs in a process of its own, on all cores. A sample is `timeit` on a statement with its names as "
    "globals, for about {seconds:g} s; {rounds} rounds take one sample of every subject in rotating order. The "
    "statement gives every parameter its gradient by assignment, which stands for accumulation into a cleared one, "
    "makes a step and clears the gradients. A first step is compared with its formula in float64 before anything is "
    "timed."
)


def run(rounds: int, seconds: float, wanted: tuple[str, ...], pythons: dict[str, str]) -> list[Section]:
    """Measures every optimizer and size; returns one section for each.

    Args:
        rounds: samples per subject.
        seconds: about how long one sample takes.
        wanted: peers to compare with.
        pythons: interpreters by peer.
    """
    peers, missing = start(tuple(set(wanted) & {"torch"}), pythons, "training", "training", KEEP)
    try:
        wrong = [Missing(s["name"], s["problem"]) for peer in peers for s in peer.subjects if s["problem"]]
        how = HOW.format(seconds=seconds, rounds=rounds)
        return [_section(work, peers, [*missing, *wrong], rounds, seconds, how) for work in WORKS]
    finally:
        for peer in peers:
            peer.close()


def _section(
    trained: Trained, peers: Sequence[Peer], missing: Sequence[Missing], rounds: int, seconds: float, how: str
) -> Section:
    measures = {
        subject["name"]: partial(peer.sample, subject["name"], trained.work, seconds)
        for peer in peers
        for subject in peer.subjects
        if trained.work in subject["works"] and not subject["problem"]
    }
    samples: Samples = alternate(measures, rounds)
    return Section(
        title=trained.work,
        samples=samples,
        reference=OURS,
        unit=microseconds,
        judged=tuple(judge(goal, samples) for goal in goals(trained)),
        missing=tuple(missing),
        versions=tuple(f"{peer.name} {peer.version}" for peer in peers),
        how=how,
    )


def goals(trained: Trained) -> list[Goal | Limit]:
    """Returns what a work is held to."""
    if trained.count == 1:
        return [Goal("P16", OURS, "opsdk, kernel alone", 1.1, True, "at most 1.1 times the kernel alone")]
    if trained.optimizer != "SGD":
        return []
    words = f"at most 1 µs for each of {SMALL} parameters, beyond the assignments"
    return [Limit("P16", OURS, "opsdk, gradients alone", SMALL * 1e-6, words)]
