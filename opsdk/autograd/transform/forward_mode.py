"""Forward mode: values with a tangent, the derivative of each along one direction, computed call by call."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import compress
from typing import Any

from opsdk.autograd.derivatives import apart, grad
from opsdk.autograd.tensor import Tensor
from opsdk.autograd.transform.leveled import Leveled, Transform, body_of
from opsdk.backends.call.application import Application, missing_gradient
from opsdk.core.dtype import is_differentiable
from opsdk.core.modes import GradMode, is_grad_enabled
from opsdk.core.nested import each, flat
from opsdk.define.frontend import dispatch
from opsdk.define.opdef import OpDef
from opsdk.expr.scalar import ScalarFunction
from opsdk.ops.creation import fill_any_like
from opsdk.ops.elementwise import elementwise_add
from opsdk.ops.functions import cast
from opsdk.ops.reduction import expand_as

MULTILINEAR = {"opsdk::matmul", "opsdk::mul"}  # linear in each input by itself


# Any, in this file: the values of a call.
class Dual(Leveled):
    """A tensor with a tangent, of its shape and dtype."""

    __slots__ = ("_tangent",)

    def __init__(self, owner: ForwardMode, value: Tensor, tangent: Tensor) -> None:
        super().__init__(owner, value)
        self._tangent = tangent


class ForwardMode(Transform):
    """A run of `jvp`: each call on a dual gives one.

    An expression has a tangent by its derivative alone, a composite by the ops that it is made of, what is linear by
    itself. Of all others the gradient, which is linear in its cotangent, is differentiated with respect to that.
    """

    name = "jvp"

    def serve(self, opdef: OpDef, inputs: Sequence[Any], attrs: Mapping[str, Any]) -> Any:
        """Returns what a call gives, with its tangent.

        Raises:
            GradientMissingError: the op has no backward.
            DerivativeOrderError: its backward is NumPy code that nobody can differentiate.
        """
        if opdef.is_composite:
            with self:
                return body_of(opdef, inputs, attrs)
        moving = [i for i in opdef.differentiable_inputs() if any(map(self.owns, flat(inputs[i])))]
        primals = self.beneath(inputs)
        outputs = opdef.schema.outputs
        is_one = len(outputs) == 1 and outputs[0].kind == "tensor"
        if opdef.grad is None or not moving:
            made = dispatch(opdef, primals, attrs)
            is_open = not all(decl.name in opdef.traits.nondifferentiable for decl in outputs)
            if moving and is_open and any(is_differentiable(tensor.dtype) for tensor in flat(made)):
                raise missing_gradient(opdef, "")
            return made
        listed = any(isinstance(inputs[i], (list, tuple)) for i in moving)
        if is_one and not listed:
            tangent = self._derived(opdef, inputs, primals, moving, attrs)
            if tangent is not None:
                return Dual(self, *tangent)
        return self._transposed(lambda *values: dispatch(opdef, values, attrs), inputs)

    def lets_change(self, opdef: OpDef, position: int, value: Any) -> bool:
        """Whether nothing moves with what is changed: a statistic, to which no derivative flows backward either."""
        is_constant = opdef.schema.inputs[position].name in opdef.traits.nondifferentiable
        return is_constant and not any(map(self.owns, flat(value)))

    def serve_function(self, function: Callable[..., Any], args: Sequence[Any]) -> Any:
        """Returns what a PyLayer gives, with tangents from its backward."""
        return self._transposed(function, args)

    def _derived(
        self, opdef: OpDef, inputs: Sequence[Any], primals: Sequence[Any], moving: Sequence[int], attrs: Any
    ) -> tuple[Any, Any] | None:
        """Returns the result and its tangent where a rule gives them."""
        if opdef.name in MULTILINEAR:
            out = dispatch(opdef, primals, attrs)
            return out, _total(
                dispatch(opdef, [*primals[:i], inputs[i]._tangent, *primals[i + 1 :]], attrs) for i in moving
            )
        if opdef.traits.linear and len(moving) == len(opdef.differentiable_inputs()):
            tangents = [inputs[i]._tangent if i in moving else value for i, value in enumerate(primals)]
            return dispatch(opdef, primals, attrs), dispatch(opdef, tangents, attrs)
        if not is_elementwise(opdef) or any(tensor.dtype.kind == "c" for tensor in map(inputs.__getitem__, moving)):
            return None
        out = dispatch(opdef, primals, attrs)
        if out.dtype.kind == "c":
            return None
        wide = [p if p is None or tuple(p.shape) == tuple(out.shape) else expand_as(p, out) for p in primals]
        return out, _total(_scaled(opdef, wide, out, i, inputs[i]._tangent, attrs) for i in moving)

    def _transposed(self, function: Callable[..., Any], inputs: Sequence[Any]) -> Any:
        """Returns what a function gives, with tangents.

        Its gradient is linear in the cotangents; the gradient of that, along the tangents, is the derivative.
        """
        pairs: list[tuple[Any, Any]] = []
        is_recorded = is_grad_enabled() and not all(
            tensor.stop_gradient for dual in filter(self.owns, flat(inputs)) for tensor in (dual._value, dual._tangent)
        )

        def taken(value: Any) -> Any:
            if not self.owns(value):
                return value
            leaf = apart(value._value, is_recorded)
            if not leaf.stop_gradient:
                pairs.append((leaf, value._tangent))
            return leaf

        with GradMode(True):
            made = function(*each(inputs, taken))
            ends = [tensor for tensor in flat(made) if isinstance(tensor, Tensor) and not tensor.stop_gradient]
            tangents: Any = iter([None] * len(ends))
            if ends and pairs:
                seeds = [apart(fill_any_like(tensor), False) for tensor in ends]
                found = grad(ends, [leaf for leaf, _ in pairs], seeds, create_graph=True, allow_unused=True)
                is_there = [g is not None and not g.stop_gradient for g in found]
                along = [tangent for _, tangent in compress(pairs, is_there)]
                if any(is_there):
                    gradients = [*compress(found, is_there)]
                    tangents = iter(grad(gradients, seeds, along, create_graph=is_recorded, allow_unused=True))

        def dual(value: Any) -> Any:
            if not isinstance(value, Tensor) or value.stop_gradient:
                return value
            tangent = next(tangents)
            plain = value if is_recorded else value.detach()
            return plain if tangent is None else Dual(self, plain, tangent)

        return _each(made, dual)

    def detached(self, value: Any) -> Tensor:
        """Returns the value alone: its tangent ends with its graph."""
        inner: Tensor = value._value.detach()
        return inner

    def apart(self, value: Any, is_recorded: bool) -> Tensor:
        """Returns a value as a leaf with the same tangent."""
        return Dual(self, apart(value._value, is_recorded), value._tangent)

    def grad(
        self, outputs: Sequence[Any], inputs: Sequence[Any], cotangents: Sequence[Any], **options: Any
    ) -> list[Any]:
        """Returns gradients with their tangents: the gradient of a tangent is the tangent of a gradient."""
        ends, targets, seeds = self.beneath([list(outputs), list(inputs), list(cotangents)])
        found = grad(ends, targets, seeds, **{**options, "retain_graph": True})
        tangents: list[Any] = [None] * len(targets)
        moved = [(y._tangent, u) for y, u in zip(outputs, seeds, strict=True) if self.owns(y)]
        moved += [(y, u._tangent) for y, u in zip(ends, cotangents, strict=True) if self.owns(u)]
        moved = [(y, u) for y, u in moved if not y.stop_gradient]
        if moved:
            ys, us = [y for y, _ in moved], [u for _, u in moved]
            tangents = grad(ys, targets, us, **{**options, "retain_graph": True, "allow_unused": True})
        return [g if v is None or g is None else Dual(self, g, v) for g, v in zip(found, tangents, strict=True)]


def is_elementwise(opdef: OpDef) -> bool:
    """Whether an op is an expression of numbers, which broadcasts."""
    return any(type(kernel.source) is ScalarFunction for kernel in opdef.kernels.rows)  # a RowFunction is one too


def _scaled(opdef: OpDef, primals: Sequence[Any], out: Any, i: int, tangent: Any, attrs: Mapping[str, Any]) -> Any:
    """Returns a tangent times the derivative of an expression: what its gradient does with a cotangent."""
    rule = opdef.grad
    assert rule is not None
    tangent = tangent if tangent.dtype == out.dtype else cast(tangent, out.dtype)
    tangent = tangent if tuple(tangent.shape) == tuple(out.shape) else expand_as(tangent, out)
    targets = [True if at == i else None for at in range(len(primals))]
    application = Application(opdef, rule, attrs, (tangent,), targets)
    saved = [out if source.kind == "output" else primals[source.position] for source in rule.saved]
    inputs = application.op_inputs(saved, lambda *_: None)
    handle: Any = rule.op
    made = dict(zip(rule.wrt, application.gradients(lambda given: handle(*inputs, **given)), strict=True))[i]
    return made if made.dtype == out.dtype else cast(made, out.dtype)


def _total(tangents: Any) -> Any:
    total = None
    for tangent in tangents:
        total = tangent if total is None else elementwise_add(total, tangent)
    return total


def _each(made: Any, function: Callable[[Any], Any]) -> Any:
    """Returns what a call gave, lists and tuples as they are, with a function applied to all else."""
    if isinstance(made, (list, tuple)):
        return type(made)([_each(item, function) for item in made])
    return function(made)
