"""Gradients against numeric derivatives, on every kernel of the gradient op, and the gradient of the gradient."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

import gradcheck
from gradcheck.model.dtypes import resolution
from gradcheck.model.recall import one_forward
from gradcheck.report import counted
from opsdk.backends.call.buffers import infer
from opsdk.backends.call.language import language_of
from opsdk.core import errors
from opsdk.core.errors import KernelNotFoundError
from opsdk.core.spec import TensorSpec
from opsdk.define.call import complete_attrs
from opsdk.define.kernel.kernel import Kernel
from opsdk.define.opdef import OpDef
from opsdk.verify import gradients, subjects
from opsdk.verify.conceded import beyond_rounding, within_rounding
from opsdk.verify.form import is_well_formed, leaves_its_arrays
from opsdk.verify.gradients import carried, carriers, rule_of, wanted
from opsdk.verify.inputs.calls import Call, flat, is_float
from opsdk.verify.inputs.special import special_calls
from opsdk.verify.joined import error_seen
from opsdk.verify.kernels.agreement import measure
from opsdk.verify.kernels.launch import launch, stand_in
from opsdk.verify.pace import Pace, Share
from opsdk.verify.report import no_backward
from opsdk.verify.session import Case, Session, said
from opsdk.verify.subjects import Subject

_LONG = np.dtype("float64")
_NONE = errors.ReturnError.default_code
_CODES = {
    "gradient count": errors.ArityError.default_code,
    "gradient shape": errors.ShapeError.default_code,
    "gradient dtype": errors.DTypeError.default_code,
    "gradient missing": _NONE,
    "mutation": errors.MutationError.default_code,
}
# Checks of gradcheck that hold equal calls to equal bits.
_BY_BITS = ("repeats", "interleaving", "buffers", "other thread", "pickling")
_ALIKE = 2.0**-25  # the units of two formulas of the same values, in float32 too
_KINKS = 2  # conventions at kinks that are told; the rest is counted


def check_gradient(session: Session) -> None:
    """Judges the gradient on every call, or says why there is nothing to judge."""
    opdef = session.opdef
    if opdef.moving and opdef.grad is not None:
        because = f"since {', '.join(opdef.moving)} depends on inputs"
        session.notes[f"{opdef.name}: its gradient is judged with that of {opdef.gradient_of}, {because}"] = None
        return
    by_body, pace = opdef.is_composite and opdef.gradient_of is None, Pace(session)
    for call in session.calls:
        if any(array.dtype.kind == "c" for array in flat(call.inputs)):
            _say_not_judged(session, call, "inputs")
            continue
        asked = wanted(opdef, call)
        if asked and carriers(opdef) and (opdef.grad is not None or by_body):
            if opdef.traits.deterministic:  # else its draws have to be fixed: `check_drawn`
                _judge(session, call, pace)
        elif asked and carriers(opdef) and opdef.gradient_of is None:
            session.warn(no_backward(opdef.name))
            session.lacks_backward = True
        elif opdef.gradient_of is None and opdef.schema.mutated_inputs:
            session.notes[
                f"{opdef.name}: changes its inputs in place and carries no gradient; whether outputs depend on what "
                "was declared nondifferentiable is not judged"
            ] = None
        elif opdef.gradient_of is None and not carriers(opdef) and any(map(is_float, flat(call.inputs))):
            names = ", ".join(opdef.schema.output_names)
            session.notes[f"{opdef.name}: carries no gradient, {names} declared nondifferentiable"] = None
        elif opdef.gradient_of is None:
            _judge_declared(session, call)
    if not (session.has("vjp", "surrogate") or session.is_quick):
        _judge_special(session, pace)
    if opdef.traits.surrogate and opdef.gradient_of is None:
        _say_what_judges_values(session)


def _say_what_judges_values(session: Session) -> None:
    """Says of an op whose gradient is that of a surrogate where nothing says whether its values are right."""
    opdef, reference = session.opdef, session.opdef.kernels.reference()
    if any(kernel is not reference and language_of(kernel).changes_inputs for kernel in opdef.kernels):
        return
    if session.calls and all(_is_alike(opdef, call) for call in session.calls):
        session.notes[f"{opdef.name}: its values are those of the declared surrogate"] = None
    else:
        told = "the gradient is a surrogate's, and no kernel is written beside the reference"
        session.skipped[f"{opdef.name}: its values are compared with nothing, since {told}; test them"] = None


def _is_alike(opdef: OpDef, call: Call) -> bool:
    """Whether a surrogate gives the values of its op, as one does that stops the gradient of a part."""
    surrogate = opdef.traits.surrogate
    if not callable(surrogate):
        return False
    kernels = opdef.kernels.reference(), stand_in(opdef, surrogate)
    try:
        made, other = (flat(launch(opdef, kernel, call.inputs, call.attrs)) for kernel in kernels)
        pairs = list(zip(made, other, strict=True))
    except Exception:  # told where it is judged
        return False
    return not any(
        one.shape != two.shape or measure(one, two, np.zeros(two.shape), _ALIKE, floor=1.0).count for one, two in pairs
    )


def _judge_special(session: Session, pace: Pace) -> None:
    """Judges the gradient of the op, by its reference, at a few more calls, as far as the op takes them."""
    opdef, traits = session.opdef, session.opdef.traits
    if opdef.grad is None or opdef.gradient_of is not None or traits.surrogate or not traits.deterministic:
        return
    reference = opdef.grad.op.opdef.kernels.reference()
    if reference is None or not session.wants(reference):
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # such as that of a variance of one number
        for call in special_calls(opdef, session.calls, np.random.default_rng([session.seed, 31])):
            case = gradient_case(session, reference, call)
            try:
                outputs = launch(opdef, opdef.kernels.reference(), call.inputs, call.attrs)
                if wanted(opdef, call) and all(map(is_float, carried(opdef, outputs))):
                    subject = subjects.first_order(opdef, call, case.kernel)
                    judge_case(case, "vjp", subject, replace(pace.share(call, subject), varies=False))
            except Exception as error:
                session.skipped[f"{opdef.name}: {call} refused, {said(error)}"] = None


def _say_not_judged(session: Session, call: Call, what: str) -> None:
    """Says of a complex call why its gradient is not judged, where it is refused; else it is judged by itself."""
    opdef = session.opdef
    if opdef.for_complex.refusal:
        because = opdef.for_complex.refusal.rpartition("got complex ones: ")[2]
        told = f"{opdef.name}, gradient at {call}: complex {what} are not judged, as they are refused: {because}"
        session.skipped[told] = None


def _judge(session: Session, call: Call, pace: Pace) -> None:
    opdef, traits = session.opdef, session.opdef.traits
    outputs = launch(opdef, opdef.kernels.reference(), call.inputs, call.attrs)
    if any(array.dtype.kind == "c" for array in carried(opdef, outputs)):
        _say_not_judged(session, call, "outputs")
        return
    if not any(map(is_float, carried(opdef, outputs))):
        return
    cotangents = gradients.draw_cotangents(opdef, outputs, np.random.default_rng([session.seed, 9]))
    repeats_formulas = call.extra and not call.attrs
    if opdef.grad is None:
        case = session.reference(call)
        subject = subjects.first_order(opdef, call, None)
        judge_case(case, "vjp", subject, pace.share(call, subject))
        if not traits.surrogate and not repeats_formulas and not session.has("vjp"):
            # which the tape has from the ops that it is made of
            _judge_second(case, subjects.second_order(opdef, call, cotangents), pace)
        return
    share = pace.share(call, subjects.first_order(opdef, call, None))
    with one_forward():  # the reference, whatever kernel of the gradient op is beside it
        for case in cases_of(session, call):
            _judge_kernel(case, outputs, cotangents, share)
    if not traits.surrogate and not repeats_formulas and not session.has("vjp", "mask", "materialize", "bounds"):
        gradient = opdef.grad.op.opdef
        if kept := gradients.not_passed_on(opdef, call):
            session.notes[
                f"{opdef.name}: order 1 only, the gradient of {', '.join(kept)} on arrays alone: it is changed in "
                "place and no output passes its gradient on: no runtime asks for it"
            ] = None
        elif opdef.gradient_of is not None:  # third order: kernels and second order are judged where the op itself is
            return
        elif gradient.grad is None and not gradient.is_composite:
            what = f"reads the residual {', '.join(gradient.moving)}" if gradient.moving else "is opaque NumPy code"
            session.notes[f"{opdef.name}: order 1 only, its backward {what}"] = None
        else:
            _judge_second(_second_case(session, call), subjects.second_order(opdef, call, cotangents), pace)


def _judge_kernel(case: Case, outputs: Any, cotangents: Any, share: Share) -> None:
    """Judges one kernel of the gradient op."""
    opdef, session, traits = case.opdef, case.session, case.opdef.traits
    if leaves_its_arrays(case) or not is_well_formed(case, outputs, cotangents):
        return
    if traits.surrogate is True:
        session.notes[f"{opdef.name}: declared surrogate, its gradient is not compared"] = None
        return
    if traits.surrogate:
        session.notes[f"{opdef.name}: judged as the gradient of the declared surrogate"] = None
    # A kernel held to float32 gets float32 outputs: further out a gradient may be nothing but their rounding. There its
    # values are compared with the reference's, from the same saved values.
    dtype = case.kernel.key.dtype
    is_short = dtype is not None and resolution(dtype) > resolution(_LONG)
    # What was derived from a derivative follows from rules, which hold anywhere or nowhere.
    is_derived = opdef.gradient_of is not None and callable(opdef.rule)
    subject = subjects.first_order(opdef, case.call, case.kernel)
    conceding = within_rounding(opdef, case.call, subject, dtype, session.seed) if dtype and is_short else None
    share = replace(share, varies=share.varies and not (is_short or is_derived))
    if is_short and not (share.leads or share.joins):
        share = share.least
        told = f"{dtype} gradient at {case.call}: judged at few elements, its inputs moved as one"
        session.skipped[f"{opdef.name}, {told}, for the time that it takes; --thorough takes more"] = None
    judge_case(case, "vjp", subject, share, conceding=conceding)


def cases_of(session: Session, call: Call) -> Iterator[Case]:
    """Yields a call on each kernel of the gradient op that a gradient is asked of."""
    gradient = rule_of(session.opdef).op.opdef
    for kernel in gradient.kernels:
        # Of a complex dtype it is judged by check_complex, and beside the reference; of others no gradient is asked.
        is_real = kernel.key.dtype is None or is_float(np.empty(0, kernel.key.dtype))
        if kernel.key.place == "cpu" and session.wants(kernel) and is_real:
            kernel = gradient.kernels.loaded(kernel)
            yield gradient_case(session, kernel, call if kernel.key.dtype is None else call.cast(kernel.key.dtype))


def gradient_case(session: Session, kernel: Kernel | None, call: Call) -> Case:
    """Returns a call on a kernel of the gradient op; its reference goes by the name of the op's own."""
    gradient = rule_of(session.opdef).op.opdef
    if kernel is None or kernel is gradient.kernels.reference():
        case = replace(session.reference(call), at=str(gradient.origin))
    else:
        case = session.case(kernel, call)
    return replace(case, at=f"{case.at}, {gradient.schema.name}", kernel=kernel or case.kernel)


