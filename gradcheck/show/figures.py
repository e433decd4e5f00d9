"""The figures of a finding, as pieces of HTML, and the style sheet that they need on a page."""

from __future__ import annotations

import math
from html import escape

from gradcheck.explain.wording import tell_apart
from gradcheck.picture import GradientMap, JacobianMap, Picture
from gradcheck.show.curve import draw_curve
from gradcheck.show.maps import draw_gradient, draw_jacobian, signed, subscript
from gradcheck.show.page import table

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


def _figure(drawing: str, about: str) -> str:
    return f'<figure class="picture"><figcaption>{about}</figcaption>\n{drawing}</figure>'


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
    rows = len({jacobian.row[i] for i in wrong})
    return (
        f"<b>Jacobian</b>, yours minus the derivative, one output at a time: {_counted(len(wrong))} wrong, "
        f"in {rows} of {shown[0]} outputs. Grey entries are right and not zero, the others are zero on both sides."
        f"{part}"
    )


def _counted(entries: int) -> str:
    return "1 entry is" if entries == 1 else f"{entries} entries are"


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
