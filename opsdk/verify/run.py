"""verify: a registered op, held to everything that it declares."""

from __future__ import annotations

import time
import traceback
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any

import numpy as np

from opsdk.core.errors import AttributeValueError, OpsdkError, noted
from opsdk.core.origin import PACKAGE_ROOT, shorten
from opsdk.define.op import Op
from opsdk.define.opdef import OpDef
from opsdk.define.sample import Sample
from opsdk.expr.primitives.own import primitive_of
from opsdk.verify.blame import put_down, without
from opsdk.verify.checks import acquit, in_order_of_all, settle
from opsdk.verify.complex_gradient import check_complex
from opsdk.verify.derivative import check_gradient
from opsdk.verify.drawn import check_drawn
from opsdk.verify.inputs.sampling import SAMPLES, UnusableSamplesError, calls_of, samples_given
from opsdk.verify.kernels.branches import check_branches
from opsdk.verify.kernels.coverage import check_coverage, tell_coverage
from opsdk.verify.kernels.elsewhere import check_elsewhere
from opsdk.verify.kernels.primitives import check_primitives, op_of_primitive
from opsdk.verify.kernels.refusals import check_refusals
from opsdk.verify.kernels.relations import check_broadcasting, check_layouts, check_linear, check_whole_numbers
from opsdk.verify.kernels.rows import check_rows
from opsdk.verify.kernels.threads import check_blocks, check_threads
from opsdk.verify.kernels.uneven import check_uneven
from opsdk.verify.kernels.unrefused import tell_unrefused
from opsdk.verify.kernels.watched import racing
from opsdk.verify.level import BUDGETS, LEFT_OUT, Level, few, level_of
from opsdk.verify.parity import check_runtimes, check_second_order
from opsdk.verify.report import Coverage, Spent, Verdict, VerifyReport
from opsdk.verify.residuals import check_kept, check_residuals, check_reused, keeps_wrong
from opsdk.verify.session import Session
from opsdk.verify.silent import check_silent

# Derivatives of an op that are proven where they follow from its expression; later ones repeat the rules. Of the last
# the values are held to the reference, in every kernel, and its own gradient is not asked for.
_DERIVED = 2


# Any: an op, or the function of a primitive.
def verify(
    op: Op | Callable[..., Any],
    *,
    samples: Iterable[Sample] | None = None,
    rows: Sequence[str] | str | None = None,
    seed: int = 0,
    budget: int | None = None,
    raise_exception: bool = False,
    trace: bool = False,
    level: Level = "default",
) -> VerifyReport:
    """Proves an op, and the gradient ops that hang on it, or a primitive, as far as running them can.

    Every kernel is compared with the reference; the gradient with numeric derivatives, on every kernel of the gradient
    op, and the gradient of the gradient where it has one; the infer rule with actual runs; undeclared mutation and
    aliasing, repeatability and declared traits are looked for; both runtimes must give the bits that bare arrays give.
    A primitive is judged as the op that it is alone, with a kernel in C; everywhere in its domain its compiled values
    are held to its promise, zeros, infinities and the largest and smallest numbers included (`accuracy`).

    Args:
        op: the op, or the primitive, as its decorator returned it.
        samples: calls to try instead of the op's own.
        rows: languages (`numba`) or kernels (`cpu,float64,numba`) to look at; all unless given.
        seed: of the random values, ≥ 0; the same seed gives an equal report.
        budget: about how many forward calls one derivative may take, ≥ 200.
        raise_exception: raises at the end if anything is wrong.
        trace: tells of each input's worst gradient element what each step of its judgement saw and said.
        level: how much is looked at. "quick" takes about a second, beside what has to be compiled: three samples at
            most, gradients at their values alone, of gradient ops the values; what that leaves out is listed in
            `coverage.skipped`. "thorough" also makes the checks that compile kernels anew, which take seconds.

    Returns:
        The report.

    Raises:
        GradcheckError: `raise_exception` is true and the verdict is `fail`.
        AttributeValueError: `op` is neither op nor primitive, `seed` no integer ≥ 0, there is no such level, or
            `samples` holds something else than Samples.

    Example:
        >>> import numpy as np
        >>> from opsdk.define.decorators import op
        >>> @op(namespace="doc")
        ... def halve(x):
        ...     return x / 2
        >>> @halve.backward
        ... def halve_grad(dy):
        ...     return dy / 2
        >>> verify(halve).verdict
        'pass'
    """
    if not isinstance(op, Op):
        primitive = primitive_of(op)
        if primitive is None:
            raise AttributeValueError(
                f"verify: expected an op or a primitive, got {type(op).__name__}; pass what @opsdk.op or "
                "@opsdk.primitive returned"
            )
        op = op_of_primitive(primitive)
    start = time.perf_counter()
    wanted = (rows,) if isinstance(rows, str) else tuple(rows or ())
    if not isinstance(seed, (int, np.integer)) or seed < 0:
        raise AttributeValueError(f"verify: seed expected an integer ≥ 0, got {seed!r}; the default is 0")
    level = level_of(level)
    given = None if samples is None else samples_given(samples)
    links = list(chain(op.opdef))
    is_cut = len(links) > _DERIVED and callable(links[-1].rule)
    sessions = [Session(opdef, [], seed, budget or BUDGETS[level], wanted, trace, level) for opdef in links]
    _examine_all(sessions, given, is_cut=is_cut)
    tell_coverage(sessions)
    report = _report(sessions, start)
    if raise_exception:
        report.raise_if_failed()
    return report


