"""A heat map: cells shaded by a signed error, neutral where it is accepted, hatched where nothing is known."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

from gradcheck.show.svg import drawing, tag, text

_WIDEST = 720.0
_LETTER = 6.3
_LEGEND = 48.0
# A wrong cell is never fainter than this, however small its error is beside the greatest.
_FAINTEST = 0.28
_FEW_COLUMNS, _FEW_ROWS = 10, 16


@dataclass(frozen=True)
class Cell:
    """One cell.

    Args:
        row: from the top.
        column: from the left.
        status: "right", "wrong", "unsure" or "skipped".
        error: signed; NaN and infinity are drawn as broken.
        title: shown when the pointer rests on the cell.
        is_worst: whether it is ringed.
    """

    row: int
    column: int
    status: str
    error: float
    title: str
    is_worst: bool = False


@dataclass(frozen=True)
class Grid:
    """A heat map's content.

    Args:
        rows: labels of the rows, from the top.
        columns: labels of the columns.
        row_title: what a row is.
        column_title: what a column is.
        cells: those that hold something.
        blank: what the other cells are: "zero" or "untested".
    """

    rows: Sequence[str]
    columns: Sequence[str]
    row_title: str
    column_title: str
    cells: Sequence[Cell]
    blank: str


def draw(grid: Grid, label: str) -> str:
    """Draws a heat map with its axes and legend; `label` says in words what it shows."""
    wide, high = _cell_size(grid)
    left = 14 + max([_LETTER * len(name) for name in grid.rows] + [1.1 * _LETTER * len(grid.row_title)])
    top = 40.0
    width, height = wide * len(grid.columns), high * len(grid.rows)
    greatest = greatest_error(grid.cells)
    background = tag("rect", {"x": left, "y": top, "width": width, "height": height, "class": grid.blank})
    parts = [background, *_axes(grid, left, top, wide, high)]
    cells = sorted(grid.cells, key=lambda cell: cell.is_worst)  # its ring lies over its neighbours
    parts += [_draw_cell(cell, left, top, wide, high, greatest) for cell in cells]
    hatched = [cell for cell in grid.cells if cell.status in ("unsure", "skipped")]
    parts.append(_hatch([(left + wide * c.column, top + high * c.row) for c in hatched], wide, high))
    parts += _legend(grid, greatest, left, top + height + 26)
    return drawing(max(left + width + 8, 560.0), top + height + 26 + _LEGEND, label, parts)


def greatest_error(cells: Sequence[Cell]) -> float:
    """Gives the greatest finite error of the wrong cells; 0 where there is none."""
    errors = [abs(cell.error) for cell in cells if cell.status == "wrong" and math.isfinite(cell.error)]
    return max(errors, default=0.0)


def _cell_size(grid: Grid) -> tuple[float, float]:
    if len(grid.columns) <= _FEW_COLUMNS and len(grid.rows) <= _FEW_ROWS:  # cells have room for numbers
        return 58.0, 26.0
    side = min(24.0, max(4.0, _WIDEST / max(len(grid.columns), 1)))
    return side, side


def _axes(grid: Grid, left: float, top: float, wide: float, high: float) -> list[str]:
    widest = max([len(name) for name in grid.columns], default=1)
    columns = range(0, len(grid.columns), max(1, math.ceil((widest * _LETTER + 6) / wide)))
    rows = range(0, len(grid.rows), max(1, math.ceil(13 / high)))
    return [
        text(grid.column_title, left, 12, kind="axis"),
        text(grid.row_title, 0, 12, kind="axis"),
        *(text(grid.columns[i], left + wide * (i + 0.5), top - 7, "middle") for i in columns),
        *(text(grid.rows[i], left - 7, top + high * (i + 0.5) + 4, "end") for i in rows),
    ]


def _draw_cell(cell: Cell, left: float, top: float, wide: float, high: float, greatest: float) -> str:
    x, y = left + wide * cell.column, top + high * cell.row
    gap = 0.5 if high > 8 else 0.0
    place = {"x": x + gap, "y": y + gap, "width": wide - 2 * gap, "height": high - 2 * gap}
    title = tag("title", {}, escape(cell.title))
    if cell.status != "wrong":
        return tag("rect", {**place, "class": cell.status}, title)
    ring = "worst" if cell.is_worst else ""
    sign = "broken" if not math.isfinite(cell.error) else "over" if cell.error > 0 else "under"
    strength = 1.0 if sign == "broken" else shade(cell.error, greatest)
    under = tag("rect", {**place, "class": "ground"})
    drawn = tag("rect", {**place, "class": f"{sign} {ring}".strip(), "fill-opacity": strength}, title)
    written = _written(cell.error, wide)
    if not written or high < 12:
        return under + drawn
    return (
        under + drawn + text(written, x + wide / 2, y + high / 2 + 4, "middle", "strong" if strength > 0.6 else "weak")
    )


def shade(error: float, greatest: float) -> float:
    """Gives the strength of a wrong cell's colour, from `_FAINTEST` to 1; it grows with the root of the error."""
    return _FAINTEST + (1 - _FAINTEST) * math.sqrt(min(1.0, abs(error) / greatest)) if greatest else 1.0


def _written(error: float, wide: float) -> str:
    if wide < 40:
        return "×" if not math.isfinite(error) else "+" if error > 0 else "−"
    if not math.isfinite(error):
        return f"{error:g}"
    return re.sub("e([+-])0", r"e\1", f"{error:+.2g}").replace("-", "−")


def _hatch(corners: Sequence[tuple[float, float]], wide: float, high: float) -> str:
    lines = "".join(f"M{x:.1f} {y + high:.1f}L{x + wide:.1f} {y:.1f}" for x, y in corners)
    return tag("path", {"d": lines, "class": "hatch"}) if lines else ""


def _legend(grid: Grid, greatest: float, left: float, top: float) -> list[str]:
    """Draws the colours with their numbers, and what else occurs in this map."""
    parts, x, width = [], left, 64.0
    for share in (-1.0, -0.25, 0.0, 0.25, 1.0) if greatest else ():
        place = {"x": x, "y": top, "width": width, "height": 13.0}
        if share:
            kind = "over" if share > 0 else "under"
            parts.append(tag("rect", {**place, "class": kind, "fill-opacity": shade(share, 1.0)}))
        else:
            parts.append(tag("rect", {**place, "class": "right"}))
        number = f"{share * greatest:+.1e}".replace("-", "−") if share else "accepted"
        parts.append(text(number, x + width / 2, top + 26, "middle"))
        x += width
    if greatest:
        parts.append(text("yours is less", left, top + 41))
        parts.append(text("yours is greater", x, top + 41, "end"))
    x += 18 if greatest else 0
    for kind, words in _others(grid):
        parts.append(tag("rect", {"x": x, "y": top, "width": 13.0, "height": 13.0, "class": kind}))
        parts.append(_hatch([(x, top)], 13, 13) if kind in ("unsure", "untested") else "")
        parts.append(text(words, x + 18, top + 11))
        x += 18 + _LETTER * len(words) + 12
    return parts


def _others(grid: Grid) -> list[tuple[str, str]]:
    found = {cell.status for cell in grid.cells}
    others = [("broken", "not finite")] if any(not math.isfinite(c.error) for c in grid.cells) else []
    others += [("ringed", "worst")] if any(cell.is_worst for cell in grid.cells) else []
    has_gaps = grid.blank == "untested" and len(grid.cells) < len(grid.rows) * len(grid.columns)
    others += [("unsure", "not judged")] if has_gaps or found & {"unsure", "skipped"} else []
    return others
