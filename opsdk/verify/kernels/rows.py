"""Every kernel against the reference: form, mutation, aliasing, infer rule, repeatability, values."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import islice
from typing import Any

import numpy as np

from opsdk.backends.call import normalise
from opsdk.backends.call.buffers import infer
from opsdk.backends.call.checked import checked_first
from opsdk.backends.call.language import compiled, language_of
from opsdk.backends.call.plan import CallPlan
from opsdk.backends.cuda.runtime import can_run
from opsdk.core.errors import CompileError, KernelNotFoundError, OpsdkError, noted
from opsdk.core.spec import TensorSpec
from opsdk.define.call import complete_attrs
from opsdk.define.gradient import GradientInfer
from opsdk.define.infer import InferFunction
from opsdk.define.kernel.kernel import Kernel, KernelId
from opsdk.define.opdef import OpDef
from opsdk.define.schema.scalars import OBJECT
from opsdk.verify.inputs import calls
from opsdk.verify.inputs.calls import Call, copies, flat, flat_names, is_float, is_inexact, paired
from opsdk.verify.inputs.domains import broken, held, ruled
from opsdk.verify.inputs.further import cut_calls
from opsdk.verify.inputs.sampling import other_calls_of
from opsdk.verify.kernels.agreement import check_values, same_bits
from opsdk.verify.kernels.declared import declared
from opsdk.verify.kernels.launch import launch, plan_of, refusing, results, results_of
from opsdk.verify.kernels.memory import stays_in_memory
from opsdk.verify.kernels.open_sizes import refused, remedy
from opsdk.verify.kernels.reach import tell_nan
from opsdk.verify.kernels.watched import too_large, watch
from opsdk.verify.level import in_every_dtype
from opsdk.verify.session import Case, Session, cannot_run_here, said

_SHORT, _LONG = np.dtype("float32"), np.dtype("float64")
_OWN = 4.0  # the reference may use plain formulas: what it is held to against its float64 twin is wider


def check_rows(session: Session) -> None:
    """Runs every kernel on every call, at the call's own dtype and at both float dtypes."""
    opdef, offered = session.opdef, session.calls
    session.calls = [call for call in offered if _is_accepted(session, call)]
    if (session.has_extremes_alone or not session.calls) and not any(call.declared for call in offered):
        session.calls += [call for call in other_calls_of(opdef, session.seed) if _is_accepted(session, call)]
    session.tell_extremes()
    for kernel in opdef.kernels:
        if session.wants(kernel) and _can_run(session, kernel):
            kernel = opdef.kernels.loaded(kernel)
            whole = in_every_dtype(session.calls, session.level) if compiles_each(kernel) else session.calls
            tried = [
                (call, variant)
                for call in session.calls
                for variant in islice(variants(opdef, kernel, call), None if call in whole else 1)
            ]
            cases = [
                (_case_of(session, kernel, variant), variant is not call)
                for call, variant in tried
                if variant is call or _can_be_compared(session, kernel, variant)
            ]
            asked = [case for case, _ in cases]
            is_watched = bool(cases) and not session.is_quick
            watched = watch(asked, _smaller(asked), compiles=session.thorough) if is_watched else ()
            if watched is None:  # what leaves its memory is not run in this process
                continue
            for case, is_twin in cases:
                _check_row(case, is_twin=is_twin)
                if "runs" in case.line.checks:
                    case.did(*watched)
            if session.calls and not tried:
                row = KernelId.of(kernel, kernel.key.dtype)
                session.skipped[f"{opdef.name}[{row}]: not run, no call is of its dtype; give samples"] = None


def _smaller(cases: Sequence[Case]) -> list[Case]:
    """Returns smaller calls of a kernel in the place of those that are too large to be watched."""
    session, kernel = cases[0].session, cases[0].kernel
    most = language_of(kernel).watched_most(kernel)
    if not math.isfinite(most) or not too_large(cases):
        return []
    made = cut_calls(session.opdef, session.calls, session.seed, int(most))
    return [session.case(kernel, variant) for call in made for variant in variants(session.opdef, kernel, call)]


def compiles_each(kernel: Kernel) -> bool:
    """Whether a kernel is compiled for each dtype anew, which takes most of the time that it is looked at."""
    language = language_of(kernel)
    return bool(language.packages) and not language.is_by_dtype


def _case_of(session: Session, kernel: Kernel, call: Call) -> Case:
    """Returns a call on a kernel; a line of the table is for the dtype of a kernel, or of a function, of its own."""
    is_own = language_of(kernel).is_by_dtype and kernel.key.dtype is None
    return session.case(kernel, call, _decides(session.opdef, call) if is_own else kernel.key.dtype)


