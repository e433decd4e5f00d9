"""Subjects: an op's gradient, and the gradient of its gradient, as the pairs of functions that gradcheck judges."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np

from opsdk.autograd.functional import grad
from opsdk.autograd.tensor import Tensor
from opsdk.core.modes import enable_grad
from opsdk.core.origin import origin_of
from opsdk.define.kernel.kernel import REFERENCE, Kernel, KernelKey
from opsdk.define.op import Op
from opsdk.define.opdef import OpDef
from opsdk.define.schema.binding import reorder
from opsdk.verify.inputs.calls import Call, Values, each, flat, flat_names, is_float, outputs_of, refill
from opsdk.verify.kernels.launch import launch
from opsdk.verify.runtimes.rule import carriers, gradients

PROBE = "(probe)"

Arrays = Sequence[np.ndarray]


@dataclass(frozen=True)
class Subject:
    """What `gradcheck.check` takes.

    Args:
        forward: flat arrays in, the floating outputs that are judged out.
        vjp: as gradcheck asks for it.
        inputs: flat arrays to judge at.
        names: one per input.
        domain: per input its bounds or None.
        nondifferentiable: names of the floating inputs whose derivative was declared to be zero.
        surrogate: the function whose derivative vjp is, where that is not forward.
    """

    forward: Callable[..., tuple[np.ndarray, ...]]
    vjp: Callable[[Arrays, Arrays, Arrays], tuple[Any, ...]]
    inputs: tuple[np.ndarray, ...]
    names: tuple[str, ...]
    domain: tuple[Any, ...]
    nondifferentiable: tuple[str, ...] = field(default=())
    surrogate: Callable[..., tuple[np.ndarray, ...]] | None = None


def first_order(opdef: OpDef, call: Call, row: Kernel | None) -> Subject:
    """Returns the op on its reference row, with a row of its gradient op; through the tape where it is composite."""
    reference = opdef.kernels.reference()
    judged = _judged(opdef)

    def forward(*arrays: np.ndarray, row: Kernel | None = reference) -> tuple[np.ndarray, ...]:
        made = launch(opdef, row, refill(call.inputs, arrays), call.attrs)
        return tuple(array for i in judged for array in flat([made[i]]))

    def by_rule(inputs: Arrays, outputs: Arrays, cotangents: Arrays) -> tuple[Any, ...]:
        here = Call(refill(call.inputs, inputs), call.attrs)
        made = launch(opdef, reference, here.inputs, here.attrs)
        known, entering = _placed(made, judged, outputs), _placed(each(made, np.zeros_like), judged, cotangents)
        assert opdef.grad is not None
        return _in_order(here.inputs, gradients(opdef, opdef.grad, row, here, known, entering))

    def by_tape(inputs: Arrays, outputs: Arrays, cotangents: Arrays) -> tuple[Any, ...]:
        return through_tape(opdef, Call(refill(call.inputs, inputs), call.attrs), cotangents)

    subject = _subject(opdef, call, forward, by_rule if opdef.grad is not None else by_tape)
    if not callable(opdef.traits.surrogate):
        return subject
    names = opdef.schema.input_names
    function = reorder(opdef.traits.surrogate, names)
    stand_in = Kernel(KernelKey("cpu"), REFERENCE, function, origin_of(opdef.traits.surrogate), names)
    return replace(subject, surrogate=partial(forward, row=stand_in))


def no_gradient(opdef: OpDef, call: Call) -> Subject:
    """Returns an op all of whose floating inputs were declared non-differentiable, beside a probe that is not."""
    reference = opdef.kernels.reference()
    judged = _judged(opdef)

    def forward(*arrays: np.ndarray) -> tuple[np.ndarray, ...]:
        made = launch(opdef, reference, refill(call.inputs, arrays[:-1]), call.attrs)
        return (*(array for i in judged for array in flat([made[i]])), arrays[-1].copy())

    def vjp(inputs: Arrays, outputs: Arrays, cotangents: Arrays) -> tuple[Any, ...]:
        return (*(None,) * (len(inputs) - 1), cotangents[-1].copy())

    plain = _subject(opdef, call, forward, vjp)
    probe = np.asarray(1.5, call.float_dtype)
    return Subject(
        forward, vjp, (*plain.inputs, probe), (*plain.names, PROBE), (*plain.domain, None), plain.nondifferentiable
    )


def second_order(opdef: OpDef, call: Call, cotangents: Values) -> Subject:
    """Returns the gradient as a function of the inputs and the cotangents, with its own gradient by the tape."""
    assert opdef.grad is not None
    rule, reference = opdef.grad, opdef.kernels.reference()
    row = rule.op.opdef.kernels.reference()
    wanted = [i for i in rule.wrt if any(is_float(a) for a in flat([call.inputs[i]])) and i not in rule.disconnected]

    def by_rule(inputs: Values, dys: Values) -> list[Any]:
        here = Call(inputs, call.attrs)
        return gradients(opdef, rule, row, here, launch(opdef, reference, inputs, call.attrs), dys)

    return _second(opdef, call, cotangents, wanted, by_rule)


def second_order_of_body(opdef: OpDef, call: Call, cotangents: Values) -> Subject:
    """Returns the same of a composite op without a rule of its own: both orders are the tape's."""
    wanted = [i for i in opdef.differentiable_inputs() if any(is_float(a) for a in flat([call.inputs[i]]))]

    def by_tape(inputs: Values, dys: Values) -> list[Any]:
        here = Call(inputs, call.attrs)
        made = through_tape(opdef, here, [array for i in _judged(opdef) for array in flat([dys[i]])])
        zeros = [np.zeros_like(a) if g is None else g for a, g in zip(flat(inputs), made, strict=True)]
        return refill(inputs, zeros)

    return _second(opdef, call, cotangents, wanted, by_tape)


