"""The plot of a page: for every piece of work the least time of every subject, as bars."""

from __future__ import annotations

import importlib.util
from collections.abc import Sequence
from pathlib import Path

from benchmarks.report import Section

COLUMNS = 2
ROW_INCHES = 0.22  # of one bar
OWN, PEER, BOUND = "#c44e52", "#8c9bb0", "#d7dde6"


def is_available() -> bool:
    """Whether matplotlib, which draws, is installed."""
    return importlib.util.find_spec("matplotlib") is not None


def draw(title: str, sections: Sequence[Section], file: Path) -> None:
    """Writes the plot of a page as SVG.

    Ours stand out; copies and bare NumPy, which bound what anybody can do, are light.

    Args:
        title: the page's.
        sections: what was measured.
        file: where the plot goes.
    """
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    measured = [section for section in sections if section.samples]
    rows = -(-len(measured) // COLUMNS)
    heights = [max(len(s.samples) for s in measured[i : i + COLUMNS]) + 3 for i in range(0, len(measured), COLUMNS)]
    # Text stays text, and the same samples give the same file.
    with rc_context({"svg.fonttype": "none", "svg.hashsalt": title, "font.size": 8}):
        figure = Figure(figsize=(5.5 * COLUMNS, ROW_INCHES * sum(heights) + 0.4), layout="constrained")
        figure.suptitle(f"{title}: least time")
        axes = figure.subplots(rows, COLUMNS, squeeze=False, height_ratios=heights).ravel()
        for axis, section in zip(axes, measured, strict=False):
            times = sorted(((min(seconds), name) for name, seconds in section.samples.items()), reverse=True)
            bars = axis.barh([name for _, name in times], [t for t, _ in times], color=[_color(n) for _, n in times])
            axis.bar_label(bars, [section.unit(time) for time, _ in times], padding=2)
            axis.set_title(section.title)
            axis.set_xscale("log")
            axis.margins(x=0.2)
            axis.xaxis.set_visible(False)
            axis.spines[["top", "right", "bottom"]].set_visible(False)
        for axis in axes[len(measured) :]:
            axis.remove()
        figure.savefig(file, metadata={"Date": None})


def _color(subject: str) -> str:
    if subject.startswith("opsdk"):
        return OWN
    return BOUND if subject.startswith(("copy", "bare")) else PEER
