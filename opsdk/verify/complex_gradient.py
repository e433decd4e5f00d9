"""Gradients of complex tensors, of first and second order, for ops that declare or derive them: ∂L/∂Re + i ∂L/∂Im."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

import gradcheck
from opsdk.autograd.tensor import Tensor
from opsdk.core.dtype import is_differentiable
from opsdk.core.errors import DerivativeOrderError, GradientMissingError, KernelNotFoundError
from opsdk.core.modes import enable_grad
from opsdk.define.opdef import OpDef
from opsdk.verify.derivative import ask
from opsdk.verify.gradients import Arrays, array_of, call_on_tape, carried, carriers, pulled_back
from opsdk.verify.inputs.calls import Call, each, flat, flat_names, is_float, refill, with_imaginary
from opsdk.verify.inputs.domains import held
from opsdk.verify.kernels.launch import launch
from opsdk.verify.session import Session, said
from opsdk.verify.subjects import Subject, subject_of

_MADE_UP = 2  # samples that are given imaginary parts; whoever has others yields complex ones
_MOST, _GREATEST = 40, 10.0  # elements of such a sample, and their size


def is_complex(values: Sequence[Any]) -> bool:
    """Whether a complex array is among values."""
    return any(array.dtype.kind == "c" for array in flat(values))


def admits_complex(opdef: OpDef) -> bool:
    """Whether gradients of complex tensors are not refused."""
    return opdef.for_complex.grad is not None or (opdef.grad is None and opdef.is_composite)


def check_complex(session: Session) -> None:
    """Judges both orders on complex samples, the op's own and some that are made of its real ones."""
    opdef = session.opdef
    traits = opdef.traits
    if session.has("vjp"):
        return  # what is wrong of real numbers is wrong of complex ones too
    if opdef.gradient_of is not None or not admits_complex(opdef) or not carriers(opdef):
        return
    if not traits.deterministic:
        if any(map(is_complex, (call.inputs for call in session.calls))):
            session.skipped[f"{opdef.name}: complex gradients of what is drawn are not judged"] = None
        return
    if traits.surrogate or opdef.schema.mutated_inputs:
        return
    for call in _calls(session):
        try:
            outputs = launch(opdef, opdef.kernels.reference(), call.inputs, call.attrs)
        except Exception as error:
            session.skipped[f"{opdef.name}, complex gradient at {call}: raised {said(error)}"] = None
            continue
        if is_complex([*call.inputs, *outputs]):
            first, second = _subjects(session, call, outputs)
            _judge(session, call, "complex", first)
            if not session.has("complex") and not session.is_quick:
                _judge(session, call, "complex2", second)
            if not is_complex(call.inputs):
                return  # it makes complex numbers of real ones, and was not said to take them


def _calls(session: Session) -> Iterator[Call]:
    opdef = session.opdef
    wanted = opdef.differentiable_inputs()
    rng = np.random.default_rng([session.seed, 21])
    made = 0

    for call in session.calls:
        arrays = flat([call.inputs[i] for i in wanted])
        if is_complex(call.inputs):
            yield call
        elif not call.extra and arrays and all(is_float(a) and a.dtype == np.float64 for a in arrays):
            yield call  # judged where an output is complex
            size = sum(a.size for a in arrays)
            if made < _MADE_UP and 0 < size <= _MOST and all(np.all(np.abs(a) < _GREATEST) for a in arrays):
                made += 1
                beside = each(call.inputs, lambda a: with_imaginary(a, rng) if is_float(a) else a)
                turned = [beside[i] if i in wanted else v for i, v in enumerate(call.inputs)]
                try:
                    turned = list(held(opdef, replace(call, inputs=turned)).inputs)
                except Exception:  # what a rule says of real numbers only
                    continue
                yield Call(turned, call.attrs, f"{call.reason}, made complex", call.declared)
                if len(arrays) > 1 and made == 1:
                    some = [turned[i] if i == wanted[0] else v for i, v in enumerate(call.inputs)]
                    yield Call(some, call.attrs, f"{call.reason}, {opdef.schema.input_names[wanted[0]]} made complex")


