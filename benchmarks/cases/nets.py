"""P17: training steps of whole nets, of layers as a user builds them, with loss, backward and optimizer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

from benchmarks.cases.large import KEEP
from benchmarks.goals import Goal, judge
from benchmarks.peers import Missing, Peer, start
from benchmarks.report import Section, milliseconds
from benchmarks.subjects.nets import NETS, Net
from opsdk.ship.bench.timing import Samples, alternate

OURS = "opsdk"
EAGER = ("torch eager", "torch eager, channels last")
TITLE = "Training steps of nets"
TOLERANCE = 1e-9  # of float64: how far a first step may be from that of the first peer
HOW = (
    "Each framework runs in a process of its own, on all cores, with the same weights and data. A sample is one step "
    "or more, for about {seconds:g} s: forward, loss, backward, the update, gradients cleared; {rounds} rounds take "
    "one sample of every subject in rotating order. Before anything is timed, the loss of a first step in float64, and "
    "how far it moved each weight, are compared between frameworks."
)


def run(rounds: int, seconds: float, wanted: tuple[str, ...], pythons: dict[str, str]) -> list[Section]:
    """Measures a training step of every net and returns one section for each.

    Args:
        rounds: samples per subject.
        seconds: about how long one sample takes.
        wanted: peers to compare with.
        pythons: interpreters by peer.
    """
    peers, missing = start(tuple(set(wanted) & {"torch"}), pythons, "nets", "nets", KEEP)
    try:
        how = HOW.format(seconds=seconds, rounds=rounds)
        return [_section(net, peers, missing, rounds, seconds, how) for net in NETS]
    finally:
        for peer in peers:
            peer.close()


def _section(
    net: Net, peers: Sequence[Peer], missing: Sequence[Missing], rounds: int, seconds: float, how: str
) -> Section:
    steps = {peer.name: peer.result(next(s["name"] for s in peer.subjects), net.work) for peer in peers}
    wrong = unlike(steps)
    measures = {
        subject["name"]: partial(peer.sample, subject["name"], net.work, seconds)
        for peer in peers
        for subject in peer.subjects
        if net.work in subject["works"] and not wrong
    }
    samples: Samples = alternate(measures, rounds)
    goal = Goal("P17", EAGER, OURS, 1.0, False, "at least as fast as torch eager")
    return Section(
        title=net.work[0].upper() + net.work[1:],
        samples=samples,
        reference=OURS,
        unit=milliseconds,
        judged=(judge(goal, samples),) if samples else (),
        missing=(*missing, *([Missing(net.name, wrong)] if wrong else [])),
        versions=tuple(f"{peer.name} {peer.version}" for peer in peers),
        how=how,
    )


def unlike(steps: Mapping[str, Mapping[str, Sequence[float]]]) -> str:
    """Returns where first steps of frameworks differ, in the loss or a weight's move; nothing where they agree."""
    (first, wanted), *others = steps.items()
    for name, found in others:
        if set(found) != set(wanted):
            return f"{name} and {first} have other weights: {sorted(set(found) ^ set(wanted))}"
        for key, numbers in wanted.items():
            scale = max(map(abs, numbers))
            if not all(abs(a - b) <= TOLERANCE * scale for a, b in zip(numbers, found[key], strict=True)):
                return f"a first step, {key}: {first} has {numbers}, {name} {found[key]}"
    return ""
