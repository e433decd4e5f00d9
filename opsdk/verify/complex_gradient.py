"""Gradients of complex tensors, of first and second order, for ops that declare or derive them: ∂L/∂Re + i ∂L/∂Im."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

import gradcheck
from opsdk.autograd.functional import grad
from opsdk.autograd.tensor import Tensor
from opsdk.core.dtype import is_differentiable
from opsdk.core.errors import DerivativeOrderError, GradientMissingError, KernelNotFoundError
from opsdk.core.modes import enable_grad
from opsdk.define.op import Op
from opsdk.define.opdef import OpDef
from opsdk.verify.derivative import record
from opsdk.verify.inputs.calls import Call, each, flat, flat_names, is_float, outputs_of, refill, with_imaginary
from opsdk.verify.kernels.launch import launch
from opsdk.verify.runtimes.rule import carriers
from opsdk.verify.session import Session
from opsdk.verify.subject import flat_tensors

_MADE_UP = 2  # samples that are given imaginary parts; whoever has others yields complex ones
_MOST, _GREATEST = 40, 10.0  # elements of such a sample, and their size

Arrays = Sequence[np.ndarray]


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
    if not traits.deterministic or traits.surrogate or opdef.schema.mutated_inputs:
        return
    for call in _calls(session):
        try:
            outputs = launch(opdef, opdef.kernels.reference(), call.inputs, call.attrs)
        except Exception as error:
            session.skipped[f"{opdef.name}, complex gradient at {call}: raised {type(error).__name__}: {error}"] = None
            continue
        if is_complex([*call.inputs, *outputs]):
            _judge(session, call, outputs)
            if not is_complex(call.inputs):
                return  # it makes complex numbers of real ones, and was not said to take them


def _calls(session: Session) -> Iterator[Call]:
    opdef = session.opdef
    wanted = opdef.differentiable_inputs()
    rng = np.random.default_rng([session.seed, 21])
    made = 0

    for call in session.calls:
        arrays = [a for i in wanted for a in flat([call.inputs[i]])]
        if is_complex(call.inputs):
            yield call
        elif not call.extra and arrays and all(is_float(a) and a.dtype == np.float64 for a in arrays):
            yield call  # judged where an output is complex
            size = sum(a.size for a in arrays)
            if made < _MADE_UP and 0 < size <= _MOST and all(np.all(np.abs(a) < _GREATEST) for a in arrays):
                made += 1
                beside = each(call.inputs, lambda a: with_imaginary(a, rng) if is_float(a) else a)
                turned = [beside[i] if i in wanted else v for i, v in enumerate(call.inputs)]
                yield Call(turned, call.attrs, f"{call.reason}, made complex", call.declared)
                if len(arrays) > 1 and made == 1:
                    some = [turned[i] if i == wanted[0] else v for i, v in enumerate(call.inputs)]
                    yield Call(some, call.attrs, f"{call.reason}, {opdef.schema.input_names[wanted[0]]} made complex")


def _judge(session: Session, call: Call, outputs: Sequence[Any]) -> None:
    opdef = session.opdef
    names = flat_names(opdef.schema.input_names, call.inputs)
    fixed = [n for n in names if n.partition("[")[0] in opdef.traits.nondifferentiable]
    first = _First(opdef, call, names)
    inputs = flat(call.inputs)
    _ask(session, call, "complex", (first.forward, first.vjp), inputs, names, fixed)
    rng = np.random.default_rng([session.seed, 22])
    cotangents = [
        _drawn(array, rng) for i in carriers(opdef) for array in flat([outputs[i]]) if is_differentiable(array.dtype)
    ]
    labels = [f"cotangent {i}" for i in range(len(cotangents))]
    if not session.has("complex"):
        pair = (first.gradients, first.second)
        _ask(session, call, "complex2", pair, [*inputs, *cotangents], [*names, *labels], fixed)


def _drawn(array: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    parts = rng.normal(size=(2, *array.shape))
    return np.asarray(parts[0] + 1j * parts[1] if array.dtype.kind == "c" else parts[0]).astype(array.dtype)


# Any: the pair of functions that gradcheck judges.
def _ask(
    session: Session, call: Call, check: str, pair: tuple[Any, Any], inputs: Arrays, names: list[str], fixed: list[str]
) -> None:
    opdef = session.opdef
    row = session.reference_row(call.float_dtype or np.dtype("float64"))
    forward, vjp = pair
    refused = _refused(forward, vjp, inputs)
    if refused is not None:  # gradcheck would find it at fault
        session.notes[f"{opdef.name}, {check}: {refused}"] = None
        return
    try:
        with session.timed(row):
            report = gradcheck.check(
                forward,
                vjp,
                tuple(inputs),
                names=tuple(names),
                nondifferentiable=tuple(n for n, a in zip(names, inputs, strict=True) if n in fixed and is_float(a)),
                seed=session.seed,
                budget=session.budget,
                vary=False,
                trace=session.trace,
            )
    except gradcheck.UsageError as error:
        session.notes[f"{opdef.name}, {check}: {error}"] = None
        return
    session.did(row, "complex" if check == "complex" else "complex2")
    session.keep_traces(row, check, report.trace)
    session.tested += report.coverage.tested
    for finding in report.findings:
        record(session, row, call, check, "", finding)


def _refused(forward: Callable[..., Any], vjp: Callable[..., Any], inputs: Arrays) -> Exception | None:
    """Returns the error by which an op refuses a gradient; what else it raises is for gradcheck to find."""
    try:
        made = forward(*inputs)
        vjp(inputs, made, made)
    except (GradientMissingError, DerivativeOrderError, KernelNotFoundError) as error:
        return error
    except Exception:
        return None
    return None


class _First:
    """The gradients of an op at a call through the tape, and the gradients of those."""

    def __init__(self, opdef: OpDef, call: Call, names: Sequence[str]) -> None:
        self.opdef = opdef
        self.call = call
        self.is_held = [n.partition("[")[0] in opdef.traits.nondifferentiable for n in names]

    def forward(self, *arrays: np.ndarray) -> tuple[np.ndarray, ...]:
        """Returns the outputs that carry a gradient."""
        opdef = self.opdef
        made = launch(opdef, opdef.kernels.reference(), refill(self.call.inputs, arrays), self.call.attrs)
        return tuple(array for i in carriers(opdef) for array in flat([made[i]]) if is_differentiable(array.dtype))

    def vjp(self, inputs: Arrays, outputs: Arrays, cotangents: Arrays) -> tuple[Any, ...]:
        """Returns the gradients, one per input."""
        with enable_grad():
            tensors = self._tensors(inputs)
            found = self._first(tensors, [Tensor(np.array(c)) for c in cotangents], create_graph=False)
        return tuple(map(_array, found, tensors))

    def gradients(self, *arrays: np.ndarray) -> tuple[np.ndarray, ...]:
        """Returns the gradients as a function of the inputs and the cotangents."""
        count = len(self.is_held)
        made = self.vjp(arrays[:count], (), arrays[count:])
        return tuple(gradient for gradient in made if gradient is not None)

    def second(self, arrays: Arrays, outputs: Arrays, entering: Arrays) -> tuple[Any, ...]:
        """Returns the gradients of the gradients."""
        count = len(self.is_held)
        with enable_grad():
            tensors = self._tensors(arrays[:count])
            dys = [Tensor(np.array(array), False) for array in arrays[count:]]
            made = self._first(tensors, dys, create_graph=True)
            asked = [g for g, t in zip(made, tensors, strict=True) if not t.stop_gradient]
            pairs = [(g, Tensor(np.array(d))) for g, d in zip(asked, entering, strict=True) if g is not None]
            pairs = [(g, d) for g, d in pairs if not g.stop_gradient]
            leaves = [t for t in (*tensors, *dys) if not t.stop_gradient]
            found = grad([g for g, _ in pairs], leaves, [d for _, d in pairs], allow_unused=True) if pairs else []
        by_id = dict(zip(map(id, leaves), found, strict=False))
        return tuple(_array(by_id.get(id(t)), t) for t in (*tensors, *dys))

    def _tensors(self, arrays: Arrays) -> list[Tensor]:
        held = zip(arrays, self.is_held, strict=True)
        return [Tensor(np.array(a), is_held or not is_differentiable(a.dtype)) for a, is_held in held]

    def _first(self, tensors: list[Tensor], dys: Sequence[Tensor], *, create_graph: bool) -> list[Any]:
        opdef = self.opdef
        made = outputs_of(opdef, Op(opdef)(*refill(self.call.inputs, tensors), **self.call.attrs))
        roots = [t for t in flat_tensors(made, carriers(opdef)) if is_differentiable(t.dtype)]
        pairs = [(y, dy) for y, dy in zip(roots, dys, strict=True) if not y.stop_gradient]
        leaves = [t for t in tensors if not t.stop_gradient]
        found = grad([y for y, _ in pairs], leaves, [d for _, d in pairs], create_graph=create_graph, allow_unused=True)
        by_id = dict(zip(map(id, leaves), found, strict=True))
        return [by_id.get(id(t)) for t in tensors]


def _array(gradient: Tensor | None, tensor: Tensor) -> np.ndarray | None:
    if tensor.stop_gradient:
        return None
    return np.zeros(tensor.shape, tensor.dtype) if gradient is None else gradient.numpy().copy()
