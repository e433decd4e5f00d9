"""Subjects: an op and its gradient as the pair of functions that gradcheck judges, in first and in second order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np

from opsdk.autograd.tensor import Tensor
from opsdk.core.errors import ShapeError
from opsdk.core.modes import enable_grad
from opsdk.define.kernel.kernel import Kernel
from opsdk.define.opdef import OpDef
from opsdk.verify.gradients import (
    Arrays,
    Forward,
    Vjp,
    array_of,
    by_array,
    by_rule,
    call_on_tape,
    carried,
    carriers,
    judged,
    placed,
    pulled_back,
    through_tape,
    wanted,
    without_leaves,
    wrt_of,
)
from opsdk.verify.inputs.calls import Call, Values, each, flat, flat_names, is_float, refill
from opsdk.verify.inputs.domains import bound
from opsdk.verify.kernels.launch import Outputs, launch, stand_in

PROBE = "(probe)"


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
        accuracy: the error that was declared of the gradients, if one was.
    """

    forward: Forward
    vjp: Vjp
    inputs: tuple[np.ndarray, ...]
    names: tuple[str, ...]
    domain: tuple[Any, ...]
    nondifferentiable: tuple[str, ...] = field(default=())
    surrogate: Forward | None = None
    accuracy: float | None = None


def subject_of(opdef: OpDef, call: Call, forward: Forward, vjp: Vjp, names: Sequence[str], inputs: Arrays) -> Subject:
    """Returns a pair of functions with what was declared of the inputs that the names begin with."""
    roots = [name.partition("[")[0] for name in names]
    domain = tuple(bound(opdef, names, inputs, call.attrs))
    every = zip(names, roots, inputs, strict=True)
    declared = tuple(n for n, root, a in every if is_float(a) and root in opdef.traits.nondifferentiable)
    return Subject(forward, vjp, tuple(inputs), tuple(names), domain, declared, accuracy=opdef.traits.accuracy)


def first_order(opdef: OpDef, call: Call, kernel: Kernel | None, forward_kernel: Kernel | None = None) -> Subject:
    """Returns the op, with a kernel of its gradient op; through the tape where it is composite.

    The op runs on its reference unless another of its kernels is given.
    """
    reference = forward_kernel or opdef.kernels.reference()
    positions = judged(opdef)

    def forward(*arrays: np.ndarray, kernel: Kernel | None = reference) -> tuple[np.ndarray, ...]:
        made = launch(opdef, kernel, refill(call.inputs, arrays), call.attrs)
        return tuple(flat([made[i] for i in positions]))

    def through_rule(inputs: Arrays, outputs: Arrays, cotangents: Arrays) -> tuple[Any, ...]:
        here = replace(call, inputs=refill(call.inputs, inputs))
        made = launch(opdef, reference, here.inputs, here.attrs)
        _check_cotangents(opdef, flat([made[i] for i in positions]), cotangents)
        known, entering = Outputs(placed(made, positions, outputs)), each(made, np.zeros_like)
        known.residuals = made.residuals
        entering = placed(entering, positions, cotangents)
        routed = by_rule(opdef, kernel, here, known, entering)
        return tuple(g if is_float(a) else None for a, g in by_array(here.inputs, routed))  # others nobody would use

    def by_tape(inputs: Arrays, outputs: Arrays, cotangents: Arrays) -> tuple[Any, ...]:
        return through_tape(opdef, replace(call, inputs=refill(call.inputs, inputs)), cotangents)

    names = opdef.schema.input_names
    vjp = through_rule if opdef.grad is not None else by_tape
    subject = subject_of(opdef, call, forward, vjp, flat_names(names, call.inputs), flat(call.inputs))
    if not callable(opdef.traits.surrogate):
        return subject
    return replace(subject, surrogate=partial(forward, kernel=stand_in(opdef, opdef.traits.surrogate)))


def _check_cotangents(opdef: OpDef, outputs: Arrays, cotangents: Arrays) -> None:
    """Checks cotangents that were drawn elsewhere: where data decide sizes, other inputs have outputs of others.

    A compiled gradient kernel would read beyond them.

    Raises:
        ShapeError: one is not of the shape of its output.
    """
    shapes, given = [item.shape for item in outputs], [item.shape for item in cotangents]
    if shapes != given:
        raise ShapeError(f"{opdef.subject}, backward: expected cotangents of the shapes {shapes} here, got {given}")


