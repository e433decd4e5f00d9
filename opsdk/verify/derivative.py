"""Gradients against numeric derivatives, on every row of the gradient op, and the gradient of the gradient."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

import gradcheck
from gradcheck.model.dtypes import resolution
from opsdk.backends.call.application import none_given
from opsdk.core.errors import (
    ArityError,
    DerivativeOrderError,
    DTypeError,
    GradcheckError,
    GradientMissingError,
    KernelNotFoundError,
    MutationError,
    OpsdkError,
    ReturnError,
    ShapeError,
)
from opsdk.define.kernel.kernel import Kernel
from opsdk.define.opdef import GradRule
from opsdk.verify.inputs.calls import Call, flat, is_float
from opsdk.verify.kernels.agreement import measure, same_bits
from opsdk.verify.kernels.launch import label, launch
from opsdk.verify.kernels.rounding import Rounding
from opsdk.verify.runtimes.rule import carriers, draw_cotangents, gradients, undeclared_none
from opsdk.verify.session import Session
from opsdk.verify.subject import (
    Subject,
    first_order,
    no_gradient,
    second_order,
    second_order_of_body,
    without_constants,
)

_LONG = np.dtype("float64")
_NONE = ReturnError.default_code
_UNDECLARED = "None that was not declared"
_CODES = {
    "gradient count": ArityError.default_code,
    "gradient shape": ShapeError.default_code,
    "gradient dtype": DTypeError.default_code,
    "gradient missing": _NONE,
    "mutation": MutationError.default_code,
}
_KINKS = 2  # conventions at kinks that are told; the rest is counted


def check_gradient(session: Session) -> None:
    """Judges the gradient on every call, or says why there is nothing to judge."""
    opdef = session.opdef
    if not opdef.traits.deterministic:
        return  # a derivative of what changes between two calls means nothing
    by_body = opdef.is_composite and opdef.gradient_of is None
    for call in session.calls:
        if any(array.dtype.kind == "c" for array in flat(call.inputs)):
            _say_not_judged(session, call, "inputs")
            continue
        wanted = [i for i in opdef.differentiable_inputs() if any(map(is_float, flat([call.inputs[i]])))]
        if wanted and carriers(opdef) and (opdef.grad is not None or by_body):
            _judge(session, call)
        elif wanted and carriers(opdef) and opdef.gradient_of is None:
            session.warn(f"{opdef.name}: no backward declared")
            session.lacks_backward = True
        elif wanted and opdef.gradient_of is None:
            names = ", ".join(opdef.schema.output_names)
            session.notes[f"{opdef.name}: carries no gradient, {names} declared nondifferentiable"] = None
        elif opdef.gradient_of is None and not opdef.schema.mutated_inputs:
            _judge_declared(session, call)


def _say_not_judged(session: Session, call: Call, what: str) -> None:
    """Says of a complex call why its gradient is not judged, where it is refused; else it is judged by itself."""
    opdef = session.opdef
    if opdef.for_complex.refusal:
        session.skipped[f"{opdef.name}, gradient at {call}: complex {what} are not judged, as they are refused"] = None


def _judge(session: Session, call: Call) -> None:
    opdef = session.opdef
    reference = opdef.kernels.reference()
    outputs = launch(opdef, reference, call.inputs, call.attrs)
    if not any(is_float(array) for i in carriers(opdef) for array in flat([outputs[i]])):
        return
    if any(array.dtype.kind == "c" for i in carriers(opdef) for array in flat([outputs[i]])):
        _say_not_judged(session, call, "outputs")
        return
    rule = opdef.grad
    cotangents = draw_cotangents(opdef, outputs, np.random.default_rng([session.seed, 9]))
    if rule is None:
        row = session.reference_row(call.float_dtype)
        _run(session, row, call, first_order(opdef, call, None), "vjp", "")
        if not opdef.traits.surrogate and not (call.extra and not call.attrs) and not session.has("vjp"):
            # which the tape has from the ops that it is made of
            _judge_of_second_order(session, row, call, second_order_of_body(opdef, call, cotangents), "")
        return
    for kernel in rule.op.opdef.kernels:
        # Of a complex dtype it is judged by check_complex, and beside the reference; of others no gradient is asked.
        is_real = kernel.key.dtype is None or is_float(np.empty(0, kernel.key.dtype))
        if kernel.key.place == "cpu" and session.wants(kernel) and is_real:
            kernel = rule.op.opdef.kernels.loaded(kernel)
            here = call if kernel.key.dtype is None else call.cast(kernel.key.dtype)
            row = _row_name(session, rule, kernel, here)
            at = f"{kernel.origin}, {rule.op.opdef.schema.name}"
            if _is_well_formed(session, rule, kernel, row, call, outputs, cotangents):
                if opdef.traits.surrogate is True:
                    session.notes[f"{opdef.name}: declared surrogate, its gradient is not compared"] = None
                else:
                    if opdef.traits.surrogate:
                        session.notes[f"{opdef.name}: judged as the gradient of the declared surrogate"] = None
                    # A row held to float32 gets float32 outputs: further out a gradient may be nothing but their
                    # rounding. There its values are compared with the reference's, from the same saved values.
                    is_short = kernel.key.dtype is not None and resolution(kernel.key.dtype) > resolution(_LONG)
                    # What was derived from a derivative follows from rules, which hold anywhere or nowhere.
                    is_derived = opdef.gradient_of is not None and callable(opdef.rule)
                    vary = not is_short and not is_derived
                    _run(session, row, here, first_order(opdef, here, kernel), "vjp", at, vary=vary)
    repeats_formulas = call.extra and not call.attrs
    if not opdef.traits.surrogate and not repeats_formulas and not session.has("vjp", "mask", "materialize"):
        _judge_second(session, call, cotangents)


def _row_name(session: Session, rule: GradRule, kernel: Kernel, call: Call) -> str:
    """Names a row of the gradient op as the forward's reports do: reference with reference, others by themselves."""
    if kernel is rule.op.opdef.kernels.reference():
        return session.reference_row(call.float_dtype)
    return label(kernel, call.float_dtype)


