"""Line charts over the epochs of a training, as figures of a page."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from html import escape

from gradcheck.show.axes import Axis, Curve, Plot, kind_of, marks_between
from gradcheck.show.svg import drawing, tag

WIDTH, HEIGHT = 460.0, 270.0
LEFT, RIGHT, TOP, BOTTOM = 46.0, 10.0, 8.0, 30.0


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
        parts += plot.curve(replace(curve, title=_summary(curve, percent=percent)), number)
    return f"<figure><figcaption>{escape(title)}</figcaption>{drawing(WIDTH, HEIGHT, title, parts)}</figure>"


def key(curves: Sequence[Curve]) -> str:
    """Returns the legend."""
    entries = []
    for number, curve in enumerate(curves):
        swatch = tag("line", {"x1": 0, "x2": 36, "y1": 6, "y2": 6, "class": kind_of(curve, number)})
        entries.append(f"<li>{drawing(36, 12, '', [swatch])}{escape(curve.name)}</li>")
    return f'<ul class="key">{"".join(entries)}</ul>'


def _summary(curve: Curve, *, percent: bool) -> str:
    last = curve.points[-1][1]
    return f"{curve.name}: {f'{last:.2%}' if percent else f'{last:.4f}'} after epoch {len(curve.points)}"
