"""StaticUpdate: an optimizer's part in Programs: backward, learning rate, state and updates, appended once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import count
from typing import Any

import numpy as np

from opsdk.autograd.tensor import Tensor
from opsdk.core.dtype import promote_types
from opsdk.core.errors import ProgramError, StateDictError
from opsdk.core.names import unique_name
from opsdk.ops.elementwise import scale
from opsdk.optimizer.parameters import key_of, rate_dtype
from opsdk.static.build.backward import append_backward
from opsdk.static.build.building import program_guard, stand_in
from opsdk.static.ir.operator import OPTIMIZE, Operator
from opsdk.static.ir.parameter import create_global_var
from opsdk.static.ir.program import Program, default_startup_program
from opsdk.static.ir.variable import Variable
from opsdk.static.run.scope import global_scope


class StaticUpdate:
    """What one optimizer has appended to Programs.

    Args:
        optimizer: an `Optimizer` (any: it stands one module above).
    """

    def __init__(self, optimizer: Any) -> None:
        self._optimizer = optimizer
        self._rates: list[tuple[Variable, Program]] = []  # learning rates, each with its startup Program
        self._states: list[tuple[Variable, dict[str, Variable]]] = []  # parameters, each with its state

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
            meant = [loss.block.meant(entry) for entry in entries]
            parameters = [one for one in meant if not isinstance(one, Tensor)]  # a tensor is none of this Program
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
            dtype = promote_types(*(rate_dtype(param.dtype) for param, _ in pairs))
            name = unique_name("learning_rate")
            rate = create_global_var([1], self._optimizer.get_lr(), dtype, persistable=True, name=name)
            self._rates.append((rate, start))
            program.updated_by.append(self._optimizer)
            updates = [self._append(param, grad, rate) for param, grad in self._optimizer.clipped(pairs)]
            for operator in block.ops[first:]:
                operator.role = OPTIMIZE  # a rate that is scaled, a decay that is added: no part of the forward
            program.touch()
        return updates

    def set_rate(self, value: float) -> None:
        """Sets the learning rate of all Programs: what their startup Program gives it, and what the global Scope holds.

        Raises:
            ProgramError: the startup Programs ran, but in other Scopes.
        """
        held = [global_scope().find_var(variable.name) for variable, _ in self._rates]
        if not any(held) and any(startup.ran_in for _, startup in self._rates):
            raise ProgramError(
                f"{self._optimizer.subject}, set_lr: expected {self._rates[0][0].name!r} in the global Scope, the "
                "startup Program ran in another one; call this inside static.scope_guard(scope)"
            )
        for found, (variable, startup) in zip(held, self._rates, strict=True):
            for operator in startup.global_block().ops:
                if operator.output_arg_names == [variable.name]:
                    operator.fill(value)
            startup.touch()
            if found is not None:
                found.get_tensor().set(np.full(variable.shape, value, variable.dtype))

    def named(self) -> dict[str, tuple[Variable, dict[str, Variable]]]:
        """Returns what Programs update, with its state, by the name that this goes by: the optimizer's, else its own.

        Raises:
            StateDictError: two updates go by one name.
        """
        own = self._optimizer.own_names()
        named: dict[str, tuple[Variable, dict[str, Variable]]] = {}
        for param, state in self._states:
            name = own.get(key_of(param), param.name)
            if name in named and (param.held is None or named[name][0].held is not param.held):
                raise StateDictError(
                    f"{self._optimizer.subject}: expected one update of parameter {name!r}, got two, each with a state "
                    "of its own; make an optimizer for each Program"
                )
            named[name] = param, state
        return named

    def state(self) -> dict[str, dict[str, Tensor]]:
        """Returns copies of the state that the global Scope holds, by parameter and slot.

        Raises:
            StateDictError: it holds none, or two updates go by one name.
        """
        held = {name: state for name, (_, state) in self.named().items()}
        values = _in_scope([variable for state in held.values() for variable in state.values()])
        self._check_there(values, "state_dict")
        return {
            name: {slot: Tensor(np.array(values[variable.name])) for slot, variable in state.items()}
            for name, state in held.items()
        }

    def changes(self, fresh: Mapping[str, Mapping[str, Tensor]]) -> dict[str, np.ndarray]:
        """Returns, by name of a variable, what the global Scope has to hold for a state; what starts afresh, at first.

        Raises:
            StateDictError: it has to, and holds nothing of that name yet.
        """
        given: dict[str, np.ndarray] = {}
        first: dict[str, np.ndarray] = {}
        variables: list[Variable] = []
        for name, (_, state) in self.named().items():
            variables += state.values()
            for slot in self._optimizer.slots:
                variable = state[slot.name]
                if name in fresh:
                    given[variable.name] = fresh[name][slot.name].numpy().copy()
                else:
                    first[variable.name] = np.full(variable.shape, slot.value, variable.dtype)
        values = _in_scope(variables)
        self._check_there({name: values[name] for name in given}, "set_state_dict")
        return {**given, **{name: array for name, array in first.items() if values[name] is not None}}

    def _check_there(self, values: Mapping[str, np.ndarray | None], call: str) -> None:
        missing = next((name for name, value in values.items() if value is None), None)
        if missing is not None:
            raise StateDictError(
                f"{self._optimizer.subject}, {call}: expected {missing!r} in the global Scope, where the startup "
                "Program puts it, got nothing of that name; run that first, and call this inside "
                "static.scope_guard(scope) where the Program runs in a Scope of its own"
            )

    def _append(self, param: Variable, grad: Variable, rate: Variable) -> Operator:
        block = param.block.program.current_block()
        factor = self._optimizer.factor_in_programs(param)
        own_rate = rate if factor == 1.0 else scale(rate, scale=factor)
        state: dict[str, Variable] = {}
        own = {} if param.held is None else self._optimizer.kept_for(param)
        for slot in self._optimizer.slots:
            if own:
                state[slot.name] = stand_in(own[slot.name])
                continue
            name = f"{param.name}_{slot.name}"
            number = next(number for number in count() if not param.block.has_var(f"{name}_{number}"))
            shape, value, dtype = slot.filling(param)
            state[slot.name] = create_global_var(shape, value, dtype, persistable=True, name=f"{name}_{number}")
        if state:
            self._states.append((param, state))
        self._optimizer.update(param, self._optimizer.decayed(param, grad), own_rate, state)
        return block.ops[-1]


def _in_scope(variables: Sequence[Variable]) -> dict[str, np.ndarray | None]:
    """Returns what the global Scope holds of variables, by name; of a tensor that one stands for as well."""
    scope = global_scope()
    scope.take_in({variable.name: variable.held for variable in variables if variable.held is not None})
    return scope.snapshot([variable.name for variable in variables])
