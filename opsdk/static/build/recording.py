"""Recording: from a call on Variables to an Operator and its output Variables, all or nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import count
from typing import TYPE_CHECKING, Any

from opsdk.backends.call.constant import lifted
from opsdk.core.dtype import is_differentiable
from opsdk.core.errors import InPlaceError, ProgramError, VariableNotFoundError
from opsdk.core.modes import is_grad_enabled
from opsdk.core.names import unique_name
from opsdk.core.nested import each, flat
from opsdk.core.origin import caller
from opsdk.core.spec import HeldSpec, Shape, TensorSpec
from opsdk.core.suggest import alternatives
from opsdk.define.call import check_inputs, check_outputs, check_shapes, complete_attrs
from opsdk.define.infer import Inferred
from opsdk.define.opdef import OpDef
from opsdk.define.schema.schema import TensorDecl
from opsdk.ops.elements.indexing import getitem
from opsdk.static.ir.operator import FORWARD, OPTIMIZE, Operator
from opsdk.static.ir.shared_memory import viewed
from opsdk.static.ir.variable import Parameter, Variable

if TYPE_CHECKING:
    from opsdk.static.ir.block import Block


# Any, in this file: one entry per input, a Variable, a list of them or None; attribute values.
def append(block: Block, opdef: OpDef, inputs: Sequence[Any], attrs: Mapping[str, Any], role: str = FORWARD) -> Any:
    """Appends a call and returns its output Variables; the Block stays as it was if anything is wrong.

    Raises:
        ProgramError: an output's shape cannot be inferred.
    """
    complete, specs = _split(opdef, complete_attrs(opdef, attrs))
    check_whole(block, opdef, inputs)
    inferred = infer(opdef, inputs, complete)
    outputs: list[Any] = []
    prefix = unique_name(opdef.schema.name.removeprefix("reduce_"))
    numbers = count()
    stop = stops(opdef, inputs)
    for position, (decl, spec) in enumerate(zip(opdef.schema.outputs, inferred, strict=True)):
        if decl.mutated:
            outputs.append(inputs[opdef.schema.mutated_source(position)])
            continue
        if spec is None and decl.kind == "optional":
            outputs.append(None)
            continue
        if spec is None:
            raise ProgramError(
                f"{opdef.subject}, output {decl.name!r}: expected a spec from its infer rule, got None; a Program "
                "needs at least the number of dimensions, with None for sizes that only a run can tell"
            )

        def made(one: TensorSpec, is_cut: bool = stop[position]) -> Variable:
            name = block.free_name(f"{prefix}.tmp_{next(numbers)}")
            is_cut = is_cut or not is_differentiable(one.dtype)
            return block.add(Variable(block, name, one.shape, one.dtype, stop_gradient=is_cut))

        outputs.append(each(spec, made))
    connect(block, opdef, inputs, outputs, complete, role).specs.update(specs)
    return outputs[0] if len(outputs) == 1 else tuple(outputs)


def append_explicit(
    block: Block, opdef: OpDef, inputs: Mapping[str, Any], outputs: Mapping[str, Any], attrs: Mapping[str, Any]
) -> Operator:
    """Appends a call whose output Variables exist already.

    Raises:
        ArityError: an input that is not optional is missing.
        ProgramError: a slot or attribute is unknown, an output is missing, or does not agree with what the op gives.
        VariableNotFoundError: a Variable is not in the block.
    """
    schema = opdef.schema
    given = _slots(block, opdef, "input", schema.inputs, inputs)
    values = [_of_kind(opdef, decl, given[decl.name]) for decl in schema.inputs]
    for name in attrs:
        if name not in schema.attr_names:
            known = alternatives(name, schema.attr_names)
            raise ProgramError(f"{opdef.subject}: no attribute is called {name!r}; there are {known}")
    complete, specs = _split(opdef, complete_attrs(opdef, attrs))
    check_inputs(opdef, values)
    check_whole(block, opdef, values)
    inferred = infer(opdef, values, complete)
    made = _slots(block, opdef, "output", schema.outputs, outputs)
    results: list[Any] = []
    for position, (decl, spec) in enumerate(zip(schema.outputs, inferred, strict=True)):
        variables = made[decl.name]
        if decl.mutated:
            results.append(_handed_on(opdef, decl.name, values[schema.mutated_source(position)], variables))
            continue
        if spec is None and decl.kind == "optional":
            if variables:
                raise ProgramError(
                    f"{opdef.subject}: output {decl.name!r} expected no variable, since its infer rule says that this "
                    f"call does not give it, got {variables[0].name!r}; leave it out"
                )
            results.append(None)
            continue
        if not variables:
            raise ProgramError(f"{opdef.subject}: output {decl.name!r} expected a variable, got none")
        wanted = spec if isinstance(spec, list) else [spec] * len(variables)
        if len(wanted) != len(variables):
            raise ProgramError(
                f"{opdef.subject}: output {decl.name!r} expected {len(wanted)} variables, got {len(variables)}"
            )
        for i, (variable, want) in enumerate(zip(variables, wanted, strict=True)):
            if isinstance(spec, list) and (variable is None) is not (want is None):
                expected, got = ("None", repr(variable.name)) if want is None else ("a variable", "None")
                raise ProgramError(
                    f"{opdef.subject}: output {decl.name!r} expected {expected} at {i}, as its infer rule has it, got "
                    f"{got}"
                )
            if want is None:
                continue
            if variable.dtype != want.dtype or not may_agree(variable.spec.shape, want.shape):
                raise ProgramError(
                    f"{opdef.subject}: output {decl.name!r} expected {want}, variable {variable.name!r} is "
                    f"{variable.spec}"
                )
        results.append(_of_kind(opdef, decl, variables))
    for value, stop in zip(results, stops(opdef, values), strict=True):
        for variable in flat(value):
            if not variable.persistable:
                variable.mark_stop(stop or variable.is_cut)
    operator = connect(block, opdef, values, results, complete, FORWARD)
    operator.specs.update(specs)
    return operator


def _split(opdef: OpDef, attrs: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, tuple[str, list[str]]]]:
    """Returns attributes without Variables, and those that are specs of Variables as `Operator.specs` has them.

    Raises:
        ProgramError: there is an open size, and not all are specs of Variables: a run would have no number for it.
    """
    plain = dict(attrs)
    specs: dict[str, tuple[str, list[str]]] = {}
    for name, value in attrs.items():
        given = [one for one in flat(value) if isinstance(one, TensorSpec)]
        if all(isinstance(one, HeldSpec) for one in given):
            owners = each(value, lambda one: one.owner) if given else None
            specs |= {name: ("list" if isinstance(value, list) else "tensor", _names(owners))} if given else {}
        elif any(None in one.shape for one in given):
            raise ProgramError(
                f"{opdef.subject}: attribute {name!r} expected the spec that a backward is given of a variable, or "
                f"known sizes, since a run has no number for others, got {value}; hand on x_spec itself"
            )
        if given:
            plain[name] = each(value, lambda one: TensorSpec(one.shape, one.dtype))
    return plain, specs


def connect(
    block: Block, opdef: OpDef, inputs: Sequence[Any], outputs: Sequence[Any], attrs: dict[str, Any], role: str
) -> Operator:
    """Puts the Operator between Variables that exist, at the end."""
    changed = [variable for i in opdef.schema.mutated_inputs for variable in flat(inputs[i])]
    if any(isinstance(v, Parameter) and (v.trainable or not opdef.schema.fresh_outputs) for v in changed):
        role = OPTIMIZE  # an update; who gives something beside, and changes what is frozen, keeps statistics of it
    operator = operator_of(opdef, inputs, outputs, attrs, role)
    operator.records = is_grad_enabled()
    if changed and opdef.grad is not None and not all(stops(opdef, inputs)):
        operator.freed = _freed(opdef, inputs)
    opdef.usage.in_graph = True
    block.insert(len(block.ops), operator)
    return operator


def _freed(opdef: OpDef, inputs: Sequence[Any]) -> list[str]:
    """Has gradients flow through what an op changes in place with a gradient, as on the tape, parameters apart.

    Returns:
        The names of those where a user had stopped that.
    """
    found = []
    schema, frozen = opdef.schema, opdef.traits.nondifferentiable
    for decl, position in ((decl, schema.mutated_source(i)) for i, decl in enumerate(schema.outputs) if decl.mutated):
        for variable in flat(inputs[position]) if decl.name not in frozen else ():
            if not isinstance(variable, Parameter) and is_differentiable(variable.dtype):
                if variable.is_cut:
                    found.append(variable.name)
                variable.is_cut = False
                variable.mark_stop(False)
    return found


def operator_of(
    opdef: OpDef, inputs: Sequence[Any], outputs: Sequence[Any], attrs: dict[str, Any], role: str
) -> Operator:
    """Returns a call between Variables as an Operator, which is in no block yet."""
    schema = opdef.schema
    read = {name: _names(value) for name, value in zip(schema.input_names, inputs, strict=True)}
    written = {name: _names(value) for name, value in zip(schema.output_names, outputs, strict=True)}
    return Operator(opdef, read, written, attrs, role, caller())


def infer(opdef: OpDef, inputs: Sequence[Any], attrs: Mapping[str, Any]) -> Inferred:
    """Returns the specs of the outputs for input Variables, of a call whose attributes the op's check takes."""
    if opdef.check is not None:
        opdef.check.ask_early(attrs)
    given = each(inputs, lambda variable: variable.spec)
    if opdef.shapes:
        check_shapes(opdef.schema, opdef.shapes, given, attrs)
    inferred = opdef.infer(opdef.schema, given, attrs)
    check_outputs(opdef, inferred, given)
    return inferred


