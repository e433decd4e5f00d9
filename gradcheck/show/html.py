"""Reports as HTML: one as a page of its own, or those of several cases on one page."""

from __future__ import annotations

import math
from collections.abc import Mapping
from html import escape

from gradcheck.report import Finding, Report, counted, notes_of
from gradcheck.show.figures import FIGURE_STYLE, figures
from gradcheck.show.page import code, heading, page, paragraph
from gradcheck.show.render import left_out, render_text, require_report

_STYLE = """\
p { overflow-wrap: anywhere; } pre { white-space: pre-wrap; overflow-wrap: anywhere; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .2rem 1rem; margin: .6rem 0 1rem; }
dt { color: var(--soft); } dd { margin: 0; overflow-wrap: anywhere; }
dd.code { font: 13px/1.5 ui-monospace, "DejaVu Sans Mono", monospace; }
"""
_GRAVITY = ("fail", "inconclusive", "pass")


def render_html(report: Report, title: str = "gradcheck") -> str:
    """Writes a report as a page of its own.

    Args:
        report: any report.
        title: what was checked, as plain text.

    Returns:
        A whole document. A finding about values comes with the worst elements, heat maps of its gradient and of the
        Jacobian, and the step curve; right elements are grey, wrong ones coloured.

    Raises:
        UsageError: it is no report of gradcheck.
    """
    require_report(report)
    return page(f"{title}: {report.verdict}", _body(report, title), _STYLE + FIGURE_STYLE)


def render_pages(reports: Mapping[str, Report]) -> str:
    """Writes a table with a line per case, and below it the reports of those that do not pass, failing ones first.

    Args:
        reports: one report for each case's name; a single one is a page of its own, whatever its verdict.

    Returns:
        A whole document that needs nothing else.
    """
    order = sorted(reports, key=lambda name: _GRAVITY.index(reports[name].verdict))
    if len(order) == 1:
        return render_html(reports[order[0]], order[0])
    failed = sum(report.verdict == "fail" for report in reports.values())
    title = f"gradcheck: {failed} of {len(reports)} failed"
    rows = [_row(place, name, reports[name]) for place, name in enumerate(order)]
    table = ["<table>", "<tr><th>case</th><th>verdict</th><th>what was judged</th></tr>", *rows, "</table>"]
    sections = [
        "\n".join([f'<section id="case{place}">', *_body(reports[name], name), "</section>"])
        for place, name in enumerate(order)
        if reports[name].verdict != "pass"
    ]
    body = [f"<h1>{escape(title)}</h1>", f'<div class="scroll">{"".join(table)}</div>', *sections]
    return page(title, body, _STYLE + FIGURE_STYLE)


def _row(place: int, name: str, report: Report) -> str:
    shown = escape(name) if report.verdict == "pass" else f'<a href="#case{place}">{escape(name)}</a>'
    totals = render_text(report).splitlines()[0].partition("  ")[2]
    return f'<tr><td>{shown}</td><td class="{report.verdict}">{report.verdict}</td><td>{escape(totals)}</td></tr>'


def _body(report: Report, title: str) -> list[str]:
    return [
        f'<h1>{escape(title)}: <span class="{report.verdict}">{report.verdict}</span></h1>',
        f'<p class="soft">{escape(render_text(report).splitlines()[0])}</p>',
        *(_section(finding, report) for finding in report.findings),
        heading("What was looked at"),
        _definitions(_coverage(report)),
        heading("As text"),
        code(render_text(report)),
    ]


def _section(finding: Finding, report: Report) -> str:
    about = f", input {finding.input}" if finding.input else ""
    parts = [heading(finding.check + about), paragraph(finding.headline)]
    parts.append(_definitions([(label, text) for label, text in notes_of(finding, report) if label != "passed"]))
    if finding.picture is not None:
        parts.append(figures(finding.picture, finding.input or "input"))
    return "\n".join(parts)


def _definitions(pairs: list[tuple[str, str]]) -> str:
    lines = []
    for label, text in pairs:
        kind = ' class="code"' if label == "rerun" else ""
        lines.append(f"<dt>{escape(label)}</dt><dd{kind}>{escape(text)}</dd>")
    return "<dl>" + "\n".join(lines) + "</dl>" if lines else ""


def _coverage(report: Report) -> list[tuple[str, str]]:
    coverage = report.coverage
    pairs = [("checks", ", ".join(coverage.checks)), ("points", ", ".join(coverage.points))]
    pairs.append(
        ("judged", f"{counted(coverage.tested, 'gradient element')}, with {coverage.evaluations} forward calls")
    )
    if math.isfinite(coverage.smallest_error_seen):
        pairs.append(("sees down to", f"{coverage.smallest_error_seen:.0e}, relative"))
    return [(label, text) for label, text in (*pairs, *left_out(coverage)) if text]
