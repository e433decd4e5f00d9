"""Findings in the order of their causes: a fault of a row first, what follows from it in both runtimes folded in."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from opsdk.define.kernel.kernel import KernelId
from opsdk.verify.report import Finding

# A fault before those that may follow from it.
_GRAVITY = (
    *("compile", "bounds", "runs", "mutation", "alias", "repeats", "infer", "value", "layout"),
    *("vjp", "mask", "materialize", "nondifferentiable", "linear", "vjp2", "complex", "complex2"),
)
_NUMBERS = _GRAVITY.index("value")  # what comes before keeps an op from being judged at all
_FOLLOWING = {
    "dynamic": "on tensors",
    "recorded": "on tensors",
    "static": "in a Program",
    "static2": "in a Program",
}
_DECISIVE = ("compile", "bounds", "runs", "repeats", "value", "layout")  # such a row gives no bits worth comparing


def in_order(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """Returns findings, causes first; of several with one message the gravest, and no mere consequences."""
    ranked = sorted(findings, key=_rank)
    told: dict[str, Finding] = {}
    for finding in ranked:
        told.setdefault(finding.message, finding)
    direct = [finding for finding in told.values() if kind_of(finding) not in _FOLLOWING]
    also: dict[str, dict[str, None]] = {}
    kept: list[Finding] = []
    for finding in told.values():
        cause = next((d for d in direct if d is not finding and _follows(finding, d)), None)
        if cause is None:
            kept.append(finding)
        else:
            also.setdefault(cause.id, {})[_FOLLOWING.get(kind_of(finding), "as a backward")] = None
    return tuple(replace(f, also=f"the same {' and '.join(also[f.id])}") if f.id in also else f for f in kept)


def kind_of(finding: Finding) -> str:
    """Returns the kind of check that a finding is of: `vjp` of `vjp.x`."""
    return finding.check.partition(".")[0]


def _rank(finding: Finding) -> tuple[bool, int]:
    """Returns the place of a finding: numbers wrong in float32 alone, often by overflow, come after all others."""
    kind = kind_of(finding)
    gravity = _GRAVITY.index(kind) if kind in _GRAVITY else len(_GRAVITY)
    return gravity >= _NUMBERS and KernelId.parse(finding.row).dtype == "float32", gravity


def _follows(finding: Finding, cause: Finding) -> bool:
    """Whether a finding of a runtime says again what is wrong with the row that it ran."""
    raised = cause.message.rpartition("raised ")[2]
    again = "raised " in finding.message and raised in finding.message
    if kind_of(finding) not in _FOLLOWING and not (again and _raises(finding) and kind_of(cause) == "runs"):
        return False
    if KernelId.parse(finding.row).at_any_dtype != KernelId.parse(cause.row).at_any_dtype:
        return False
    return kind_of(cause) in _DECISIVE or again


def _raises(finding: Finding) -> bool:
    """Whether a backward as a whole raised, which its row may have done before."""
    return finding.check == "vjp"