def _second_case(session: Session, call: Call) -> Case:
    """Returns a call on the backward of the backward, where the gradient op, which is right, has one."""
    case = gradient_case(session, None, call)
    second = rule_of(session.opdef).op.opdef.grad
    return case if second is None else replace(case, at=f"{second.op.opdef.origin}, {second.op.opdef.schema.name}")


def _judge_second(case: Case, subject: Subject, pace: Pace) -> None:
    """Judges the gradient of the gradient where there is work left for it, or says that there is none."""
    share = pace.second(case.call, subject)
    if share is not None:
        judge_second(case, subject, share)


def judge_second(case: Case, subject: Subject, share: Share | None = None) -> None:
    """Judges the gradient of the gradient where it can be asked for, or says why it cannot."""
    opdef, session = case.opdef, case.session
    if session.is_quick:
        return
    try:
        made = subject.forward(*(array.copy() for array in subject.inputs))
        subject.vjp(subject.inputs, made, [np.ones_like(array) for array in made])
    except (errors.DerivativeOrderError, errors.GradientMissingError) as error:
        session.notes[f"{opdef.name}: order 1 only, {error}"] = None
    except KernelNotFoundError as error:
        session.skipped[f"{opdef.name}, gradient of its gradient: {error}"] = None
    except Exception as error:
        message = f"{opdef.subject}, gradient of its gradient: sample {case.call}, raised {said(error)}"
        case.find_raised("vjp2", message, error, at=case.at.rpartition(", ")[0] or case.at)  # without the name
    else:
        judge_case(case, "vjp2", subject, share)


