"""What an op's infer rule gives for actual inputs: output buffers, and what a kernel's outputs are held to."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from contextlib import suppress
from typing import Any

import numpy as np

from opsdk.backends.call.language import Launch, language_of
from opsdk.backends.call.normalise import check_specs
from opsdk.backends.call.one_shape import check_gradients
from opsdk.backends.memory import arena
from opsdk.core.as_written import as_key
from opsdk.core.bounded import Bounded
from opsdk.core.dtype import is_differentiable
from opsdk.core.errors import InputValueError, ShapeError
from opsdk.core.nested import each
from opsdk.core.random import Draw
from opsdk.core.spec import TensorSpec
from opsdk.define.backward import spec_name
from opsdk.define.call import check_outputs, check_shapes
from opsdk.define.gradient import GradientInfer
from opsdk.define.infer import Inferred, Specs
from opsdk.define.kernel.kernel import Kernel
from opsdk.define.opdef import MASK, OpDef
from opsdk.define.schema.schema import ResidualDecl

_MOST = 64  # combinations of shapes of which it is known what the op gives


# Any: an array, a list of arrays, or None.
def specs_of(inputs: Sequence[Any]) -> Specs:
    """Returns the specs of actual inputs, in the form that infer rules take."""
    specs: Specs = each(inputs, TensorSpec.of)
    return specs


def asked_specs(gradient: OpDef, inputs: Sequence[Any]) -> dict[str, Any]:
    """Returns the specs that do not follow from what a gradient op reads, as attributes.

    Args:
        gradient: the gradient op.
        inputs: those of the forward's call, one entry per tensor input; of what it does not read who asks knows.
    """
    asked = [ask for ask in getattr(gradient.infer, "asks", ()) if ask[1] < len(inputs)]
    specs = specs_of([inputs[position] for _, position in asked])
    return {name: spec for (name, _), spec in zip(asked, specs, strict=True)}


def stand_ins(specs: Sequence[str], attrs: Mapping[str, Any]) -> dict[str, Any]:
    """Returns attributes in which arrays stand for specs, as compiled code takes them: shapes, dtypes, and zeros.

    Args:
        specs: the names of those attributes.
        attrs: all of them.
    """
    made = [each(attrs[name], lambda spec: np.broadcast_to(np.zeros((), spec.dtype), spec.shape)) for name in specs]
    return {**attrs, **dict(zip(specs, made, strict=True))}


def fills_buffers(opdef: OpDef, kernel: Kernel) -> bool:
    """Whether a kernel is given its outputs, of the specs that the infer rule gives, instead of returning them."""
    return language_of(kernel).fills or any(name in kernel.parameters for name in opdef.schema.output_names)


def infer(opdef: OpDef, inputs: Sequence[Any], attrs: Mapping[str, Any]) -> Inferred:
    """Returns the specs of the outputs for actual inputs.

    Raises:
        InputValueError: the rule raised, and the op's value check says what is wrong with the call.
        ShapeError: an input is not of the shape that the op's domain says.
        DTypeError: it gives an output elements of another kind than the schema declares.
        ShapeError, DTypeError: an input that is changed in place is not what it gives.
    """
    given = specs_of(inputs)
    if opdef.shapes:
        check_shapes(opdef.schema, opdef.shapes, given, attrs)
    try:
        specs = opdef.infer(opdef.schema, given, attrs)
    except Exception as error:
        wrong = in_authors_words(opdef, inputs, attrs)
        if wrong is not None:
            raise wrong from error
        raise
    check_outputs(opdef, specs, given)
    return specs


def held_to_shapes(opdef: OpDef, launch: Launch) -> Launch:
    """Returns a launch that is held to the shapes of the op's domain before it runs; once for inputs of the same."""
    known: Bounded[Hashable, bool] = Bounded(_MOST)

    def held(*values: Any, **attrs: Any) -> Any:
        key = (*map(_sizes, values), *[value for value in attrs.values() if value.__class__ is int])
        if key not in known:
            check_shapes(opdef.schema, opdef.shapes, specs_of(values), attrs)
            known[key] = True
        return launch(*values, **attrs)

    return held


