"""P1 and P2: a custom ReLU on 16 floats, called eagerly: what one call costs, forward and with its backward."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from benchmarks.goals import Goal, judge
from benchmarks.peers import Missing, Peer, start
from benchmarks.report import Section, microseconds
from opsdk.ship.bench.timing import Samples, alternate

CUSTOM, LAYER = "opsdk NumPy pair", "opsdk Layer of the pair"
TITLE = "A custom ReLU on 16 floats, eager"
WORKS = {
    "forward": "Forward, recorded for a gradient",
    "both": "Forward and backward, with a given cotangent",
    "both_sum": "Forward, sum, and backward from the sum",
}
GOALS = {
    "forward": (
        Goal("P1", CUSTOM, "bare NumPy", 2.0, True, "at most 2 times np.maximum(x, 0) itself"),
        Goal("P1", "torch autograd.Function", CUSTOM, 4.0, False, "at least 4 times faster than autograd.Function"),
        Goal("P1", LAYER, "bare NumPy", 2.0, True, "through a layer, at most 2 times np.maximum(x, 0) itself"),
        Goal("P1", "torch Module of autograd.Function", LAYER, 4.0, False, "through a layer, at least 4 times faster"),
    ),
    "both": (
        Goal("P2", "torch native", CUSTOM, 4.0, False, "at least 4 times faster than torch's native relu"),
        Goal("P2", "torch nn.ReLU", LAYER, 4.0, False, "through a layer, at least 4 times faster than nn.ReLU"),
        Goal("P2", "paddle native", CUSTOM, 2.0, False, "at least 2 times faster than Paddle's native relu"),
    ),
    "both_sum": (),  # what a first script writes; no goal of its own
}
HOW = (
    "Each framework runs in a process of its own. A sample is `timeit` on a statement with its names as globals, for "
    "about {seconds:g} s; {rounds} rounds take one sample of every subject in rotating order. Value and gradient of "
    "every subject are compared with NumPy's before it is timed. `x.grad` is dropped in every backward statement."
)


def run(rounds: int, seconds: float, wanted: tuple[str, ...], pythons: dict[str, str]) -> list[Section]:
    """Measures every work and returns one section for each.

    Args:
        rounds: samples per subject.
        seconds: about how long one sample takes.
        wanted: peers to compare with.
        pythons: interpreters by peer.
    """
    peers, missing = start(wanted, pythons)
    try:
        wrong = [
            Missing(subject["name"], subject["problem"])
            for peer in peers
            for subject in peer.subjects
            if subject["problem"]
        ]
        how = HOW.format(seconds=seconds, rounds=rounds)
        return [_section(work, peers, [*missing, *wrong], rounds, seconds, how) for work in WORKS]
    finally:
        for peer in peers:
            peer.close()


def _section(
    work: str, peers: Sequence[Peer], missing: Sequence[Missing], rounds: int, seconds: float, how: str
) -> Section:
    measures = {
        subject["name"]: partial(peer.sample, subject["name"], work, seconds)
        for peer in peers
        for subject in peer.subjects
        if work in subject["works"] and not subject["problem"]
    }
    samples: Samples = alternate(measures, rounds)
    return Section(
        title=WORKS[work],
        samples=samples,
        reference=CUSTOM,
        unit=microseconds,
        judged=tuple(judge(goal, samples) for goal in GOALS[work]),
        missing=tuple(missing),
        versions=tuple(f"{peer.name} {peer.version}" for peer in peers),
        how=how,
    )
