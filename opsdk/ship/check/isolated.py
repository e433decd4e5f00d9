"""Verification in workers: a kernel that crashes or hangs ends the work on its own op only."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import closing

from gradcheck.run.stacks import innermost
from gradcheck.run.workers import Outcome, Piece, run
from opsdk.define.op import Op
from opsdk.ship.check.result import Checked
from opsdk.ship.targets.target import Selection
from opsdk.verify.report import Coverage, Finding, VerifyReport

CRASH = "crash"  # the check that finds it
_CODE = "OP302"
_EVERY = "*"  # the row of a finding that stopped the work before it could be said which row it was


def check_in_workers(
    work: Sequence[tuple[Selection, Op]], seed: int, jobs: int, timeout: float | None, trace: bool = False
) -> Generator[tuple[int, Checked | BaseException], None, None]:
    """Verifies ops in child processes, each of which loads the target anew.

    Args:
        work: a selection and one of its ops each.
        seed: of every random choice.
        jobs: ops at a time, ≥ 1.
        timeout: seconds > 0 for each op; None is no limit.
        trace: as for `verify`.

    Yields:
        The position of an op in `work`, and its report or what kept it from being verified, as each ends.
    """
    pieces = [
        Piece(op.opdef.name, "opsdk.ship.check.command:check_again", (selection.text, op.opdef.name, seed, trace))
        for selection, op in work
    ]
    with closing(run(pieces, jobs=jobs, timeout=timeout)) as ending:
        for position, outcome in ending:
            selection, op = work[position]
            if outcome.error is not None:
                yield position, outcome.error
            else:
                report = outcome.value if outcome.kind == "done" else _report_of_end(op, outcome, seed)
                yield position, Checked.of(report, op, selection)


def _report_of_end(op: Op, outcome: Outcome, seed: int) -> VerifyReport:
    """Returns the report of an op whose worker crashed, which is a finding, or took too long, which is none."""
    name = op.opdef.name
    if outcome.kind == "late":
        unsure = f"{name}: {outcome.message}; a larger --timeout gives it more"
        return VerifyReport(name, "inconclusive", coverage=Coverage(inconclusive=(unsure,)), seed=seed)
    finding = Finding(
        CRASH,
        f"{op.opdef.subject}: expected its rows to return or raise, {outcome.message}",
        id=f"{name}[{_EVERY}]::{CRASH}",
        op=name,
        row=_EVERY,
        at=innermost(outcome.stack) or str(op.opdef.origin),
        code=_CODE,
    )
    told = tuple(f"{name}, {note}" for note in outcome.notes)
    return VerifyReport(name, "fail", (finding,), coverage=Coverage(notes=told, warnings=told), seed=seed)
