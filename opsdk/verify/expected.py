"""Findings that an op's author expects: told as notes with their reason, and missed where they do not show."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from opsdk.define.kernel.kernel import KernelId
from opsdk.define.opdef import Expectation, OpDef
from opsdk.verify.report import Finding, Row
from opsdk.verify.rerun import target_of

EXPECT = "expect"


def unexpected(opdef: OpDef, findings: Iterable[Finding]) -> tuple[tuple[Finding, ...], tuple[str, ...]]:
    """Returns the findings that nobody expects, and what to say of the others, once for each expectation."""
    left: list[Finding] = []
    told: dict[str, None] = {}
    for finding in findings:
        known = next((each for each in opdef.expectations if _covers(each, finding)), None)
        if known is None:
            left.append(finding)
        else:
            told[f"{opdef.name}: {finding.check} is found, as expected: {known.reason}"] = None
    return tuple(left), tuple(told)


def missed(opdef: OpDef, findings: Iterable[Finding], rows: Iterable[Row], seed: int) -> Iterator[Finding]:
    """Yields a finding for each expectation that shows nowhere, though a row ran that could have shown it."""
    found, ran = list(findings), [row for row in rows if row.verdict != "skipped"]
    for expectation in opdef.expectations:
        about = [row for row in ran if expectation.is_about(row.row)]
        is_known = any(map(expectation.is_about, _names_of_rows(opdef)))
        if (is_known and not about) or any(_covers(expectation, finding) for finding in found):
            continue
        if not is_known:
            about = ran
        remedy = "take the expect out" if is_known else f"it has the rows {', '.join(map(str, opdef.kernels))}"
        check, target = f"{EXPECT}.{expectation.finding}", target_of(opdef)
        yield Finding(
            id=f"{opdef.name}[{about[0].row}]::{check}",
            op=opdef.name,
            row=about[0].row,
            check=check,
            message=f"{opdef.subject}: expected the finding {expectation} ({expectation.reason}), got none; {remedy}",
            at=str(expectation.origin),
            repro="" if target is None else f"opsdk check {target} --seed {seed}",
        )


def _names_of_rows(opdef: OpDef) -> Iterator[str]:
    for kernel in opdef.kernels:
        for dtype in (kernel.key.dtype.name,) if kernel.key.dtype else ("float32", "float64"):
            yield str(KernelId.of(kernel, dtype))


def without_failures(rows: Iterable[Row], findings: Iterable[Finding]) -> tuple[Row, ...]:
    """Returns rows of which only those still fail that findings are left of, in whatever dtype."""
    wrong = {KernelId.parse(finding.row, finding.op).at_any_dtype for finding in findings}
    return tuple(row if KernelId.parse(row.row, row.op).at_any_dtype in wrong else _passing(row) for row in rows)


def with_failures(rows: Iterable[Row], findings: Iterable[Finding]) -> tuple[Row, ...]:
    """Returns rows of which those that findings name fail."""
    wrong = {(finding.op, finding.row) for finding in findings}
    return tuple(replace(row, verdict="fail") if (row.op, row.row) in wrong else row for row in rows)


def _passing(row: Row) -> Row:
    return replace(row, verdict="pass") if row.verdict == "fail" else row


def _covers(expectation: Expectation, finding: Finding) -> bool:
    return expectation.covers(finding.check, finding.row, finding.code)