def check_whole(block: Block, opdef: OpDef, inputs: Sequence[Any]) -> None:
    """Checks that what an op changes in place is a variable of its own: no view of one, nor what indexing made.

    Either is a copy in a run, and what it was taken from would stay as it is. Nor is one changed in two places.

    Raises:
        InPlaceError: it is none.
    """
    wanted: dict[str, int] = {}
    changed = [(v.name, position) for position in opdef.schema.mutated_inputs for v in flat(inputs[position])]
    for name, position in changed:
        if name in wanted:
            one, other = (repr(opdef.schema.inputs[i].name) for i in (wanted[name], position))
            raise InPlaceError(
                f"{opdef.subject}: {one} and {other} expected variables of their own, since the op changes both in "
                f"place, got {name!r} twice; give a clone() of one"
            )
        wanted[name] = position
    for operator in block.ops if wanted else ():
        parts = [(operator.output_arg_names, operator.input("x"))] if operator.opdef is getitem.opdef else []
        for names, sources in (*parts, *viewed(operator)):
            for name in [name for name in names if name in wanted]:
                kind = "which indexing made" if parts else f"a view that {operator.type!r} made"
                raise InPlaceError(
                    f"{opdef.subject}, input {opdef.schema.inputs[wanted[name]].name!r}: expected a whole variable, "
                    f"got {name!r}, {kind}, a copy in a run, so that {sources[0]!r} would stay as it is; change the "
                    "whole one, or a clone()"
                )


