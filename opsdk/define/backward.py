"""What a backward may name, and what a gradient op is given of it: values, cotangents, residuals, specs, attributes."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

from opsdk.core.errors import BindingError, DefinitionError
from opsdk.core.origin import origin_of
from opsdk.define.opdef import MASK, OpDef, Source
from opsdk.define.schema.binding import name_of, parameters_among, read_parameters
from opsdk.define.schema.scalars import OBJECT
from opsdk.define.schema.schema import InputDecl, OpSchema, TensorDecl

_SPEC = "_spec"


def spec_name(name: str) -> str:
    """Returns what the spec of an input is called among a gradient op's attributes."""
    return f"{name}{_SPEC}"


def named_as(spec: str) -> str:
    """Returns the input whose spec goes by a name."""
    return spec.removesuffix(_SPEC)


def check_declared(forward: OpDef, names: Collection[str], disconnected: Sequence[str]) -> None:
    """Refuses a backward of what is differentiated otherwise, and one that gives None for what has no derivative.

    Raises:
        DefinitionError: the op is a composite, or `disconnected` has another name than those of differentiable inputs.
    """
    if forward.is_composite:
        raise DefinitionError(
            f"{forward.subject}, backward: expected none of a composite, whose gradient is that of the ops it calls; "
            "take composite=True out of the forward, or the backward"
        )
    for entry in disconnected:
        if entry not in names:
            raise DefinitionError(f"{forward.subject}, backward: disconnected={entry!r} is no differentiable input")


def checked_parameters(forward: OpDef, function: Callable[..., Any], cotangents: Mapping[str, int]) -> tuple[str, ...]:
    """Returns what a backward asks for: there is all of it, and something to differentiate."""
    schema = forward.schema
    known: tuple[str, ...] = (*schema.input_names, *schema.whole.output_names, *cotangents, *schema.attr_names, MASK)
    asked = {name for names in read_parameters(function) for name in names}
    known += tuple(name for name in specs_of(schema) if name in asked)  # no others: a message lists what there is
    _check_named_there(forward, function, asked.difference(known))
    parameters = parameters_among(function, known, f"{forward.subject}, backward")
    if not forward.differentiable_inputs() or not cotangents:
        raise DefinitionError(f"{forward.subject}: expected a differentiable input and output, got none of one of them")
    own = (*schema.input_names, *forward.unread)
    unread = [name for name in getattr(forward.infer, "names", ()) if name not in own]
    if forward.moving and unread:
        residual = forward.moving[0]
        raise DefinitionError(
            f"{forward.subject}, backward: expected {schema.name} to read the lists, and what is changed in place, "
            f"that the residual {residual!r} may depend on, since its derivative goes to them, got no "
            f"{', '.join(map(repr, unread))}; name it there, or make {residual!r} an output",
            at=str(origin_of(function)),
        )
    for position in schema.mutated_inputs:
        changed = schema.inputs[position].name
        if changed in parameters:
            raise DefinitionError(
                f"{forward.subject}, backward: {changed!r} is changed in place by the forward, expected the backward to"
                " read what is still there; name an output instead, or write a forward that changes nothing"
            )
    if not any(parameter in cotangents for parameter in parameters):
        raise BindingError(
            f"{forward.subject}, backward {name_of(function)}: expected a cotangent among its parameters "
            f"({', '.join(cotangents)}), got ({', '.join(parameters)}); a gradient depends on what enters it"
        )
    for name in parameters:
        if name in cotangents and known.count(name) > 1:
            raise DefinitionError(
                f"{forward.subject}, backward: {name!r} could be the cotangent of output "
                f"{schema.output_names[cotangents[name]]!r} or the op's own {name!r}; rename one in the schema"
            )
    return parameters


def _check_named_there(forward: OpDef, function: Callable[..., Any], unknown: Collection[str]) -> None:
    """Checks that a backward of a backward names nothing of the op that the first backward does not name.

    Raises:
        BindingError: it does.
    """
    first = getattr(forward.infer, "forward", None)
    if first is None:
        return
    schema: OpSchema = first[0]
    kept = (*schema.input_names, *schema.whole.output_names)
    for name in sorted(unknown):
        is_free = name in schema.attr_names or name in specs_of(schema)
        if is_free or name in kept:
            cost = "costs nothing" if is_free else "keeps it"
            what = "attribute" if name in schema.attr_names else "spec" if is_free else "value"
            raise BindingError(
                f"{forward.subject}, backward {name_of(function)}: {name!r} expected to be named by "
                f"{forward.schema.name} too, of which this is the backward, got a {what} of {schema.subject} that it "
                f"does not name; name it there, which {cost}"
            )


def readable(schema: OpSchema, cotangents: Mapping[str, int], materialize: bool) -> dict[str, tuple[Source, InputDecl]]:
    """Returns by name what a gradient op may read, and what it declares of it."""
    found = {
        decl.name: (Source(kind, position), _read_as(decl))
        for kind, decls in (("input", schema.inputs), ("output", schema.outputs), ("residual", schema.residuals))
        for position, decl in enumerate(decls)
        if decl.kind != OBJECT
    }
    for name, position in cotangents.items():
        output = schema.outputs[position]
        kind = output.kind if materialize or output.kind == "list" else "optional"
        found[name] = Source("cotangent", position), InputDecl(name, kind, holes=output.holes)
    return found


def _read_as(decl: TensorDecl) -> InputDecl:
    return InputDecl(decl.name, decl.kind, elements=decl.elements, holes=decl.holes)


def objects_of(schema: OpSchema) -> dict[str, Source]:
    """Returns by name what a gradient op may be given that is an object of Python."""
    held = {decl.name: Source("object", i) for i, decl in enumerate(schema.attrs) if decl.type.scalar == OBJECT}
    return held | {d.name: Source("residual", i) for i, d in enumerate(schema.residuals) if d.kind == OBJECT}


def specs_of(schema: OpSchema) -> dict[str, str]:
    """Returns the inputs of which a backward may name the spec, by what it is called then."""
    taken = (*schema.input_names, *schema.whole.output_names, *schema.attr_names)
    found = {spec_name(name): name for name in schema.input_names}
    return {name: of for name, of in found.items() if name not in taken}


def unread_inputs(forward: OpDef, parameters: Sequence[str]) -> list[int]:
    """Returns the inputs whose gradient has to go on through a residual, though the backward does not read them.

    A residual moves with inputs, so a derivative of the backward has a gradient of each, of which no value is needed.
    """
    schema = forward.schema
    moving = {*schema.residual_names, *forward.reads}.difference(schema.whole.nondifferentiable)
    if moving.isdisjoint(parameters):
        return []
    wrt = [i for i in forward.differentiable_inputs() if schema.inputs[i].name not in parameters]
    own = [i for i in wrt if schema.inputs[i].kind != "list" and i not in schema.mutated_inputs]
    return [*own, *range(len(schema.inputs), len(schema.inputs) + len(forward.unread))]
