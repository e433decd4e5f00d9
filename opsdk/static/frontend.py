"""The frontend of Program variables: a call appends an Operator to the Program of its Variables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from opsdk.backends.settle import as_outputs
from opsdk.core.errors import ProgramError, ReturnError
from opsdk.define.call import body_attrs, complete_attrs, cut_off, given
from opsdk.define.frontend import register_frontend
from opsdk.define.opdef import OpDef
from opsdk.static.recording import append, lift, note_parts, stops
from opsdk.static.shared_memory import bases
from opsdk.static.variable import Parameter, Variable


# Any, in this file: Variables, lists of them, None or constants; attribute values.
class Recorder:
    """The runtime of Program variables."""

    name = "Program variables"

    def accepts(self, value: Any) -> bool:
        """Whether a value is a Variable."""
        return isinstance(value, Variable)

    def apply(self, opdef: OpDef, inputs: Sequence[Any], attrs: Mapping[str, Any]) -> Any:
        """Appends the call to the current block of the Program that its Variables belong to, or nothing at all."""
        block = program_of(opdef, inputs).current_block()
        with block.all_or_nothing():
            values = lift(block, opdef, inputs)
            if opdef.body is not None and not all(stops(opdef, values)):
                first = len(block.ops)
                made = body_outputs(opdef, values, attrs)  # a composite is differentiated through what it is made of
                note_parts(block, first, opdef, (values, made), complete_attrs(opdef, attrs))
                return made[0] if len(made) == 1 else tuple(made)
            return append(block, opdef, values, attrs)


def body_outputs(opdef: OpDef, values: Sequence[Any], attrs: Mapping[str, Any]) -> list[Any]:
    """Calls the function that a composite op is, which appends the ops it is made of; one entry per output.

    Raises:
        ReturnError: it returned something else than Variables.
        ArityError: it returned the wrong number of them.
    """
    assert opdef.body is not None
    made = as_outputs(opdef, opdef.body(*cut_off(opdef, values), **body_attrs(opdef, attrs)))
    for value, decl in zip(made, opdef.schema.outputs, strict=True):
        for item in value if isinstance(value, (list, tuple)) else [value]:
            if not isinstance(item, Variable) and not (item is None and opdef.gradient_of is not None):
                raise ReturnError(
                    f"{opdef.subject}, output {decl.name!r}: expected its body to return a Variable in a Program, "
                    f"got {type(item).__name__}; compute it from the inputs with ops"
                )
    return given(opdef, made, values, _share_memory)


def _share_memory(left: Variable, right: Variable) -> bool:
    return left is right or not bases(left).isdisjoint(bases(right))


def program_of(opdef: OpDef, inputs: Sequence[Any]) -> Any:
    """Returns the Program that the Variables of a call belong to.

    Raises:
        ProgramError: they belong to several.
    """
    flat = (v for value in inputs for v in (value if isinstance(value, (list, tuple)) else [value]))
    variables = [v for v in flat if isinstance(v, Variable)]
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
