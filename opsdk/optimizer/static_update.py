"""StaticUpdate: an optimizer's part in Programs: backward, learning rate, state and updates, appended once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from opsdk.core.names import unique_name
from opsdk.ops.elementwise import scale
from opsdk.optimizer.slot import Slot, learning_rate_factor, rate_dtype
from opsdk.static.backward import append_backward
from opsdk.static.framework import default_startup_program, program_guard
from opsdk.static.operator import OPTIMIZE, Operator
from opsdk.static.parameter import create_global_var
from opsdk.static.program import Program
from opsdk.static.scope import global_scope
from opsdk.static.variable import Variable


class StaticUpdate:
    """What one optimizer has appended to Programs.

    Args:
        optimizer: an `Optimizer` (any: it stands one module above).
    """

    def __init__(self, optimizer: Any) -> None:
        self._optimizer = optimizer
        self._rates: list[tuple[Variable, Program]] = []  # learning rates, each with its startup Program

    @property
    def is_used(self) -> bool:
        """Whether updates were appended to a Program; their numbers are there to stay, but for the learning rate."""
        return bool(self._rates)

    # Any: parameters and blocked variables come as Variables or names.
    def minimize(
        self, loss: Variable, startup: Program | None, parameters: Any, no_grad_set: Any
    ) -> tuple[list[Operator], list[tuple[Variable, Variable]]]:
        """Appends backward and updates; returns the updates, and pairs of parameter and gradient."""
        if parameters is not None:
            entries = parameters.values() if isinstance(parameters, dict) else parameters
            parameters = [loss.block.var(entry) if isinstance(entry, str) else entry for entry in entries]
        with loss.block.program.lock:
            pairs = append_backward(loss, parameters, no_grad_set)
            return self.apply(pairs, startup), pairs

    def apply(self, pairs: Sequence[tuple[Variable, Variable]], startup: Program | None) -> list[Operator]:
        """Appends the updates of parameters by their gradients, and returns them."""
        program = pairs[0][0].block.program
        block = program.current_block()
        start = startup or default_startup_program()
        with program.lock, program_guard(program, start):
            first = len(block.ops)
            rate = self._new_rate(np.result_type(*(rate_dtype(param.dtype) for param, _ in pairs)), start)
            updates = [self._append(param, grad, rate) for param, grad in pairs]
            for operator in block.ops[first:]:
                operator.role = OPTIMIZE  # a rate that is scaled, a decay that is added: no part of the forward
            program.touch()
        return updates

    def set_rate(self, value: float) -> None:
        """Sets the learning rate of all Programs: what their startup Program gives it, and what the Scope holds."""
        for variable, startup in self._rates:
            for operator in startup.global_block().ops:
                if operator.output_arg_names == [variable.name]:
                    operator.attrs["value"] = value
            startup.touch()
            held = global_scope().find_var(variable.name)
            if held is not None:
                held.get_tensor().set(np.full(variable.shape, value, variable.dtype))

    def _new_rate(self, dtype: np.dtype[Any], startup: Program) -> Variable:
        name = unique_name("learning_rate")
        rate = create_global_var([1], self._optimizer.get_lr(), dtype, persistable=True, name=name)
        self._rates.append((rate, startup))
        return rate

    def _append(self, param: Variable, grad: Variable, rate: Variable) -> Operator:
        block = param.block.program.current_block()
        factor = learning_rate_factor(param)
        own_rate = rate if factor == 1.0 else scale(rate, scale=factor)
        state = {slot.name: _new_state(param, slot) for slot in self._optimizer.slots}
        self._optimizer.update(param, self._optimizer.decayed(param, grad), own_rate, state)
        return block.ops[-1]


def _new_state(param: Variable, slot: Slot) -> Variable:
    number = 0
    while param.block.has_var(f"{param.name}_{slot.name}_{number}"):
        number += 1
    shape = [1] if slot.is_scalar else param.shape
    name = f"{param.name}_{slot.name}_{number}"
    return create_global_var(shape, slot.value, slot.dtype(param), persistable=True, name=name)
