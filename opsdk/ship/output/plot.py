"""Line plots as SVG files of their own: no script, no font, no network; light and dark."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from html import escape

WIDTH, HEIGHT = 640, 360
LEFT, RIGHT, HEAD, BOTTOM = 58, 14, 40, 42
_KEY = 18  # height of a line of the key
TICKS = 5
_LIGHT = ("#2563c9", "#c2580c", "#17805a", "#8a3fb5", "#b0274f", "#5c6b00")
_DARK = ("#7fb0ff", "#ffab6b", "#63d6a8", "#d3a0f2", "#ff93b0", "#cbd95c")
_INK = (
    "svg { background: #fcfcfb; } text { font: 12px system-ui, sans-serif; fill: #4a4741; } .grid { stroke: #dcd9d1; }"
)
_NIGHT = "svg { background: #171716; } text { fill: #c4c1ba; } .grid { stroke: #3a3935; }"

Point = tuple[float, float]
Place = Callable[[float], float]


@dataclass(frozen=True)
class Curve:
    """One line.

    Args:
        name: what the key calls it.
        points: in order; where one is not finite, or above or below the plot, the line is interrupted.
        is_dashed: whether it is a bound and no measurement.
        bars: half a height around each point, or nothing.
    """

    name: str
    points: tuple[Point, ...]
    is_dashed: bool = False
    bars: tuple[float, ...] = ()


@dataclass(frozen=True)
class Axis:
    """One axis: what it says, and the values that have a mark.

    Args:
        title: what is laid off, with its unit.
        marks: values, least first, that span the axis.
        write: returns how a value is written.
        is_log: whether equal steps are equal factors.
    """

    title: str
    marks: tuple[float, ...]
    write: Callable[[float], str] = "{:g}".format
    is_log: bool = False

    def place(self, start: float, end: float) -> Place:
        """Returns where on a drawing between two coordinates a value lies."""
        low, high = self._scaled(self.marks[0]), self._scaled(self.marks[-1])
        span = high - low or 1.0
        return lambda value: start + (self._scaled(value) - low) / span * (end - start)

    def holds(self, value: float) -> bool:
        """Whether a value lies on the axis."""
        return self.marks[0] <= value <= self.marks[-1]

    def _scaled(self, value: float) -> float:
        return math.log(value) if self.is_log else value


def plot(title: str, curves: Sequence[Curve], across: Axis, up: Axis) -> str:
    """Returns an SVG document.

    Args:
        title: above the plot.
        curves: at most six keep colours of their own.
        across: the horizontal axis.
        up: the vertical axis.
    """
    key, top = _key(curves)
    x, y = across.place(LEFT, WIDTH - RIGHT), up.place(HEIGHT - BOTTOM, top)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}" '
        f'role="img" aria-label="{escape(title)}">',
        f"<style>{_style()}</style>",
        f'<text x="{LEFT}" y="18" style="font-weight:600;font-size:14px">{escape(title)}</text>',
        *key,
    ]
    for mark in up.marks:
        parts.append(f'<line class="grid" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y(mark):.1f}" y2="{y(mark):.1f}"/>')
        parts.append(_text(up.write(mark), LEFT - 6, y(mark) + 4, "end"))
    for mark in across.marks:
        parts.append(f'<line class="grid" x1="{x(mark):.1f}" x2="{x(mark):.1f}" y1="{top}" y2="{HEIGHT - BOTTOM}"/>')
        parts.append(_text(across.write(mark), x(mark), HEIGHT - BOTTOM + 16, "middle"))
    parts.append(_text(across.title, (LEFT + WIDTH - RIGHT) / 2, HEIGHT - 8, "middle"))
    turn = f"translate(14 {(top + HEIGHT - BOTTOM) / 2:.0f}) rotate(-90)"
    parts.append(f'<text transform="{turn}" text-anchor="middle">{escape(up.title)}</text>')
    for number, curve in enumerate(curves):
        parts += _drawn(curve, number, x, y, up)
    return "\n".join([*parts, "</svg>", ""])


def marks_between(low: float, high: float) -> tuple[float, ...]:
    """Returns at least two round numbers, evenly spaced, that enclose an interval."""
    span = high - low or abs(high) or 1.0
    rough = span / TICKS
    scale = 10.0 ** math.floor(math.log10(rough))
    step = next(factor * scale for factor in (1, 2, 2.5, 5, 10) if factor * scale >= rough)
    first = math.floor(low / step)
    last = max(math.ceil(high / step), first + 1)
    return tuple(round(i * step, 10) for i in range(first, last + 1))


def _drawn(curve: Curve, number: int, x: Place, y: Place, up: Axis) -> Iterator[str]:
    kind = f"c{number % len(_LIGHT)}"
    for run in _runs(curve.points, up):
        if len(run) == 1:
            yield f'<circle class="{kind} dot" cx="{x(run[0][0]):.1f}" cy="{y(run[0][1]):.1f}" r="3"/>'
        else:
            path = " ".join(f"{x(a):.1f},{y(b):.1f}" for a, b in run)
            yield f'<polyline class="{kind}{" bound" if curve.is_dashed else ""}" points="{path}"/>'
    for (a, b), half in zip(curve.points, curve.bars, strict=False):
        low, high = max(b - half, up.marks[0]), min(b + half, up.marks[-1])
        yield f'<line class="{kind}" x1="{x(a):.1f}" x2="{x(a):.1f}" y1="{y(low):.1f}" y2="{y(high):.1f}"/>'


def _runs(points: Sequence[Point], up: Axis) -> Iterator[list[Point]]:
    """Yields stretches of points that can be drawn."""
    run: list[Point] = []
    for point in points:
        if math.isfinite(point[1]) and up.holds(point[1]):
            run.append(point)
        elif run:
            yield run
            run = []
    if run:
        yield run


def _key(curves: Sequence[Curve]) -> tuple[list[str], int]:
    """Returns the key, in as many lines as it takes, and where the plot begins below it."""
    parts: list[str] = []
    left, middle = float(LEFT), HEAD - 4
    for number, curve in enumerate(curves):
        size = 48 + 6.6 * len(curve.name)  # about as wide as the letters are
        if left + size > WIDTH and left > LEFT:
            left, middle = float(LEFT), middle + _KEY
        kind = f"c{number % len(_LIGHT)}{' bound' if curve.is_dashed else ''}"
        parts.append(f'<line class="{kind}" x1="{left:.0f}" x2="{left + 22:.0f}" y1="{middle}" y2="{middle}"/>')
        parts.append(_text(curve.name, left + 28, middle + 4, "start"))
        left += size
    return parts, middle + _KEY + 4


def _text(text: str, x: float, y: float, anchor: str) -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escape(text)}</text>'


def _style() -> str:
    def colours(palette: Sequence[str]) -> str:
        lines = [f".c{i} {{ stroke: {colour}; }} .c{i}.dot {{ fill: {colour}; }}" for i, colour in enumerate(palette)]
        return " ".join(lines)

    shape = (
        "polyline, line { fill: none; stroke-width: 2; } .grid { stroke-width: 1; } .bound { stroke-dasharray: 5 4; }"
    )
    return f"{_INK} {shape} {colours(_LIGHT)} @media (prefers-color-scheme: dark) {{ {_NIGHT} {colours(_DARK)} }}"
