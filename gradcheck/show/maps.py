"""The heat maps of a picture: the gradient laid out as its input is, and the Jacobian's error."""

from __future__ import annotations

import math
from bisect import bisect_right
from itertools import accumulate

from gradcheck.picture import GradientMap, JacobianMap
from gradcheck.show.grid import Cell, Grid, draw

_WIDEST = 96
_WRAP = 32
# A map with fewer judged cells than this share is shown as a strip of those alone.
_SPARSE = 0.1


def draw_gradient(picture: GradientMap, name: str) -> str:
    """Draws the error of a gradient.

    Args:
        picture: what to draw.
        name: of the input.
    """
    width = _row_length(picture)
    places = [divmod(element, width) for element in picture.elements]
    rows, columns = _span([row for row, _ in places]), _span([column for _, column in places])
    is_strip = len(places) < _SPARSE * len(rows) * len(columns)
    if is_strip:
        places = [divmod(i, _WRAP) for i in range(len(places))]
        rows, columns = _span([row for row, _ in places]), _span([column for _, column in places])
    numbers = zip(picture.analytic, picture.numeric, picture.allowed, picture.status, strict=True)
    cells = []
    for (row, column), element, shown in zip(places, picture.elements, numbers, strict=True):
        analytic, numeric, _, status = shown
        title = _title(f"{name}{subscript(element, picture.shape, picture.in_parts)}", *shown)
        is_worst = element == picture.worst
        cells.append(Cell(row - rows[0], column - columns[0], status, analytic - numeric, title, is_worst))
    heads = [str(column) if picture.shape else "" for column in columns]
    if is_strip:
        labels = [_bare(subscript(picture.elements[row * _WRAP], picture.shape)) for row in rows]
        titles = "from", f"judged elements of {name}"
    elif len(picture.shape) < 2 or width != picture.shape[-1]:
        labels = [str(row * width) for row in rows] if len(rows) > 1 else [""]
        titles = "from" if len(rows) > 1 else "", f"element of {name}" if picture.shape else ""
    else:
        labels = [_bare(subscript(row, picture.shape[:-1])) for row in rows]
        titles = ("row", f"column of {name}") if len(picture.shape) == 2 else ("index", f"last axis of {name}")
    if picture.in_parts and not is_strip:
        heads, titles = ["real", "imag"][columns.start : columns.stop], (titles[0], f"part of {name}")
    grid = Grid(labels, heads, *titles, cells, "untested")
    count = picture.status.count("wrong")
    return draw(grid, f"Heat map of the gradient of {name}: {count} of {len(cells)} elements are wrong")


def _row_length(picture: GradientMap) -> int:
    """Gives how many elements a row of the map has: the last axis, where what is shown of it is not too wide."""
    length = picture.shape[-1] if picture.shape else 1
    shown = _span([element % length for element in picture.elements])
    return length if len(shown) <= (_WIDEST if len(picture.shape) > 1 else _WRAP) else _WRAP


def draw_jacobian(picture: JacobianMap, name: str) -> str:
    """Draws the error of a Jacobian; a row is an output, a column an element of input `name`."""
    outputs = [_output(flat, picture) for flat in picture.outputs]
    elements = [subscript(element, picture.shape, picture.in_parts) for element in picture.elements]
    numbers = zip(picture.numeric, picture.error, picture.allowed, picture.status, strict=True)
    cells = []
    for row, column, (numeric, error, allowed, status) in zip(picture.row, picture.column, numbers, strict=True):
        values = f"derivative {numeric:.6g}, error {signed(error)}, accepted {allowed:.0e}"
        title = f"∂ output {outputs[row]} / ∂ {name}{elements[column]}: {status}, {values}"
        cells.append(Cell(row, column, status, error, title))
    heads = [_bare(element) for element in elements]
    grid = Grid([_bare(output) for output in outputs], heads, "output", f"element of {name}", cells, "zero")
    count = picture.status.count("wrong")
    size = f"{len(outputs)} outputs by {len(elements)} elements"
    return draw(grid, f"Heat map of the Jacobian's error, {size} of {name}: {count} entries are wrong")


def subscript(flat: int, shape: tuple[int, ...], in_parts: bool = False) -> str:
    """Writes a flat index as a multi-index, such as [1, 2] or, where the last axis is of parts, [1].imag.

    Of a 0-d array nothing is left.
    """
    index: list[int] = []
    for length in reversed(shape):
        flat, last = divmod(flat, length)
        index.append(last)
    part = (".real", ".imag")[index.pop(0)] if in_parts else ""
    return (str(index[::-1]) if index else "") + part


def _output(flat: int, picture: JacobianMap) -> str:
    starts = list(accumulate((math.prod(shape) for shape in picture.output_shapes), initial=0))
    position = bisect_right(starts, flat) - 1
    inner = subscript(flat - starts[position], picture.output_shapes[position], picture.output_parts[position])
    return f"{position}{inner}" if len(picture.output_shapes) > 1 else inner


def _bare(place: str) -> str:
    """Takes the brackets and spaces off an index; one of several outputs, as 1[0, 2], keeps its brackets."""
    close = place.replace(" ", "")
    return close[1:].replace("]", "") if close.startswith("[") else close


def _span(values: list[int]) -> range:
    return range(min(values), max(values) + 1)


def signed(error: float) -> str:
    """Writes an error with its sign."""
    return f"{error:+.2e}" if math.isfinite(error) else f"{error:g}"


def _title(place: str, analytic: float, numeric: float, allowed: float, status: str) -> str:
    error = analytic - numeric
    elsewhere = " for another cotangent" if status == "wrong" and abs(error) <= allowed else ""
    values = f"yours {analytic:.9g}, derivative {numeric:.9g}, error {signed(error)}, accepted {allowed:.0e}"
    return f"{place}: {status}{elsewhere}, {values}"
