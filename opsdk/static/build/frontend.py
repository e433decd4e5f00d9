"""The frontend of Program variables: a call appends an Operator to the Program of its Variables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any
from weakref import WeakKeyDictionary

from opsdk.backends.call.buffers import specs_of
from opsdk.backends.call.normalise import as_outputs, check_specs
from opsdk.core.errors import MutationError, ProgramError, ReturnError
from opsdk.core.nested import flat
from opsdk.core.spec import TensorSpec
from opsdk.define.call import body_attrs, check_shapes, complete_attrs, cut_off, given
from opsdk.define.frontend import MAKER, register_frontend
from opsdk.define.infer import like
from opsdk.define.kernel.kernel import REFERENCE, Kernel, KernelKey, KernelTable
from opsdk.define.opdef import OpDef
from opsdk.define.traits import Traits
from opsdk.static.build.recording import append, infer, lift, operator_of, stops
from opsdk.static.ir.block import Block
from opsdk.static.ir.operator import FORWARD, is_trained
from opsdk.static.ir.shared_memory import bases, changed
from opsdk.static.ir.variable import Parameter, Variable


# Any, in this file: Variables, lists of them, None or constants; attribute values.
class Recorder:
    """The runtime of Program variables."""

    name = "Program variables"

    def accepts(self, value: Any) -> bool:
        """Whether a value is a Variable."""
        return isinstance(value, Variable)

    def apply(self, opdef: OpDef, inputs: Sequence[Any], attrs: Mapping[str, Any]) -> Any:
        """Appends the call to the current block of the Program that its Variables belong to, or nothing at all."""
        block = _program_of(opdef, inputs).current_block()
        with block.all_or_nothing():
            values = lift(block, opdef, inputs)
            is_made = opdef.body is not None and not (opdef.gradient_of is not None and all(stops(opdef, values)))
            made = self._parts(block, opdef, values, attrs) if is_made else None
            if made is None:
                return append(block, opdef, values, attrs)
            return made[0] if len(made) == 1 else tuple(made)

    def _parts(self, block: Block, opdef: OpDef, values: Sequence[Any], attrs: Mapping[str, Any]) -> list[Any] | None:
        """Appends what a composite is made of; nothing where its body asks for numbers, and no gradient is wanted.

        It is differentiated through its parts, and they draw anew in each run, or are told that they are tested.
        """
        first = len(block.ops)
        try:
            with block.all_or_nothing():
                made = expanded(block, opdef, values, attrs)
        except ProgramError:
            if not all(stops(opdef, values)):
                raise
            return None  # run on arrays, which have them
        complete = complete_attrs(opdef, attrs)
        if is_trained(complete):  # the parts show nothing of that, so they remember the call that they are
            call = operator_of(opdef, values, made, complete, FORWARD)
            for operator in block.ops[first:]:
                operator.part_of = call
        return made


def expanded(block: Block, opdef: OpDef, values: Sequence[Any], attrs: Mapping[str, Any]) -> list[Any]:
    """Appends what a composite is made of, held to what its author said of it; returns an entry per output.

    Raises:
        ReturnError, ArityError: as of `body_outputs`.
        ShapeError, DTypeError: an output is not what the infer rule says.
        MutationError: the body changes an input that the schema does not say is changed.
    """
    if opdef.gradient_of is not None:  # a gradient is held to its input where it arrives
        return body_outputs(block, opdef, values, attrs)
    inferred = infer(opdef, values, complete_attrs(opdef, attrs))
    is_guarded = _has_open(opdef, values) or (opdef.check is not None and not opdef.check.reads_attributes_only)
    if is_guarded:
        append(block, guard_of(opdef), values, attrs)  # asked in each run, as it is of a kernel
    first = len(block.ops)
    made = body_outputs(block, opdef, values, attrs)
    if is_guarded:
        block.ops[first - 1].guards = [variable.name for variable in flat(made)]
    specs = [_spec_beside(made[i], inferred[i]) for i in opdef.schema.fresh_outputs]
    check_specs(opdef, specs, inferred)
    kept = [v for i, value in enumerate(values) if i not in opdef.schema.mutated_inputs for v in flat(value)]
    names = {name for variable in kept for name in bases(variable)}
    if any(names.intersection(changed(operator)) for operator in block.ops[first:]):
        raise MutationError(
            f"{opdef.subject}: expected to leave its inputs as they are, its body changes one in place; declare it, "
            "Tensor(a!), or change a clone()"
        )
    return made


def _spec_beside(value: Any, wanted: Any) -> Any:
    """Returns the spec of what a body gave; a size that is open takes that of the rule."""
    if isinstance(value, (list, tuple)):
        specs = wanted if isinstance(wanted, list) and len(wanted) == len(value) else [None] * len(value)
        return [_spec_beside(item, spec) for item, spec in zip(value, specs, strict=True)]
    if value is None or wanted is None or wanted.ndim != value.spec.ndim:
        return None if value is None else value.spec
    sizes = zip(value.spec.shape, wanted.shape, strict=True)
    return TensorSpec([other if size is None else size for size, other in sizes], value.dtype)


def _has_open(opdef: OpDef, values: Sequence[Any]) -> bool:
    """Whether a shape that the op's domain declares has a size that only a run can tell."""
    named = zip(opdef.schema.input_names, values, strict=True) if opdef.shapes else ()
    return any(None in v.spec.shape for name, value in named if name in opdef.shapes for v in flat(value))


