"""The report of `opsdk check` as text: a row per op, a block per failure, the summary and the next command last."""

from __future__ import annotations

import math
from collections.abc import Sequence
from shlex import quote

from gradcheck.report import labelled, tallied, verdict_word
from opsdk.define.kernel.kernel import KernelId
from opsdk.ship.check.result import Checked, Run, slowest
from opsdk.ship.cli.terminal import painted
from opsdk.ship.output.table import Column
from opsdk.ship.output.table import render as render_table
from opsdk.verify.report import VERDICTS, Row, notes_of

_LONG = "float64"  # rows of fewer digits see less of a gradient; their values are compared with these as well

COLUMNS = (
    Column("op"),
    Column("rows", drop=1),
    Column("verdict"),
    Column("worst rel. error", right=True),
    Column("sees down to", right=True, drop=2),
    Column("time", right=True),
)


def render(run: Run, *, width: int, quiet: bool, verbose: bool, strict: bool = False, durations: int = 0) -> str:
    """Returns the whole report.

    Args:
        run: what was found.
        width: columns of the terminal.
        quiet: failures and the summary only.
        verbose: also what was tried on each op that passes.
        strict: whether `--strict` was asked for, so that the summary says what fails by it alone.
        durations: how many of the slowest ops to name.
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
    blocks.append("\n".join(f"slowest  {_seconds(one)}  {one.report.op}" for one in slowest(checked, durations)))
    blocks.append("\n".join(_last_lines(run, verbose=verbose, strict=strict)))
    return "\n\n".join(block for block in blocks if block)


def table(checked: Sequence[Checked], width: int) -> str:
    """Returns one line per op."""
    return render_table(COLUMNS, [row(one) for one in checked], width)


def failure(one: Checked, is_single: bool = False) -> list[str]:
    """Returns the block of a failing op: each finding's sentence, then labelled lines; a single one says no rerun."""
    lines = []
    for position, finding in enumerate(one.findings):
        lines.append(f"{painted('FAIL')} {finding.message}")
        notes = dict(notes_of(finding, one.report))
        notes["at"] = "; ".join(filter(None, (notes.get("at"), f"opsdk explain {finding.code}")))
        said = {"rerun"} if is_single else set()
        said |= {"row"} if f"[{finding.row}]" in finding.repro else set()
        said |= {"passed"} if position else set()
        lines += labelled((label, _one_line(text)) for label, text in notes.items() if label not in said)
    return lines


def unsure(one: Checked) -> list[str]:
    """Returns the block of an op that could not be judged."""
    lines = [f"{painted('inconclusive')} {one.report.op}"]
    reasons = one.report.coverage.inconclusive or one.report.coverage.skipped or ("nothing could be judged",)
    return [*lines, *labelled(("unsure", reason) for reason in reasons)]


def details(one: Checked) -> list[str]:
    """Returns what was looked at: rows, checks, samples, what was left out."""
    coverage = one.report.coverage
    notes = []
    for row in one.report.rows:
        text = f"{row.op}[{row.row}] {verdict_word(row.verdict)}"
        notes.append(("row", text + (f", {row.note}" if row.note else "")))
    if coverage.checks:  # none, where the work ended in a crash
        notes.append(("checks", f"{', '.join(coverage.checks)}; {coverage.tested} gradient elements judged"))
    for label, entries in (("sample", coverage.samples), ("skipped", coverage.skipped), ("note", coverage.notes)):
        notes += [(label, entry) for entry in entries]
    return [f"{one.report.op}  {one.origin}", *labelled(notes), *(f"  {line}" for line in coverage.traces)]


def summary(checked: Sequence[Checked], seconds: float) -> str:
    """Returns the line that answers the question."""
    return f"{tallied((one.verdict for one in checked), VERDICTS) or 'nothing checked'} in {seconds:.1f} s"


def _failed_by_strict(checked: Sequence[Checked]) -> list[str]:
    """Returns the line that says which ops fail under `--strict` alone, and why; none where there are none."""
    reasons = [
        f"{one.report.op} {_why_strict(one)}"
        for one in checked
        if one.verdict == "inconclusive" or (one.verdict == "pass" and one.strict_verdict == "fail")
    ]
    return [f"failed by --strict: {', '.join(reasons)}"] if reasons else []


def _why_strict(one: Checked) -> str:
    if one.verdict == "inconclusive":
        return "could not be judged"
    return "has no backward" if one.report.lacks_backward else "has a note"


def _last_lines(run: Run, *, verbose: bool, strict: bool) -> list[str]:
    checked = run.checked
    skipped = sum(row.verdict == "skipped" for one in checked for row in one.report.rows)
    lines = [summary(checked, run.seconds) + (f"      skipped: {skipped} rows that cannot run here" if skipped else "")]
    lines += _failed_by_strict(checked) if strict else []
    failed = next((one for one in checked if one.findings), None)
    if failed is not None:
        lines.append(f"next: {failed.findings[0].repro}")
    elif not verbose:
        lines.append(f"next: opsdk check {' '.join(map(quote, run.targets))} -v")
    return lines


def _head(run: Run) -> str:
    rows = sum(len(one.report.rows) for one in run.checked)
    count = len(run.checked)
    return (
        f"opsdk {run.version} · {count} op{'' if count == 1 else 's'}, {rows} rows · judged in float64 · "
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
    """Returns the smallest error that float64 rows would have shown, or the others where none of these was judged."""
    judged = [row for row in rows if row.sees_down_to is not None]
    return _number([row.sees_down_to for row in judged if _LONG in row.row] or [row.sees_down_to for row in judged])


def languages_of(rows: Sequence[Row]) -> list[str]:
    """Returns what the rows of a report, gradient ops' included, are written in; the place where it is not `cpu`."""
    kernels = [KernelId.parse(row.row) for row in rows]
    named = [kernel.place if kernel.place != "cpu" else kernel.language for kernel in kernels]
    return [name for name in named if name != "composite" or len(set(named)) == 1]


def _number(values: Sequence[float | None]) -> str:
    known = [value for value in values if value is not None and not math.isnan(value)]
    if not known:
        return "–"
    return f"{max(known):.0e}" if max(known) else "0"


def _one_line(text: str) -> str:
    return " ".join(text.split("\n"))