def _can_be_compared(session: Session, kernel: Kernel, call: Call) -> bool:
    """Whether the reference takes the elements that a kernel is written for; if not, it is said."""
    opdef = session.opdef
    dtype = _decides(opdef, call)
    if dtype in (_LONG, _SHORT):
        return True
    try:
        launch(opdef, opdef.kernels.reference(), call.inputs, call.attrs)
    except Exception as error:
        row = KernelId.of(kernel, dtype)
        refused = f"not compared, as the reference refuses {dtype}: {said(error)}"
        session.skipped[f"{opdef.name}[{row}]: {refused}"] = None
        return False
    return True


def _decides(opdef: OpDef, call: Call) -> np.dtype[Any] | None:
    first = opdef.schema.deciding(call.inputs)
    return None if first is None else first.dtype


def _is_accepted(session: Session, call: Call) -> bool:
    """Whether the reference takes a call; what it does not take is no sample."""
    opdef, case = session.opdef, session.reference(call)
    sample = f"{opdef.name}: default sample {call}"
    try:
        assert opdef.kernels.reference() is not None, opdef.name
        made = _raw(case)
    except Exception as error:
        remedy = f"@{opdef.schema.name}.samples"
        if cannot_run_here(error):
            case.skip(error)
        elif call.declared:
            case.find("runs", f"{opdef.subject}: sample {call} expected to run, raised {said(error)}")
        elif call.extra:
            session.skipped[f"{sample} refused, {said(error)}"] = None
        elif _is_refused_by_rule(session, call):
            session.skipped[f"{sample} refused, {said(error)}; {remedy} gives others"] = None
        else:
            session.inconclusive[f"{sample} raised {said(error)}; give it samples: {remedy}"] = None
        return False
    outputs = made if isinstance(made, (list, tuple)) else [made]
    # An attribute outside of its domain usually shows like this.
    if call.extra and call.attrs and not all(np.isfinite(array).all() for array in outputs if is_float(array)):
        session.skipped[f"{sample} refused, its outputs are not finite"] = None
        return False
    session.ran += 1
    tell_nan(session, call, outputs)
    return True


def _is_refused_by_rule(session: Session, call: Call) -> bool:
    """Whether the infer rule refuses a call too, in its own words or by accident: a default sample was a wrong guess.

    A call that lacks a required attribute is not judged by any rule.
    """
    opdef = session.opdef
    if any(decl.is_required and decl.name not in call.attrs for decl in opdef.schema.attrs):
        return False
    try:
        infer(opdef, call.inputs, complete_attrs(opdef, call.attrs))
    except Exception:  # such as IndexError of an axis that is not there
        return True
    return False


def _raw(case: Case) -> Any:
    """Runs the kernel's code itself, with nothing around it but the op's check of values."""
    opdef, call = case.opdef, case.call
    launched = checked_first(opdef, case.kernel, compiled(opdef, case.kernel))
    return launched(*copies(call.inputs), **complete_attrs(opdef, call.attrs))


def _can_run(session: Session, kernel: Kernel) -> bool:
    if kernel.key.place == "cpu" or (kernel.key.place == "cuda" and can_run()):
        return True
    replace(session.reference(), row=str(KernelId.of(kernel, kernel.key.dtype))).skip(f"no {kernel.key.place} device")
    return False


def variants(opdef: OpDef, kernel: Kernel, call: Call) -> Iterator[Call]:
    """Yields a call at the dtypes that a kernel serves, those that it declares of inputs beside the first among them.

    The call itself is the first of them where it is served.
    """
    for served in _served(opdef, kernel, call):
        yield from declared(opdef, kernel, served)


def _served(opdef: OpDef, kernel: Kernel, call: Call) -> Iterator[Call]:
    """Yields a call at the dtypes of its first tensor that a kernel serves, which all others are given."""
    first = opdef.schema.deciding(call.inputs)
    only = kernel.key.dtype
    if serves(opdef, kernel, call) if only is None else first is not None and first.dtype == only:
        yield call
    if only is not None and (not is_inexact(first) or (only.kind in "biu" and opdef.gradient_of is not None)):
        return  # whole numbers have no gradients
    given = [array.dtype for array in flat(call.inputs)]
    if any(map(is_inexact, flat(call.inputs))):
        own: tuple[np.dtype[Any], ...] = () if only is None else (only,)
        for dtype in own or (_LONG, _SHORT, *_written_for(opdef, kernel, call)):
            variant = _cast(opdef, call, dtype)
            if variant is None:
                continue
            if given != [array.dtype for array in flat(variant.inputs)] and serves(opdef, kernel, variant):
                yield variant