def _judge_declared(session: Session, call: Call) -> None:
    """Holds inputs that were declared non-differentiable to a derivative of zero."""
    opdef = session.opdef
    outputs = launch(opdef, opdef.kernels.reference(), call.inputs, call.attrs)
    if any(map(is_float, flat(call.inputs))) and any(map(is_float, flat(outputs))):
        judge_case(session.reference(call), "nondifferentiable", subjects.no_gradient(opdef, call))


def judge_case(
    case: Case, check: str, subject: Subject, share: Share | None = None, *, conceding: Subject | None = None
) -> None:
    """Asks gradcheck, also at points of its own choice where the share varies, and records what it says.

    What it finds is asked of `conceding` again, where that is given; without a share all that a session may is done.
    """
    session, call, name, line = case.session, case.call, case.opdef.name, case.line
    share = share or Share(session.budget)
    with case.timed(check):
        case.did(check)
        try:
            # The second order repeats the formulas of the first; other sizes come with the samples.
            is_varied = share.varies and check != "vjp2" and not call.extra and not session.is_quick
            moving = subjects.without_constants(case.opdef, subject)
            beside = None if conceding is None else subjects.without_constants(case.opdef, conceding)
            kinds = ("values",) if is_varied else False
            joined = error_seen(moving, session.seed, share.budget) if share.joins and not session.trace else None
            if joined is not None:
                session.tested += joined[1]
                return
            report = ask(case, check, moving, vary=kinds, conceding=beside, share=share)
        except gradcheck.UsageError as error:
            if str(error).startswith("surrogate:"):
                _find_surrogate(case, check, error)
            else:
                session.skipped[f"{name}, gradient at {call}: {error}"] = None
            return
    seen = report.coverage.smallest_error_seen
    # Else nothing was seen but errors larger than the gradient. Far from the samples a gradient may be next to nothing.
    if seen < 1.0 and not call.extra:
        line.sees = max(line.sees or 0.0, seen)
    session.notes.update(dict.fromkeys(f"{name}, kink {kink}" for kink in report.coverage.kinks[:_KINKS]))
    if report.verdict == "inconclusive" or report.coverage.inconclusive:
        reasons = "; ".join(f"{counted(count, 'element')}, {reason}" for reason, count in report.coverage.inconclusive)
        unsure = session.skipped if call.extra else session.inconclusive
        unsure[f"{name}, {check} at {call}: {reasons or 'nothing could be judged'}"] = None


