"""Line charts as inline SVG, drawn by hand: no script, no network, colours from the page's own palette."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

from opsdk.ship.output.plot import marks_between

WIDTH, HEIGHT = 460, 270
LEFT, RIGHT, TOP, BOTTOM = 46, 10, 8, 30
STROKE = 2.0


@dataclass(frozen=True)
class Curve:
    """One line: its name, and a value per epoch, from epoch 1."""

    name: str
    values: tuple[float, ...]


def line_chart(title: str, curves: Sequence[Curve], *, percent: bool = False) -> str:
    """Returns a figure with all curves over the epochs.

    Args:
        title: above the chart.
        curves: of equal length, at least 1.
        percent: whether values are shares, labelled in per cent.
    """
    values = [value for curve in curves for value in curve.values if math.isfinite(value)]
    ticks = marks_between(min(values, default=0.0), max(values, default=1.0))
    low, high = ticks[0], ticks[-1]
    count = max(len(curve.values) for curve in curves)

    def place(epoch: int, value: float) -> tuple[float, float]:
        across = (epoch - 1) / max(count - 1, 1)
        up = (value - low) / (high - low)
        return LEFT + across * (WIDTH - LEFT - RIGHT), HEIGHT - BOTTOM - up * (HEIGHT - TOP - BOTTOM)

    parts = [f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{escape(title)}">']
    for tick in ticks:
        _, y = place(1, tick)
        label = f"{100 * tick:g}%" if percent else f"{tick:g}"
        parts.append(f'<line class="grid" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y:.1f}" y2="{y:.1f}"/>')
        parts.append(f'<text x="{LEFT - 6}" y="{y + 4:.1f}" text-anchor="end">{label}</text>')
    for epoch in sorted({1, *range(5, count + 1, 5), count} if count <= 40 else {1, count // 2, count}):
        x, _ = place(epoch, low)
        parts.append(f'<text x="{x:.1f}" y="{HEIGHT - 12}" text-anchor="middle">{epoch}</text>')
    for position, curve in enumerate(curves):
        points = [place(i + 1, value) for i, value in enumerate(curve.values) if math.isfinite(value)]
        parts.append(_line(points, position, _summary(curve, percent=percent)))
    parts.append("</svg>")
    return f"<figure><figcaption>{escape(title)}</figcaption>{''.join(parts)}</figure>"


def key(curves: Sequence[Curve]) -> str:
    """Returns the legend."""
    entries = []
    for position, curve in enumerate(curves):
        swatch = f'<svg viewBox="0 0 36 12"><line x1="0" x2="36" y1="6" y2="6" {_paint(position)}/></svg>'
        entries.append(f"<li>{swatch}{escape(curve.name)}</li>")
    return f'<ul class="key">{"".join(entries)}</ul>'


def _line(points: Sequence[tuple[float, float]], position: int, said: str) -> str:
    if len(points) == 1:
        x, y = points[0]
        dot = f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{1.5 * STROKE:.1f}" fill="var(--c{position % 6})">'
        return f"{dot}<title>{escape(said)}</title></circle>"
    path = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    return f'<polyline points="{path}" fill="none" {_paint(position)}><title>{escape(said)}</title></polyline>'


def _paint(position: int) -> str:
    return f'stroke="var(--c{position % 6})" stroke-width="{STROKE:g}" stroke-linejoin="round"'


def _summary(curve: Curve, *, percent: bool) -> str:
    last = f"{curve.values[-1]:.2%}" if percent else f"{curve.values[-1]:.4f}"
    return f"{curve.name}: {last} after epoch {len(curve.values)}"
