"""Steps: a Program, compiled to a list of bound calls over numbered slots."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from opsdk.backends import arrays
from opsdk.backends.conform import check_count, conform
from opsdk.core.errors import NotInitializedError, ProgramError
from opsdk.core.spec import TensorSpec, shape_text
from opsdk.ops.sum_to import sum_to
from opsdk.static.operator import Operator
from opsdk.static.program import Program


# Any, in this file: the entries of a run, one array per slot, None where it is not there yet.
class Compiled:
    """A Program's global block, ready to run.

    Attributes:
        slots: by name of a variable its number.
        steps: what to do, in order.
        persistable: names that live in the Scope, and must be there before they are read.
        reads: persistable names that are read before they are written.
        feeds: data that the steps read.
    """

    def __init__(self, program: Program, operators: Sequence[Operator]) -> None:
        block = program.global_block()
        self.slots = {name: number for number, name in enumerate(block.vars)}
        self.constants = [(self.slots[n], v.value) for n, v in block.vars.items() if v.value is not None]
        self.steps = [Step(operator, self.slots, block.vars) for operator in operators]
        used = {name for operator in operators for name in (*operator.input_arg_names, *operator.output_arg_names)}
        self.persistable = [name for name, v in block.vars.items() if v.persistable and name in used]
        written: set[str] = set()
        self.reads: list[str] = []
        self.feeds: list[str] = []
        for operator in operators:
            for name in operator.input_arg_names:
                variable = block.vars[name]
                if variable.is_data and name not in self.feeds:
                    self.feeds.append(name)
                elif variable.persistable and name not in written and name not in self.reads:
                    self.reads.append(name)
                elif not (variable.persistable or variable.is_data or variable.value is not None or name in written):
                    raise ProgramError(
                        f"variable {name!r}: {operator.type!r} reads it, expected an operator before that writes it, "
                        "there is none"
                    )
            written.update(operator.output_arg_names)


class Step:
    """One operator, bound to slots."""

    __slots__ = ("attrs", "inputs", "like", "opdef", "operator", "outputs", "specs")

    def __init__(self, operator: Operator, slots: dict[str, int], variables: dict[str, Any]) -> None:
        schema = operator.opdef.schema
        self.operator = operator
        self.opdef = operator.opdef
        self.attrs = operator.attrs
        self.inputs = [
            [slots[n] for n in names] if decl.kind == "list" else slots[names[0]] if names else None
            for decl, names in zip(schema.inputs, operator.inputs.values(), strict=True)
        ]
        self.outputs = [
            [slots[n] if n else None for n in names]
            if decl.kind == "list"
            else (slots[names[0]] if names and names[0] else None)
            for decl, names in zip(schema.outputs, operator.outputs.values(), strict=True)
            if not decl.mutated
        ]
        self.specs = {slots[name]: variables[name].spec for name in operator.output_arg_names}
        self.like = {slots[grad]: slots[name] for grad, name in operator.like.items()}

    def run(self, values: list[Any]) -> None:
        """Runs the call: reads and writes `values`."""
        inputs = [
            [values[i] for i in slot] if slot.__class__ is list else None if slot is None else values[slot]
            for slot in self.inputs
        ]
        made = arrays.run(self.opdef, inputs, self.attrs)
        results = (made,) if len(self.outputs) == 1 else made
        if self.operator.forward is not None:
            results = self._conformed(results, values)
        for slot, value in zip(self.outputs, results, strict=True):
            if slot.__class__ is list:
                for i, item in zip(slot, value, strict=True):
                    if i is not None:
                        values[i] = item
            elif slot is not None:
                values[slot] = value

    def _conformed(self, results: Sequence[Any], values: list[Any]) -> list[Any]:
        """Returns gradients held to the shapes of the forward's inputs, which are known now."""
        forward = self.operator.forward
        assert forward is not None
        rule = forward.grad
        assert rule is not None
        conformed: list[Any] = []
        for position, slot, value in zip(rule.wrt, self.outputs, results, strict=True):
            if slot.__class__ is not list:
                conformed.append(None if slot is None else self._one(position, slot, value, values))
                continue
            check_count(forward, position, len(slot), value)
            conformed.append(
                [None if i is None else self._one(position, i, item, values) for i, item in zip(slot, value, strict=True)]
            )
        return conformed

    def _one(self, position: int, slot: int, value: Any, values: list[Any]) -> Any:
        forward = self.operator.forward
        assert forward is not None
        assert forward.grad is not None
        if slot not in self.like:  # a gradient of before a sum that another step makes
            return value
        like = values[self.like[slot]]
        return conform(forward, forward.grad, position, value, like.shape, like.dtype, sum_to)


def check_ready(compiled: Compiled, scope_values: dict[str, np.ndarray | None]) -> None:
    """Checks that every persistable value that is read has one.

    Raises:
        NotInitializedError: one has none.
    """
    for name in compiled.reads:
        if scope_values.get(name) is None:
            raise NotInitializedError(
                f"variable {name!r}: expected a value in the Scope, it has none; run the startup program first: "
                "exe.run(startup_program)"
            )


def check_fits(name: str, spec: TensorSpec, value: np.ndarray) -> str | None:
    """Returns what is wrong with a fed value, or None."""
    if value.dtype != spec.dtype:
        return f"feed {name!r}: expected dtype {spec.dtype}, got {value.dtype}; feed value.astype('{spec.dtype}')"
    if not spec.admits(value.shape):
        return f"feed {name!r}: expected shape {shape_text(spec.shape)}, got {value.shape}"
    return None
