"""The report of `opsdk check` as text, as one offline page and as JUnit XML."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from html import escape
from shlex import quote

from gradcheck.report import counted, labelled, tallied, verdict_word
from gradcheck.show import junit, page
from gradcheck.show.figures import FIGURE_STYLE, figures
from opsdk.define.kernel.kernel import KernelId
from opsdk.ship.check.result import Checked, Run
from opsdk.ship.cli.terminal import painted
from opsdk.ship.output.table import Column
from opsdk.ship.output.table import render as render_table
from opsdk.verify.level import LEFT_OUT
from opsdk.verify.report import VERDICTS, Finding, Row, no_backward, notes_of

_ESCAPES = re.compile(r"\x1b\[[0-9;]*m")
_LONG = "float64"  # kernels of fewer digits see less of a gradient; their values are compared with these as well

COLUMNS = (
    Column("op"),
    Column("kernels", drop=1),
    Column("verdict"),
    Column("worst rel. error", right=True),
    Column("sees down to", right=True, drop=2),
    Column("time", right=True),
)


def render_text(run: Run, *, width: int, quiet: bool, verbose: bool, strict: bool = False, durations: int = 0) -> str:
    """Returns the whole report: a row per op, a block per failure, the summary and the next command last.

    Args:
        run: what was found.
        width: columns of the terminal.
        quiet: failures and the summary only.
        verbose: also what was tried on each op that passes.
        strict: whether `--strict` was asked for, so that the summary says what fails by it alone.
        durations: how many of the slowest ops to name, and of the slowest checks.
    """
    blocks: list[str] = []
    checked = run.checked
    if not quiet:
        blocks += [f"{_head(run)}\n{table(checked, width)}"]
    is_single = sum(len(one.findings) for one in checked) == 1  # the last line is how to run it again
    blocks += ["\n".join(failure(one, is_single)) for one in checked if one.report.findings]
    blocks += ["\n".join(unsure(one)) for one in checked if one.verdict == "inconclusive"]
    if verbose:
        blocks += ["\n".join(details(one)) for one in checked]
    else:
        blocks.append("\n".join(f"note     {text}" for one in checked for text in one.report.coverage.warnings))
    blocks.append("\n".join(_slowest(checked, durations)))
    blocks.append("\n".join(_last_lines(run, verbose=verbose, strict=strict)))
    return "\n\n".join(block for block in blocks if block)


def table(checked: Sequence[Checked], width: int) -> str:
    """Returns one line per op."""
    return render_table(COLUMNS, [row(one) for one in checked], width)


def _slowest(checked: Sequence[Checked], count: int) -> list[str]:
    """Returns the lines of the slowest ops, and of the slowest checks of all."""
    ops = sorted(checked, key=lambda one: -one.report.seconds)[:count]
    checks = sorted((each for one in checked for each in one.report.spent), key=lambda each: -each.seconds)[:count]
    return [
        *(f"slowest  {_seconds(one)}  {one.report.op}" for one in ops),
        *(f"slowest  {each.seconds:.2f} s  {each.op}, {each.check}" for each in checks),
    ]


def failure(one: Checked, is_single: bool = False) -> list[str]:
    """Returns the block of a failing op: each finding's sentence, then labelled lines; a single one says no rerun."""
    lines = []
    for position, finding in enumerate(one.findings):
        lines.append(f"{painted('FAIL')} {finding.message}")
        notes = dict(notes_of(finding, one.report))
        notes["at"] = "; ".join(filter(None, (notes.get("at"), f"opsdk explain {finding.code}")))
        said = {"rerun"} if is_single else set()
        said |= {"kernel"} if f"[{finding.row}]" in finding.repro else set()
        said |= {"passed"} if position else set()
        lines += labelled((label, " ".join(text.split("\n"))) for label, text in notes.items() if label not in said)
    return lines


def unsure(one: Checked) -> list[str]:
    """Returns the block of an op that could not be judged."""
    lines = [f"{painted('inconclusive')} {one.report.op}"]
    reasons = one.report.coverage.inconclusive or one.report.coverage.skipped or ("nothing could be judged",)
    return [*lines, *labelled(("unsure", reason) for reason in reasons)]


def details(one: Checked) -> list[str]:
    """Returns what was looked at: kernels, checks, samples, what was left out."""
    coverage = one.report.coverage
    notes = []
    for row in one.report.rows:
        text = f"{row.op}[{row.row}] {verdict_word(row.verdict)}"
        notes.append(("kernel", text + (f", {row.note}" if row.note else "")))
    if coverage.checks:  # none, where the work ended in a crash
        notes.append(("checks", f"{', '.join(coverage.checks)}; {coverage.tested} gradient elements judged"))
    undecided = coverage.inconclusive if one.verdict != "inconclusive" else ()  # else told above
    for label, entries in (
        ("sample", coverage.samples),
        ("unsure", undecided),
        ("skipped", coverage.skipped),
        ("note", coverage.notes),
    ):
        notes += [(label, entry) for entry in entries]
    return [f"{one.report.op}  {one.origin}", *labelled(notes), *(f"  {line}" for line in coverage.traces)]


def _failed_by_strict(checked: Sequence[Checked]) -> list[str]:
    """Returns a line per reason for which an op fails under `--strict` alone, with what settles it."""
    reasons = []
    for one in checked:
        name, coverage = one.report.op, one.report.coverage
        if one.verdict == "inconclusive":
            reasons.append(f"{name} could not be judged")
        if one.verdict != "pass":
            continue
        if one.report.lacks_backward:
            handle = name.rpartition("::")[2]
            reasons.append(f"{name} has no backward: declare @{handle}.backward, or its outputs nondifferentiable")
        notes = [f"the note {note}" for note in coverage.warnings if note != no_backward(name)]
        undecided = [f"the elements of {what}: give a sample that decides them" for what in coverage.inconclusive]
        reasons += notes or undecided  # of what a note is about elements may follow
    return [f"failed by --strict: {reason}" for reason in reasons]


