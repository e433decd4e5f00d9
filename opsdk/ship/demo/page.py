"""The page of the demonstration: what was written, proven, caught and trained, in one offline file."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from gradcheck.show import page
from gradcheck.show.axes import CURVE_STYLE, Curve
from opsdk.ship.demo import kernels, source
from opsdk.ship.demo.chart import key, line_chart
from opsdk.ship.demo.claims import Claim
from opsdk.ship.demo.record import Epoch, Run
from opsdk.ship.machine.environment import facts, rendered

TITLES = ("mode", "relu", "row", "train loss", "test accuracy", "seconds")


def cells(run: Run) -> tuple[str, ...]:
    """Returns a run's line of the table."""
    last = run.last
    return run.mode, run.relu, run.row, f"{last.loss:.6f}", f"{last.accuracy:.4f}", f"{run.seconds:.2f}"


def alike(runs: Sequence[Run]) -> list[tuple[str, Run]]:
    """Returns one run of each group with the same history, under the names of all of the group."""
    groups: dict[tuple[Epoch, ...], list[Run]] = {}
    for run in runs:
        groups.setdefault(run.epochs, []).append(run)
    return [
        (f"all {len(held)} runs" if len(held) == len(runs) > 1 else "; ".join(run.name for run in held), held[0])
        for held in groups.values()
    ]


@dataclass(frozen=True)
class Shown:
    """What was shown before the training.

    Args:
        source: the right ReLU's file.
        proof: the report on it.
        kernels: the lines of its kernel table.
        caught: the report on the wrong ReLU.
    """

    source: str
    proof: str
    kernels: Sequence[tuple[str, ...]]
    caught: str


def render(runs: Sequence[Run], claims: Sequence[Claim], shown: Shown) -> str:
    """Returns the page.

    Args:
        runs: all trainings.
        claims: what was asserted about them.
        shown: what came before.
    """
    groups = alike(runs)
    losses = [Curve(name, tuple((i, e.loss) for i, e in enumerate(run.epochs, 1))) for name, run in groups]
    accuracies = [Curve(name, tuple((i, e.accuracy) for i, e in enumerate(run.epochs, 1))) for name, run in groups]
    body = [
        "<h1>One ReLU in every language, in two runtimes</h1>",
        page.paragraph("As a NumPy pair, as an expression, in C and for CUDA; proven, timed, then trained with."),
        page.heading("What holds"),
        page.table(("claim", "holds", "evidence"), [(c.text, "yes" if c.holds else "no", c.evidence) for c in claims]),
        page.heading("Training: digits of 8 × 8 pixels, 64-100-10, cross entropy, SGD"),
        page.table(TITLES, [cells(run) for run in runs], numbers=(3, 4, 5)),
        key(losses),
        '<div class="charts">',
        line_chart("Training loss by epoch", losses),
        line_chart("Test accuracy by epoch", accuracies, percent=True),
        "</div>",
        page.paragraph("Runs whose losses and accuracies are equal in every epoch are drawn as one curve.", "soft"),
        page.heading("The op"),
        page.code(shown.source),
        page.code(shown.proof),
        page.heading(f"Its kernels, on {kernels.SIZE:,} float32"),
        page.table(kernels.TITLES, shown.kernels, numbers=(2, 3, 4)),
        page.heading("The same op with one character too many, caught"),
        page.code(source.WRONG),
        page.code(shown.caught),
        page.heading("Environment"),
        page.code(rendered(facts(exercise=False))),
    ]
    return page.page("opsdk demo: one ReLU in two runtimes", body, CURVE_STYLE)