def _judge(session: Session, call: Call, check: str, subject: Subject) -> None:
    case = session.reference(call, "float64")
    refusal: Exception | None = None
    try:
        made = subject.forward(*subject.inputs)
        subject.vjp(subject.inputs, made, made)
    except (GradientMissingError, DerivativeOrderError, KernelNotFoundError) as error:
        refusal = error  # gradcheck would find it at fault
    except Exception:
        pass  # what else it raises is for gradcheck to find
    if refusal is None:
        try:
            with case.timed(check):
                ask(case, check, subject, vary=False)
            case.did(check)
        except gradcheck.UsageError as error:
            refusal = error
    if refusal is not None:
        session.notes[f"{session.opdef.name}, {check}: {refusal}"] = None


def _subjects(session: Session, call: Call, outputs: Sequence[Any]) -> tuple[Subject, Subject]:
    """Returns the gradients of a call through the tape, and the gradients of those."""
    opdef = session.opdef
    names, inputs = flat_names(opdef.schema.input_names, call.inputs), flat(call.inputs)
    is_held = [name.partition("[")[0] in opdef.traits.nondifferentiable for name in names]
    count = len(inputs)

    def tensors(arrays: Arrays) -> list[Tensor]:
        held = zip(arrays, is_held, strict=True)
        return [Tensor(np.array(a), is_held or not is_differentiable(a.dtype)) for a, is_held in held]

    def gradients_of(xs: Sequence[Tensor], dys: Sequence[Any], *, create_graph: bool = False) -> list[Any]:
        made = call_on_tape(opdef, refill(call.inputs, xs), call.attrs)
        ys = [y for y in made if is_differentiable(y.dtype)]
        return pulled_back(ys, dys, xs, create_graph=create_graph)

    def forward(*arrays: np.ndarray) -> tuple[np.ndarray, ...]:
        made = launch(opdef, opdef.kernels.reference(), refill(call.inputs, arrays), call.attrs)
        return tuple(array for array in carried(opdef, made) if is_differentiable(array.dtype))

    def vjp(arrays: Arrays, made: Arrays, cotangents: Arrays) -> tuple[Any, ...]:
        with enable_grad():
            xs = tensors(arrays)
            return tuple(map(array_of, gradients_of(xs, cotangents), xs))

    def gradients(*arrays: np.ndarray) -> tuple[np.ndarray, ...]:
        made = vjp(arrays[:count], (), arrays[count:])
        return tuple(gradient for gradient in made if gradient is not None)

    def second_vjp(arrays: Arrays, made: Arrays, entering: Arrays) -> tuple[Any, ...]:
        with enable_grad():
            xs = tensors(arrays[:count])
            dys = [Tensor(np.array(array), False) for array in arrays[count:]]
            found = gradients_of(xs, dys, create_graph=True)
            asked = [gradient for gradient, x in zip(found, xs, strict=True) if not x.stop_gradient]
            return tuple(map(array_of, pulled_back(asked, entering, [*xs, *dys]), [*xs, *dys]))

    rng = np.random.default_rng([session.seed, 22])
    drawn = [_drawn(array, rng) for array in carried(opdef, outputs) if is_differentiable(array.dtype)]
    labels = [f"cotangent {i}" for i in range(len(drawn))]
    first = subject_of(opdef, call, forward, vjp, names, inputs)
    second = subject_of(opdef, call, gradients, second_vjp, [*names, *labels], [*inputs, *drawn])
    return _unbounded(first), _unbounded(second)


def _unbounded(subject: Subject) -> Subject:
    """Returns a subject without intervals, which complex numbers have none of."""
    return replace(subject, domain=tuple(replace(where, low=-np.inf, high=np.inf) for where in subject.domain))


def _drawn(array: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    parts = rng.normal(size=(2, *array.shape))
    return np.asarray(parts[0] + 1j * parts[1] if array.dtype.kind == "c" else parts[0]).astype(array.dtype)
