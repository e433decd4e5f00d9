"""Single checks: what was found of one op, on one kernel, by one check."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import opsdk
from gradcheck.report import labelled
from opsdk.define.kernel.kernel import ANY, KernelId
from opsdk.define.op import Op
from opsdk.define.opdef import OpDef
from opsdk.ship.check.result import Checked
from opsdk.ship.targets.target import Selection, resolve
from opsdk.verify.checks import CHECKS, check_of
from opsdk.verify.report import Finding, VerifyReport, notes_of
from opsdk.verify.run import chain

VERDICT = "verdict"  # the check of the whole op: what belongs to no other, and whether the op could be judged at all


@dataclass(frozen=True)
class ItemCheck:
    """One check of one kernel.

    Args:
        selection: what named the op.
        op: the op that is verified.
        name: qualified name of the op or the gradient op of it that is concerned.
        row: `place,dtype,language`; the dtype is `*` for a kernel of every dtype. Empty for the verdict.
        check: one of `opsdk.verify.checks.CHECKS`, or `verdict`.
        seed: of the run.
        allow_inconclusive: whether an op that cannot be judged passes.
        report: of the whole op; None until it was read.
    """

    selection: Selection
    op: Op
    name: str
    row: str
    check: str
    seed: int = 0
    allow_inconclusive: bool = False
    report: VerifyReport | None = None

    @property
    def id(self) -> str:
        """A name such as `relu-cpu-numpy-vjp`; a kernel of one dtype has it between place and language."""
        row = [part for part in KernelId.parse(self.row).parts if part != ANY]
        return "-".join([self.name.rpartition("::")[2], *row, self.check])

    # Any: the reports that exist, by what they depend on.
    def read(self, reports: dict[Any, VerifyReport]) -> ItemCheck:
        """Returns the same check with the op's report, from `reports` or after a run that is entered there."""
        key = (self.op.opdef, self.seed)
        if key not in reports:
            reports[key] = opsdk.verify(self.op, seed=self.seed)
        return replace(self, report=reports[key])

    @property
    def findings(self) -> tuple[Finding, ...]:
        """The findings of this check alone; its verdict's are those that no kernel and check has."""
        assert self.report is not None
        if self.check != VERDICT:
            return tuple(finding for finding in self.report.findings if self._has(finding))
        others = items_of_op(self.selection, self.op, verdict=False)
        return tuple(f for f in self.report.findings if not any(other._has(f) for other in others))

    def failure(self) -> str:
        """Returns what a failing test says; nothing where there is no finding."""
        assert self.report is not None
        result = Checked.of(replace(self.report, findings=self.findings), self.op, self.selection)
        lines = []
        for finding in result.findings:
            lines.append(finding.message)
            notes = [*notes_of(finding, self.report), ("code", f"{finding.code}   opsdk explain {finding.code}")]
            lines += labelled((label, " ".join(text.splitlines())) for label, text in notes)
        if (
            not lines
            and self.check == VERDICT
            and self.report.verdict == "inconclusive"
            and not self.allow_inconclusive
        ):
            reasons = "; ".join(self.report.coverage.inconclusive) or "nothing could be judged"
            lines.append(f"op {self.name!r}: expected a judgement, got inconclusive: {reasons}")
        return "\n".join(lines)

    def reason_to_skip(self) -> str:
        """Returns why the check did not run on the kernel; nothing where it did."""
        assert self.report is not None
        if self.check == VERDICT:
            return ""
        rows = [row for row in self.report.rows if self._is_on(row.op, row.row)]
        if any(self.check in row.passed for row in rows):
            return ""
        notes = [row.note for row in rows if row.note]
        if notes:
            return notes[0]
        failed = sorted({check_of(f.check) for f in self.report.findings})
        why = f", after findings of {', '.join(failed)}" if failed else ""
        return f"{self.name}[{self.row}]: verify had no cause to run {self.check}{why}"

    def _has(self, finding: Finding) -> bool:
        return check_of(finding.check) == self.check and self._is_on(finding.op, finding.row)

    def _is_on(self, name: str, row: str) -> bool:
        """Whether a kernel of the report is this one; a kernel of one dtype comes before one of every dtype."""
        if name != self.name or row.count(",") != 2:
            return False
        own = {kernel_row for opdef in chain(self.op.opdef) if opdef.name == name for kernel_row in _rows(opdef)}
        exact = row in own
        return self.row == (row if exact else str(KernelId.parse(row).at_any_dtype))


def items_of(targets: Sequence[Op | str], *, seed: int = 0, allow_inconclusive: bool = False) -> list[ItemCheck]:
    """Returns one check for each op, kernel and check of some targets.

    Args:
        targets: ops, or what `opsdk check` takes.
        seed: of every random choice.
        allow_inconclusive: whether an op that cannot be judged passes.

    Raises:
        TargetError: a target names nothing.
    """
    selections = [Selection(t.opdef.name, (t,)) if isinstance(t, Op) else resolve(t) for t in targets]
    return [
        replace(item, seed=seed, allow_inconclusive=allow_inconclusive)
        for selection in selections
        for op in (*selection.ops, *selection.primitives)
        for item in items_of_op(selection, op)
    ]


def items_of_op(selection: Selection, op: Op, *, verdict: bool = True) -> list[ItemCheck]:
    """Returns the checks of one op and its gradient ops, that of the whole op last."""
    items = [
        ItemCheck(selection, op, opdef.name, row, check)
        for opdef in chain(op.opdef)
        for row in _rows(opdef)
        for check in CHECKS
    ]
    return [*items, ItemCheck(selection, op, op.opdef.name, "", VERDICT)] if verdict else items


def _rows(opdef: OpDef) -> list[str]:
    """Returns the kernels of an op, then those that only its gradient op has: its derivative is judged on these too."""
    kernels = [*opdef.kernels, *(() if opdef.grad is None else opdef.grad.op.opdef.kernels)]
    return list(dict.fromkeys(str(KernelId.of(kernel, kernel.key.dtype)) for kernel in kernels))
