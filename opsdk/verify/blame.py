"""Blame: which of what is found of a reference and of a kernel that differs from it is the cause of the other.

A backward may call the kernel, as the tape does for a second derivative, and a reference may itself be what is wrong in
a forward. Neither shows in the findings; both do where the op is judged once more, without the kernel, and its gradient
as that of the kernel.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace

import gradcheck
from opsdk.define.kernel.kernel import Kernel, KernelId
from opsdk.define.opdef import OpDef
from opsdk.verify.gradients import rule_of
from opsdk.verify.inputs.calls import Call
from opsdk.verify.report import Finding, is_reference, kind_of
from opsdk.verify.session import Session
from opsdk.verify.subjects import first_order, without_constants

Suspect = tuple[OpDef, Kernel]


def put_down(sessions: Sequence[Session], examine: Callable[[Sequence[Session]], None]) -> None:
    """Says of what the references of a chain of gradients are found with, or of kernels, what is to be mended first.

    Args:
        sessions: of the op and the gradient ops that hang on it; all checks have run.
        examine: proves the ops of other sessions on the calls that these have.
    """
    suspects = [suspect for session in sessions for suspect in _suspects(session)]
    if not suspects:
        return
    follows = set(_following(sessions, suspects, examine))
    for session in sessions:
        for finding in _of_reference(session):
            if finding.id in follows:
                named = dict.fromkeys(f"the {kernel.language} kernel of {op.subject}" for op, kernel in suspects)
                told = f"right without {' and '.join(named)}, which it calls; mend that first"
                _tell(session, finding, compare=told)
            elif kind_of(finding.check) == "vjp":
                _doubt(session, finding, suspects)


def _suspects(session: Session) -> Iterator[Suspect]:
    """Yields the kernels of an op whose values differ from the reference's, and not in float32 alone."""
    wrong = {
        key
        for (key, check), finding in session.findings.items()
        if kind_of(check) == "value"
        and not is_reference(finding.row)
        and KernelId.parse(finding.row).dtype != "float32"
    }
    yield from ((session.opdef, kernel) for kernel in session.opdef.kernels if _key(kernel) in wrong)


def _of_reference(session: Session) -> list[Finding]:
    """Returns what is found of a reference at one of the calls of its op."""
    samples = set(map(str, session.calls))
    return [f for f in session.findings.values() if is_reference(f.row) and f.sample in samples]


def _following(
    sessions: Sequence[Session], suspects: Sequence[Suspect], examine: Callable[[Sequence[Session]], None]
) -> Iterator[str]:
    """Yields the ids of those findings of references that are not there without some kernels."""
    found = [_of_reference(session) for session in sessions]
    if not any(found):
        return
    again = []
    for session, doubtful in zip(sessions, found, strict=True):
        samples = {finding.sample for finding in doubtful}
        calls = [call for call in session.calls if str(call) in samples]
        level = "default" if session.thorough else session.level
        again.append(Session(session.opdef, calls, session.seed, session.budget, session.rows, level=level))
    try:
        with without(suspects):
            examine(again)
    except Exception:  # what it cannot be without is not its cause
        return
    for session, doubtful in zip(again, found, strict=True):
        for finding in doubtful:
            key = KernelId.parse(finding.row).at_any_dtype, finding.check
            ran = {check for line in session.lines.values() for check in line.checks}
            if key not in session.findings and kind_of(finding.check) in ran:
                yield finding.id


def _doubt(session: Session, finding: Finding, suspects: Sequence[Suspect]) -> None:
    """Doubts the reference of an op whose gradient is wrong, where it is right for a kernel that differs from it."""
    opdef = session.opdef
    call = next((call for call in session.calls if str(call) == finding.sample), None)
    if call is None or finding.analytic is None or opdef.grad is None or opdef.traits.surrogate:
        return
    for op, kernel in suspects:
        serves = kernel.key.dtype in (None, call.float_dtype)
        if op is opdef and serves and _is_right(session, call, finding, kernel):
            _doubt_reference(session, kernel, finding)
            return


def _doubt_reference(session: Session, kernel: Kernel, gradient: Finding) -> None:
    """Says of the values of a kernel that the gradient is theirs: the reference computes something else."""
    for (key, check), finding in list(session.findings.items()):
        if key == _key(kernel) and kind_of(check) == "value":
            told = f"the gradient of {gradient.input!r} is right for this kernel, and wrong for the reference"
            _tell(session, finding, compare=f"{told}; look at that first")
    told = f"it is right for the {kernel.language} kernel, which the reference differs from"
    _tell(session, gradient, help=f"{told}: look at the forward too, {session.opdef.origin}")


def _tell(session: Session, finding: Finding, **fields: str) -> None:
    key = next(key for key, held in session.findings.items() if held is finding)
    session.findings[key] = replace(finding, **fields)  # type: ignore[arg-type]  # texts, all of them


def _is_right(session: Session, call: Call, finding: Finding, kernel: Kernel) -> bool:
    """Whether a gradient that was found wrong is right as that of a kernel."""
    opdef = session.opdef
    try:
        subject = first_order(opdef, call, rule_of(opdef).op.opdef.kernels.reference(), kernel)
        moving = without_constants(opdef, subject)
        report = gradcheck.check(**vars(moving), seed=session.seed, budget=session.budget, vary=False)
    except Exception:  # what it cannot be without is not its cause
        return False
    return bool(report.coverage.tested) and all(found.input != finding.input for found in report.findings)


def _key(kernel: Kernel) -> KernelId:
    return KernelId.of(kernel, None).at_any_dtype


@contextmanager
def without(kernels: Sequence[Suspect]) -> Iterator[None]:
    """Takes kernels away for as long as a `with` block lasts."""
    before = [(opdef, list(opdef.kernels)) for opdef, _ in kernels]
    try:
        for opdef, kernel in kernels:
            opdef.kernels.restore(held for held in opdef.kernels if held is not kernel)
        yield
    finally:
        for opdef, held in reversed(before):
            opdef.kernels.restore(held)