def chain(opdef: OpDef) -> Iterator[OpDef]:
    """Yields an op, its gradient op, the gradient op of that, as far as they are declared.

    Derived gradients have derivatives without end; the gradient of the gradient is the last of them.
    """
    here: OpDef | None = opdef
    order = 0
    while here is not None:
        yield here
        if order >= _DERIVED and callable(here.rule):
            return
        here = None if here.grad is None else here.grad.op.opdef
        order += 1


def examine(
    opdef: OpDef, *, samples: Iterable[Sample] | None = None, budget: int | None = None, level: Level = "default"
) -> VerifyReport:
    """Proves one op alone, without the gradient ops that hang on it."""
    start = time.perf_counter()
    session = Session(opdef, [], 0, budget or BUDGETS[level], level=level)
    _examine_all([session], samples)
    return _report([session], start)


def _examine_all(sessions: Sequence[Session], samples: Iterable[Sample] | None, *, is_cut: bool = False) -> None:
    """Proves an op and the gradient ops that hang on it: kernels first, since a derivative runs those of the next op.

    Args:
        sessions: one for each, the op first.
        samples: of the op, instead of its own.
        is_cut: whether the last is a derivative of which only the values are wanted.
    """
    wanted = [(session, samples if session is sessions[0] else None) for session in sessions]
    is_quick, last = sessions[0].is_quick, len(sessions) - 1
    values_alone = [k > 0 if is_quick else is_cut and k == last for k in range(len(sessions))]
    for k, (session, given) in enumerate(wanted):
        _examine(session, partial(_find_calls, session, given))
        _examine(session, partial(_check_kernels, session, is_last=values_alone[k]))
        if session.has("residual"):  # what reads it reads another call's
            break
    else:
        _examine_rest(sessions, values_alone)
    put_down(sessions, partial(_examine_again, values_alone=values_alone))
    for session, given in wanted:
        session.tell_doubts()
        session.tell_errors()
        settle(session, is_whole=not (session.rows or is_quick) and given is None)
    acquit(sessions)


def _examine_rest(sessions: Sequence[Session], values_alone: Sequence[bool]) -> None:
    """Proves what is about ops whose kernels ran: of some the values alone."""
    left = [(session.opdef, [*keeps_wrong(session), *racing(session)]) for session in sessions]
    with without([(opdef, kernel) for opdef, kernels in left for kernel in kernels]):
        for k, session in enumerate(sessions):
            if session.is_judged:
                outside = next((later.opdef for later in sessions[k + 1 :] if later.has("bounds")), None)
                _examine(session, partial(_check, session, outside, is_last=values_alone[k]))


def _examine_again(sessions: Sequence[Session], values_alone: Sequence[bool]) -> None:
    """Proves ops on calls that they have, without what looks for more calls."""
    for session in sessions:
        _examine(session, partial(_check_kernels, session, is_last=True))
    _examine_rest(sessions, values_alone)


def _examine(session: Session, check: Callable[[], None]) -> None:
    """Runs checks of an op; what its code raises where nothing expects it is a finding."""
    opdef = session.opdef
    with _unused(opdef), np.errstate(all="ignore"):  # NumPy's warnings at extreme samples are not what is judged
        try:
            check()
        except SystemExit as error:  # raised on, it would end the caller too, with a status that says all is well
            message = f"expected its code to return or raise an error, got {error!r}; take out what ends the process"
            session.reference().find("runs", f"{opdef.subject}: {message}", at=_innermost(error) or str(opdef.origin))
        except Exception as error:  # no check expects it: the op did the same before, and was right
            if not _is_its_own(opdef, error):
                raise
            message = (
                f"{opdef.subject}: expected its code to do the same at every call, {type(error).__name__} after others "
                f"that ran: {error}; keep nothing between calls that results depend on"
            )
            session.reference().find_raised("runs", message, error, at=_innermost(error) or str(opdef.origin))


def _find_calls(session: Session, samples: Iterable[Sample] | None) -> None:
    """Finds what an op is tried on."""
    try:
        session.calls = calls_of(session.opdef, samples, session.seed)
    except UnusableSamplesError as error:
        session.reference().find(SAMPLES, str(error), at=noted(error, "at"))
    if session.is_quick:
        _choose(session, are_given=samples is not None)


