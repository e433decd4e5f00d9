"""The plot of `opsdk bench`: gigabytes per second by size, a curve per row, beside the copies that bound them."""

from __future__ import annotations

from collections.abc import Sequence

from gradcheck.show.axes import Axis, Curve, marks_between
from opsdk.ship.bench.result import Benched
from opsdk.ship.bench.text import COPY
from opsdk.ship.output.plot import plot

_MOST_MARKS = 8


def chart(done: Sequence[Benched]) -> str:
    """Returns an SVG document; of several ops each row is named with its op."""
    ops = list(dict.fromkeys(one.op for one in done))
    curves = [curve for op in ops for curve in _curves([one for one in done if one.op == op], len(ops) > 1)]
    sizes = tuple(sorted({float(one.elements) for one in done if one.timed}))
    if len(sizes) < 2:
        sizes = (sizes[0] / 2, sizes[0], sizes[0] * 2) if sizes else (1.0, 2.0)
    if len(sizes) > _MOST_MARKS:  # few enough are marked, both ends among them
        sizes = (*sizes[: -1 : -(-len(sizes) // (_MOST_MARKS - 1))], sizes[-1])
    across = Axis("elements", sizes, size_label, is_log=True)
    highest = max((y for curve in curves for _, y in curve.points), default=1.0)
    title = f"{', '.join(ops) or 'nothing timed'}: bytes read and written per second"
    return plot(title, curves, across, Axis("GB/s", marks_between(0.0, highest)))


def size_label(count: float) -> str:
    """Returns a number of elements, in powers of 1024 where it is a multiple."""
    for power, letter in ((3, "G"), (2, "M"), (1, "K")):
        if count >= 1024**power and count % 1024**power == 0:
            return f"{count / 1024**power:g}{letter}"
    return f"{count:g}"


def _curves(one_op: Sequence[Benched], is_named: bool) -> list[Curve]:
    ordered = sorted((one for one in one_op if one.timed), key=lambda one: one.elements)
    prefix = f"{ordered[0].op.rpartition('::')[2]} " if is_named and ordered else ""
    names = list(dict.fromkeys(row.name for one in ordered for row in one.timed))
    curves = []
    for name in names:
        held = [one for one in ordered if name in one.samples]
        points = tuple((float(one.elements), one.speed_of(name) / 1e9) for one in held)
        bars = tuple(y * one.spread_of(name).share / 2 for one, (_, y) in zip(held, points, strict=True))
        curves.append(Curve(f"{prefix}{name}", points, bars=bars))
    bound = tuple((float(one.elements), one.speed_of(one.copy) / 1e9) for one in ordered)
    return [*curves, Curve(f"{prefix}{COPY}", bound, is_dashed=True)] if bound else curves
