"""The report of `opsdk bench`: as text, a table per op and size, the comparison in words under it, the answer last.

As a plot it is gigabytes per second by size, a curve per kernel, beside the copies that bound them.
"""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from pathlib import Path
from shlex import quote

import opsdk
from gradcheck.show.axes import Axis, Curve, marks_between
from opsdk.ship.bench.result import Benched, Measured
from opsdk.ship.bench.timing import Ratio, ratio
from opsdk.ship.machine.cache import size_of
from opsdk.ship.machine.environment import cores, cpu_model, version_of
from opsdk.ship.output.plot import plot
from opsdk.ship.output.table import Column, render

COPY = "copy"
SAME = "same"
NONE = "–"
_MOST_MARKS = 8  # on the axis of a plot
_UNITS = ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs"), (1e-9, "ns"))
_GOVERNOR = Path("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor")


def head(dtype: str, threads: int, rounds: int) -> str:
    """Returns what was measured on, and how.

    Args:
        dtype: of floating inputs.
        threads: that a kernel may use.
        rounds: samples of each kernel at most.
    """
    governor = _GOVERNOR.read_text(encoding="ascii").strip() if _GOVERNOR.is_file() else ""
    parts = [f"opsdk {opsdk.__version__}", f"numpy {version_of('numpy')}", f"numba {version_of('numba')}"]
    parts += [f"{cpu_model()}, {cores()} cores", *([f"governor {governor}"] if governor else [])]
    return (
        f"{' · '.join(parts)}\n"
        f"{dtype} · {_counted(threads, 'thread')} · up to {rounds} rounds in alternation · median, interquartile range"
    )


def block(one: Benched, width: int) -> str:
    """Returns the table of one op at one size, what its kernels say beside the reference, and what was not timed."""
    lines = [f"{one.op}  {grouped(one.elements)} elements, {size_of(one.moved)} read and written"]
    lines += textwrap.wrap(one.call, width, initial_indent="  ", subsequent_indent="  ")
    if one.timed:
        lines.append(_table(one, width))
    elsewhere = [row for row in one.rows if row.name not in one.samples]
    lines += [f"{'FAIL ' if row.is_wrong and row.row else ''}{row.name}: {row.note}" for row in elsewhere]
    lines += [one.note] if one.note else []
    return "\n".join(lines)


def sentences(one: Benched) -> list[str]:
    """Returns, in words, the fastest kernel beside the reference, where it is another, and beside each peer."""

    def median(row: Measured) -> float:
        return one.spread_of(row.name).median

    rows = [row for row in one.timed if row.row]
    further = [row for row in rows if row is not one.reference]
    pairs = [(min(further, key=median), one.reference)] if further else []
    pairs += [(min(rows, key=median), peer) for peer in one.timed if not peer.row]
    return [compared(best.name, other.name, one.times(best.name, than=other.name)) for best, other in pairs]


def compared(name: str, other: str, factor: Ratio) -> str:
    """Returns how one compares with another: `same` where the rounds do not agree on which is faster."""
    if factor.is_same:
        return f"{name} and {other} take the {SAME} time, within the spread"
    is_faster = factor.value > 1
    shown = factor if is_faster else Ratio(1 / factor.value, 1 / factor.high, 1 / factor.low)
    return f"{name} is {number(shown)} times {'faster' if is_faster else 'slower'} than {other}"


def last_line(done: Sequence[Benched], untimed: Sequence[str], seconds: float) -> str:
    """Returns what was timed, how the fastest kernels compare, and the next command where something is wrong."""
    wrong = [(one, row) for one in done for row in one.wrong]
    rows = sum(len(one.timed) for one in done)
    parts = [f"{_counted(rows, 'kernel')} of {_counted(len({one.op for one in done}), 'op')} timed in {seconds:.1f} s"]
    parts += [f"{len(wrong)} wrong"] if wrong else []
    parts += [f"{len(untimed)} that could not be timed"] if untimed else []
    lines = [", ".join(parts)]
    for one in done:
        said = "; ".join(sentences(one))
        lines += [said if len(done) == 1 else f"{one.op}, {grouped(one.elements)} elements: {said}"] if said else []
    lines += [f"next: opsdk check {quote(wrong[0][0].target)}"] if wrong else []
    return "\n".join(lines)


def number(factor: Ratio) -> str:
    """Returns a ratio with its uncertainty, in as many digits as that leaves; a wide one as the range that it is."""
    if factor.margin > factor.value / 2:
        return " to ".join(f"{float(f'{bound:.2g}'):g}" for bound in (factor.low, factor.high))
    digits = 0 if factor.margin >= 2 else 1 if factor.margin >= 0.05 else 2
    return f"{factor.value:.{digits}f} ± {factor.margin:.{digits}f}"


def grouped(count: int) -> str:
    """Returns a whole number with its thousands apart."""
    return f"{count:,}".replace(",", " ")


def _table(one: Benched, width: int) -> str:
    columns = (
        Column("kernel"),
        Column("first call", right=True, drop=2),
        Column("median", right=True),
        Column("spread", right=True),
        Column("ns/elem", right=True, drop=1),
        Column("GB/s", right=True),
        Column("% of copy", right=True, drop=3),
        Column(f"× {one.reference.name}", right=True),
    )
    first = {row.name: f"{row.first:.2g} s {row.built}" for row in one.timed if row.first is not None}
    names = [*(row.name for row in one.timed), one.copy]
    # One unit for all: the largest in which the shortest time keeps two digits.
    shortest = min(one.spread_of(name).median for name in names)
    scale, unit = next((entry for entry in _UNITS if shortest >= entry[0] / 10), _UNITS[-1])
    lines = []
    for name in names:
        found, share = one.spread_of(name), 100 * ratio(one.samples, one.copy, name).value
        line = (
            COPY if name == one.copy else name,
            first.get(name, NONE),
            f"{_digits(found.median / scale)} {unit}",
            f"±{50 * found.share:.0f} %",  # half of the range lies on either side
            f"{_digits(1e9 * found.median / max(one.elements, 1))}",
            _digits(one.speed_of(name) / 1e9),
            f"{share:.0f} %" if share >= 1 else f"{share:.1g} %",
            NONE if name == one.copy else _times(one, name),
        )
        lines.append(line)
    return render(columns, lines, width)


def _times(one: Benched, name: str) -> str:
    if name == one.reference.name:
        return "1"
    factor = one.times(name, than=one.reference.name)
    return SAME if factor.is_same else number(factor)


def _digits(value: float) -> str:
    """Returns three significant digits, without an exponent."""
    return f"{value:.0f}" if value >= 100 else f"{value:.1f}" if value >= 10 else f"{value:.2f}"


def _counted(count: int, noun: str) -> str:
    return f"{count} {noun}{'' if count == 1 else 's'}"


def chart(done: Sequence[Benched]) -> str:
    """Returns an SVG document; of several ops each kernel is named with its op."""
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