_GUARDS: WeakKeyDictionary[OpDef, OpDef] = WeakKeyDictionary()  # by composite; a guard holds check and shapes


def guard_of(opdef: OpDef) -> OpDef:
    """Returns an op of no output that asks value check and shapes of a composite op in front of its parts."""
    if opdef in _GUARDS:
        return _GUARDS[opdef]
    check, schema, shapes = opdef.check, opdef.schema, opdef.shapes

    def guard(*values: Any, **attrs: Any) -> None:
        check_shapes(schema, shapes, specs_of(values), attrs)
        if check is not None:
            check(values, attrs)

    kernels = KernelTable()
    names = (*schema.input_names, *schema.attr_names)
    kernels.add(Kernel(KernelKey("cpu"), REFERENCE, guard, opdef.origin, names))
    inputs = tuple(replace(decl, mutated=False, alias=None) for decl in schema.inputs)
    named = replace(schema, name=f"{schema.name}_check", inputs=inputs, outputs=())
    return _GUARDS.setdefault(opdef, OpDef(named, like(), Traits(), opdef.origin, kernels))


class Maker:
    """Makes Variables of a block where the body of a composite makes values of nothing."""

    def __init__(self, block: Block) -> None:
        self._block = block

    def apply(self, opdef: OpDef, inputs: Sequence[Any], attrs: Mapping[str, Any]) -> Any:
        """Appends a call without inputs."""
        return append(self._block, opdef, inputs, attrs)

    def constant(self, array: Any) -> Variable:
        """Returns an array as a constant of the block."""
        return self._block.create_constant(array)


def body_outputs(block: Block, opdef: OpDef, values: Sequence[Any], attrs: Mapping[str, Any]) -> list[Any]:
    """Calls the function that a composite op is, which appends the ops it is made of; one entry per output.

    Raises:
        ReturnError: it returned something else than Variables.
        ArityError: it returned the wrong number of them.
    """
    assert opdef.body is not None
    first = len(block.ops)
    with MAKER.held(Maker(block)):
        made = as_outputs(opdef, opdef.body(*cut_off(opdef, values), **body_attrs(opdef, attrs)))
    for position, value in zip(opdef.schema.fresh_outputs, made, strict=True):
        decl = opdef.schema.outputs[position]
        is_list = isinstance(value, (list, tuple))
        may_lack = opdef.gradient_of is not None or (decl.holes if is_list else decl.kind == "optional")
        for item in value if is_list else [value]:
            if not isinstance(item, Variable) and not (item is None and may_lack):
                raise ReturnError(
                    f"{opdef.subject}, output {decl.name!r}: expected its body to return a Variable in a Program, "
                    f"got {type(item).__name__}; compute it from the inputs with ops"
                )
    parts = block.ops[first:]

    def is_new(variable: Variable) -> bool:
        return any(variable.name in operator.output_arg_names for operator in parts)

    def share_memory(left: Variable, right: Variable) -> bool:
        return left is right or not bases(left).isdisjoint(bases(right))

    return given(opdef, made, values, share_memory, is_new)


def _program_of(opdef: OpDef, inputs: Sequence[Any]) -> Any:
    """Returns the Program that the Variables of a call belong to.

    Raises:
        ProgramError: they belong to several.
    """
    variables = [v for v in flat(inputs) if isinstance(v, Variable)]
    first = variables[0].block.program
    for variable in variables[1:]:
        if variable.block.program is not first:
            raise ProgramError(
                f"{opdef.subject}: expected variables of one Program, {variables[0].name!r} and {variable.name!r} "
                "belong to two"
            )
    return first


RECORDER = Recorder()
register_frontend(RECORDER, Variable, Parameter)
