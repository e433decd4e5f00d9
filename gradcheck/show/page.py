"""A report as one HTML page: no network, no script, light and dark, readable when printed."""

from __future__ import annotations

import math
from html import escape

from gradcheck.report import Finding, Report, counted, notes_of
from gradcheck.show.figures import FIGURE_STYLE, figures
from gradcheck.show.render import render_text, require_report

_STYLE = """\
:root { color-scheme: light dark; --ground: #fcfcfb; --panel: #f3f2ee; --ink: #1c1b19; --soft: #66635c;
  --line: #dcd9d1; --pass: #19713c; --fail: #b3261e; --inconclusive: #8a5a00; }
@media (prefers-color-scheme: dark) { :root { --ground: #171716; --panel: #21211f; --ink: #eceae4; --soft: #a5a29a;
  --line: #3a3935; --pass: #6fce93; --fail: #ff8a80; --inconclusive: #f0b849; } }
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 2.5rem 1.25rem 4rem; max-width: 56rem; background: var(--ground); color: var(--ink);
  font: 16px/1.55 system-ui, sans-serif; }
h1 { font-size: 1.7rem; margin: 0 0 .3rem; line-height: 1.2; } h2 { font-size: 1.15rem; margin: 2.4rem 0 .4rem; }
p { margin: .4rem 0 .8rem; max-width: 46rem; overflow-wrap: anywhere; } .soft { color: var(--soft); }
.scroll { overflow-x: auto; } table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
th, td { text-align: left; padding: .3rem 1.4rem .3rem 0; border-bottom: 1px solid var(--line); white-space: nowrap; }
th { font-weight: 600; color: var(--soft); } .num { text-align: right; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .2rem 1rem; margin: .6rem 0 1rem; }
dt { color: var(--soft); } dd { margin: 0; overflow-wrap: anywhere; }
dd.code, pre { font: 13px/1.5 ui-monospace, "DejaVu Sans Mono", monospace; }
pre { background: var(--panel); border: 1px solid var(--line); border-radius: 6px; padding: .9rem 1rem;
  overflow-x: auto; white-space: pre-wrap; overflow-wrap: anywhere; }
.pass { color: var(--pass); } .fail { color: var(--fail); } .inconclusive { color: var(--inconclusive); }
@media print { body { max-width: none; padding: 0; } figure { break-inside: avoid; } }
"""


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
    body = [
        f'<h1>{escape(title)}: <span class="{report.verdict}">{report.verdict}</span></h1>',
        f'<p class="soft">{escape(render_text(report).splitlines()[0])}</p>',
        *(_section(finding, report) for finding in report.findings),
        "<h2>What was looked at</h2>",
        _definitions(_coverage(report)),
        f"<h2>As text</h2>\n<pre>{escape(render_text(report))}</pre>",
    ]
    head = (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(title)}: {report.verdict}</title>\n<style>\n{_STYLE}{FIGURE_STYLE}</style>\n</head>\n<body>\n"
    )
    return head + "\n".join(body) + "\n</body>\n</html>\n"


def _section(finding: Finding, report: Report) -> str:
    about = f", input {finding.input}" if finding.input else ""
    parts = [f"<h2>{escape(finding.check + about)}</h2>", f"<p>{escape(finding.headline)}</p>"]
    parts.append(_definitions([(label, text) for label, text in notes_of(finding, report) if label != "passed"]))
    if finding.picture is not None:
        parts.append(figures(finding.picture, finding.input or "input"))
    return "\n".join(parts)


def _definitions(pairs: list[tuple[str, str]]) -> str:
    if not pairs:
        return ""
    return "<dl>" + "\n".join(_definition(label, text) for label, text in pairs) + "</dl>"


def _definition(label: str, text: str) -> str:
    kind = ' class="code"' if label == "rerun" else ""
    return f"<dt>{escape(label)}</dt><dd{kind}>{escape(text)}</dd>"


def _coverage(report: Report) -> list[tuple[str, str]]:
    coverage = report.coverage
    pairs = [("checks", ", ".join(coverage.checks)), ("points", ", ".join(coverage.points))]
    pairs.append(
        ("judged", f"{counted(coverage.tested, 'gradient element')}, with {coverage.evaluations} forward calls")
    )
    if math.isfinite(coverage.smallest_error_seen):
        pairs.append(("sees down to", f"{coverage.smallest_error_seen:.0e}, relative"))
    for label, counts in (("skipped", coverage.skipped), ("unsure", coverage.inconclusive)):
        pairs += [(label, f"{counted(count, 'element')}: {reason}") for reason, count in counts]
    pairs += [("kink", kink) for kink in coverage.kinks] + [("note", note) for note in coverage.notes]
    return [(label, text) for label, text in pairs if text]
