"""Replay: the calls of a Program, made again in the runtime of their values.

On tensors they run and are recorded, on Variables they are appended to the Program that is being built. So gradients to
any order, mixed precision and whatever else stands around calls are what they are for the function that was traced.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from opsdk.autograd.tensor import Tensor
from opsdk.backends.call.buffers import specs_of
from opsdk.core.errors import ProgramError, attach_note
from opsdk.core.modes import no_grad
from opsdk.core.nested import each, flat
from opsdk.core.random import next_seed
from opsdk.define.frontend import MAKER, dispatch
from opsdk.static.ir.operator import Operator, entry, is_tested
from opsdk.static.ir.program import Program, needed_for
from opsdk.static.ir.shared_memory import changed
from opsdk.static.ir.variable import Variable

# Any, in this file: tensors, Variables, arrays, and lists of them.


class Replay:
    """A Program's forward, ready to be made again.

    Args:
        program: one without gradients, which whoever replays it asks the runtime for.
        wanted: names of what is wanted of it; what changes a persistable variable is done in any case.
        subject: who replays, for messages.

    Raises:
        ProgramError: the Program has a gradient.
    """

    def __init__(self, program: Program, wanted: Sequence[str], subject: str) -> None:
        block = program.global_block()
        for operator in block.ops:
            if operator.forward is not None or operator.reads:
                raise ProgramError(
                    f"{subject}: expected a forward alone, got operator {operator.type!r}, which computes a gradient; "
                    "run the Program with an Executor, or take the gradient of what is replayed",
                    at=str(operator.origin),
                )
        lasting = [v.name for v in block.vars.values() if v.persistable]
        operators = needed_for([*wanted, *lasting], block.ops)
        self._slots = {name: number for number, name in enumerate(block.vars)}
        self._calls = [_Call(operator, self._slots, block.vars) for operator in operators]
        touched = {name for operator in operators for name in changed(operator)}
        used = {*wanted, *(name for operator in operators for name in operator.input_arg_names)}
        constants = [(v.name, v.value) for v in block.vars.values() if v.value is not None and v.name in used]
        self._fresh = [(self._slots[name], value) for name, value in constants if name in touched]
        kept = [(name, value) for name, value in constants if name not in touched]
        self._constants = [(self._slots[name], value, Tensor(value)) for name, value in kept]

    def __deepcopy__(self, memo: object) -> Replay:
        return self  # calls and constants, which nothing changes

    def __call__(self, given: Mapping[str, Any], wanted: Sequence[str]) -> dict[str, Any]:
        """Makes every call.

        Args:
            given: by name the values of data and persistable variables.
            wanted: names of what is returned.
        """
        values: list[Any] = [None] * len(self._slots)
        for name, value in given.items():
            values[self._slots[name]] = value
        maker = MAKER.get()
        for slot, array, tensor in self._constants:
            values[slot] = tensor if maker is None else maker.constant(array)
        for slot, array in self._fresh:
            values[slot] = Tensor(array.copy()) if maker is None else maker.constant(array)
        for call in self._calls:
            call(values)
        return {name: values[self._slots[name]] for name in wanted}


class _Call:
    """One operator, bound to slots."""

    __slots__ = ("asked", "attrs", "cuts", "inputs", "opdef", "operator", "outputs", "records", "seeds")

    def __init__(self, operator: Operator, slots: Mapping[str, int], variables: Mapping[str, Variable]) -> None:
        self.operator, self.opdef, self.attrs = operator, operator.opdef, dict(operator.attrs)
        self.records = operator.records
        self.inputs = operator.by_input(slots.get)
        self.outputs = operator.by_output(slots.get)
        self.asked = [(name, entry(kind, names, slots.get)) for name, (kind, names) in operator.asked.items()]
        is_drawn = not operator.repeats and not is_tested(operator.attrs)
        self.seeds = list(operator.seeds.items()) if is_drawn else []
        fresh = [
            names
            for d, names in zip(operator.opdef.schema.outputs, operator.outputs.values(), strict=True)
            if not d.mutated
        ]
        self.cuts = [slots[name] for names in fresh for name in names if name and variables[name].is_cut]

    def __call__(self, values: list[Any]) -> None:
        """Makes the call: reads and writes `values`."""
        attrs = self.attrs
        if self.seeds:
            attrs = {**attrs, **{name: seed.__class__(next_seed()) for name, seed in self.seeds}}
        if self.asked:
            given = specs_of(each([slot for _, slot in self.asked], values.__getitem__))
            attrs = {**attrs, **dict(zip([name for name, _ in self.asked], given, strict=True))}
        inputs = each(self.inputs, values.__getitem__)
        try:
            if self.records:
                made = dispatch(self.opdef, inputs, attrs)
            else:
                with no_grad():
                    made = dispatch(self.opdef, inputs, attrs)
        except Exception as error:
            attach_note(error, f"  at       {self.operator.origin}, where {self.operator.type!r} was traced")
            raise
        for slot, value in zip(self.outputs, (made,) if len(self.outputs) == 1 else made or (), strict=True):
            if slot.__class__ is int:
                values[slot] = Tensor(value) if value.__class__ is np.ndarray else value  # of a call on nothing
            else:
                for one, item in zip(slot or (), flat(value) if slot else (), strict=False):
                    if one is not None:
                        values[one] = item
        for slot in self.cuts:
            if not values[slot].stop_gradient:
                values[slot] = values[slot].detach()