def stops(opdef: OpDef, inputs: Sequence[Any]) -> list[bool]:
    """Returns per output whether no gradient flows through it, as it follows from the inputs."""
    wanted = flat([inputs[i] for i in opdef.differentiable_inputs()])
    flows = is_grad_enabled() and any(not v.stop_gradient and is_differentiable(v.dtype) for v in wanted)
    return [not flows or decl.name in opdef.traits.nondifferentiable for decl in opdef.schema.outputs]


def lift(block: Block, opdef: OpDef, inputs: Sequence[Any]) -> list[Any]:
    """Returns the inputs with every constant as a constant Variable."""
    made = lifted(opdef, inputs, Variable, "Program variables", lambda value, array: block.create_constant(array))
    check_inputs(opdef, made)  # of the dtypes of constants too
    return made


def _names(value: Any) -> list[str]:
    """Returns the names of a slot: none for what is absent, empty ones for holes of a list, and what nobody wants."""
    if value is None:
        return []
    return ["" if v is None else v.name for v in value] if isinstance(value, (list, tuple)) else [value.name]


def _of_kind(opdef: OpDef, decl: TensorDecl, variables: list[Any]) -> Any:
    if decl.kind == "list":
        return variables
    if len(variables) > 1:
        raise ProgramError(f"{opdef.subject}: {decl.name!r} expected one variable, got {len(variables)}")
    return variables[0] if variables else None


def _handed_on(opdef: OpDef, output: str, source: Any, variables: list[Any]) -> Any:
    """Returns what an op changes in place, a variable or several; naming them among the outputs too is allowed."""
    if variables and list(map(id, flat(variables))) != list(map(id, flat(source))):
        wanted = ", ".join(repr(variable.name) for variable in flat(source)) or "none"
        names = ", ".join(repr(variable.name) for variable in flat(variables))
        raise ProgramError(
            f"{opdef.subject}: output {output!r} expected {wanted}, which the op changes in place, got {names}"
        )
    return source


def _slots(
    block: Block, opdef: OpDef, role: str, decls: Sequence[TensorDecl], given: Mapping[str, Any]
) -> dict[str, list[Any]]:
    """Returns per input or output the Variables that are given for it, and None at holes of lists."""
    known = [decl.name for decl in decls]
    slots: dict[str, list[Any]] = {name: [] for name in known}
    lowered = {name.lower(): name for name in known}
    may_lack = {decl.name for decl in decls if decl.holes}
    for slot, value in given.items():
        if slot.lower() not in lowered:
            raise ProgramError(f"{opdef.subject}: no {role} is called {slot!r}; there are {alternatives(slot, known)}")
        entries = value if isinstance(value, (list, tuple)) else [] if value is None else [value]
        variables: list[Any] = []
        for entry in entries:
            if entry is None and lowered[slot.lower()] in may_lack:
                variables.append(None)
                continue
            variable = block.var(entry) if isinstance(entry, str) else entry
            if not isinstance(variable, Variable):
                raise ProgramError(f"{opdef.subject}: expected a Variable or its name, got {type(variable).__name__}")
            if block.vars.get(variable.name) is not variable:
                raise VariableNotFoundError(
                    f"{opdef.subject}: variable {variable.name!r} expected in this block, it is not there"
                )
            variables.append(variable)
        slots[lowered[slot.lower()]] = variables
    return slots


def may_agree(left: Shape, right: Shape) -> bool:
    """Whether two shapes are one where both are known."""
    return len(left) == len(right) and all(a is None or b is None or a == b for a, b in zip(left, right, strict=True))
