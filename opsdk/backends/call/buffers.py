"""Output buffers: arrays of the shapes and dtypes that an op's infer rule gives for actual inputs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from opsdk.backends.call.language import language_of
from opsdk.backends.call.one_shape import check_gradients
from opsdk.backends.memory import arena
from opsdk.core.errors import InputValueError, ShapeError
from opsdk.core.nested import each
from opsdk.core.spec import TensorSpec
from opsdk.define.call import check_outputs
from opsdk.define.gradient import GradientInfer, spec_name
from opsdk.define.infer import Inferred, Specs
from opsdk.define.kernel.kernel import Kernel
from opsdk.define.opdef import OpDef
from opsdk.define.schema.binding import ValueCheck


# Any: an array, a list of arrays, or None.
def specs_of(inputs: Sequence[Any]) -> Specs:
    """Returns the specs of actual inputs, in the form that infer rules take."""
    specs: Specs = each(inputs, TensorSpec.of)
    return specs


def asked_specs(gradient: OpDef, inputs: Sequence[Any]) -> dict[str, Any]:
    """Returns the specs that do not follow from what a gradient op reads, as attributes.

    Args:
        gradient: the gradient op.
        inputs: those of the forward's call, one entry per tensor input.
    """
    asked = getattr(gradient.infer, "asks", ())
    specs = specs_of([inputs[position] for _, position in asked])
    return {name: spec for (name, _), spec in zip(asked, specs, strict=True)}


def lacks_specs(opdef: OpDef, kernel: Kernel, attrs: Mapping[str, Any]) -> bool:
    """Whether a kernel fills buffers whose shapes nobody told: those of a gradient op that is called by hand."""
    asks = getattr(opdef.infer, "asks", ())
    if not asks or all(name in attrs for name, _ in asks):
        return False
    return fills_buffers(opdef, kernel)


def fills_buffers(opdef: OpDef, kernel: Kernel) -> bool:
    """Whether a kernel is given its outputs, of the specs that the infer rule gives, instead of returning them."""
    return language_of(kernel).fills or any(name in kernel.parameters for name in opdef.schema.output_names)


def infer(opdef: OpDef, inputs: Sequence[Any], attrs: Mapping[str, Any]) -> Inferred:
    """Returns the specs of the outputs for actual inputs.

    Raises:
        InputValueError: the rule raised, and the op's value check says what is wrong with the call.
        DTypeError: it gives an output elements of another kind than the schema declares.
    """
    try:
        specs = opdef.infer(opdef.schema, specs_of(inputs), attrs)
    except Exception as error:
        wrong = in_authors_words(opdef, inputs, attrs)
        if wrong is not None:
            raise wrong from error
        raise
    check_outputs(opdef, specs)
    return specs


def infer_buffers(opdef: OpDef, inputs: Sequence[Any], attrs: Mapping[str, Any]) -> Inferred:
    """Returns the specs of the outputs of a row that fills them.

    Raises:
        ShapeError: those of a gradient are not of the shape that they have in an op without a rule.
        InputValueError, DTypeError: as of `infer`.
    """
    specs = infer(opdef, inputs, attrs)
    check_gradients(opdef, inputs, specs)
    return specs


def in_authors_words(opdef: OpDef, inputs: Sequence[Any], attrs: Mapping[str, Any]) -> InputValueError | None:
    """Returns what an op's value check says of a call that was refused before it was asked; None where it has none."""
    return None if opdef.check is None else _said(opdef.check, inputs, attrs)


def _said(check: ValueCheck, inputs: Sequence[Any], attrs: Mapping[str, Any]) -> InputValueError | None:
    """Returns what a value check says of a call that the infer rule does not take; a check may fail there too."""
    try:
        check(inputs, attrs)
    except InputValueError as wrong:
        return wrong
    except Exception:  # written for calls of which the rule takes the shapes
        return None
    return None


def allocate(
    opdef: OpDef,
    inputs: Sequence[Any],
    attrs: Mapping[str, Any],
    positions: Sequence[int],
    empty: Callable[..., Any] = arena.empty,
) -> list[Any]:
    """Returns uninitialised arrays for the outputs at `positions`, made by `empty(shape, dtype)`.

    Raises:
        ShapeError: the infer rule leaves a size open, so that a buffer cannot be made before the kernel runs; or as of
            `infer_buffers`.
    """
    specs = infer_buffers(opdef, inputs, attrs)
    buffers = []
    for position in positions:
        spec = specs[position]
        if not isinstance(spec, TensorSpec) or None in spec.shape:
            name = opdef.schema.output_names[position]
            is_list = opdef.schema.outputs[position].kind == "list"
            of_gradient = "" if is_list else given_by_hand(opdef, position)
            remedy = of_gradient or f"let the kernel return the {'list of arrays' if is_list else 'array'}"
            raise ShapeError(
                f"{opdef.subject}, output {name!r}: expected a shape known before the "
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
