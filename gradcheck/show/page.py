"""HTML pages in one file, and what stands on them: no network, no script, light and dark, readable when printed."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

STYLE = """\
:root { color-scheme: light dark; --ground: #fcfcfb; --panel: #f3f2ee; --ink: #1c1b19; --soft: #66635c;
  --line: #dcd9d1; --pass: #19713c; --fail: #b3261e; --unsure: #8a5a00; }
@media (prefers-color-scheme: dark) { :root { --ground: #171716; --panel: #21211f; --ink: #eceae4; --soft: #a5a29a;
  --line: #3a3935; --pass: #6fce93; --fail: #ff8a80; --unsure: #f0b849; } }
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 2.5rem 1.25rem 4rem; max-width: 62rem; background: var(--ground); color: var(--ink);
  font: 16px/1.55 system-ui, sans-serif; }
h1 { font-size: 1.7rem; margin: 0 0 .3rem; line-height: 1.2; } h2 { font-size: 1.15rem; margin: 2.4rem 0 .6rem; }
h3 { font-size: 1rem; margin: 1.6rem 0 .4rem; overflow-wrap: anywhere; }
p { margin: .4rem 0 .8rem; max-width: 46rem; } .soft { color: var(--soft); }
.scroll { overflow-x: auto; } table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; }
th, td { text-align: left; padding: .4rem .9rem .4rem 0; border-bottom: 1px solid var(--line); white-space: nowrap; }
th { font-weight: 600; color: var(--soft); } td a { color: inherit; } .num { text-align: right; }
pre { background: var(--panel); border: 1px solid var(--line); border-radius: 6px; padding: .9rem 1rem; margin: .6rem 0;
  overflow-x: auto; font: 13px/1.5 ui-monospace, "DejaVu Sans Mono", monospace; }
.pass { color: var(--pass); font-weight: 600; } .fail { color: var(--fail); font-weight: 600; }
.inconclusive { color: var(--unsure); font-weight: 600; }
.charts { display: grid; grid-template-columns: repeat(auto-fit, minmax(20rem, 1fr)); gap: 1.2rem; }
figure { margin: 0; } figcaption { font-weight: 600; margin-bottom: .3rem; }
svg { width: 100%; height: auto; display: block; }
svg text { font: 11px system-ui, sans-serif; fill: var(--soft); } svg .rule { stroke: var(--line); }
.key { display: flex; flex-wrap: wrap; gap: .3rem 1.2rem; list-style: none; padding: 0; margin: .8rem 0; }
.key svg { display: inline-block; width: 2.2rem; height: .7rem; margin-right: .45rem; vertical-align: middle; }
@media print { body { max-width: none; padding: 0; } pre { white-space: pre-wrap; } figure { break-inside: avoid; } }
"""
_VERDICTS = {"pass": "pass", "yes": "pass", "FAIL": "fail", "no": "fail", "inconclusive": "inconclusive"}


def page(title: str, body: Sequence[str], style: str = "") -> str:
    """Writes a whole document.

    Args:
        title: plain text.
        body: pieces of HTML.
        style: rules beyond those of every page.
    """
    head = (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(title)}</title>\n<style>\n{STYLE}{style}</style>\n</head>\n<body>\n"
    )
    return head + "\n".join(body) + "\n</body>\n</html>\n"


def table(
    titles: Sequence[str], rows: Sequence[Sequence[str]], numbers: Sequence[int] = (), anchors: Sequence[str] = ()
) -> str:
    """Writes a table of plain texts; verdict words get their colour.

    Args:
        titles: headings.
        rows: one text per heading each.
        numbers: positions of the columns that are aligned to the right.
        anchors: of each row the section that its first cell leads to; none where empty.
    """
    heads = "".join(f"<th{_class(i, numbers)}>{escape(title)}</th>" for i, title in enumerate(titles))
    cells = [[_cell(text, i, numbers) for i, text in enumerate(row)] for row in rows]
    for row, made, anchor in zip(rows, cells, anchors, strict=False):
        if anchor:
            made[0] = f'<td><a href="#{anchor}">{escape(row[0])}</a></td>'
    lines = [f"<tr>{''.join(made)}</tr>" for made in cells]
    body = "\n".join(lines)
    return f'<div class="scroll"><table>\n<thead><tr>{heads}</tr></thead>\n<tbody>\n{body}\n</tbody></table></div>'


def code(text: str) -> str:
    """Writes text as it is, in a fixed-width block."""
    return f"<pre>{escape(text)}</pre>"


def paragraph(text: str, kind: str = "") -> str:
    """Writes a paragraph of plain text."""
    return f"<p{f' class={kind!r}' if kind else ''}>{escape(text)}</p>"


def heading(text: str, anchor: str = "") -> str:
    """Writes a section's heading."""
    return f"<h2{f' id={anchor!r}' if anchor else ''}>{escape(text)}</h2>"


def _cell(text: str, position: int, numbers: Sequence[int]) -> str:
    kind = _VERDICTS.get(text) if position else None  # the first cell says what its row is about
    shown = f'<span class="{kind}">{escape(text)}</span>' if kind else escape(text)
    return f"<td{_class(position, numbers)}>{shown}</td>"


def _class(position: int, numbers: Sequence[int]) -> str:
    return ' class="num"' if position in numbers else ""