def _cast(opdef: OpDef, call: Call, dtype: np.dtype[Any]) -> Call | None:
    """Returns a call in another dtype, inside its domain; None where that has no values of the dtype."""
    if dtype in (_LONG, _SHORT) or not ruled(opdef):
        return call.cast(dtype)
    try:
        variant = held(opdef, call.cast(dtype))
        return None if broken(opdef, variant) else variant
    except Exception:
        return None


def _written_for(opdef: OpDef, kernel: Kernel, call: Call) -> tuple[np.dtype[Any], ...]:
    """Returns the other dtypes that a kernel has functions of their own for, which the two floats say nothing of."""
    language = language_of(kernel)
    if not language.is_by_dtype or call.extra or not is_float(opdef.schema.deciding(call.inputs)):
        return ()
    try:
        served = language.dtypes(opdef, kernel)
    except OpsdkError:  # it does not compile, or cannot here: told where it is run
        return ()
    kinds = "fcV" if opdef.gradient_of is not None else "fcVbiu"
    return tuple(dtype for dtype in served if dtype.kind in kinds and dtype not in (_LONG, _SHORT))


def serves(opdef: OpDef, kernel: Kernel, call: Call) -> bool:
    """Whether a kernel is meant for the dtypes of a call, and can call what it is given."""
    functions: Any = flat([call.attrs.get(name) for name in opdef.schema.callables])
    if functions and not language_of(kernel).can_call(functions):
        return False
    dtypes = [array.dtype for array in flat(call.inputs)]
    deciding = opdef.schema.deciding(call.inputs)
    return kernel.key.serves(kernel.key.place, None if deciding is None else deciding.dtype, dtypes)


def _check_row(case: Case, *, is_twin: bool) -> None:
    opdef, call, kernel = case.opdef, case.call, case.kernel
    is_reference = kernel is opdef.kernels.reference()
    with case.timed("value"):
        try:
            made = _made(case)
        except KernelNotFoundError as error:
            case.skip(error)
            return
        except Exception as error:
            if is_reference and is_twin:
                case.session.skipped[f"{opdef.name}[{case.row}]: {call} refused, {said(error)}"] = None
                return
            check = "compile" if isinstance(error, CompileError) else "runs"
            unlike = f"{opdef.subject}, kernel {kernel}: sample {call} expected to run as the reference does"
            message = str(error) if isinstance(error, OpsdkError) else f"{unlike}, raised {said(error)}"
            line_in_it = noted(error, "at") if check == "compile" else ""
            case.find_raised(check, message, error, at=line_in_it or case.at)
            return
        if made is not None:
            check_values(case, made, units=_OWN if is_reference else 1.0)
            _repeat(case, made)


def _made(case: Case) -> list[Any] | None:
    """Runs a kernel stage by stage; returns its outputs, or None where a stage failed and was reported."""
    opdef, call, kernel = case.opdef, case.call, case.kernel
    attrs = complete_attrs(opdef, call.attrs)
    rule = replace(case, at=str(opdef.infer.origin if isinstance(opdef.infer, InferFunction) else opdef.origin))
    try:
        specs = None if isinstance(opdef.infer, GradientInfer) else infer(opdef, call.inputs, attrs)
    except Exception as error:
        _raw(case)  # if this raises too, the call is at fault and not the rule
        message = f"{opdef.subject}, infer: expected specs for sample {call}, which runs, raised {error}"
        rule.find_raised("infer", message, error)
        return None
    if not stays_in_memory(case):
        return None
    plan: CallPlan = plan_of(opdef, kernel, call.inputs, call.attrs)
    inputs = copies(call.inputs)
    raw = plan.kernel_alone(*inputs, **attrs)
    case.did("runs", "mutation")
    check_mutation(case, inputs)
    try:
        fresh = plan.normalised(raw, inputs)
    except OpsdkError as error:
        case.find_raised(refusing(error), str(error), error)
        return None
    case.did("alias")
    if not _is_separate(case, normalise.as_outputs(opdef, raw)):  # a call copies what is not
        return None
    if specs is not None:
        try:
            normalise.check_specs(opdef, fresh, specs)
        except OpsdkError as error:
            _find_unlike(rule, case, error)
            return None
        case.did("infer")
        _check_open(rule, attrs, fresh)
    return results_of(opdef, fresh[0] if plan.single else tuple(fresh), inputs)


