"""The figures of a finding, as pieces of HTML, and the style sheet that they need on a page."""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape

from gradcheck.explain.wording import tell_apart
from gradcheck.picture import GradientMap, JacobianMap, Picture, StepCurve
from gradcheck.show.axes import Axis, Plot, dot, line
from gradcheck.show.maps import draw_gradient, draw_jacobian, signed, subscript
from gradcheck.show.page import table
from gradcheck.show.svg import drawing, text

# Blue and orange are told apart by the colour-blind; both fade to the ground, which is what a right element has.
FIGURE_STYLE = """\
:root { --over: #c2480a; --under: #1f5fbf; --ground-cell: #f7f6f2; --right: #dbd8ce; --hatch: #b3afa4; --ring: #111;
  --on: #fff; --rule: #e2dfd7; --settled: #17805a; --yours: #c2480a; }
@media (prefers-color-scheme: dark) { :root { --over: #ff9455; --under: #6fb0ff; --ground-cell: #1d1d1b;
  --right: #3b3a35; --hatch: #5d5a53; --ring: #fff; --on: #141413; --rule: #33322e; --settled: #63d6a8;
  --yours: #ff9455; } }
figure.picture { margin: 1.1rem 0 1.6rem; overflow-x: auto; }
.picture figcaption { font-weight: 400; max-width: 46rem; }
.picture svg { width: auto; max-width: 100%; height: auto; display: block; margin-top: .6rem; }
.picture svg text { font: 11px system-ui, sans-serif; fill: var(--soft); font-variant-numeric: tabular-nums; }
.picture svg text.yours, .picture svg text.settled { paint-order: stroke; stroke: var(--ground); stroke-width: 4px; }
.picture svg .axis { font-weight: 600; } .picture svg .strong { fill: var(--on); font-weight: 600; }
.picture svg .weak { fill: var(--ink); font-weight: 600; }
.picture .over { fill: var(--over); } .picture .under { fill: var(--under); } .picture .broken { fill: var(--ring); }
.picture .right { fill: var(--right); } .picture .ground, .picture .zero { fill: var(--ground-cell); }
.picture .zero { stroke: var(--right); } .picture .unsure, .picture .skipped, .picture .untested { fill: none; }
.picture .untested { stroke: var(--right); } .picture .hatch { stroke: var(--hatch); fill: none; }
.picture .worst { stroke: var(--ring); stroke-width: 2.5; } .picture .ringed { stroke: var(--ring); stroke-width: 2.5;
  fill: none; } .picture .rule { stroke: var(--rule); }
.picture polyline { fill: none; stroke-width: 2; } .picture polyline.settled { stroke: var(--settled); }
.picture polyline.yours { stroke: var(--yours); } .picture circle.settled { fill: var(--settled); }
.picture circle.yours { fill: var(--yours); } .picture svg text.settled { fill: var(--settled); font-weight: 600; }
.picture svg text.yours { fill: var(--yours); font-weight: 600; }
"""
_LISTED = 8
# Of the drawing of a step curve.
_WIDTH, _HEIGHT = 600.0, 300.0
_LEFT, _RIGHT, _TOP, _BOTTOM = 58.0, 14.0, 16.0, 44.0
_MOST_TICKS = 8
# Distances below this share of the greatest count as zero, drawn on the lower edge, so many decades further down.
_DEPTH = 1e-17
_ROOM = 2


def figures(picture: Picture, name: str) -> str:
    """Writes what a finding about the gradient of input `name` looks like.

    Returns:
        HTML: a table of the worst elements, heat maps and the step curve. The page needs `FIGURE_STYLE`, and colours
        named --ink and --soft.
    """
    gradient = picture.gradient
    parts = [_worst_elements(gradient, name), _figure(draw_gradient(gradient, name), _about_gradient(gradient, name))]
    if picture.jacobian is not None and picture.jacobian.row:
        parts.append(_figure(draw_jacobian(picture.jacobian, name), _about_jacobian(picture.jacobian)))
    if picture.curve is not None:
        place = f"{name}{subscript(gradient.worst, gradient.shape, gradient.in_parts)}"
        about = (
            f"<b>Difference quotients at {escape(place)}.</b> A value that is right is approached as the step shrinks, "
            "until rounding takes over; the distance to a wrong one levels off at its error."
        )
        parts.append(_figure(draw_curve(picture.curve, place), about))
    return "\n".join(parts)


def _figure(drawn: str, about: str) -> str:
    return f'<figure class="picture"><figcaption>{about}</figcaption>\n{drawn}</figure>'


def _about_gradient(gradient: GradientMap, name: str) -> str:
    count = len(gradient.elements)
    shown = "" if count == gradient.judged else f", {count} around the worst"
    total = math.prod(gradient.shape)
    size = (
        f"{gradient.judged} of {total} elements judged" if gradient.judged < total else f"all {total} elements judged"
    )
    return (
        f"<b>Gradient of {escape(name)}</b>, yours minus the derivative, for a cotangent of {gradient.cotangent}; "
        f"shape {escape(str(gradient.shape))}, {size}{shown}."
    )


def _about_jacobian(jacobian: JacobianMap) -> str:
    sizes = sum(math.prod(shape) for shape in jacobian.output_shapes), math.prod(jacobian.shape)
    shown = len(jacobian.outputs), len(jacobian.elements)
    part = (
        "" if shown == sizes else f" Shown are {shown[0]} of {sizes[0]} outputs and {shown[1]} of {sizes[1]} elements."
    )
    wrong = [i for i, status in enumerate(jacobian.status) if status == "wrong"]
    entries = "1 entry is" if len(wrong) == 1 else f"{len(wrong)} entries are"
    rows = len({jacobian.row[i] for i in wrong})
    return (
        f"<b>Jacobian</b>, yours minus the derivative, one output at a time: {entries} wrong, "
        f"in {rows} of {shown[0]} outputs. Grey entries are right and not zero, the others are zero on both sides."
        f"{part}"
    )


def _worst_elements(gradient: GradientMap, name: str) -> str:
    errors = map(float.__sub__, gradient.analytic, gradient.numeric)
    beyond = [not abs(error) <= allowed for error, allowed in zip(errors, gradient.allowed, strict=True)]
    wrong = [i for i, status in enumerate(gradient.status) if status == "wrong" and beyond[i]]
    wrong.sort(key=lambda i: -_size(gradient.analytic[i] - gradient.numeric[i]))
    rows = []
    for i in wrong[:_LISTED]:
        analytic, numeric = gradient.analytic[i], gradient.numeric[i]
        rows.append(
            (
                f"{name}{subscript(gradient.elements[i], gradient.shape, gradient.in_parts)}",
                *tell_apart(analytic, numeric),
                signed(analytic - numeric),
                f"{gradient.allowed[i]:.0e}",
            )
        )
    more = f'<p class="soft">and {len(wrong) - _LISTED} more</p>' if len(wrong) > _LISTED else ""
    return table(("wrong element", "yours", "derivative", "error", "accepted"), rows, range(1, 5)) + more


def _size(error: float) -> float:
    return abs(error) if math.isfinite(error) else math.inf


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