def infer_buffers(opdef: OpDef, inputs: Sequence[Any], attrs: Mapping[str, Any]) -> Inferred:
    """Returns the specs of the outputs of a kernel that fills them.

    Raises:
        ShapeError: those of a gradient are not of the shape that they have in an op without a rule.
        InputValueError, DTypeError: as of `infer`.
    """
    specs = infer(opdef, inputs, attrs)
    check_gradients(opdef, inputs, specs)
    return specs


def in_authors_words(opdef: OpDef, inputs: Sequence[Any], attrs: Mapping[str, Any]) -> InputValueError | None:
    """Returns what an op's value check says of a call that was refused before it was asked; None where it has none."""
    try:
        if opdef.check is not None:
            opdef.check(inputs, attrs)
    except InputValueError as wrong:
        return wrong
    except Exception:  # the check is written for calls of which the rule takes the shapes
        return None
    return None


def allocate(
    opdef: OpDef,
    inputs: Sequence[Any],
    attrs: Mapping[str, Any],
    positions: Sequence[int],
    empty: Callable[..., Any] = arena.empty,
) -> list[Any]:
    """Returns uninitialised arrays for the outputs at `positions`, made by `empty(shape, dtype)`; None of absent ones.

    Raises:
        ShapeError: the infer rule leaves a size open, so that a buffer cannot be made before the kernel runs; or as of
            `infer_buffers`.
    """
    specs = infer_buffers(opdef, inputs, attrs)
    buffers: list[Any] = []
    for position in positions:
        spec = specs[position]
        if spec is None and opdef.schema.outputs[position].kind == "optional":
            buffers.append(None)
            continue
        if not isinstance(spec, TensorSpec) or None in spec.shape:
            name, decl = opdef.schema.output_names[position], opdef.schema.outputs[position]
            is_list = decl.kind == "list"
            of_gradient = "" if is_list else given_by_hand(opdef, position)
            remedy = of_gradient or f"let the kernel return the {'list of arrays' if is_list else 'array'}"
            if isinstance(decl, ResidualDecl):
                remedy = f"return its spec too, after those of the outputs, in @{opdef.schema.name}.infer"
            raise ShapeError(
                f"{opdef.subject}, {decl.role} {name!r}: expected a shape known before the "
                f"kernel runs, since the kernel fills a buffer, got {spec}; {remedy}"
            )
        buffers.append(empty(tuple(dim or 0 for dim in spec.shape), spec.dtype))
    return buffers


def given_by_hand(opdef: OpDef, position: int) -> str:
    """Returns what a direct call of a gradient op does about a gradient of unknown shape; "" of any other op."""
    rule = opdef.infer
    if not isinstance(rule, GradientInfer):
        return ""
    name = rule.names[position]
    asked = spec_name(name or "")
    if asked not in [ask for ask, _ in rule.asks]:
        return f"let the backward read {name!r}"
    return f"a backward pass gives the spec of {name!r}; a direct call gives {asked}=opsdk.TensorSpec(shape, dtype)"


# Any: one entry per input, an array, a list of arrays or None; attribute values.
def unneeded(opdef: OpDef, inputs: Sequence[Any], attrs: Mapping[str, Any]) -> frozenset[int]:
    """Returns the positions of the outputs of a gradient op whose gradients are unneeded; another op has none of these.

    They are the gradients of inputs that are absent or whole numbers, or that a call's mask leaves out. A compiled
    kernel is given buffers for them like for others, and may leave them as the memory was; they are handed on as None.
    """
    rule = opdef.infer
    if not isinstance(rule, GradientInfer):
        return frozenset()
    given = {name.removesuffix("_spec"): attrs[name] for name, _ in rule.asks if name in attrs}
    given.update(zip(opdef.schema.input_names, inputs, strict=True))
    mask = attrs.get(MASK) or ()
    return frozenset(
        i
        for i, (name, position) in enumerate(zip(rule.names, rule.positions, strict=True))
        if (name in given and _carries_none(given[name])) or (mask and position is not None and not mask[position])
    )