def _second(
    opdef: OpDef, call: Call, cotangents: Values, wanted: list[int], first: Callable[[Values, Values], list[Any]]
) -> Subject:
    count = len(flat(call.inputs))
    entering = [i for i in carriers(opdef) if any(is_float(a) for a in flat([cotangents[i]]))]

    def split(arrays: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        arrays = [a if isinstance(a, Tensor) else np.asarray(a) for a in arrays]
        return refill(call.inputs, arrays[:count]), _placed(cotangents, entering, arrays[count:])

    def forward(*arrays: np.ndarray) -> tuple[np.ndarray, ...]:
        made = first(*split(arrays))
        return tuple(np.array(array) for i in wanted for array in flat([made[i]]))

    def vjp(arrays: Arrays, outputs: Arrays, ddx: Arrays) -> tuple[Any, ...]:
        with enable_grad():
            tensors = [Tensor(np.array(array), not is_float(np.asarray(array))) for array in arrays]
            inputs, dys = split(tensors)
            ys = flat_tensors(outputs_of(opdef, Op(opdef)(*inputs, **call.attrs)), carriers(opdef))
            xs = flat_tensors(inputs, wanted)
            weights = flat_tensors(dys, carriers(opdef))
            used = [(y, w) for y, w in zip(ys, weights, strict=True) if not y.stop_gradient]
            made = grad([y for y, _ in used], xs, [w for _, w in used], create_graph=True, allow_unused=True)
            pairs = [(g, Tensor(np.array(d))) for g, d in zip(made, ddx, strict=True) if g is not None]
            pairs = [(g, d) for g, d in pairs if not g.stop_gradient]
            floating = [t for t in tensors if not t.stop_gradient]
            if not pairs:
                return tuple(None if t.stop_gradient else np.zeros(t.shape, t.dtype) for t in tensors)
            found = grad([g for g, _ in pairs], floating, [d for _, d in pairs], allow_unused=True)
        by_id = {id(t): g for t, g in zip(floating, found, strict=True)}
        return tuple(_array(by_id.get(id(t)), t) for t in tensors)

    names = flat_names(opdef.schema.input_names, call.inputs)
    for i in entering:
        names += flat_names([f"d{opdef.schema.output_names[i]}"], [cotangents[i]])
    inputs = (*flat(call.inputs), *(array for i in entering for array in flat([cotangents[i]])))
    domain = tuple(_bounds(opdef, name) for name in names)
    declared = tuple(n for n, a in zip(names, inputs, strict=True) if is_float(a) and _is_declared(opdef, n))
    return Subject(forward, vjp, inputs, tuple(names), domain, declared)


def without_constants(opdef: OpDef, subject: Subject) -> Subject:
    """Returns the subject as a function of those inputs alone that were not declared constant."""
    held = [name.partition("[")[0] in opdef.traits.constant for name in subject.names]
    if not any(held):
        return subject

    def whole(arrays: Sequence[Any]) -> list[Any]:
        dtype = next((a.dtype for a in map(np.asarray, arrays) if is_float(a)), None)  # another one than the sample's
        given = iter(arrays)
        return [
            (value.astype(dtype) if is_float(value) and dtype is not None else value) if h else next(given)
            for value, h in zip(subject.inputs, held, strict=True)
        ]

    def moved(values: Sequence[Any]) -> tuple[Any, ...]:
        return tuple(value for value, h in zip(values, held, strict=True) if not h)

    def calling(function: Callable[..., Any]) -> Callable[..., Any]:
        return lambda *arrays: function(*whole(arrays))

    names = moved(subject.names)
    return Subject(
        calling(subject.forward),
        lambda inputs, outputs, cotangents: moved(subject.vjp(whole(inputs), outputs, cotangents)),
        moved(subject.inputs),
        names,
        moved(subject.domain),
        tuple(name for name in subject.nondifferentiable if name in names),
        None if subject.surrogate is None else calling(subject.surrogate),
    )


def through_tape(opdef: OpDef, call: Call, cotangents: Arrays) -> tuple[Any, ...]:
    """Returns the gradients of a call as the tape gives them, one per flat input."""
    with enable_grad():
        tensors = [Tensor(np.array(array), not is_float(array)) for array in flat(call.inputs)]
        made = outputs_of(opdef, Op(opdef)(*refill(call.inputs, tensors), **call.attrs))
        entering = zip(flat_tensors(made, _judged(opdef)), cotangents, strict=True)
        pairs = [(y, Tensor(np.array(dy))) for y, dy in entering if not y.stop_gradient]
        floating = [t for t in tensors if not t.stop_gradient]
        if not pairs:
            return tuple(None for _ in tensors)
        found = grad([y for y, _ in pairs], floating, [dy for _, dy in pairs], allow_unused=True)
    by_id = {id(t): g for t, g in zip(floating, found, strict=True)}
    return tuple(None if by_id.get(id(t)) is None else by_id[id(t)].numpy().copy() for t in tensors)


def flat_tensors(values: Values, positions: Sequence[int]) -> list[Any]:
    """Returns the tensors at some positions, flat."""
    return [t for i in positions for t in (values[i] if isinstance(values[i], (list, tuple)) else [values[i]])]


def _judged(opdef: OpDef) -> tuple[int, ...]:
    """The outputs that are judged: those that carry a gradient; all, where none does."""
    return carriers(opdef) or tuple(range(len(opdef.schema.outputs)))


def _subject(opdef: OpDef, call: Call, forward: Any, vjp: Any) -> Subject:
    names = tuple(flat_names(opdef.schema.input_names, call.inputs))
    inputs = tuple(flat(call.inputs))
    declared = tuple(n for n, a in zip(names, inputs, strict=True) if is_float(a) and _is_declared(opdef, n))
    return Subject(forward, vjp, inputs, names, tuple(_bounds(opdef, name) for name in names), declared)


def _is_declared(opdef: OpDef, name: str) -> bool:
    return name.partition("[")[0] in opdef.traits.nondifferentiable


def _bounds(opdef: OpDef, name: str) -> Any:
    return opdef.traits.domain.get(name.partition("[")[0])


def _placed(values: Values, positions: Sequence[int], arrays: Sequence[Any]) -> list[Any]:
    """Returns `values` with the flat `arrays` at some positions."""
    placed = list(values)
    source = iter(np.asarray(array) if isinstance(array, np.generic) else array for array in arrays)
    for i in positions:
        placed[i] = [next(source) for _ in values[i]] if isinstance(values[i], list) else next(source)
    return placed


def _in_order(inputs: Values, made: Values) -> tuple[Any, ...]:
    """Returns one gradient per flat input; None where the input is not floating, since nobody would use it."""
    listed: list[Any] = []
    for value, gradient in zip(inputs, made, strict=True):
        if isinstance(value, list):
            listed += gradient if gradient is not None else [None] * len(value)
        elif value is not None:
            listed.append(gradient)
    return tuple(g if is_float(a) else None for a, g in zip(flat(inputs), listed, strict=True))


def _array(gradient: Tensor | None, tensor: Tensor) -> np.ndarray | None:
    if tensor.stop_gradient:
        return None
    return np.zeros(tensor.shape, tensor.dtype) if gradient is None else gradient.numpy().copy()