def no_gradient(opdef: OpDef, call: Call) -> Subject:
    """Returns an op all of whose floating inputs were declared non-differentiable, beside a probe that is not."""
    return _probed(opdef, call, first_order(opdef, call, None))


def flat_in(opdef: OpDef, call: Call, position: int) -> Subject:
    """Returns an output as a function of whose inputs none has a derivative, beside a probe."""
    plain = first_order(opdef, call, None)

    def forward(*arrays: np.ndarray) -> tuple[np.ndarray, ...]:
        made = launch(opdef, opdef.kernels.reference(), refill(call.inputs, arrays), call.attrs)
        return tuple(flat([made[position]]))

    subject = _probed(opdef, call, replace(plain, forward=forward))
    floating = zip(subject.names, subject.inputs, strict=True)
    return replace(subject, nondifferentiable=tuple(n for n, a in floating if is_float(a) and n != PROBE))


def _probed(opdef: OpDef, call: Call, plain: Subject) -> Subject:
    """Returns a function that passes no gradient on, but that of one number more."""

    def forward(*arrays: np.ndarray) -> tuple[np.ndarray, ...]:
        return (*plain.forward(*arrays[:-1]), arrays[-1].copy())

    def vjp(inputs: Arrays, outputs: Arrays, cotangents: Arrays) -> tuple[Any, ...]:
        return (*(None,) * (len(inputs) - 1), cotangents[-1].copy())

    probe = np.asarray(1.5, call.float_dtype)
    return subject_of(opdef, call, forward, vjp, [*plain.names, PROBE], [*plain.inputs, probe])


def second_order(opdef: OpDef, call: Call, cotangents: Values) -> Subject:
    """Returns the gradient as a function of the inputs and the cotangents, with its own gradient by the tape.

    Of a composite op without a rule of its own both orders are the tape's.
    """
    rule, reference, asked = opdef.grad, opdef.kernels.reference(), wanted(opdef, call)
    if rule is not None:
        floating = [i for i in wrt_of(opdef) if any(map(is_float, flat([call.inputs[i]])))]
        asked = [i for i in floating if i not in rule.disconnected]
    count = len(flat(call.inputs))
    arriving = [i for i in carriers(opdef) if any(is_float(a) for a in flat([cotangents[i]]))]

    def first(inputs: Values, dys: Values) -> list[Any]:
        here = replace(call, inputs=inputs)
        if rule is not None:
            kernel = rule.op.opdef.kernels.reference()
            return by_rule(opdef, kernel, here, launch(opdef, reference, inputs, call.attrs), dys)
        made = through_tape(opdef, here, carried(opdef, dys))
        return refill(inputs, [np.zeros_like(a) if g is None else g for a, g in zip(flat(inputs), made, strict=True)])

    def split(arrays: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        arrays = [a if isinstance(a, Tensor) else np.asarray(a) for a in arrays]
        return refill(call.inputs, arrays[:count]), placed(cotangents, arriving, arrays[count:])

    def forward(*arrays: np.ndarray) -> tuple[np.ndarray, ...]:
        made = first(*split(arrays))
        return tuple(np.array(array) for array in flat([made[i] for i in asked]))

    def vjp(arrays: Arrays, outputs: Arrays, ddx: Arrays) -> tuple[Any, ...]:
        with enable_grad():
            tensors = [Tensor(np.array(array), not is_float(np.asarray(array))) for array in arrays]
            inputs, dys = split(tensors)
            xs = flat([inputs[i] for i in asked])
            made = call_on_tape(opdef, without_leaves(opdef, inputs), call.attrs)
            made = pulled_back(made, carried(opdef, dys), xs, create_graph=True)
            found = pulled_back(made, ddx, tensors)
        return tuple(map(array_of, found, tensors))

    names = flat_names(opdef.schema.input_names, call.inputs)
    for i in arriving:
        names += flat_names([f"d{opdef.schema.output_names[i]}"], [cotangents[i]])
    inputs = [*flat(call.inputs), *flat([cotangents[i] for i in arriving])]
    return subject_of(opdef, call, forward, vjp, names, inputs)


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

    surrogate, names = subject.surrogate, moved(subject.names)
    return Subject(
        lambda *arrays: subject.forward(*whole(arrays)),
        lambda inputs, outputs, cotangents: moved(subject.vjp(whole(inputs), outputs, cotangents)),
        moved(subject.inputs),
        names,
        moved(subject.domain),
        tuple(name for name in subject.nondifferentiable if name in names),
        None if surrogate is None else lambda *arrays: surrogate(*whole(arrays)),
        subject.accuracy,
    )
