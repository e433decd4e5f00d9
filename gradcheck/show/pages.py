"""The reports of several cases as one page."""

from __future__ import annotations

import re
from collections.abc import Mapping
from html import escape

from gradcheck.report import Report
from gradcheck.show.page import render_html

_TITLE = re.compile("<title>.*?</title>", re.DOTALL)


def render_pages(reports: Mapping[str, Report], text: str) -> str:
    """Writes reports below one another, the failing ones first.

    Args:
        reports: one report for each case's name.
        text: what was printed; it comes first.

    Returns:
        A whole document that needs nothing else.
    """
    failed = sum(report.verdict == "fail" for report in reports.values())
    title = f"gradcheck: {failed} of {len(reports)} failed"
    order = sorted(reports, key=lambda name: reports[name].verdict != "fail")
    pages = [render_html(reports[name], name) for name in order]
    head = _TITLE.sub(lambda _: f"<title>{escape(title)}</title>", pages[0].partition("<body>")[0], count=1)
    bodies = [page.partition("<body>")[2].rpartition("</body>")[0] for page in pages]
    return "\n".join(
        [f"{head}<body>", f"<h1>{escape(title)}</h1>", f"<pre>{escape(text)}</pre>", *bodies, "</body>\n</html>\n"]
    )
