"""Checks by name, in the order in which `verify` runs them, and their findings: causes first, expected ones apart.

A fault of a kernel comes before what follows from it in a runtime, which is folded in; a wrong value of what comes out
otherwise each time is no fault of its own. A kernel of a backward that differs from a reference which is wrong itself
comes after that. A finding that an op's author expects is told as a note with its reason, and missed where it does not
show.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import pairwise, zip_longest

from gradcheck.explain.elements import ZERO
from gradcheck.explain.wording import CAUSES
from opsdk.define.expectation import Expectation
from opsdk.define.kernel.kernel import KernelId
from opsdk.define.opdef import OpDef
from opsdk.verify.report import UNWRITTEN, Finding, Row, Verdict, is_reference, kind_of
from opsdk.verify.session import Session, target_of

EXPECT = "expect"  # the check that finds an expected finding missing

# Of kernels. `samples`, which is of an op, and `crash`, after which no kernel can be named, are not among them.
CHECKS = (
    "runs",
    "bounds",
    "mutation",
    "alias",
    "infer",
    "value",
    "repeats",
    "refuses",
    "linear",
    "accuracy",
    "layout",
    "mask",
    "materialize",
    "vjp",
    "residual",
    "nondifferentiable",
    "vjp2",
    "complex",
    "complex2",
    "dynamic",
    "static",
    "static2",
)

WATCHED = ("bounds", "undefined", "race")  # what kernels that watch themselves find

# A fault before those that may follow from it.
_GRAVITY = (
    *("compile", "bounds", "undefined", "race", "runs", "mutation", "alias", "repeats", "infer", "refuses"),
    *("accuracy", "value", "layout"),
    *("vjp", "residual", "mask", "materialize", "nondifferentiable", "linear", "vjp2", "complex", "complex2"),
)
_NUMBERS = _GRAVITY.index("accuracy")  # what comes before keeps an op from being judged at all
FOLLOWING = {
    "dynamic": "on tensors",
    "recorded": "on tensors",
    "static": "in a Program",
    "static2": "in a Program",
}
_DECISIVE = ("compile", "bounds", "runs", "repeats", "value", "layout")  # such a kernel gives no bits worth comparing


def check_of(name: str) -> str:
    """Returns the check that a finding's `check`, such as `vjp.x`, is of; one that does not compile does not run."""
    kind = kind_of(name)
    return "runs" if kind == "compile" else kind