# Any: an array, a list of arrays, or None.
def _carries_none(value: Any) -> bool:
    return value is None or (not isinstance(value, list) and not is_differentiable(value.dtype))


# Any: as for `unneeded`.
def without_unneeded(opdef: OpDef, launch: Launch, inputs: Sequence[Any]) -> Launch:
    """Returns the launch of a compiled kernel with None for the gradients that nobody wants; itself where all are.

    Args:
        opdef: the op.
        launch: of the kernel.
        inputs: of one call of the kind that the launch serves.
    """
    rule = opdef.infer
    if not isinstance(rule, GradientInfer):
        return launch
    schema = opdef.schema
    left = {decl.name for decl, value in zip(schema.inputs, inputs, strict=True) if _carries_none(value)}
    is_masked = MASK in schema.attr_names and any(position is not None for position in rule.positions)
    if not is_masked and left.isdisjoint(rule.names) and not rule.asks:
        return launch

    def launch_wanted(*values: Any, **attrs: Any) -> Any:
        made = launch(*values, **attrs)
        left = unneeded(opdef, values, attrs)
        if not left:
            return made
        if len(rule.names) == 1:
            return None
        return tuple([None if i in left else value for i, value in enumerate(made)])

    return launch_wanted


# Any, from here on: one entry per input or output, an array, a list of arrays or None; attribute values.
class Hold:
    """The check of the outputs of one kind of call; the rule is asked once for inputs of the same shapes.

    Where a call has a callable it is asked each time: that may decide something, and nothing here keeps it alive.

    What an author's kernel takes and gives is held to the op's infer rule in every call, whatever it is made of.
    """

    __slots__ = ("_known", "_opdef")

    def __init__(self, opdef: OpDef) -> None:
        self._opdef = opdef
        self._known: Bounded[Hashable, Inferred] = Bounded(_MOST)

    def __call__(self, outputs: Sequence[Any], inputs: Sequence[Any], attrs: Mapping[str, Any]) -> None:
        """Checks what a call gave.

        Raises:
            ArityError, ShapeError, DTypeError: it is not what the infer rule says; or whatever the rule raises.
        """
        check_specs(self._opdef, outputs, self.inferred(inputs, attrs))

    def inferred(self, inputs: Sequence[Any], attrs: Mapping[str, Any]) -> Inferred:
        """Returns what the rule gives, or raises what it raises."""
        try:
            known = self._known.get(_key(inputs, attrs)) if self._known else None
        except TypeError:  # an attribute that has no hash
            known = None
        if known is None:
            known = infer(self._opdef, inputs, attrs)
            self.remember(inputs, attrs, known)
        return known

    def first(self, launch: Launch) -> Launch:
        """Returns a launch that asks the rule before it runs: what belongs together is known to nobody else."""

        def asked(*values: Any, **attrs: Any) -> Any:
            self.inferred(values, attrs)
            return launch(*values, **attrs)

        return asked

    def remember(self, inputs: Sequence[Any], attrs: Mapping[str, Any], inferred: Inferred) -> None:
        """Keeps what the rule gave."""
        if self._opdef.schema.callables:
            return
        with suppress(TypeError):  # an attribute that has no hash
            self._known[_key(inputs, attrs)] = inferred


def _key(inputs: Sequence[Any], attrs: Mapping[str, Any]) -> tuple[Hashable, ...]:
    return (*map(_sizes, inputs), *[as_key(value) for value in attrs.values() if value.__class__ is not Draw])


def _sizes(value: Any) -> Any:
    return tuple(map(_sizes, value)) if value.__class__ is list else None if value is None else value.shape
