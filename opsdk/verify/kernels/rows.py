"""Every kernel row against the reference: form, mutation, aliasing, infer rule, repeatability, values."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from opsdk.backends.call import normalise
from opsdk.backends.call.buffers import infer
from opsdk.backends.call.checked import checked_first
from opsdk.backends.call.language import compiled, language_of
from opsdk.backends.call.plan import CallPlan
from opsdk.backends.cuda.runtime import can_run
from opsdk.core.errors import (
    AliasError,
    CompileError,
    KernelNotFoundError,
    OpsdkError,
    noted,
)
from opsdk.core.spec import TensorSpec
from opsdk.define.call import complete_attrs
from opsdk.define.gradient import GradientInfer
from opsdk.define.infer import OPEN_SIZES
from opsdk.define.kernel.kernel import Kernel
from opsdk.define.opdef import OpDef
from opsdk.verify.inputs.calls import (
    Call,
    called,
    copies,
    each,
    flat,
    flat_names,
    is_float,
    is_inexact,
    paired,
    result_names,
)
from opsdk.verify.inputs.outside import tell_nan
from opsdk.verify.kernels.agreement import same_bits
from opsdk.verify.kernels.bounds import out_of_bounds, unwritten
from opsdk.verify.kernels.launch import label, launch, plan_of, results, results_of
from opsdk.verify.kernels.values import check_values
from opsdk.verify.session import Session, cannot_run_here

_SHORT, _LONG = np.dtype("float32"), np.dtype("float64")
_OWN = 4.0  # the reference may use plain formulas: what it is held to against its float64 twin is wider


def check_rows(session: Session) -> None:
    """Runs every row on every call, at the call's own dtype and at both float dtypes."""
    reference = session.opdef.kernels.reference()
    for call in list(session.calls):
        if not _accepted(session, reference, call):
            session.calls.remove(call)
    for kernel in session.opdef.kernels:
        if session.wants(kernel) and _can_run(session, kernel):
            kernel = session.opdef.kernels.loaded(kernel)
            tried = [(call, variant) for call in session.calls for variant in variants(session.opdef, kernel, call)]
            for call, variant in tried:
                if variant is call or _can_be_compared(session, kernel, variant):
                    _check_row(session, kernel, variant, twin=variant is not call)
            if session.calls and not tried:
                row = label(kernel, kernel.key.dtype)
                session.skipped[f"{session.opdef.name}[{row}]: not run, no call is of its dtype; give samples"] = None


def _can_be_compared(session: Session, kernel: Kernel, call: Call) -> bool:
    """Whether the reference takes the elements that a kernel is written for; if not, it is said."""
    opdef = session.opdef
    dtype = _decides(opdef, call)
    if dtype in (_LONG, _SHORT):
        return True
    try:
        launch(opdef, opdef.kernels.reference(), call.inputs, call.attrs)
    except Exception as error:
        session.skipped[
            f"{opdef.name}[{label(kernel, dtype)}]: not compared, as the reference refuses {dtype}: "
            f"{type(error).__name__}: {error}"
        ] = None
        return False
    return True


def _decides(opdef: OpDef, call: Call) -> np.dtype[Any] | None:
    first = opdef.schema.deciding(call.inputs)
    return None if first is None else first.dtype


def _accepted(session: Session, reference: Kernel | None, call: Call) -> bool:
    """Whether the reference takes a call; what it does not take is no sample."""
    opdef = session.opdef
    try:
        made = _raw(session, reference, call)
    except Exception as error:
        reason = f"{type(error).__name__}: {error}"
        if cannot_run_here(error):
            session.skip(session.reference_row(call.float_dtype), error)
        elif call.declared:
            row = session.reference_row(call.float_dtype)
            session.find(row, "runs", f"{opdef.subject}: sample {call} expected to run, raised {reason}", call)
        elif call.extra:
            session.skipped[f"{opdef.name}: default sample {call} refused, {reason}"] = None
        elif _is_refused_by_rule(session, call):
            session.skipped[
                f"{opdef.name}: default sample {call} refused, {reason}; @{opdef.schema.name}.samples gives others"
            ] = None
        else:
            session.inconclusive[
                f"{opdef.name}: default sample {call} raised {reason}; give it samples: @{opdef.schema.name}.samples"
            ] = None
        return False
    if call.extra and call.attrs and not _is_finite(made):
        session.skipped[f"{opdef.name}: default sample {call} refused, its outputs are not finite"] = None
        return False
    session.ran += 1
    tell_nan(session, call, made)
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


def _is_finite(made: Any) -> bool:
    """Whether all floating outputs are: an attribute outside of its domain usually shows like this."""
    arrays = made if isinstance(made, (list, tuple)) else [made]
    return all(np.isfinite(array).all() for array in arrays if is_float(array))


