"""Operator: one call in a Program, from named variables to named variables."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from opsdk.core.origin import Origin
from opsdk.define.opdef import OpDef

FORWARD, BACKWARD, OPTIMIZE = "forward", "backward", "optimize"
PY_FUNC = "py_func"  # the namespace of ops that `py_func` makes, and the type that their Operators show


@dataclass(eq=False)
class Operator:
    """One call.

    Args:
        opdef: the definition; it stays the same whatever is registered later.
        inputs, outputs: by the schema's names the names of variables; several for a variadic one, none for an absent.
        attrs: all attributes, defaults filled in.
        role: `forward`, `backward` or `optimize`; decides what `clone(for_test=True)` keeps.
        origin: the user's line.
        like: for a gradient op, by output variable the forward variable whose shape the gradient must have.
        forward: for a gradient op, the definition that it is the gradient of.
    """

    opdef: OpDef
    inputs: dict[str, list[str]]
    outputs: dict[str, list[str]]
    attrs: dict[str, Any]  # Any: attribute values of the schema language
    role: str
    origin: Origin
    like: dict[str, str] = field(default_factory=dict)
    forward: OpDef | None = None

    @property
    def type(self) -> str:
        """The op's name; `py_func` for callables that have no registered name."""
        schema = self.opdef.schema
        return PY_FUNC if schema.namespace == PY_FUNC else schema.name

    @property
    def input_arg_names(self) -> list[str]:
        """Names of all input variables, in order."""
        return [name for names in self.inputs.values() for name in names]

    @property
    def output_arg_names(self) -> list[str]:
        """Names of all output variables, in order; gradients that nobody wants have none."""
        return [name for names in self.outputs.values() for name in names if name]

    def input(self, slot: str) -> list[str]:
        """Returns the names of the variables of one input."""
        return list(_slot(self.inputs, slot))

    def output(self, slot: str) -> list[str]:
        """Returns the names of the variables of one output."""
        return list(_slot(self.outputs, slot))

    def attr(self, name: str) -> Any:
        """Returns the value of an attribute."""
        return self.attrs[name]

    def has_attr(self, name: str) -> bool:
        """Whether the op has an attribute of that name."""
        return name in self.attrs

    @property
    def attr_names(self) -> list[str]:
        """Names of the attributes."""
        return list(self.attrs)

    def all_attrs(self) -> dict[str, Any]:
        """Returns all attributes by name."""
        return dict(self.attrs)

    def to_string(self) -> str:
        """Returns the line that a printed Program shows."""
        outputs = ", ".join(f"{slot}={names}" for slot, names in self.outputs.items())
        inputs = ", ".join(f"{slot}={names}" for slot, names in self.inputs.items())
        attrs = "".join(f", {name} = {value!r}" for name, value in self.attrs.items())
        name = self.opdef.schema.identity if self.opdef.schema.namespace != "opsdk" else self.type
        return f"{{{outputs}}} = {name}(inputs={{{inputs}}}{attrs}, op_role = {self.role})"

    __repr__ = to_string


def _slot(slots: Mapping[str, list[str]], slot: str) -> list[str]:
    """Returns a slot by the schema's name; Paddle's capitalised names find it too."""
    return slots[slot] if slot in slots else slots[slot.lower()]
