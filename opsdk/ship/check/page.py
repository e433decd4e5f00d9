"""The report of `opsdk check` as one offline page."""

from __future__ import annotations

import re
from html import escape

from gradcheck.show import page
from gradcheck.show.figures import FIGURE_STYLE, figures
from opsdk.ship.check import text as check_text
from opsdk.ship.check.result import Checked, Run
from opsdk.verify.report import Finding

_ESCAPES = re.compile(r"\x1b\[[0-9;]*m")


def render(run: Run, text: str) -> str:
    """Returns the page.

    Args:
        run: what was found.
        text: the report as it was printed; it closes the page.
    """
    checked = run.checked
    failed = sum(one.verdict == "fail" for one in checked)
    title = f"opsdk check: {failed} of {len(checked)} ops failed" if failed else f"opsdk check: {len(checked)} ops"
    titles = [column.title for column in check_text.COLUMNS]
    numbers = [i for i, column in enumerate(check_text.COLUMNS) if column.right]
    body = [
        f"<h1>{title}</h1>",
        page.paragraph(f"opsdk {run.version}, seed {run.seed}.", "soft"),
        page.table(titles, [check_text.row(one) for one in checked], numbers, [_anchor(one) for one in checked]),
    ]
    for one in checked:
        body.append(page.heading(one.report.op, _anchor(one)))
        if one.findings:
            body.append(page.code(plain("\n".join(check_text.failure(one)))))
            body += [_pictured(finding) for finding in one.findings if finding.picture is not None]
        elif one.verdict == "inconclusive":
            body.append(page.code(plain("\n".join(check_text.unsure(one)))))
        body.append(page.code("\n".join(check_text.details(one))))
    body += [page.heading("As printed"), page.code(plain(text))]
    body += [page.heading("Environment"), page.code(run.facts)]
    return page.page(title, body, FIGURE_STYLE)


def _anchor(one: Checked) -> str:
    return one.report.op.replace("::", "--")


def _pictured(finding: Finding) -> str:
    assert finding.picture is not None
    return f"<h3>{escape(finding.id)}</h3>\n{figures(finding.picture, finding.input or 'input')}"


def plain(text: str) -> str:
    """Returns text without a terminal's escape sequences."""
    return _ESCAPES.sub("", text)
