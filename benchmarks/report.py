"""The written result: a page of Markdown with the machine, the goals and every sample's summary."""

from __future__ import annotations

import os
import platform
import statistics
import subprocess
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from benchmarks.goals import Judged
from benchmarks.peers import CLOCK, ROOT, Missing
from opsdk.ship.bench.timing import Samples, ratio
from opsdk.ship.machine.environment import cores, cpu_model, version_of


def microseconds(seconds: float) -> str:
    """Returns a time in microseconds, with its unit."""
    return f"{seconds * 1e6:.2f} µs"


def milliseconds(seconds: float) -> str:
    """Returns a time in milliseconds, with its unit."""
    return f"{seconds * 1e3:.1f} ms"


@dataclass(frozen=True)
class Section:
    """One measured piece of work.

    Args:
        title: its heading.
        samples: seconds, by subject.
        reference: the subject that ratios are taken to.
        unit: writes a time.
        judged: its goals.
        missing: peers that were not measured.
        versions: of what was.
        how: how it was measured.
    """

    title: str
    samples: Samples
    reference: str
    unit: Callable[[float], str]
    judged: tuple[Judged, ...]
    missing: tuple[Missing, ...]
    versions: tuple[str, ...]
    how: str = field(default="")


def page(title: str, sections: Sequence[Section], plot: str = "") -> str:
    """Returns the page of one case, with a plot where there is one in the same folder."""
    lines = [f"# {title}", "", machine(), ""]
    lines += [f"![least time of every subject]({plot})", ""] if plot else []
    for versions in dict.fromkeys(section.versions for section in sections):
        lines += [f"Measured: {', '.join(versions)}.", ""] if versions else []
    for how in dict.fromkeys(section.how for section in sections):
        lines += [how, ""]
    for section in sections:
        lines += [f"## {section.title}", "", *_goals(section), "", *_times(section), ""]
    missing = dict.fromkeys(f"- {gone.name}: {gone.reason}" for section in sections for gone in section.missing)
    if missing:
        lines += ["## Not measured", "", *missing, ""]
    return "\n".join(lines)


def record(title: str, sections: Sequence[Section]) -> dict[str, Any]:  # Any: what JSON holds
    """Returns all that a page is made of, every sample among it, as JSON."""
    return {
        "title": title,
        "machine": machine(),
        "sections": [
            {
                "title": section.title,
                "versions": section.versions,
                "how": section.how,
                "seconds": section.samples,
                "goals": [
                    {"name": j.goal.name, "words": j.words, "found": _numbers(j), "holds": j.verdict}
                    for j in section.judged
                ],
                "missing": {gone.name: gone.reason for gone in section.missing},
            }
            for section in sections
        ],
    }


def _numbers(judged: Judged) -> list[float] | None:
    found = judged.found
    return None if found is None else [found.value, found.low, found.high]


def machine() -> str:
    """Returns the machine, the commit and which time is measured, in a sentence or two."""
    told = " Processor time, since others shared the machine." if os.environ.get(CLOCK) == "cpu" else ""
    return (
        f"{cpu_model()}, {cores()} cores, {platform.system()} {platform.machine()}; Python "
        f"{platform.python_version()}, numpy {version_of('numpy')}; commit {commit()}.{told}"
    )


def commit() -> str:
    """Returns the commit that is checked out, marked where files were changed since."""
    try:
        head = _git("rev-parse", "--short", "HEAD")
        return f"{head} with changes" if _git("status", "--porcelain", "--untracked-files=no") else head
    except (OSError, subprocess.CalledProcessError):
        return "unknown"


def _git(*arguments: str) -> str:
    done = subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=True)
    return done.stdout.strip()


def _goals(section: Section) -> list[str]:
    if not section.judged:
        return []
    lines = ["| goal | claim | measured (middle 80 %) | holds |", "|---|---|---:|---|"]
    for judged in section.judged:
        measured = "–" if judged.found is None else str(judged.found)
        lines.append(f"| {judged.goal.name} | {judged.words} | {measured} | {judged.verdict} |")
    return lines


def _times(section: Section) -> list[str]:
    lines = [f"| subject | least | median | × {section.reference} |", "|---|---:|---:|---:|"]
    for name, samples in sorted(section.samples.items(), key=lambda item: min(item[1])):
        least, middle = section.unit(min(samples)), section.unit(statistics.median(samples))
        lines.append(f"| {name} | {least} | {middle} | {ratio(section.samples, name, section.reference)} |")
    lines += [f"| {gone.name} | not measured | | |" for gone in section.missing]
    return lines