def _check_kernels(session: Session, *, is_last: bool) -> None:
    """Runs every kernel on every call: what is wrong there would show in all other checks."""
    check_reused(session)
    if session.has("residual"):
        return
    with _whole(session), session.spending("value"):  # residuals are compared as outputs are
        check_rows(session)
        if not (is_last or session.is_quick or session.has("bounds")):
            check_branches(session)
            is_right = not session.findings
            if is_right:
                check_elsewhere(session)
                check_refusals(session)
            check_threads(session)  # a race may have shown as a wrong value already
            if is_right:
                check_blocks(session)
                check_coverage(session)
    check_kept(session)
    session.drop_doubtful_calls()


def _check(session: Session, outside: OpDef | None, *, is_last: bool) -> None:
    """Runs all other checks, but for those that run a gradient op with a kernel that leaves its arrays, `outside`."""
    check_uneven(session)
    tell_unrefused(session)
    with session.spending("linear"):
        check_linear(session)
    with session.spending("accuracy"):
        check_primitives(session)
    with _whole(session), session.spending("layout"):
        check_layouts(session)
    with session.spending("value"):
        check_whole_numbers(session)
        check_broadcasting(session)
    if outside is not None:
        session.skipped[f"{session.opdef.name}: gradient not judged, a kernel of {outside.name} leaves its arrays"] = (
            None
        )
    elif not is_last:
        _check_gradients(session)


def _check_gradients(session: Session) -> None:
    """Runs what is about the gradient, and the runtimes, which ask for it too."""
    with session.spending("vjp"):
        check_gradient(session)
    check_silent(session)
    if session.has("bounds"):  # of a kernel of the gradient: what runs it again may end the process
        return
    with session.spending("vjp"):
        check_drawn(session)
    with session.spending("residual"):
        check_residuals(session)
    with session.spending("complex"):
        check_complex(session)
    check_runtimes(session)
    if not session.is_quick:
        with session.spending("static2"):
            check_second_order(session)


def _choose(session: Session, *, are_given: bool) -> None:
    """Keeps the few calls of a quick check, all of those that were given to it, and says what it does not look at."""
    every = session.calls
    session.calls = every if are_given else few(every)
    left = len(every) - len(session.calls)
    told = [f"{left} of {len(every)} samples"] if left else []
    session.skipped[f"{session.opdef.name}, not checked at level 'quick': {'; '.join([*told, LEFT_OUT])}"] = None


def _is_its_own(opdef: OpDef, error: Exception) -> bool:
    """Whether an exception is of an op: its code raised it, or what that returned was refused."""
    if isinstance(error, OpsdkError):
        return True
    files = {kernel.origin.file for each in chain(opdef) for kernel in each.kernels} | {opdef.origin.file}
    own = {file for file in files if not file.startswith(PACKAGE_ROOT)}
    return any(frame.filename in own for frame in traceback.extract_tb(error.__traceback__))


def _innermost(error: BaseException) -> str:
    """Returns the last line outside of opsdk that an exception passed through."""
    frames = [f for f in traceback.extract_tb(error.__traceback__) if not f.filename.startswith(PACKAGE_ROOT)]
    return f"{shorten(frames[-1].filename)}:{frames[-1].lineno}" if frames else ""


@contextmanager
def _whole(session: Session) -> Iterator[None]:
    """Has a session look at an op as kernels see it, with its residuals among the outputs."""
    public = session.opdef
    session.opdef = public.whole
    try:
        yield
    finally:
        session.opdef = public


@contextmanager
def _unused(opdef: OpDef) -> Iterator[None]:
    """Leaves no trace of the graphs that are made here: an op that was only verified may still be given a backward."""
    before = [(each, each.usage.in_graph) for each in chain(opdef)]
    try:
        yield
    finally:
        for each, used in before:
            each.usage.in_graph = used


def _report(sessions: Sequence[Session], start: float) -> VerifyReport:
    """Returns one report of an op and its gradient ops; a fault that shows in several is told once."""
    first = sessions[0]
    findings = in_order_of_all(sessions)

    def every(name: str) -> tuple[str, ...]:
        return tuple(dict.fromkeys(text for session in sessions for text in getattr(session, name)))

    coverage = Coverage(
        tuple(dict.fromkeys(check for session in sessions for line in session.lines.values() for check in line.checks)),
        tuple(map(str, first.calls)),
        sum(session.tested for session in sessions),
        every("skipped"),
        every("inconclusive"),
        every("notes"),
        every("warnings"),
        tuple(line for session in sessions for line in session.trace_lines()),
    )
    return VerifyReport(
        first.opdef.name,
        "fail" if findings else _verdict_without_findings(first),
        findings,
        tuple(row for session in sessions for row in session.table),
        coverage,
        first.seed,
        time.perf_counter() - start,
        first.lacks_backward,
        first.level,
        tuple(Spent(each.opdef.name, check, seconds) for each in sessions for check, seconds in each.spent.items()),
    )


def _verdict_without_findings(session: Session) -> Verdict:
    opdef = session.opdef
    judged = opdef.grad is not None or (opdef.is_composite and opdef.gradient_of is None)
    expected = judged and opdef.traits.surrogate is not True and bool(session.calls)
    nothing = not session.ran or session.has_extremes_alone or (expected and not session.tested)
    return "inconclusive" if nothing and opdef.gradient_of is None else "pass"
