"""The runtimes against bare arrays: the same kernels must give the same bits, and second derivatives agree."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from gradcheck.model.dtypes import resolution
from opsdk.autograd import trial as _dynamic  # noqa: F401 - registers itself
from opsdk.core.errors import DerivativeOrderError, GradientMissingError, KernelNotFoundError
from opsdk.define.call import complete_attrs
from opsdk.define.frontend import BACKWARD, OUTPUTS, TRIALS, Attempt, Trial, Tried
from opsdk.define.infer import rule_raising
from opsdk.define.kernel.kernel import Kernel
from opsdk.define.op import Op
from opsdk.define.opdef import OpDef
from opsdk.static import Executor, Program, Scope, gradients, program_guard
from opsdk.static.run.trial import data_like  # with it, the trial of Programs registers itself
from opsdk.verify.asked import gradients_round_alike
from opsdk.verify.derivative import gradient_case
from opsdk.verify.gradients import (
    by_leaf,
    carried,
    draw_cotangents,
    gradient_call,
    not_passed,
    not_passed_on,
    through_tape,
    wanted,
    without_leaves,
)
from opsdk.verify.inputs.calls import (
    Call,
    Values,
    called,
    copies,
    flat,
    flat_names,
    is_float,
    is_inexact,
    only_changed,
    outputs_of,
    refill,
    result_names,
)
from opsdk.verify.inputs.domains import held
from opsdk.verify.kernels.agreement import rounds_alike, same_bits
from opsdk.verify.kernels.launch import launch, plan_of, results
from opsdk.verify.kernels.open_sizes import refused, remedy
from opsdk.verify.kernels.rounding import Rounding
from opsdk.verify.kernels.rows import compiles_each
from opsdk.verify.session import Case, Session, said
from opsdk.verify.subjects import second_order

# Through the parts of a composite, contributions to one gradient are added in another order by either runtime.
CLOSE = 1e-5

_SHORT = np.dtype("float32")


def check_runtimes(session: Session) -> None:
    """Compares every runtime that is registered with arrays."""
    for trial in TRIALS:
        with session.spending(trial.check):
            check_runtime(session, trial)


def check_runtime(session: Session, trial: Trial) -> None:
    """Runs every call, and its gradients, in a runtime, and compares both with arrays bit for bit."""
    if not trial.takes(session.opdef):
        return
    is_left_out = session.is_quick and any(map(compiles_each, session.opdef.kernels))
    for call in [*session.calls, *(_in_float32(session) if trial.has_float32 and not is_left_out else ())]:
        for attempt in trial.attempts(flat(call.inputs)):
            if _counts(session, trial, attempt, call):
                break


def _counts(session: Session, trial: Trial, attempt: Attempt, call: Call) -> bool:
    """Compares what an attempt gives; returns whether it was the one that counts, so that no other is needed."""
    opdef = session.opdef
    case = forward = _forward_case(session, call)
    try:
        every = results(opdef, None, call.inputs, call.attrs)
        made = every[: len(opdef.schema.outputs)]
        cotangents = draw_cotangents(opdef, made, np.random.default_rng([session.seed, 9]))
        expected: list[Any] | None = None
        with closing(attempt.run(_tried(opdef, trial, call, every, cotangents))) as stages:
            for stage, values in stages:
                if stage == BACKWARD:
                    case = _backward_case(session, call, made, cotangents)
                elif stage != OUTPUTS:
                    expected = _expected(opdef, call, made, cotangents) if expected is None else expected
                    _compare_gradients(case, trial, stage, expected, values, cotangents)
                elif not opdef.traits.deterministic:
                    break
                else:
                    _compare_outputs(forward, trial, every, values)
    except attempt.permitted as error:
        if isinstance(error, attempt.noted):
            session.notes[f"{opdef.name}: {trial.where} it {attempt.need}: {error}"] = None
        return False
    except Exception as error:
        # Of its author's own samples an op refuses none; a gradient op does so as the backward of its op.
        is_own = call.declared and opdef.gradient_of is None
        if isinstance(error, KernelNotFoundError) and not is_own:
            session.skipped[f"{trial.where}: {error}"] = None
            return True
        message = f"{opdef.subject}, {trial.where}: sample {call} expected to run as on arrays, raised {said(error)}"
        which, (subject, place) = "", rule_raising(error)
        if place:  # whatever kernel would have run
            case = replace(session.reference(call), at=place)
            wanted = f"expected sizes of None to be carried through {trial.where}"
            told = said(error).replace(f"{subject}, infer: ", "", 1)
            message = f"{subject}, infer: {wanted}, raised {told}; {remedy(error)}"
            which = refused(opdef, call, complete_attrs(opdef, call.attrs)) if subject == opdef.subject else ""
        case.find_raised(trial.check, message, error, help=which)
    else:
        if attempt.is_extra:
            return False
        case.did(trial.check)
    return True


def _tried(opdef: OpDef, trial: Trial, call: Call, every: Values, cotangents: Values) -> Tried:
    """Returns a call as a trial takes it, with arrays of its own."""
    arrays = flat(copies(call.inputs))
    asked = [flag and trial.differentiates(opdef) for flag in _asked(opdef, call)]
    changed = [i in opdef.schema.mutated_inputs for i, value in enumerate(call.inputs) for _ in flat([value])]
    beside = [None] * len(flat(every[len(opdef.schema.outputs) :]))

    # Any: values of the runtime.
    def apply(values: Sequence[Any]) -> list[Any]:
        inputs = refill(call.inputs, values)
        made = outputs_of(opdef, Op(opdef)(*inputs, **call.attrs))
        return flat([*made, *[inputs[i] for i in only_changed(opdef)]])

    is_partial = any(value is None for value in every[: len(opdef.schema.outputs)])
    return Tried(opdef, arrays, asked, changed, [*flat(cotangents), *beside], is_partial, apply)


def _asked(opdef: OpDef, call: Call) -> list[bool]:
    """Returns per array of the inputs whether runtimes give its gradient: of what is changed, where it is passed on."""
    kept = set(range(len(call.inputs))).difference(not_passed(opdef))
    return [is_float(array) and i in kept for i, value in enumerate(call.inputs) for array in flat([value])]


def _forward_case(session: Session, call: Call) -> Case:
    """Returns a call on the kernel that a runtime takes for it, to which a fault is put down."""
    kernel = _serving(session.opdef, call, lambda: call)
    return session.reference(call) if kernel is None else session.case(kernel, call)


def _backward_case(session: Session, call: Call, made: Values, cotangents: Values) -> Case:
    """Returns a call on the kernel of the gradient op that serves it."""
    opdef = session.opdef
    if opdef.grad is None:
        return _forward_case(session, call)
    kernel = _serving(opdef.grad.op.opdef, call, lambda: gradient_call(opdef, call, made, cotangents))
    return gradient_case(session, kernel, call)


def _serving(opdef: OpDef, call: Call, given: Callable[[], Call]) -> Kernel | None:
    """Returns the kernel of an op that serves what is given to it, or the first that would be asked of a call."""
    try:
        served = given()
        return plan_of(opdef, None, served.inputs, served.attrs).kernel
    except Exception:  # nothing serves it, or the kernel does not even compile
        return opdef.kernels.select("cpu", call.float_dtype) or opdef.kernels.reference()


def _in_float32(session: Session) -> list[Call]:
    """Returns a call as networks make them, where the op takes it: a gradient has the dtype of its input."""
    for call in session.calls:
        short = call.cast(_SHORT)
        if any(map(is_float, flat(call.inputs))) and not call.extra:
            try:
                launch(session.opdef, None, short.inputs, short.attrs)
            except Exception:  # told where kernels are judged
                continue
            return [replace(short, declared=False)]
    return []


def _expected(opdef: OpDef, call: Call, outputs: Values, cotangents: Values) -> list[Any]:
    """Returns the gradient of every input that is asked for: by hand or, of a composite, as the tape gives it."""
    arrays, asked = flat(call.inputs), _asked(opdef, call)
    if opdef.grad is not None:
        floating = [flag for flag, array in zip(asked, arrays, strict=True) if is_float(array)]
        if opdef.schema.residuals:  # those of the kernel that runtimes take, which may round as the reference does not
            outputs = launch(opdef, None, call.inputs, call.attrs)
        return [g for g, flag in zip(by_leaf(opdef, call, outputs, cotangents), floating, strict=True) if flag]
    tape = through_tape(opdef, call, carried(opdef, cotangents))
    return [gradient for flag, gradient in zip(asked, tape, strict=True) if flag]


def _compare_outputs(case: Case, trial: Trial, every: Values, values: Sequence[Any]) -> None:
    """Compares outputs: of a composite, which may have run through its parts beside a kernel, within rounding."""
    opdef, call = case.opdef, case.call

    def run(there: Call) -> list[Any]:
        return results(opdef, opdef.kernels.reference(), there.inputs, there.attrs)

    pairs = list(zip(flat(every), values, strict=True))
    if opdef.is_composite and not all(same_bits(*pair) for pair in pairs):
        eps = max(resolution(want.dtype) for want, _ in pairs if is_inexact(want))
        if rounds_alike(Rounding(run, call, eps, case.session.seed, holding=partial(held, opdef)), pairs):
            return
    for name, (want, got) in zip(flat_names(result_names(opdef), every), pairs, strict=True):
        _compare_bits(case, f"{trial.check}.{name}", f"{called(opdef, name)} {trial.where}", want, got)


def _compare_gradients(
    case: Case, trial: Trial, stage: str, expected: list[Any], found: Sequence[Any], cotangents: Values
) -> None:
    opdef, call = case.opdef, case.call
    if _round_alike(case, expected, found, cotangents):
        return
    every = zip(flat_names(opdef.schema.input_names, call.inputs), _asked(opdef, call), strict=True)
    names = [name for name, asked in every if asked]
    for name, want, got in zip(names, expected, found, strict=True):
        check, what = f"{stage}.d{name}", f"gradient of {name!r} {trial.where}"
        if want is None and got is None:
            continue
        if opdef.grad is not None and want is not None and got is not None:
            _compare_bits(case, check, what, want, got)
        elif opdef.grad is not None:
            case.find(check, f"{opdef.subject}, {what}: expected {want} as on arrays, got {got}", input=name)
        elif want is None or got is None or not np.allclose(got, want, rtol=CLOSE, atol=CLOSE, equal_nan=True):
            case.find(check, f"{opdef.subject}, {what}: expected what the tape gives, got another", input=name)


def _round_alike(case: Case, expected: Sequence[Any], found: Sequence[Any], cotangents: Values) -> bool:
    """Whether gradients by a composite differ by rounding alone: recorded it runs through its parts, beside kernels."""
    opdef, rule = case.opdef, case.opdef.grad
    if rule is None or not rule.op.opdef.is_composite or [w is None for w in expected] != [g is None for g in found]:
        return False
    pairs = [(want, got) for want, got in zip(expected, found, strict=True) if want is not None]
    if all(same_bits(*pair) for pair in pairs):
        return True
    asked = wanted(opdef, case.call)
    mask = [i in asked for i in range(len(case.call.inputs))]
    positions = [i for i in asked if i not in not_passed(opdef)]
    return gradients_round_alike(case, rule.op.opdef.kernels.reference(), cotangents, mask, positions, pairs)


def _compare_bits(case: Case, check: str, what: str, want: np.ndarray, got: np.ndarray) -> None:
    if same_bits(want, got):
        return
    message = f"{case.opdef.subject}, {what}: expected the bits that arrays give, got others"
    if want.shape != got.shape or want.dtype != got.dtype:
        form = f"expected {want.dtype}{want.shape} as on arrays, got {got.dtype}{got.shape}"
        message = f"{case.opdef.subject}, {what}: {form}"
    case.find(check, message)


def check_second_order(session: Session) -> None:
    """Differentiates the gradients in a Program again, and compares with the tape within a few roundings."""
    opdef = session.opdef
    rule = opdef.grad
    if opdef.gradient_of is not None or rule is None or not opdef.traits.deterministic:
        return
    if rule.op.opdef.grad is None and not rule.op.opdef.is_composite:
        return
    for call in [call for call in session.calls if not not_passed_on(opdef, call)]:
        case = replace(_forward_case(session, call), at=str(opdef.origin))
        try:
            _compare_second(case)
            case.did("static2")
        except (DerivativeOrderError, GradientMissingError, KernelNotFoundError):
            return  # said elsewhere
        except Exception as error:
            message = f"{opdef.subject}, gradient of its gradient in a Program: sample {call}, raised {said(error)}"
            case.find_raised("static2", message, error)


def _compare_second(case: Case) -> None:
    opdef, call = case.opdef, case.call
    rng = np.random.default_rng([case.session.seed, 15])
    outputs = launch(opdef, None, call.inputs, call.attrs)
    cotangents = draw_cotangents(opdef, outputs, rng)
    subject = second_order(opdef, call, cotangents)
    if not any(map(is_float, flat(call.inputs))) or not any(map(is_float, carried(opdef, outputs))):
        return
    first = subject.forward(*subject.inputs)
    weights = [np.asarray(rng.standard_normal(array.shape)).astype(array.dtype) for array in first]
    expected = subject.vjp(subject.inputs, first, weights)
    feed: dict[str, np.ndarray] = {}
    program = Program()
    with program_guard(program, Program()):
        given = zip(subject.names, subject.inputs, strict=True)
        variables = [data_like(name, array, feed) for name, array in given]
        for variable, array in zip(variables, subject.inputs, strict=True):
            variable.stop_gradient = not is_float(array)
        count = len(flat(call.inputs))
        inputs = without_leaves(opdef, refill(call.inputs, variables[:count]))
        made = outputs_of(opdef, Op(opdef)(*inputs, **call.attrs))
        targets = [v for v in carried(opdef, made) if not v.stop_gradient]
        asked = [v for v in variables[:count] if not v.stop_gradient]
        found = [v for v in gradients(targets, asked, variables[count:]) if v is not None]
        entering = [data_like(f"w{i}", array, feed) for i, array in enumerate(weights)]
        sources = [v for v in variables if not v.stop_gradient]
        again = gradients(found, sources, entering)
    fetches = [v for v in again if v is not None]
    values = iter(Executor().run(program, feed=feed, fetch_list=fetches, scope=Scope()) if fetches else [])
    wanted = [g for g, v in zip(expected, variables, strict=True) if not v.stop_gradient]
    for name, want, derivative in zip([v.name for v in sources], wanted, again, strict=True):
        got = np.zeros_like(want) if derivative is None else next(values)
        if not np.allclose(got, want, rtol=CLOSE, atol=CLOSE, equal_nan=True):
            message = f"{opdef.subject}, gradient of its gradient, {name!r}: a Program differs from the tape"
            case.find(f"static2.d{name}", message, input=name)
