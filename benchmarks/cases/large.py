"""The measurement of ops on large arrays, which several pages share."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from benchmarks.goals import Goal, judge
from benchmarks.peers import Missing, Peer, start
from benchmarks.report import Section, microseconds
from benchmarks.subjects.tasks import TASKS, Task
from opsdk.ship.bench.timing import Samples, alternate

OURS = "opsdk"
EAGER = "torch eager"
FRAMEWORKS = (EAGER, "torch.compile", "torch clamp_min(out=)", "jax jit", "paddle eager", "NumPy, out=")
COPIES = ("copy, NumPy", "copy, NumPy on all threads", "copy, torch")
# glibc gives large arrays back to the OS at once and faults their pages in again, unless it is told to keep them.
KEEP = {"MALLOC_MMAP_MAX_": "0", "MALLOC_TRIM_THRESHOLD_": str(1 << 40), "MALLOC_TOP_PAD_": str(64 << 20)}
HOW = (
    "Each framework runs in a process of its own, on all cores. A sample is `timeit` on a statement with its names as "
    "globals, for about {seconds:g} s or once; {rounds} rounds take one sample of every subject in rotating order. The "
    "result of a call is dropped before the next one, and malloc keeps freed memory, so that everybody writes to "
    "memory that was written before. Value and gradients are compared with NumPy's in float64 before anything is "
    "timed. Forward is without a graph; forward and backward makes the value and, from a given cotangent, the "
    "gradients of all float inputs; with clear_grad the backward adds to the `grad` of the leaves, which is cleared "
    "behind it, as users train. A copy moves as many bytes as the op has to read and write at least."
)


def measure(
    topic: str,
    goals: Callable[[Task, str], Sequence[Goal]],
    rounds: int,
    seconds: float,
    wanted: tuple[str, ...],
    pythons: dict[str, str],
    tasks: Sequence[Task] = TASKS,
    kind: str = "large",
    how: str = HOW,
) -> list[Section]:
    """Measures every task of a topic in both directions and returns one section for each.

    Args:
        topic: which tasks.
        goals: what a task is held to in a direction.
        rounds: samples per subject.
        seconds: about how long one sample takes.
        wanted: peers to compare with.
        pythons: interpreters by peer.
        tasks: where the tasks of the topic stand.
        kind: which module of subjects each worker runs.
        how: how it is measured, with places for `seconds` and `rounds`.
    """
    peers, missing = start(wanted, pythons, kind, topic, KEEP, bare=kind == "large")
    try:
        wrong = [Missing(s["name"], s["problem"]) for peer in peers for s in peer.subjects if s["problem"]]
        text = how.format(seconds=seconds, rounds=rounds)
        sections = []
        for task in tasks:
            for direction in task.directions if task.topic == topic else ():
                work = task.work(direction)
                samples = _samples(work, peers, rounds, seconds)
                sections.append(
                    Section(
                        title=work[0].upper() + work[1:],
                        samples=samples,
                        reference=OURS,
                        unit=microseconds,
                        judged=tuple(judge(goal, samples) for goal in goals(task, direction)),
                        missing=(*missing, *(gone for gone in wrong if gone.reason.startswith(task.title))),
                        versions=tuple(f"{peer.name} {peer.version}" for peer in peers),
                        how=text,
                    )
                )
        return sections
    finally:
        for peer in peers:
            peer.close()


def _samples(work: str, peers: Sequence[Peer], rounds: int, seconds: float) -> Samples:
    measures = {
        subject["name"]: partial(peer.sample, subject["name"], work, seconds)
        for peer in peers
        for subject in peer.subjects
        if work in subject["works"] and not subject["problem"]
    }
    return alternate(measures, rounds) if measures else {}


def never_slower(name: str) -> Goal:
    """Returns the goal that no peer is faster."""
    return Goal(name, FRAMEWORKS, OURS, 1.0, False, "never slower than the best peer")


def at_least(name: str, times: float) -> Goal:
    """Returns the goal of so many times the best peer's speed."""
    return Goal(name, FRAMEWORKS, OURS, times, False, f"at least {times:g} times as fast as the best peer")


def ahead_of_eager(name: str, times: float = 1.0) -> Goal:
    """Returns the goal of a step as users train, beside PyTorch's: so many times its speed."""
    words = "at least as fast as torch eager" if times == 1 else f"at least {times:g} times as fast as torch eager"
    return Goal(name, EAGER, OURS, times, False, words)


def near_copy(name: str) -> Goal:
    """Returns the goal of an op that memory bounds."""
    return Goal(name, OURS, COPIES, 1.25, True, "at most 1.25 times a copy of its bytes")


def near_copy_if_bound(name: str) -> Goal:
    """Returns the same goal for an op that computes so much that memory need not bound it."""
    words = "at most 1.25 times a copy of its bytes, where that binds"
    return Goal(name, OURS, COPIES, 1.25, True, words, FRAMEWORKS)