def _raw(session: Session, kernel: Kernel | None, call: Call) -> Any:
    """Runs the row's code itself, with nothing around it but the op's check of values."""
    opdef = session.opdef
    assert kernel is not None, opdef.name
    launched = checked_first(opdef, kernel, compiled(opdef, kernel))
    return launched(*copies(call.inputs), **complete_attrs(opdef, call.attrs))


def _can_run(session: Session, kernel: Kernel) -> bool:
    if kernel.key.place == "cpu" or (kernel.key.place == "cuda" and can_run()):
        return True
    row = label(kernel, kernel.key.dtype)
    session.line(row).skipped = f"no {kernel.key.place} device"
    session.skipped[f"{session.opdef.name}[{row}]: no {kernel.key.place} device"] = None
    return False


def variants(opdef: OpDef, kernel: Kernel, call: Call) -> Iterator[Call]:
    """Yields a call at the dtypes that a row serves; the call itself is the first of them where it is served."""
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
            variant = call.cast(dtype)
            if given != [array.dtype for array in flat(variant.inputs)] and serves(opdef, kernel, variant):
                yield variant


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
    """Whether a row is meant for the dtypes of a call."""
    dtypes = [array.dtype for array in flat(call.inputs)]
    deciding = opdef.schema.deciding(call.inputs)
    return kernel.key.serves(kernel.key.place, None if deciding is None else deciding.dtype, dtypes)


def _check_row(session: Session, kernel: Kernel, call: Call, *, twin: bool) -> None:
    opdef = session.opdef
    row = label(kernel, call.float_dtype or _named(opdef, kernel, call))
    is_reference = kernel is opdef.kernels.reference()
    with session.timed(row):
        try:
            made = _made(session, kernel, row, call)
        except KernelNotFoundError as error:
            session.skip(row, error)
            return
        except Exception as error:
            if is_reference and twin:
                session.skipped[f"{opdef.name}[{row}]: {call} refused, {type(error).__name__}: {error}"] = None
                return
            check = "compile" if isinstance(error, CompileError) else "runs"
            message = str(error) if isinstance(error, OpsdkError) else _unlike(session, kernel, call, error)
            line_in_it = noted(error, "at") if check == "compile" else ""
            session.find_raised(row, check, message, error, call, at=line_in_it or str(kernel.origin))
            return
        if made is not None:
            check_values(session, kernel, row, call, made, units=_OWN if is_reference else 1.0)
            _repeat(session, kernel, row, call, made)


def _named(opdef: OpDef, kernel: Kernel, call: Call) -> np.dtype[Any] | None:
    """Returns the dtype that a line of the table is for: that of a kernel, or of a function, of its own."""
    is_own = language_of(kernel).is_by_dtype and kernel.key.dtype is None
    return _decides(opdef, call) if is_own else kernel.key.dtype


def _unlike(session: Session, kernel: Kernel, call: Call, error: Exception) -> str:
    return (
        f"{session.opdef.subject}, row {kernel}: sample {call} expected to run as the reference does, "
        f"raised {type(error).__name__}: {error}"
    )


def _made(session: Session, kernel: Kernel, row: str, call: Call) -> list[Any] | None:
    """Runs a row stage by stage; returns its outputs, or None where a stage failed and was reported."""
    opdef = session.opdef
    attrs = complete_attrs(opdef, call.attrs)
    at = str(kernel.origin)
    gradient = isinstance(opdef.infer, GradientInfer)
    try:
        specs = None if gradient else infer(opdef, call.inputs, attrs)
    except Exception as error:
        _raw(session, kernel, call)  # if this raises too, the call is at fault and not the rule
        message = f"{opdef.subject}, infer: expected specs for sample {call}, which runs, raised {error}"
        session.find_raised(row, "infer", message, error, call)
        return None
    outside = out_of_bounds(opdef, kernel, call)
    if outside:
        message = f"{opdef.subject}, row {kernel}: expected it to stay inside its arrays at sample {call}, {outside}"
        session.find(row, "bounds", message, call, at=at)
        return None
    if outside is not None:
        session.did(row, "bounds")
        if _stays_unwritten(session, kernel, row, call):
            return None
    plan: CallPlan = plan_of(opdef, kernel, call.inputs, call.attrs)
    inputs = copies(call.inputs)
    raw = plan.kernel_alone(*inputs, **attrs)
    session.did(row, "runs", "mutation")
    check_mutation(session, row, call, inputs, at)
    try:
        fresh = plan.normalised(raw, inputs)
    except AliasError as error:
        session.find_raised(row, "alias", str(error), error, call, at=at)
        return None
    except OpsdkError as error:
        check = "infer" if "expected a NumPy array" not in str(error) else "runs"
        session.find_raised(row, check, str(error), error, call, at=at)
        return None
    session.did(row, "alias")
    if not _is_separate(session, row, call, normalise.as_outputs(opdef, raw), at):  # a call copies what is not
        return None
    if specs is not None:
        try:
            normalise.check_specs(opdef, fresh, specs)
        except OpsdkError as error:
            session.find_raised(row, "infer", str(error), error, call)
            return None
        session.did(row, "infer")
        _check_open(session, row, call, attrs, fresh)
    return results_of(opdef, fresh[0] if plan.single else tuple(fresh), inputs)