def _is_well_formed(
    session: Session, rule: GradRule, kernel: Kernel, row: str, call: Call, outputs: Any, cotangents: Any
) -> bool:
    """Runs the rule once and checks what gradcheck does not know of: Nones, masks, cotangents that nobody sent."""
    opdef = session.opdef
    at = f"{kernel.origin}, {rule.op.opdef.schema.name}"
    if kernel.key.dtype is not None:
        return True  # gradcheck casts for such a row; the form is that of the other rows
    try:
        given = gradients(opdef, rule, kernel, call, outputs, cotangents)
    except KernelNotFoundError as error:
        session.skipped[f"{opdef.name}[{row}], gradient: {error}"] = None
        return False
    except Exception as error:
        message = str(error) if isinstance(error, OpsdkError) else _raised(session, call, error)
        session.find_raised(row, "vjp", message, error, call, at=at)
        return False
    for missing in undeclared_none(opdef, rule, call, given):
        message = none_given(opdef, rule, missing)
        session.find(row, f"vjp.{missing}", message, call, at=at, input=missing, code=_NONE, cause=_UNDECLARED)
        return False
    _check_mask(session, rule, kernel, row, call, (outputs, cotangents), given, at)
    if not rule.materialize:
        _check_undefined(session, rule, kernel, row, call, (outputs, cotangents), at)
    return True


def _raised(session: Session, call: Call, error: Exception) -> str:
    subject = session.opdef.subject
    return f"{subject}, backward: sample {call} expected gradients, raised {type(error).__name__}: {error}"


