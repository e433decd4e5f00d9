"""Line plots as SVG files of their own: no script, no font, no network; light and dark."""

from __future__ import annotations

from collections.abc import Sequence

from gradcheck.show.axes import CURVE_STYLE, Axis, Curve, Plot, kind_of
from gradcheck.show.svg import drawing, tag, text

WIDTH, HEIGHT = 640.0, 360.0
LEFT, RIGHT, HEAD, BOTTOM = 58.0, 14.0, 40.0, 42.0
_KEY = 18.0  # height of a line of the key
_STYLE = (
    "svg { background: #fcfcfb; } .rule { stroke: #dcd9d1; }\n"
    "text { font: 12px system-ui, sans-serif; fill: #4a4741; } .title { font-weight: 600; font-size: 14px; }\n"
    "@media (prefers-color-scheme: dark) { svg { background: #171716; } .rule { stroke: #3a3935; }\n"
    "text { fill: #c4c1ba; } }\n"
)


def plot(title: str, curves: Sequence[Curve], across: Axis, up: Axis) -> str:
    """Returns an SVG document.

    Args:
        title: above the plot.
        curves: at most six keep colours of their own.
        across: the horizontal axis.
        up: the vertical axis.
    """
    key, top = _key(curves)
    drawn = Plot(across, up, LEFT, WIDTH - RIGHT, top, HEIGHT - BOTTOM)
    lines = [part for number, curve in enumerate(curves) for part in drawn.curve(curve, number)]
    parts = [tag("style", {}, _STYLE, CURVE_STYLE), text(title, LEFT, 18, kind="title"), *key, *drawn.axes(), *lines]
    return drawing(WIDTH, HEIGHT, title, ["\n".join(["", *parts, ""])], xmlns="http://www.w3.org/2000/svg") + "\n"


def _key(curves: Sequence[Curve]) -> tuple[list[str], float]:
    """Returns the key, in as many lines as it takes, and where the plot begins below it."""
    parts: list[str] = []
    left, middle = LEFT, HEAD - 4
    for number, curve in enumerate(curves):
        size = 48 + 6.6 * len(curve.name)  # about as wide as the letters are
        if left + size > WIDTH and left > LEFT:
            left, middle = LEFT, middle + _KEY
        place = {"x1": left, "x2": left + 22, "y1": middle, "y2": middle}
        parts.append(tag("line", {"class": kind_of(curve, number), **place}))
        parts.append(text(curve.name, left + 28, middle + 4))
        left += size
    return parts, middle + _KEY + 4
