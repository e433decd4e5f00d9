"""Contributions: what arrives at each value of a reverse pass, and the sums of it."""

from __future__ import annotations

from opsdk.ops.reduction import sum as sum_op
from opsdk.static.build.recording import connect
from opsdk.static.build.values import Value
from opsdk.static.ir.block import Block
from opsdk.static.ir.operator import BACKWARD
from opsdk.static.ir.variable import Variable


class Contributions:
    """Gradients by the value that they are of; several are summed in the order in which they came.

    The complete gradient of `x` is called `x@GRAD`, or `x@GRAD_1` … in later passes; its parts are renamed.
    """

    def __init__(self, block: Block) -> None:
        self._block = block
        self._parts: dict[Value, list[Variable]] = {}
        self._own: set[int] = set()  # ids of the variables made here; those that a user gave keep their names

    def add(self, value: Value, gradient: Variable) -> None:
        """Adds a contribution."""
        self._parts.setdefault(value, []).append(gradient)

    def fresh(self, variable: Variable) -> Variable:
        """Returns a new gradient variable, `x@GRAD` with a suffix where that is taken.

        It is marked as a gradient that can be differentiated: that is what second derivatives need.
        """
        return self._made(variable, self._block.free_name(f"{variable.name}@GRAD"))

    def _made(self, variable: Variable, name: str) -> Variable:
        made = self._block.create_var(name, variable.spec.shape, variable.dtype)
        self._own.add(id(made))
        return made

    def total(self, value: Value) -> Variable | None:
        """Returns the complete gradient of a value, with the sum appended where there are several parts."""
        parts = self._parts.get(value)
        if not parts:
            return None
        if len(parts) > 1:
            block = self._block
            variable = block.vars[value[0]]
            own = [part for part in parts if id(part) in self._own]
            name = own[0].name if own else block.free_name(f"{variable.name}@GRAD")
            for number, part in enumerate(own):
                block.rename(part, block.free_name(f"{name}@RENAME@{number}"))
            made = self._made(variable, name)
            connect(block, sum_op.opdef, [list(parts)], [made], {}, BACKWARD)
            self._parts[value] = [made]
        return self._parts[value][0]