def _check_mask(
    session: Session, rule: GradRule, kernel: Kernel, row: str, call: Call, run: Any, given: list[Any], at: str
) -> None:
    """Asks for one gradient at a time: it must be the one that is given when all are asked for.

    Bit by bit from Python. A compiler sees two functions, joins other products with sums, and orders a row's sum
    otherwise: from compiled rows the gradient may differ as far as rounding takes it.
    """
    if rule.mask is None or len(rule.wrt) < 2:
        return
    opdef = session.opdef
    session.did(row, "mask")
    for position in rule.wrt:
        mask = [i == position for i in range(len(opdef.schema.inputs))]
        alone = gradients(opdef, rule, kernel, call, run[0], run[1], mask=mask)[position]
        pairs = list(zip(flat([given[position]]), flat([alone]), strict=False))
        agree = len(flat([alone])) == len(flat([given[position]])) and all(same_bits(a, b) for a, b in pairs)
        if not agree and kernel is not rule.op.opdef.kernels.reference():
            agree = _rounds_alike(session, rule, kernel, call, run[1], mask, position, pairs)
        if not agree:
            name = opdef.schema.input_names[position]
            message = (
                f"{opdef.subject}, gradient of {name!r}: expected the same when needs_input_grad asks for it alone, "
                "got another; look at what is left out for the other inputs"
            )
            session.find(row, f"mask.{name}", message, call, at=at, input=name)


def _rounds_alike(
    session: Session,
    rule: GradRule,
    kernel: Kernel,
    call: Call,
    cotangents: Any,
    mask: list[bool],
    position: int,
    pairs: list[tuple[np.ndarray, np.ndarray]],
) -> bool:
    """Whether two computations of one gradient differ by no more than rounding, judged by how its inputs move it."""
    opdef = session.opdef

    def run(there: Call) -> list[Any]:
        outputs = launch(opdef, opdef.kernels.reference(), there.inputs, there.attrs)
        return [gradients(opdef, rule, kernel, there, outputs, cotangents, mask=mask)[position]]

    eps = max(resolution(array.dtype) for pair in pairs for array in pair)
    moved = Rounding(run, call, eps, session.seed, opdef.constant_inputs()).apart
    return all(
        a.shape == b.shape and a.dtype == b.dtype and not measure(b, a.astype(_LONG), change, eps).count
        for (a, b), change in zip(pairs, moved, strict=True)
    )


def _check_undefined(session: Session, rule: GradRule, kernel: Kernel, row: str, call: Call, run: Any, at: str) -> None:
    """Sends None for one cotangent at a time: it must count as zeros."""
    opdef = session.opdef
    outputs, cotangents = run
    for position in carriers(opdef):
        if len(carriers(opdef)) < 2 or isinstance(cotangents[position], list):
            continue
        session.did(row, "materialize")
        zeros = [np.zeros_like(c) if i == position else c for i, c in enumerate(cotangents)]
        nones = [None if i == position else c for i, c in enumerate(cotangents)]
        name = f"d{opdef.schema.output_names[position]}"
        try:
            want = gradients(opdef, rule, kernel, call, outputs, zeros)
            got = gradients(opdef, rule, kernel, call, outputs, nones)
            close = all(np.allclose(a, b, equal_nan=True) for a, b in zip(flat(want), flat(got), strict=True))
            problem = "" if close else "got other gradients"
        except Exception as error:
            problem = f"raised {type(error).__name__}: {error}"
        if problem:
            message = f"{opdef.subject}, backward: expected {name}=None to count as zeros, {problem}"
            session.find(row, f"materialize.{name}", message, call, at=at)


def _judge_second(session: Session, call: Call, cotangents: Any) -> None:
    opdef = session.opdef
    assert opdef.grad is not None
    gradient = opdef.grad.op.opdef
    row = session.reference_row(call.float_dtype)
    if gradient.grad is None and not gradient.is_composite:
        session.notes[f"{opdef.name}: order 1 only, its backward is opaque NumPy code"] = None
        return
    if opdef.gradient_of is not None:
        return  # third order: the rows and the second order are judged where the op itself is
    subject = second_order(opdef, call, cotangents)
    _judge_of_second_order(session, row, call, subject, f"{gradient.origin}, {gradient.schema.name}")


def _judge_of_second_order(session: Session, row: str, call: Call, subject: Subject, at: str) -> None:
    """Judges the gradient of the gradient where it can be asked for, or says why it cannot."""
    opdef = session.opdef
    try:
        made = subject.forward(*(array.copy() for array in subject.inputs))
        subject.vjp(subject.inputs, made, [np.ones_like(array) for array in made])
    except (DerivativeOrderError, GradientMissingError) as error:
        session.notes[f"{opdef.name}: order 1 only, {error}"] = None
        return
    except KernelNotFoundError as error:
        session.skipped[f"{opdef.name}, gradient of its gradient: {error}"] = None
        return
    except Exception as error:
        message = f"{opdef.subject}, gradient of its gradient: sample {call}, raised {type(error).__name__}: {error}"
        origin = {"at": at.rpartition(", ")[0]} if at else {}  # without the name
        session.find_raised(row, "vjp2", message, error, call, **origin)
        return
    _run(session, row, call, subject, "vjp2", at)


