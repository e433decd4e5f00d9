"""Blame: which of a wrong gradient and a kernel that differs from the reference is the cause of the other.

A backward may call the kernel, and a reference may itself be what is wrong in a forward. Neither shows in the two
findings; both do where the gradient is judged once more, without the kernel, and as that of the kernel.
"""

from __future__ import annotations

from collections.abc import Iterator
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


def suspect_kernels(session: Session) -> None:
    """Keeps the kernels of an op whose values differ from the reference's, and not in float32 alone."""
    wrong = {
        key
        for (key, check), finding in session.findings.items()
        if kind_of(check) == "value"
        and not is_reference(finding.row)
        and KernelId.parse(finding.row).dtype != "float32"
    }
    kernels = [kernel for kernel in session.opdef.kernels if _key(kernel) in wrong]
    session.suspects += [(session.opdef, kernel) for kernel in kernels]


def put_down(session: Session) -> None:
    """Says of a wrong gradient, or of the kernel that differs, what is to be mended first."""
    opdef, suspects = session.opdef, session.suspects
    if not suspects or opdef.grad is None or opdef.traits.surrogate:
        return
    for finding in [f for f in session.findings.values() if kind_of(f.check) == "vjp" and is_reference(f.row)]:
        call = next((call for call in session.calls if str(call) == finding.sample), None)
        if call is None or finding.analytic is None:
            continue
        with _without(suspects):
            follows = _is_right(session, call, finding)
        if follows:
            kernels = dict.fromkeys(f"the {kernel.language} kernel of {op.subject}" for op, kernel in suspects)
            told = f"right without {' and '.join(kernels)}, which the backward calls; mend that first"
            _tell(session, finding, compare=told)
            continue
        for op, kernel in suspects:
            serves = kernel.key.dtype in (None, call.float_dtype)
            if op is opdef and serves and _is_right(session, call, finding, kernel):
                _doubt_reference(session, kernel, finding)
                break


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


def _is_right(session: Session, call: Call, finding: Finding, kernel: Kernel | None = None) -> bool:
    """Whether a gradient that was found wrong is right, judged again: that of a kernel, or of the reference."""
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
def _without(kernels: list[tuple[OpDef, Kernel]]) -> Iterator[None]:
    """Takes kernels away for as long as a `with` block lasts."""
    before = [(opdef, list(opdef.kernels)) for opdef, _ in kernels]
    try:
        for opdef, kernel in kernels:
            opdef.kernels.restore(held for held in opdef.kernels if held is not kernel)
        yield
    finally:
        for opdef, held in reversed(before):
            opdef.kernels.restore(held)