def _find_unlike(rule: Case, case: Case, error: OpsdkError) -> None:
    """Records that outputs are not what the infer rule says: the rule's fault, or the kernel's where others agree."""
    reference = case.opdef.kernels.reference()
    line = case.session.lines.get(case.session.reference(case.call).row)
    if case.kernel is reference or line is None or "infer" not in line.checks or "infer" in line.wrong:
        rule.find_raised("infer", str(error), error)
        return
    text = str(error).partition(";")[0].replace(case.opdef.subject, f"{case.opdef.subject}, kernel {case.kernel}", 1)
    case.find_raised("infer", f"{text}; the reference gives what was expected, mend the kernel", error)


def check_mutation(case: Case, after: list[Any]) -> None:
    """Compares inputs with those of the call that they are copies of."""
    schema = case.opdef.schema
    kept = [i for i in range(len(schema.inputs)) if i not in schema.mutated_inputs]
    names = [schema.input_names[i] for i in kept]
    for name, then, now in paired(names, [case.call.inputs[i] for i in kept], [after[i] for i in kept]):
        if then.tobytes() != now.tobytes():
            message = (
                f"{case.opdef.subject}: input {name!r} was changed in place, expected it untouched; work on a copy, "
                f"or declare it: Tensor(a!) {name}"
            )
            case.find(f"mutation.{name}", message, input=name)


def _is_separate(case: Case, fresh: list[Any]) -> bool:
    """Whether no two outputs are one memory; a gradient op's are copied apart by every runtime."""
    schema = case.opdef.schema
    if case.opdef.gradient_of is not None:
        return True
    decls = [schema.outputs[i] for i in schema.fresh_outputs]
    own = [k for k, decl in enumerate(decls) if decl.alias is None and decl.kind != OBJECT]
    arrays = flat([fresh[k] for k in own])
    names = flat_names([schema.output_names[schema.fresh_outputs[k]] for k in own], [fresh[k] for k in own])
    for i, first in enumerate(arrays):
        for j in range(i):
            if np.may_share_memory(first, arrays[j]) and first.size:
                message = (
                    f"{case.opdef.subject}, outputs {names[j]!r} and {names[i]!r}: expected memory of their own, "
                    "got one for both; return a copy"
                )
                case.find(f"alias.{names[i]}", message)
                return False
    return True


def _check_open(case: Case, attrs: Any, fresh: list[Any]) -> None:
    """Holds the infer rule to what it says when the sizes are not known yet, as in a Program with open batch size."""
    opdef = case.opdef
    opened = calls.each(case.call.inputs, lambda array: TensorSpec([None] * array.ndim, array.dtype))
    try:
        inferred = opdef.infer(opdef.schema, opened, attrs)
    except OpsdkError:
        return  # a rule may say that it needs a size
    except Exception as error:
        message = f"expected sizes of None to be carried through, raised {said(error)}; {remedy(error)}"
        which = refused(opdef, case.call, attrs)
        case.find_raised("infer.open", f"{opdef.subject}, infer: {message}", error, help=which)
        return
    for position, made in zip(opdef.schema.fresh_outputs, fresh, strict=True):
        spec = inferred[position]
        if not isinstance(spec, TensorSpec) or not isinstance(made, np.ndarray):
            continue
        if not spec.admits(made.shape) or spec.dtype != made.dtype:
            message = (
                f"{opdef.subject}, output {opdef.schema.output_names[position]!r}: expected {spec} by its infer rule "
                f"with open sizes, got {TensorSpec.of(made)}"
            )
            case.find("infer.open", message)


def _repeat(case: Case, made: list[Any]) -> None:
    opdef, call = case.opdef, case.call
    if not opdef.traits.deterministic:
        case.session.notes[f"{opdef.name}: declared not deterministic, taken at its word"] = None
        return
    case.did("repeats")
    again = results(opdef, case.kernel, call.inputs, call.attrs)
    for name, first, second in paired(calls.result_names(opdef), made, again):
        if not same_bits(first, second):
            message = (
                f"{opdef.subject}, {calls.called(opdef, name)}: expected the same bits from the same inputs, got other "
                f"ones the second time; {_steadied(case)}"
            )
            case.find(f"repeats.{name}", message)


def _steadied(case: Case) -> str:
    """Returns what to do about a kernel that gives other bits each time: compiled, it may not be chance."""
    random = "seed what is random, or declare deterministic=False"
    if language_of(case.kernel).stays_inside:
        return random
    watched = "" if case.session.thorough else " (opsdk check --thorough watches it)"
    return f"look for memory that it reads before it is written, and for threads that meet{watched}; else {random}"
