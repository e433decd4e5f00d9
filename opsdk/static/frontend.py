"""The frontend of Program variables: a call appends an Operator to the Program of its Variables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from opsdk.core.errors import ProgramError
from opsdk.define.frontend import register_frontend
from opsdk.define.opdef import OpDef
from opsdk.static.recording import append, lift, stops
from opsdk.static.variable import Parameter, Variable


# Any, in this file: Variables, lists of them, None or constants; attribute values.
class Recorder:
    """The runtime of Program variables."""

    name = "Program variables"

    def accepts(self, value: Any) -> bool:
        """Whether a value is a Variable."""
        return isinstance(value, Variable)

    def apply(self, opdef: OpDef, inputs: Sequence[Any], attrs: Mapping[str, Any]) -> Any:
        """Appends the call to the current block of the Program that its Variables belong to."""
        block = program_of(opdef, inputs).current_block()
        values = lift(block, opdef, inputs)
        if opdef.body is not None and not all(stops(opdef, values)):
            return opdef.body(*values, **attrs)  # a composite is differentiated through the ops it is made of
        return append(block, opdef, values, attrs)


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
