"""Axes of line drawings: where values lie on a drawing, the marks and rules of both axes, and curves between them."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from html import escape

from gradcheck.show.svg import tag, text

_LIGHT = ("#2563c9", "#c2580c", "#17805a", "#8a3fb5", "#b0274f", "#5c6b00")
_DARK = ("#7fb0ff", "#ffab6b", "#63d6a8", "#d3a0f2", "#ff93b0", "#cbd95c")
_MARKS = 5  # about how many an axis of round numbers has

Point = tuple[float, float]


def _coloured(palette: Sequence[str]) -> str:
    rules = [f".c{i} {{ stroke: {colour}; }} .c{i}.dot {{ fill: {colour}; }}" for i, colour in enumerate(palette)]
    return " ".join(rules)


# Of the curves of a drawing or a page; colours are written out, since not all that reads SVG knows var().
CURVE_STYLE = (
    "polyline, line { fill: none; stroke-width: 2; stroke-linejoin: round; } .bound { stroke-dasharray: 5 4; }\n"
    f"{_coloured(_LIGHT)}\n@media (prefers-color-scheme: dark) {{ {_coloured(_DARK)} }}\n"
)


@dataclass(frozen=True)
class Curve:
    """One line.

    Args:
        name: what the key calls it.
        points: in order; where one is not finite, or above or below the plot, the line is interrupted.
        is_dashed: whether it is a bound and no measurement.
        bars: half a height around each point, or nothing.
        title: shown when the pointer rests on it.
    """

    name: str
    points: tuple[Point, ...]
    is_dashed: bool = False
    bars: tuple[float, ...] = ()
    title: str = ""


@dataclass(frozen=True)
class Axis:
    """One axis: what it says, and the values that have a mark.

    Args:
        title: what is laid off, with its unit.
        marks: values, least first.
        write: gives how a value is written.
        is_log: whether equal steps are equal factors.
        ends: least and greatest value; those of the marks unless given.
        is_ruled: whether a line across the plot goes through each mark.
    """

    title: str
    marks: tuple[float, ...]
    write: Callable[[float], str] = "{:g}".format
    is_log: bool = False
    ends: Point | None = None
    is_ruled: bool = True

    def place(self, value: float, start: float, end: float) -> float:
        """Gives where a value lies on a drawing, between two coordinates."""
        low, high = map(self._scaled, self._ends())
        return start + (self._scaled(value) - low) / (high - low or 1.0) * (end - start)

    def held(self, value: float) -> float:
        """Gives the value, or the end of the axis that it is beyond."""
        low, high = self._ends()
        return min(max(value, low), high)

    def _ends(self) -> Point:
        return self.ends or (self.marks[0], self.marks[-1])

    def _scaled(self, value: float) -> float:
        return math.log(value) if self.is_log else value


@dataclass(frozen=True)
class Plot:
    """The part of a drawing that two axes span.

    Args:
        across: the horizontal axis.
        up: the vertical axis.
        left: where it begins on the drawing, as the next three in pixels.
        right: where it ends.
        top: its upper edge.
        bottom: its lower edge.
    """

    across: Axis
    up: Axis
    left: float
    right: float
    top: float
    bottom: float

    def at(self, x: float, y: float) -> Point:
        """Gives the place of two values."""
        return self.across.place(x, self.left, self.right), self.up.place(y, self.bottom, self.top)

    def axes(self) -> list[str]:
        """Draws marks, rules and titles."""
        parts = []
        for mark in self.up.marks:
            y = self.up.place(mark, self.bottom, self.top)
            parts.append(_rule(f"M{self.left} {y:.1f}H{self.right}", self.up))
            parts.append(text(self.up.write(mark), self.left - 6, y + 4, "end"))
        for mark in self.across.marks:
            x = self.across.place(mark, self.left, self.right)
            parts.append(_rule(f"M{x:.1f} {self.top}V{self.bottom}", self.across))
            parts.append(text(self.across.write(mark), x, self.bottom + 15, "middle"))
        if self.across.title:
            parts.append(text(self.across.title, (self.left + self.right) / 2, self.bottom + 34, "middle"))
        if self.up.title:
            turn = f"translate(14 {(self.top + self.bottom) / 2:.0f}) rotate(-90)"
            parts.append(tag("text", {"transform": turn, "text-anchor": "middle"}, escape(self.up.title)))
        return parts

    def curve(self, curve: Curve, number: int) -> Iterator[str]:
        """Draws one curve of several, in the colour of its number."""
        kind = kind_of(curve, number)
        for run in self._runs(curve.points):
            places = [self.at(*point) for point in run]
            yield line(places, kind, curve.title) if places[1:] else dot(places[0], f"{kind} dot", curve.title)
        for (x, y), half in zip(curve.points, curve.bars, strict=False):
            (across, low), (_, high) = self.at(x, self.up.held(y - half)), self.at(x, self.up.held(y + half))
            yield tag("line", {"class": kind, "x1": across, "x2": across, "y1": low, "y2": high})

    def _runs(self, points: Sequence[Point]) -> Iterator[list[Point]]:
        """Yields stretches of points that can be drawn."""
        run: list[Point] = []
        for point in points:
            if math.isfinite(point[1]) and self.up.held(point[1]) == point[1]:
                run.append(point)
            elif run:
                yield run
                run = []
        if run:
            yield run


def kind_of(curve: Curve, number: int) -> str:
    """Gives the class of a curve of several, which the style sheet colours."""
    return f"c{number % len(_LIGHT)}{' bound' if curve.is_dashed else ''}"


def line(places: Sequence[Point], kind: str, title: str = "") -> str:
    """Draws a line through places; the title is shown when the pointer rests on it."""
    path = " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
    return tag("polyline", {"points": path, "class": kind}, _title(title))


def dot(place: Point, kind: str, title: str = "") -> str:
    """Draws a dot, likewise."""
    return tag("circle", {"cx": place[0], "cy": place[1], "r": 3.0, "class": kind}, _title(title))


def marks_between(low: float, high: float) -> tuple[float, ...]:
    """Gives at least two round numbers, evenly spaced, that enclose an interval."""
    span = high - low or abs(high) or 1.0
    rough = span / _MARKS
    scale = 10.0 ** math.floor(math.log10(rough))
    step = next(factor * scale for factor in (1, 2, 2.5, 5, 10) if factor * scale >= rough)
    first = math.floor(low / step)
    last = max(math.ceil(high / step), first + 1)
    return tuple(round(i * step, 10) for i in range(first, last + 1))


def _rule(path: str, axis: Axis) -> str:
    return tag("path", {"d": path, "class": "rule"}) if axis.is_ruled else ""


def _title(title: str) -> str:
    return tag("title", {}, escape(title)) if title else ""
