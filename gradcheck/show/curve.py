"""The drawing of a step curve: distances against steps, both in powers of ten."""

from __future__ import annotations

import math
from collections.abc import Sequence

from gradcheck.picture import StepCurve
from gradcheck.show.axes import Axis, Plot, dot, line
from gradcheck.show.svg import drawing, text

_WIDTH, _HEIGHT = 600.0, 300.0
_LEFT, _RIGHT, _TOP, _BOTTOM = 58.0, 14.0, 16.0, 44.0
_MOST_TICKS = 8
# Distances below this share of the greatest count as zero, drawn on the lower edge, so many decades further down.
_DEPTH = 1e-17
_ROOM = 2


def draw_curve(curve: StepCurve, place: str) -> str:
    """Draws a step curve; `place` is the element that moves, in words."""
    greatest = max([*curve.to_analytic, *curve.to_numeric])
    positive = [y for y in (*curve.to_analytic, *curve.to_numeric) if y > greatest * _DEPTH]
    x_range = _decades(curve.steps)
    y_range = _decades(positive or [1.0])
    has_zeros = len(positive) < 2 * len(curve.steps)
    if has_zeros:
        y_range = min(y_range[0] - _ROOM, y_range[1] - 2 * _ROOM), y_range[1]
    lowest = 10.0 ** y_range[0]

    def write(mark: float) -> str:
        return "0" if has_zeros and mark == lowest else _power(mark)

    plot = Plot(
        Axis("", _powers(*x_range), _power, is_log=True, ends=_ends(x_range), is_ruled=False),
        Axis("", _powers(*y_range), write, is_log=True, ends=_ends(y_range)),
        *(_LEFT, _WIDTH - _RIGHT, _TOP, _HEIGHT - _BOTTOM),
    )

    def at(step: float, distance: float) -> tuple[float, float]:
        return plot.at(step, max(distance, lowest))

    parts = plot.axes()
    parts.append(text(f"step of {place}, {curve.kind} difference quotient", _LEFT, _HEIGHT - 8, kind="axis"))
    for kind, distances in (("settled", curve.to_numeric), ("yours", curve.to_analytic)):
        points = [at(step, distance) for step, distance in zip(curve.steps, distances, strict=True)]
        parts.append(line(points, kind))
        for point, step, distance in zip(points, curve.steps, distances, strict=True):
            parts.append(dot(point, kind, f"step {step:.2g}: {distance:.2g} away"))
    parts += _names(curve, at(*_nearest(curve, curve.to_analytic)), at(*_nearest(curve, curve.to_numeric)))
    gap = _nearest(curve, curve.to_analytic)[1]
    label = f"Step curve at {place}: the quotients come no nearer to your value than {gap:.1e}"
    return drawing(_WIDTH, _HEIGHT, label, parts)


def _nearest(curve: StepCurve, distances: Sequence[float]) -> tuple[float, float]:
    """Gives the step at which the quotients are nearest to the settled derivative, and a distance there."""
    best = min(range(len(curve.steps)), key=lambda i: curve.to_numeric[i])
    return curve.steps[best], distances[best]


def _names(curve: StepCurve, yours: tuple[float, float], settled: tuple[float, float]) -> list[str]:
    gap = _nearest(curve, curve.to_analytic)[1]
    below = min(settled[1] + 17, _HEIGHT - _BOTTOM - 4)
    return [
        text(f"to yours: stays {gap:.1e} away", _inside(yours[0]), yours[1] - 9, "middle", "yours"),
        text("to the derivative: settles", _inside(settled[0]), below, "middle", "settled"),
    ]


def _inside(x: float) -> float:
    return min(max(x, _LEFT + 90), _WIDTH - _RIGHT - 90)


def _decades(values: Sequence[float]) -> tuple[int, int]:
    low, high = math.floor(math.log10(min(values))), math.ceil(math.log10(max(values)))
    return low, max(high, low + 1)


def _powers(low: int, high: int) -> tuple[float, ...]:
    return tuple(10.0**power for power in range(low, high + 1, max(1, math.ceil((high - low) / _MOST_TICKS))))


def _power(mark: float) -> str:
    return f"1e{round(math.log10(mark))}"


def _ends(decades: tuple[int, int]) -> tuple[float, float]:
    return 10.0 ** decades[0], 10.0 ** decades[1]
