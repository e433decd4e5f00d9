"""The reports of several cases as one page."""

from __future__ import annotations

import re
from collections.abc import Mapping
from html import escape

from gradcheck.report import Report
from gradcheck.show.page import render_html
from gradcheck.show.render import render_text

_TITLE = re.compile("<title>.*?</title>", re.DOTALL)
_GRAVITY = ("fail", "inconclusive", "pass")


def render_pages(reports: Mapping[str, Report]) -> str:
    """Writes a table with a line per case, and below it the reports of those that do not pass, failing ones first.

    Args:
        reports: one report for each case's name; a single one is a page of its own, whatever its verdict.

    Returns:
        A whole document that needs nothing else.
    """
    order = sorted(reports, key=lambda name: _GRAVITY.index(reports[name].verdict))
    pages = [render_html(reports[name], name) for name in order]
    if len(pages) == 1:
        return pages[0]
    failed = sum(report.verdict == "fail" for report in reports.values())
    title = f"gradcheck: {failed} of {len(reports)} failed"
    head = _TITLE.sub(lambda _: f"<title>{escape(title)}</title>", pages[0].partition("<body>")[0], count=1)
    sections = [
        f'<section id="case{place}">{page.partition("<body>")[2].rpartition("</body>")[0]}</section>'
        for place, (name, page) in enumerate(zip(order, pages, strict=True))
        if reports[name].verdict != "pass"
    ]
    rows = [_row(place, name, reports[name]) for place, name in enumerate(order)]
    table = ["<table>", "<tr><th>case</th><th>verdict</th><th>what was judged</th></tr>", *rows, "</table>"]
    return "\n".join(
        [
            f"{head}<body>",
            f"<h1>{escape(title)}</h1>",
            f'<div class="scroll">{"".join(table)}</div>',
            *sections,
            "</body>\n</html>\n",
        ]
    )


def _row(place: int, name: str, report: Report) -> str:
    shown = escape(name) if report.verdict == "pass" else f'<a href="#case{place}">{escape(name)}</a>'
    totals = render_text(report).splitlines()[0].partition("  ")[2]
    return f'<tr><td>{shown}</td><td class="{report.verdict}">{report.verdict}</td><td>{escape(totals)}</td></tr>'
