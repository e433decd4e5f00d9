"""Gradients of an op as functions of arrays: the rule driven by hand, the tape, and the pairs that gradcheck judges."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache, partial
from typing import Any

import numpy as np

from opsdk.autograd.functional import grad
from opsdk.autograd.tensor import Tensor
from opsdk.backends.call.application import Application
from opsdk.backends.call.buffers import asked_specs
from opsdk.core.errors import ShapeError
from opsdk.core.modes import enable_grad
from opsdk.core.origin import origin_of
from opsdk.define.kernel.kernel import REFERENCE, Kernel, KernelKey
from opsdk.define.op import Op
from opsdk.define.opdef import GradRule, OpDef
from opsdk.define.schema.binding import reorder
from opsdk.ops.reduction import sum_to
from opsdk.verify.inputs.calls import Call, Values, each, flat, flat_names, is_float, outputs_of, refill
from opsdk.verify.inputs.domains import bound
from opsdk.verify.kernels.launch import Outputs, launch

PROBE = "(probe)"

Arrays = Sequence[np.ndarray]
Forward = Callable[..., tuple[np.ndarray, ...]]
Vjp = Callable[[Arrays, Arrays, Arrays], tuple[Any, ...]]
Mask = Sequence[bool]  # per input whether its gradient is asked for


def carriers(opdef: OpDef) -> tuple[int, ...]:
    """Returns the positions of the outputs that carry a gradient."""
    return tuple(i for i, d in enumerate(opdef.schema.outputs) if d.name not in opdef.traits.nondifferentiable)


def carried(opdef: OpDef, values: Values) -> list[Any]:
    """Returns those of one entry per output that belong to outputs which carry a gradient, flat."""
    return flat([values[i] for i in carriers(opdef)])


def wanted(opdef: OpDef, call: Call) -> list[int]:
    """Returns the positions of the floating inputs that a gradient is asked for."""
    return [i for i in opdef.differentiable_inputs() if any(map(is_float, flat([call.inputs[i]])))]


def rule_of(opdef: OpDef) -> GradRule:
    """Returns the rule of an op that has one."""
    assert opdef.grad is not None, opdef.name
    return opdef.grad


def draw_cotangents(opdef: OpDef, outputs: Values, rng: np.random.Generator) -> list[Any]:
    """Returns a random cotangent per output; zeros for an output that is not floating."""

    def draw(array: np.ndarray) -> np.ndarray:
        if array.dtype.kind == "c":
            parts = rng.standard_normal((2, *array.shape))
            return np.asarray(parts[0] + 1j * parts[1]).astype(array.dtype)
        if not is_float(array):
            return np.zeros(array.shape, array.dtype)
        return np.asarray(rng.standard_normal(array.shape)).astype(array.dtype)

    return each(outputs, draw)


def _applied(opdef: OpDef, call: Call, cotangents: Values, mask: Mask | None) -> Application:
    """Returns the rule, applied to a call by hand: its targets are the inputs whose gradients are asked for."""
    asked = mask or [True] * len(call.inputs)
    targets = [value if flag else None for value, flag in zip(call.inputs, asked, strict=True)]
    return Application(opdef, rule_of(opdef), call.attrs, cotangents, targets)


def gradient_call(opdef: OpDef, call: Call, outputs: Values, cotangents: Values, mask: Mask | None = None) -> Call:
    """Returns the call of the gradient op that belongs to a call of the op."""
    application = _applied(opdef, call, cotangents, mask)
    rule = application.rule
    pools = {"input": call.inputs, "output": outputs, "object": [call.attrs.get(n) for n in opdef.schema.attr_names]}
    if opdef.schema.residuals:
        kept = outputs if isinstance(outputs, Outputs) else launch_reference(opdef, call)
        pools["residual"] = kept.residuals
    saved = [pools[source.kind][source.position] for source in rule.saved]
    attrs = application.op_attrs()
    attrs.pop(rule.given or "", None)  # by hand every cotangent is there
    attrs.update(asked_specs(rule.op.opdef, call.inputs) | rule.objects_in(saved))
    inputs = application.op_inputs(saved, lambda position, number: _absent(opdef, call, position))

    def in_dtype(dtype: np.dtype[Any]) -> Call:  # of residuals there is none but that of a call in the dtype
        there = call.cast(dtype)
        entering = there.cast_values(cotangents, dtype)
        return gradient_call(opdef, there, launch_reference(opdef, there), entering, mask)

    return replace(call, inputs=inputs, attrs=attrs, remade=in_dtype if rule.op.opdef.reads else None)


def _absent(opdef: OpDef, call: Call, position: int) -> np.ndarray | None:
    """Returns what enters for an output, or a hole, that a call does not give: of an absent gradient zeros."""
    return None if opdef.schema.outputs[position].may_lack else np.zeros_like(flat(call.inputs)[0])


def launch_reference(opdef: OpDef, call: Call) -> Outputs:
    """Runs a call on the reference of its op."""
    return launch(opdef, opdef.kernels.reference(), call.inputs, call.attrs)


def by_rule(
    opdef: OpDef, kernel: Kernel | None, call: Call, outputs: Values, cotangents: Values, mask: Mask | None = None
) -> list[Any]:
    """Runs a kernel of the gradient op; returns one entry per input of the op, None where it gives no gradient.

    Raises:
        ArityError: a variadic input got the wrong number of gradients.
        ShapeError: a gradient cannot be summed to its input's shape.
    """
    rule = rule_of(opdef)

    def summed(position: int, like: np.ndarray, gradient: np.ndarray | None) -> np.ndarray | None:
        if gradient is None or not rule.reduces:
            return gradient
        try:
            made = gradient if gradient.shape == like.shape else sum_to(gradient, like.shape).copy()
        except ShapeError:
            return gradient  # whoever compares shapes says more about it
        return made.astype(like.dtype) if is_float(made) and is_float(like) else made

    given = gradient_call(opdef, call, outputs, cotangents, mask)
    made = launch(rule.op.opdef, kernel, given.inputs, given.attrs)
    routed = _applied(opdef, call, cotangents, mask).route(made, summed)
    return [None if isinstance(v, list) and all(item is None for item in v) else v for v in routed]


def by_array(inputs: Values, made: Values) -> list[tuple[np.ndarray, Any]]:
    """Returns every array of the inputs with its gradient, of one entry per input; None where it has none."""
    pairs: list[tuple[np.ndarray, Any]] = []
    for value, gradient in zip(inputs, made, strict=True):
        values = value if isinstance(value, list) else [value]
        given = gradient if isinstance(gradient, list) else [gradient] * len(values)
        pairs += [(array, its) for array, its in zip(values, given, strict=True) if array is not None]
    return pairs


def undeclared_none(opdef: OpDef, call: Call, given: Values) -> list[str]:
    """Returns the names of the inputs that got None although it was not declared that nothing depends on them."""
    rule = rule_of(opdef)
    return [
        opdef.schema.inputs[i].name
        for i in rule.wrt
        if i not in rule.disconnected
        and any(is_float(a) for a in flat([call.inputs[i]]))
        and any(gradient is None for _, gradient in by_array([call.inputs[i]], [given[i]]))
    ]


def by_leaf(opdef: OpDef, call: Call, outputs: Values, cotangents: Values) -> list[Any]:
    """Returns the gradient of every floating input, flat, on the kernel that a runtime would take; None without one."""
    asked = wanted(opdef, call)
    mask = [i in asked for i in range(len(call.inputs))]
    routed = by_rule(opdef, None, call, outputs, cotangents, mask)
    return [gradient for array, gradient in by_array(call.inputs, routed) if is_float(array)]


# Any, in these: tensors, or None.
def call_on_tape(opdef: OpDef, inputs: Values, attrs: Mapping[str, Any]) -> list[Any]:
    """Calls an op on tensors; returns those of its outputs that are judged, flat."""
    made = outputs_of(opdef, _handle(opdef)(*inputs, **attrs))
    return flat([made[i] for i in _judged(opdef)])


@lru_cache(maxsize=16)
def _handle(opdef: OpDef) -> Op:
    """Returns an op to call; a new one forgets all plans, and a derivative takes thousands of calls of one kind."""
    return Op(opdef)


def without_leaves(opdef: OpDef, inputs: Values) -> list[Any]:
    """Returns the inputs of a call on values of a runtime with a copy of each that it changes: no leaf is changed.

    The copy is in the graph unless no output passes its gradient on.
    """

    def copied(position: int) -> Any:
        flows = position in opdef.passed_on()

        def cloned(value: Any) -> Any:
            return value.clone() if flows else value.detach().clone()

        return each([inputs[position]], cloned)[0]

    changed = opdef.schema.mutated_inputs
    return [copied(i) if i in changed else value for i, value in enumerate(inputs)]


def not_passed_on(opdef: OpDef, call: Call) -> list[str]:
    """Returns the names of the inputs with a derivative of which no runtime can ask, since no output passes it on."""
    left = set(opdef.schema.mutated_inputs).difference(opdef.passed_on())
    return [opdef.schema.input_names[i] for i in wanted(opdef, call) if i in left]


def pulled_back(ys: Sequence[Any], dys: Sequence[Any], xs: Sequence[Any], *, create_graph: bool = False) -> list[Any]:
    """Returns the gradients, by tensor, of those outputs that carry one; None where a tensor has none."""
    pairs = [(y, dy) for y, dy in zip(ys, dys, strict=True) if y is not None and not y.stop_gradient]
    entering = [dy if isinstance(dy, Tensor) else Tensor(np.array(dy)) for _, dy in pairs]
    return grad([y for y, _ in pairs], xs, entering, create_graph=create_graph, allow_unused=True)


def array_of(gradient: Tensor | None, tensor: Tensor) -> np.ndarray | None:
    """Returns a gradient as an array, zeros where there is none; None where nobody asked for it."""
    if tensor.stop_gradient:
        return None
    return np.zeros(tensor.shape, tensor.dtype) if gradient is None else gradient.numpy().copy()


def through_tape(opdef: OpDef, call: Call, cotangents: Arrays) -> tuple[Any, ...]:
    """Returns the gradients of a call as the tape gives them, one per flat input; None where there is none."""
    with enable_grad():
        tensors = [Tensor(np.array(array), not is_float(array)) for array in flat(call.inputs)]
        made = call_on_tape(opdef, without_leaves(opdef, refill(call.inputs, tensors)), call.attrs)
        found = pulled_back(made, cotangents, tensors)
    return tuple(None if gradient is None else gradient.numpy().copy() for gradient in found)


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


def first_order(opdef: OpDef, call: Call, kernel: Kernel | None) -> Subject:
    """Returns the op on its reference, with a kernel of its gradient op; through the tape where it is composite."""
    reference = opdef.kernels.reference()
    judged = _judged(opdef)

    def forward(*arrays: np.ndarray, kernel: Kernel | None = reference) -> tuple[np.ndarray, ...]:
        made = launch(opdef, kernel, refill(call.inputs, arrays), call.attrs)
        return tuple(flat([made[i] for i in judged]))

    def through_rule(inputs: Arrays, outputs: Arrays, cotangents: Arrays) -> tuple[Any, ...]:
        here = replace(call, inputs=refill(call.inputs, inputs))
        made = launch(opdef, reference, here.inputs, here.attrs)
        _check_cotangents(opdef, flat([made[i] for i in judged]), cotangents)
        known, entering = _placed(made, judged, outputs), _placed(each(made, np.zeros_like), judged, cotangents)
        routed = by_rule(opdef, kernel, here, known, entering)
        return tuple(g if is_float(a) else None for a, g in by_array(here.inputs, routed))  # others nobody would use

    def by_tape(inputs: Arrays, outputs: Arrays, cotangents: Arrays) -> tuple[Any, ...]:
        return through_tape(opdef, replace(call, inputs=refill(call.inputs, inputs)), cotangents)

    names = opdef.schema.input_names
    vjp = through_rule if opdef.grad is not None else by_tape
    subject = subject_of(opdef, call, forward, vjp, flat_names(names, call.inputs), flat(call.inputs))
    if not callable(opdef.traits.surrogate):
        return subject
    function = reorder(opdef.traits.surrogate, names)
    stand_in = Kernel(KernelKey("cpu"), REFERENCE, function, origin_of(opdef.traits.surrogate), names)
    return replace(subject, surrogate=partial(forward, kernel=stand_in))


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
    plain = first_order(opdef, call, None)

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
        floating = [i for i in rule.wrt if any(map(is_float, flat([call.inputs[i]])))]
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
        return refill(call.inputs, arrays[:count]), _placed(cotangents, arriving, arrays[count:])

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


def _judged(opdef: OpDef) -> tuple[int, ...]:
    """The outputs that are judged: those that carry a gradient; all, where none does."""
    return carriers(opdef) or tuple(range(len(opdef.schema.outputs)))


def _placed(values: Values, positions: Sequence[int], arrays: Sequence[Any]) -> list[Any]:
    """Returns `values` with the flat `arrays` at some positions."""
    filled = dict(zip(positions, refill([values[i] for i in positions], arrays), strict=True))
    return [filled.get(i, value) for i, value in enumerate(values)]