def _last_lines(run: Run, *, verbose: bool, strict: bool) -> list[str]:
    checked = run.checked
    skipped = sum(row.verdict == "skipped" for one in checked for row in one.report.rows)
    summary = f"{tallied((one.verdict for one in checked), VERDICTS) or 'nothing checked'} in {run.seconds:.1f} s"
    lines = [summary + (f"      skipped: {skipped} kernels that cannot run here" if skipped else "")]
    if any(one.report.level == "quick" for one in checked):
        lines.append(f"not checked, as --quick was given: most samples; {LEFT_OUT}")
    lines += _failed_by_strict(checked) if strict else []
    failed = next((one for one in checked if one.findings), None)
    if failed is not None:
        lines.append(f"next: {failed.findings[0].repro}")
    elif not verbose:
        lines.append(f"next: opsdk check {' '.join(map(quote, run.targets))} -v")
    return lines


def _head(run: Run) -> str:
    rows = [(row.op, KernelId.parse(row.row).at_any_dtype) for one in run.checked for row in one.report.rows]
    ops, kernels = counted(len(run.checked), "op"), counted(len(set(rows)), "kernel")
    return (
        f"opsdk {run.version} · {ops}, {kernels} with those of gradients · judged in float64 · "
        f"seed {run.seed} · {run.machine}"
    )


def row(one: Checked) -> tuple[str, ...]:
    """Returns the cells of one op's line."""
    rows = one.report.rows
    return (
        one.report.op,
        " ".join(dict.fromkeys((*one.languages, *languages_of(rows)))),
        verdict_word(one.verdict) + (", no backward" if one.report.lacks_backward else ""),
        _number([row.worst_error for row in rows]),
        _sees_down_to(rows),
        _seconds(one),
    )


def _seconds(one: Checked) -> str:
    return f"{one.report.seconds:.2f} s" if one.report.seconds else "–"


def _sees_down_to(rows: Sequence[Row]) -> str:
    """Returns the smallest error that float64 kernels would have shown, or others if none of these was judged."""
    judged = [row for row in rows if row.sees_down_to is not None]
    return _number([row.sees_down_to for row in judged if _LONG in row.row] or [row.sees_down_to for row in judged])


def languages_of(rows: Sequence[Row]) -> list[str]:
    """Returns what the kernels of a report, gradient ops' included, are written in; the place where it is not `cpu`."""
    kernels = [KernelId.parse(row.row) for row in rows]
    named = [kernel.place if kernel.place != "cpu" else kernel.language for kernel in kernels]
    return [name for name in named if name != "composite" or len(set(named)) == 1]


def _number(values: Sequence[float | None]) -> str:
    known = [value for value in values if value is not None and not math.isnan(value)]
    if not known:
        return "–"
    return f"{max(known):.0e}" if max(known) else "0"


def render_html(run: Run, text: str) -> str:
    """Returns the report as one offline page.

    Args:
        run: what was found.
        text: the report as it was printed; it closes the page.
    """
    checked = run.checked
    failed = sum(one.verdict == "fail" for one in checked)
    title = f"opsdk check: {failed} of {len(checked)} ops failed" if failed else f"opsdk check: {len(checked)} ops"
    titles = [column.title for column in COLUMNS]
    numbers = [i for i, column in enumerate(COLUMNS) if column.right]
    body = [
        f"<h1>{title}</h1>",
        page.paragraph(f"opsdk {run.version}, seed {run.seed}.", "soft"),
        page.table(titles, [row(one) for one in checked], numbers, [_anchor(one) for one in checked]),
    ]
    for one in checked:
        body.append(page.heading(one.report.op, _anchor(one)))
        if one.findings:
            body.append(page.code(plain("\n".join(failure(one)))))
            body += [_pictured(finding) for finding in one.findings if finding.picture is not None]
        elif one.verdict == "inconclusive":
            body.append(page.code(plain("\n".join(unsure(one)))))
        body.append(page.code("\n".join(details(one))))
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


def render_junit(checked: Sequence[Checked]) -> str:
    """Returns the report as JUnit XML: a suite per op, a test per kernel and check.

    Args:
        checked: one entry per op.
    """
    return junit.write_suites([(one.report.op, _cases(one)) for one in checked])


def _cases(one: Checked) -> list[junit.Case]:
    report = one.report
    cases = [
        junit.Case(
            finding.check, f"{finding.op}[{finding.row}]", (junit.failure(finding.message, notes_of(finding, report)),)
        )
        for finding in one.findings
    ]
    for row in report.rows:
        group = f"{row.op}[{row.row}]"
        if row.verdict == "skipped":
            cases.append(junit.Case("runs", group, skipped=row.note or "it cannot run here"))
        cases += [junit.Case(check, group) for check in row.passed]
    if report.level == "quick":
        cases.append(junit.Case("level", report.op, skipped=f"not checked at level 'quick': most samples; {LEFT_OUT}"))
    if one.verdict == "inconclusive":
        reasons = report.coverage.inconclusive or report.coverage.skipped or ("nothing could be judged",)
        cases.append(junit.Case("judged", report.op, skipped="; ".join(reasons)))
    return cases