def _find_surrogate(case: Case, check: str, error: Exception) -> None:
    """Finds that a surrogate is none of its op; of one with residuals also what it is to return."""
    schema = case.opdef.schema
    all_of_it = ", ".join([*schema.output_names, *[f"residual {decl.name}" for decl in schema.residuals]])
    told = {"help": f"a surrogate returns what the op does, residuals too: ({all_of_it})"} if schema.residuals else {}
    case.find(f"{check}.surrogate", f"{case.opdef.subject}, {error}", at=str(case.opdef.origin), **told)


# Any: what gradcheck is to vary, as it takes that.
def ask(
    case: Case,
    check: str,
    subject: Subject,
    *,
    vary: Any,
    conceding: Subject | None = None,
    share: Share | None = None,
) -> gradcheck.Report:
    """Asks gradcheck, and records as findings of the op what it finds, and finds of `conceding` too.

    Raises:
        UsageError: gradcheck cannot judge the subject.
    """
    session = case.session
    report = gradcheck.check(
        **vars(subject),
        seed=session.seed,
        budget=session.budget if share is None else share.budget,
        vary=vary,
        behaviour=(share is None or share.behaves) and session.is_new(check, *_kind(case)),
        trace=session.trace,
    )
    case.keep_traces(check, report.trace)
    session.tested += report.coverage.tested
    if report.coverage.accuracy:
        session.keep_error(check, report.coverage.largest_error)
    told: set[str | None] = set()
    found = report.findings
    if conceding is not None:
        found = beyond_rounding(found, conceding, session.seed, session.budget)
    for finding in found:
        if finding.check in _BY_BITS and not case.opdef.traits.deterministic:
            continue  # that it gives other bits is declared
        if finding.check == "output shape" and _is_open(case):
            what = "elements beside which the values decide another size"
            session.inconclusive[f"{case.opdef.name}, {check} at {case.call}: {what}, {finding.message}"] = None
            continue
        if not case.call.is_far:
            case.line.worst = max(case.line.worst or 0.0, _relative(finding))
        second = "" if check not in ("vjp2", "complex2") else ", gradient of its gradient"
        kind = finding.check.replace(" ", "-").removeprefix("vjp-")
        also = f".{kind}" if finding.input in told else ""  # a wrong dtype hides no wrong number
        told.add(finding.input)
        case.find(
            f"{check}.{f'{finding.input}{also}' if finding.input else kind}",
            f"{case.opdef.subject}{second}, {finding.message}",
            code=_CODES.get(finding.check, errors.GradcheckError.default_code),
            **{name: value for name, value in vars(finding).items() if name not in ("check", "message", "repro")},
        )
    return report


def _kind(case: Case) -> tuple[object, ...]:
    """Returns what decides how the code of a kernel behaves; no call does where opsdk made all that runs."""
    code = (case.kernel, case.opdef.kernels.reference() or case.kernel)
    is_derived = all(language_of(kernel).is_derived for kernel in code)
    return case.kernel.language, case.kernel.origin, () if is_derived else case.call.kind


def _is_open(case: Case) -> bool:
    """Whether the infer rule leaves a size of an output to the values: where it jumps there is no derivative."""
    specs = flat(infer(case.opdef, case.call.inputs, complete_attrs(case.opdef, case.call.attrs)))
    return any(None in spec.shape for spec in specs if isinstance(spec, TensorSpec))


def _relative(finding: gradcheck.Finding) -> float:
    """Returns how far off the worst element is; 0 where the finding is not about a number."""
    if finding.analytic is None or finding.numeric is None:
        return 0.0
    with np.errstate(all="ignore"):
        size = abs(finding.numeric) or abs(finding.analytic) or 1.0  # relative to 0 every error is whole
        distance = abs(finding.analytic - finding.numeric) / size
    return min(distance, math.inf) if not math.isnan(distance) else math.inf