def _stays_unwritten(session: Session, kernel: Kernel, row: str, call: Call) -> bool:
    """Whether elements of an output are left as the memory held them; they may look right, or change at every call."""
    left = unwritten(session.opdef, kernel, call)
    if left is None:
        return False
    name, where = left
    last = int(where.sum()) == 1 and where.size > 1 and bool(where.flat[-1])
    index = tuple(int(i) for i in np.argwhere(where)[0])
    session.did(row, "value")
    session.find(
        row,
        f"value.{name}",
        f"{session.opdef.subject}, output {name!r}: wrong in {int(where.sum())} of {where.size} elements, first "
        f"{name}{list(index) if index else ''}: this row leaves it as the memory was, expected a value",
        call,
        at=str(kernel.origin),
        index=index,
        cause="only the last element: a loop that ends one too early does this" if last else None,
    )
    return True


def check_mutation(session: Session, row: str, call: Call, after: list[Any], at: str) -> None:
    """Compares inputs with those of the call that they are copies of."""
    schema = session.opdef.schema
    kept = [i for i in range(len(schema.inputs)) if i not in schema.mutated_inputs]
    names = [schema.input_names[i] for i in kept]
    for name, then, now in paired(names, [call.inputs[i] for i in kept], [after[i] for i in kept]):
        if then.tobytes() != now.tobytes():
            message = (
                f"{session.opdef.subject}: input {name!r} was changed in place, expected it untouched; work on a copy, "
                f"or declare it: Tensor(a!) {name}"
            )
            session.find(row, f"mutation.{name}", message, call, input=name, at=at)


def _is_separate(session: Session, row: str, call: Call, fresh: list[Any], at: str) -> bool:
    """Whether no two outputs are one memory; a gradient op's are copied apart by every runtime."""
    schema = session.opdef.schema
    own = [k for k, i in enumerate(schema.fresh_outputs) if schema.outputs[i].alias is None]
    if session.opdef.gradient_of is not None:
        return True
    arrays = flat([fresh[k] for k in own])
    names = flat_names([schema.output_names[schema.fresh_outputs[k]] for k in own], [fresh[k] for k in own])
    for i, first in enumerate(arrays):
        for j in range(i):
            if np.may_share_memory(first, arrays[j]) and first.size:
                message = (
                    f"{session.opdef.subject}, outputs {names[j]!r} and {names[i]!r}: expected memory of their own, "
                    "got one for both; return a copy"
                )
                session.find(row, f"alias.{names[i]}", message, call, at=at)
                return False
    return True


def _check_open(session: Session, row: str, call: Call, attrs: Any, fresh: list[Any]) -> None:
    """Holds the infer rule to what it says when the sizes are not known yet, as in a Program with open batch size."""
    opdef = session.opdef
    try:
        inferred = opdef.infer(opdef.schema, each(call.inputs, _open), attrs)
    except OpsdkError:
        return  # a rule may say that it needs a size
    except Exception as error:
        message = (
            f"{opdef.subject}, infer: expected sizes of None to be carried through, "
            f"raised {type(error).__name__}: {error}; {OPEN_SIZES}"
        )
        session.find_raised(row, "infer.open", message, error, call)
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
            session.find(row, "infer.open", message, call)


def _open(array: np.ndarray) -> TensorSpec:
    return TensorSpec([None] * array.ndim, array.dtype)


def _repeat(session: Session, kernel: Kernel, row: str, call: Call, made: list[Any]) -> None:
    opdef = session.opdef
    if not opdef.traits.deterministic:
        session.notes[f"{opdef.name}: declared not deterministic, taken at its word"] = None
        return
    session.did(row, "repeats")
    again = results(opdef, kernel, call.inputs, call.attrs)
    for name, first, second in paired(result_names(opdef), made, again):
        if not same_bits(first, second):
            message = (
                f"{opdef.subject}, {called(opdef, name)}: expected the same bits from the same inputs, got other ones "
                "the second time; seed what is random, or declare deterministic=False"
            )
            session.find(row, f"repeats.{name}", message, call, at=str(kernel.origin))