def _judge_declared(session: Session, call: Call) -> None:
    """Holds inputs that were declared non-differentiable to a derivative of zero."""
    opdef = session.opdef
    outputs = launch(opdef, opdef.kernels.reference(), call.inputs, call.attrs)
    if not any(map(is_float, flat(call.inputs))) or not any(map(is_float, flat(outputs))):
        return
    _run(session, session.reference_row(call.float_dtype), call, no_gradient(opdef, call), "nondifferentiable", "")


def _run(session: Session, row: str, call: Call, subject: Subject, check: str, at: str, *, vary: bool = True) -> None:
    """Asks gradcheck, also at points of its own choice where `vary` is true, and records what it says."""
    opdef = session.opdef
    subject = without_constants(opdef, subject)
    with session.timed(row) as line:
        session.did(row, check)
        try:
            report = gradcheck.check(
                subject.forward,
                subject.vjp,
                subject.inputs,
                domain=subject.domain,
                nondifferentiable=subject.nondifferentiable,
                surrogate=subject.surrogate,
                seed=session.seed,
                budget=session.budget,
                # The second order repeats the formulas of the first; other sizes come with the samples.
                vary=("values",) if vary and check != "vjp2" and not call.extra else False,
                names=subject.names,
                trace=session.trace,
            )
        except gradcheck.UsageError as error:
            if str(error).startswith("surrogate:"):
                session.find(row, f"{check}.surrogate", f"{opdef.subject}, {error}", call)
                return
            session.skipped[f"{opdef.name}, gradient at {call}: {error}"] = None
            return
    session.keep_traces(row, check, report.trace)
    session.tested += report.coverage.tested
    for finding in report.findings:
        record(session, row, call, check, at, finding)
    seen = report.coverage.smallest_error_seen
    if math.isfinite(seen):
        line.sees = max(line.sees or 0.0, seen)
    kinks = report.coverage.kinks
    session.notes.update(dict.fromkeys(f"{opdef.name}, kink {kink}" for kink in kinks[:_KINKS]))
    if report.verdict == "inconclusive":
        reasons = "; ".join(f"{count} elements, {reason}" for reason, count in report.coverage.inconclusive)
        unsure = session.skipped if call.extra else session.inconclusive
        unsure[f"{opdef.name}, {check} at {call}: {reasons or 'nothing could be judged'}"] = None


def record(session: Session, row: str, call: Call, check: str, at: str, finding: gradcheck.Finding) -> None:
    """Records what gradcheck found, as a finding of an op."""
    name = finding.input or finding.check.replace(" ", "-").removeprefix("vjp-")
    line = session.line(row)
    if not call.is_far:
        line.worst = max(line.worst or 0.0, _relative(finding))
    second = "" if check not in ("vjp2", "complex2") else ", gradient of its gradient"
    session.find(
        row,
        f"{check}.{name}",
        f"{session.opdef.subject}{second}, {finding.message}",
        call,
        **({"at": at} if at else {}),
        input=finding.input,
        index=finding.index,
        analytic=finding.analytic,
        numeric=finding.numeric,
        error_bar=finding.error_bar,
        cause=finding.cause,
        picture=finding.picture,
        code=_CODES.get(finding.check, GradcheckError.default_code),
    )


def _relative(finding: gradcheck.Finding) -> float:
    """Returns how far off the worst element is; 0 where the finding is not about a number."""
    if finding.analytic is None or finding.numeric is None:
        return 0.0
    with np.errstate(all="ignore"):
        size = abs(finding.numeric) or abs(finding.analytic) or 1.0  # relative to 0 every error is whole
        distance = abs(finding.analytic - finding.numeric) / size
    return min(distance, math.inf) if not math.isnan(distance) else math.inf
