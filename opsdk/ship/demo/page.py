"""The page of the demonstration: what was written, proven, caught and trained, in one offline file."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from html import escape

from gradcheck.show import page
from gradcheck.show.axes import CURVE_STYLE, Axis, Curve, Plot, kind_of, marks_between
from gradcheck.show.svg import drawing, tag
from opsdk.ship.demo import kernels, source
from opsdk.ship.demo.train import Claim, Epoch, Run
from opsdk.ship.machine.environment import facts, rendered

WIDTH, HEIGHT = 460.0, 270.0
LEFT, RIGHT, TOP, BOTTOM = 46.0, 10.0, 8.0, 30.0
TITLES = ("mode", "relu", "kernel", "train loss", "test accuracy", "seconds")


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


def render(
    runs: Sequence[Run],
    claims: Sequence[Claim],
    *,
    written: str,
    proof: str,
    timed: Sequence[tuple[str, ...]],
    caught: str,
) -> str:
    """Returns the page.

    Args:
        runs: all trainings.
        claims: what was asserted about them.
        written: the right ReLU's file.
        proof: the report on it.
        timed: the lines of its kernel table.
        caught: the report on the wrong ReLU.
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
        page.code(written),
        page.code(proof),
        page.heading(f"Its kernels, on {kernels.SIZE:,} float32"),
        page.table(kernels.TITLES, timed, numbers=(2, 3, 4)),
        page.heading("The same op with one character too many, caught"),
        page.code(source.WRONG),
        page.code(caught),
        page.heading("Environment"),
        page.code(rendered(facts(exercise=False))),
    ]
    return page.page("opsdk demo: one ReLU in two runtimes", body, CURVE_STYLE)


def line_chart(title: str, curves: Sequence[Curve], *, percent: bool = False) -> str:
    """Returns a figure with all curves over the epochs.

    Args:
        title: above the chart.
        curves: of equal length, at least 1; a value for each epoch, from epoch 1.
        percent: whether values are shares, labelled in per cent.
    """
    values = [value for curve in curves for _, value in curve.points if math.isfinite(value)]
    marks = marks_between(min(values, default=0.0), max(values, default=1.0))
    count = max(len(curve.points) for curve in curves)
    epochs = sorted({1, *range(5, count + 1, 5), count} if count <= 40 else {1, count // 2, count})
    across = Axis("", tuple(map(float, epochs)), is_ruled=False)
    up = Axis("", marks, lambda mark: f"{100 * mark:g}%" if percent else f"{mark:g}")
    plot = Plot(across, up, LEFT, WIDTH - RIGHT, TOP, HEIGHT - BOTTOM)
    parts = plot.axes()
    for number, curve in enumerate(curves):
        last = curve.points[-1][1]
        said = f"{curve.name}: {f'{last:.2%}' if percent else f'{last:.4f}'} after epoch {len(curve.points)}"
        parts += plot.curve(replace(curve, title=said), number)
    return f"<figure><figcaption>{escape(title)}</figcaption>{drawing(WIDTH, HEIGHT, title, parts)}</figure>"


def key(curves: Sequence[Curve]) -> str:
    """Returns the legend."""
    entries = []
    for number, curve in enumerate(curves):
        swatch = tag("line", {"x1": 0, "x2": 36, "y1": 6, "y2": 6, "class": kind_of(curve, number)})
        entries.append(f"<li>{drawing(36, 12, '', [swatch])}{escape(curve.name)}</li>")
    return f'<ul class="key">{"".join(entries)}</ul>'