def in_order(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """Returns findings, causes first; of several with one message the gravest, and no mere consequences."""
    ranked = sorted(findings, key=_rank)
    told: dict[str, Finding] = {}
    for finding in ranked:
        told.setdefault(finding.message, finding)
    direct = [finding for finding in told.values() if kind_of(finding.check) not in FOLLOWING]
    also: dict[str, dict[str, None]] = {}
    kept: list[Finding] = []
    unsteady = {(_kernel_of(f), _about(f)) for f in direct if kind_of(f.check) == "repeats"}
    for finding in told.values():
        is_unsteady = (_kernel_of(finding), _about(finding)) in unsteady and not _is_unwritten(finding)
        if kind_of(finding.check) == "value" and is_unsteady:
            continue  # what comes out otherwise each time is right at times only
        cause = next((d for d in direct if d is not finding and _follows(finding, d)), None)
        if cause is None:
            kept.append(finding)
        else:
            also.setdefault(cause.id, {})[FOLLOWING.get(kind_of(finding.check), "as a backward")] = None
    return tuple(replace(f, also=f"the same {' and '.join(also[f.id])}") if f.id in also else f for f in kept)


def acquit(sessions: Sequence[Session]) -> None:
    """Takes away what kernels of gradients are found with, that are right, beside references that are wrong.

    What differs from the reference of a backward has the derivative, where that has not, and is told with the finding
    of the reference. All sessions are settled.
    """
    for session, gradients in pairwise(sessions):
        wrong = {f.input: f for f in session.settled if kind_of(f.check) == "vjp" and is_reference(f.row)}
        samples = set(map(str, gradients.calls))
        innocent = [
            (finding, wrong[name])
            for finding, name in _with_inputs(session, gradients)
            if name in wrong and finding.sample in samples and _has_the_derivative(session, finding)
        ]
        for finding, cause in innocent:
            gradients.settled.remove(finding)
            where, known = session.settled.index(wrong[cause.input]), wrong[cause.input]
            kernel = f"the {_kernel_of(finding).language} kernel of {gradients.opdef.subject}"
            told = f"{known.also}; {kernel} too" if known.also else f"not in {kernel}, which agrees with the derivative"
            wrong[cause.input] = session.settled[where] = replace(known, also=told)
        left = set(map(_kernel_of, gradients.settled))
        acquitted = {_kernel_of(finding) for finding, _ in innocent} - left
        gradients.table = [
            replace(row, verdict="pass") if KernelId.parse(row.row).at_any_dtype in acquitted else row
            for row in gradients.table
        ]


def _has_the_derivative(session: Session, finding: Finding) -> bool:
    """Whether a kernel of a gradient op that differs from the reference was judged beside the derivative, and right."""
    line = session.lines.get(finding.row)
    is_judged = line is not None and "vjp" in line.checks and "vjp" not in line.wrong
    return is_judged and kind_of(finding.check) == "value" and not _is_unwritten(finding)


def in_order_of_all(sessions: Sequence[Session]) -> tuple[Finding, ...]:
    """Returns what is left of the findings of an op and its gradient ops, one after the other, in one order.

    What the reference of a backward gives is judged by numeric derivatives, what its kernels give is compared with it.
    """
    found = in_order(finding for session in sessions for finding in session.settled)
    doubted: dict[str, str] = {}
    patterns: dict[str, str | None] = {}
    for session, gradients in pairwise(sessions):
        doubted.update(_beside_wrong(session, gradients))
        doubted.update(_of_wrong_second(session, gradients))
        patterns.update(_of_derivative(session, gradients))
    repeated = {name for pair in zip_longest(sessions, sessions[1:]) for name in _of_unsteady(*pair)}
    found = tuple(finding for finding in found if finding.id not in repeated)
    told = [replace(f, compare=doubted.get(f.id, f.compare), cause=f.cause or patterns.get(f.id)) for f in found]
    return tuple(sorted(told, key=lambda finding: bool(finding.compare)))


def _beside_wrong(session: Session, gradients: Session) -> Iterator[tuple[str, str]]:
    """Yields the ids of findings of a gradient op that follow from wrong gradients, and what is to be said there.

    A kernel is compared with a reference that is wrong; an order of memory may change which of several wrong numbers
    comes out, as where one element is written twice.
    """
    found = [f for f in session.settled if kind_of(f.check) == "vjp"]
    wrong = {f.input for f in found if is_reference(f.row)}
    for finding, name in _with_inputs(session, gradients):
        kind = kind_of(finding.check)
        own = {KernelId.parse(f.row).at_any_dtype for f in found if f.input == name}
        if kind == "layout" and KernelId.parse(finding.row).at_any_dtype in own:
            yield finding.id, f"contiguous inputs give a wrong gradient of {name!r} too; mend that first"
        elif kind == "value" and name in wrong:
            is_right = _has_the_derivative(session, finding)
            told = "this kernel agrees with the derivative" if is_right else "mend that first"
            yield finding.id, f"the reference is wrong itself, in the gradient of {name!r}; {told}"


def _of_wrong_second(session: Session, gradients: Session) -> Iterator[tuple[str, str]]:
    """Yields the ids of wrong gradients of a gradient where the backward of the backward is found wrong by itself."""
    if any(kind_of(f.check) == "vjp" and is_reference(f.row) for f in gradients.settled):
        for finding in session.settled:
            if kind_of(finding.check) == "vjp2":
                told = f"the gradient of {gradients.opdef.subject} is wrong by itself; mend that first"
                yield finding.id, finding.compare or told


def _of_unsteady(session: Session, gradients: Session | None) -> Iterator[str]:
    """Yields the ids of findings about what a kernel left out, or gives otherwise each time.

    What the memory held there fits any pattern, and is never the fault, of the gradients that the kernel gives neither.
    """
    left = {(_kernel_of(f), _about(f)) for f in session.settled if _is_unwritten(f)}
    for finding in session.settled:
        if (_kernel_of(finding), _about(finding)) in left and kind_of(finding.check) != "value":
            yield finding.id
    for cause, name in () if gradients is None else _with_inputs(session, gradients, "repeats"):
        if not (_is_unwritten(cause) or kind_of(cause.check) == "repeats"):
            continue
        for finding in [f for f in session.settled if _kernel_of(f) == _kernel_of(cause)]:
            is_of_order = finding.cause == CAUSES["layouts"] and not _is_unwritten(cause)  # which may be why
            is_same = finding.input == name or (finding.input is None and kind_of(finding.check) == "vjp")
            if is_same and not is_of_order:
                yield finding.id


def _is_unwritten(finding: Finding) -> bool:
    return any(text in finding.message for text in UNWRITTEN)


def _about(finding: Finding) -> str:
    """Returns the output that a finding is about, by what its `check` names."""
    return finding.check.partition(".")[2]


def _kernel_of(finding: Finding) -> KernelId:
    return KernelId.parse(finding.row).at_any_dtype


def _of_derivative(session: Session, gradients: Session) -> Iterator[tuple[str, str | None]]:
    """Yields the ids of wrong values of a gradient op, and the pattern known of the gradient that they are."""
    patterns = {
        (KernelId.parse(f.row).at_any_dtype, f.input): f.cause for f in session.settled if kind_of(f.check) == "vjp"
    }
    for finding, name in _with_inputs(session, gradients):
        if kind_of(finding.check) == "value":
            pattern = patterns.get((_kernel_of(finding), name))
            is_other = pattern is not None and ZERO in pattern and bool(finding.analytic)  # another element's
            yield finding.id, None if is_other else pattern


def _with_inputs(session: Session, gradients: Session, *also: str) -> Iterator[tuple[Finding, str]]:
    """Yields the findings of a gradient op's values, with the names of the inputs that they are the gradients of.

    Those of the checks in `also` as well.
    """
    rule = session.opdef.grad
    if rule is None:
        return
    names = (*session.opdef.schema.input_names, *session.opdef.unread)
    of = dict(zip(gradients.opdef.schema.output_names, [names[i] for i in rule.wrt], strict=True))
    for finding in gradients.settled:
        kind, _, output = finding.check.partition(".")
        output, bracket, number = output.partition("[")
        if kind in ("value", "layout", *also) and output in of:
            yield finding, of[output] + bracket + number


def _rank(finding: Finding) -> tuple[bool, int]:
    """Returns the place of a finding: what overflows, as numbers wrong in float32 alone often do, comes last."""
    kind = "bounds" if _is_unwritten(finding) else kind_of(finding.check)
    gravity = _GRAVITY.index(kind) if kind in _GRAVITY else len(_GRAVITY)
    is_finite = kind != "value" or finding.analytic is None or math.isfinite(finding.analytic)
    overflows = KernelId.parse(finding.row).dtype == "float32" or (is_reference(finding.row) and not is_finite)
    return gravity >= _NUMBERS and overflows, gravity


def _follows(finding: Finding, cause: Finding) -> bool:
    """Whether a finding of a runtime says again what is wrong with the kernel that it ran."""
    raised = cause.message.rpartition("raised ")[2]
    again = "raised " in finding.message and raised in finding.message
    # A backward as a whole may raise what its kernel did before.
    is_backward = again and finding.check == "vjp" and kind_of(cause.check) == "runs"
    if kind_of(finding.check) not in FOLLOWING and not is_backward:
        return False
    if KernelId.parse(finding.row).at_any_dtype != KernelId.parse(cause.row).at_any_dtype:
        return False
    return kind_of(cause.check) in _DECISIVE or again


def settle(session: Session, *, is_whole: bool) -> None:
    """Orders the findings of a session, takes those that are expected for notes, and makes the table of its lines.

    Args:
        session: all checks have run.
        is_whole: whether nothing was left out, so that an expected finding that is not there is missed.
    """
    opdef = session.opdef
    found = in_order(session.findings.values())
    left: list[Finding] = []
    for finding in found:
        known = next((each for each in opdef.expectations if _covers(each, finding)), None)
        if known is None:
            left.append(finding)
        else:
            session.notes[f"{opdef.name}: {finding.check} is found, as expected: {known.reason}"] = None
    is_as_found = len(left) == len(found)  # else a kernel with no finding left, in whatever dtype, fails no longer
    wrong = {KernelId.parse(finding.row).at_any_dtype for finding in left}
    ran = [row for row, line in session.lines.items() if line.wrong or line.checks or not line.skipped]
    absent = list(_missed(session, found, ran)) if is_whole else []
    missing = {finding.row for finding in absent}
    for row, line in session.lines.items():
        is_wrong = bool(line.wrong) and (is_as_found or KernelId.parse(row).at_any_dtype in wrong)
        verdict: Verdict = "fail" if is_wrong or row in missing else "pass" if row in ran else "skipped"
        passed = tuple(check for check in line.checks if check not in line.wrong)
        entry = Row(opdef.name, row, verdict, line.worst, line.sees, line.seconds, line.skipped, passed)
        session.table.append(entry)
    session.settled = left + absent


def _missed(session: Session, found: Sequence[Finding], ran: Sequence[str]) -> Iterator[Finding]:
    """Yields a finding for each expectation that shows nowhere, though a kernel ran that could have shown it."""
    opdef = session.opdef
    for expectation in opdef.expectations:
        about = [row for row in ran if expectation.is_about(row)]
        is_known = any(map(expectation.is_about, _names_of_rows(opdef)))
        if (is_known and not about) or any(_covers(expectation, finding) for finding in found):
            continue
        row = (about if is_known else ran)[0]
        remedy = "take the expect out" if is_known else f"it has the kernels {', '.join(map(str, opdef.kernels))}"
        check, target = f"{EXPECT}.{expectation.finding}", target_of(opdef)
        yield Finding(
            id=f"{opdef.name}[{row}]::{check}",
            op=opdef.name,
            row=row,
            check=check,
            message=f"{opdef.subject}: expected the finding {expectation} ({expectation.reason}), got none; {remedy}",
            at=str(expectation.origin),
            repro="" if target is None else f"opsdk check {target} --seed {session.seed}",
        )


def _names_of_rows(opdef: OpDef) -> Iterator[str]:
    for kernel in opdef.kernels:
        for dtype in (kernel.key.dtype.name,) if kernel.key.dtype else ("float32", "float64"):
            yield str(KernelId.of(kernel, dtype))


def _covers(expectation: Expectation, finding: Finding) -> bool:
    return expectation.covers(finding.check, finding.row, finding.code)
