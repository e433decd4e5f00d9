"""Optimizer: the base of all, and what they do for tensors; Program variables are `static_update`'s part."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from opsdk.autograd.creation import full
from opsdk.autograd.tensor import Tensor
from opsdk.core.dtype import computed_in
from opsdk.core.errors import AttributeValueError, GraphError, ShapeError, StateDictError
from opsdk.core.fit import as_numbers, fitted
from opsdk.core.modes import GradMode
from opsdk.core.origin import trimming
from opsdk.core.suggest import alternatives
from opsdk.ops.elementwise import elementwise_add, scale
from opsdk.ops.numpy_protocol import values_of
from opsdk.ops.shape import cast
from opsdk.optimizer.parameters import (
    RATE,
    WEIGHT_DECAY,
    Slot,
    as_named,
    as_rate,
    decay_coefficient,
    learning_rate_factor,
    rate_dtype,
)
from opsdk.optimizer.static_update import StaticUpdate
from opsdk.static.ir.program import Program
from opsdk.static.ir.variable import Variable
from opsdk.static.run.scope import global_scope


# Any, in this file: parameters, gradients and state are tensors or Program variables, whichever the loss is.
class Optimizer:
    """Changes parameters by their gradients.

    A subclass names its state in `slots` and the in-place op that a step is in `op`, or calls it in `update`. The same
    call serves both runtimes: it changes tensors at once, and appends an Operator for Program variables.

    Args:
        learning_rate: > 0, or 0 to stand still; every parameter's own factor comes on top.
        parameters: tensors, `(name, tensor)` pairs as `layer.named_parameters()` yields them, or a mapping; with names
            the state survives a change of order. Not needed for Programs.
        weight_decay: an L2 coefficient ≥ 0, or an `L2Decay`; a parameter's own `regularizer` takes its place.

    Raises:
        AttributeValueError: a learning rate, weight decay or parameter that is none.
    """

    op: Any = None
    slots: Sequence[Slot] = ()
    fractions: Sequence[str] = ()  # attributes of the op that lie in [0, 1)

    def __init__(self, learning_rate: float = 0.001, parameters: Any = None, weight_decay: Any = None) -> None:
        self.subject = f"optimizer {type(self).__name__}"
        self._learning_rate = as_rate(learning_rate, self.subject)
        self._parameters = None if parameters is None else as_named(parameters, self.subject)
        self._decay = decay_coefficient(weight_decay, self.subject)
        self._attrs: dict[str, Any] = {}  # of the update op; a subclass sets its own, which `state_dict` carries
        self._state: dict[str, dict[str, Tensor]] = {}
        self._rates: dict[Any, Tensor] = {}
        self._static = StaticUpdate(self)

    def update(self, param: Any, grad: Any, rate: Any, state: Mapping[str, Any]) -> Any:
        """Calls the in-place op that one step is: with all slots in their order, unless a subclass has another way.

        Args:
            param: what to change.
            grad: its gradient, with weight decay added.
            rate: learning rate, of one element.
            state: by name the slots of this parameter.
        """
        if self.op is None:
            raise NotImplementedError(f"{self.subject}: expected it to define update(param, grad, rate, state)")
        return self.op(param, grad, rate, *(state[slot.name] for slot in self.slots), **self._update_attrs())

    def _update_attrs(self) -> dict[str, Any]:
        return self._attrs

    # -- tensors ------------------------------------------------------------------------------------------------------

    def step(self) -> None:
        """Changes every trainable parameter that has a gradient; none where none has, not even by decay.

        Raises:
            AttributeValueError: the optimizer was made without parameters.
            GraphError: none of its parameters is trainable.
        """
        named = self._named()
        if named and all(param.stop_gradient for param in named.values()):
            raise GraphError(
                f"{self.subject}, step: expected a parameter that is trained, got {len(named)} with "
                "stop_gradient=True; set stop_gradient=False before the forward"
            )
        self._step(self._pairs(None, None))

    def _step(self, pairs: Sequence[tuple[Any, Any]]) -> None:
        own = self.own_names()
        with GradMode(False):
            for param, grad in pairs:
                state = self._state_of(own.get(id(param), param.name), param)
                self.update(param, self.decayed(param, grad), self._rate(param), state)

    @trimming
    def minimize(
        self,
        loss: Any,
        startup_program: Program | None = None,
        parameters: Any = None,
        no_grad_set: Any = None,
    ) -> tuple[list[Any], list[tuple[Any, Any]]]:
        """Makes a step for a loss.

        For a tensor, whose `backward()` was called before, it is `step()`. For a Program variable it appends the
        backward and the updates, so that every run of the Program makes a step.

        Args:
            loss: a tensor or a float Program variable.
            startup_program: receives the first values of learning rate and state; the default one unless given.
            parameters: only these; the optimizer's own unless given, for Programs then all trainable ones.
            no_grad_set: parameters, or their names, to leave out.

        Returns:
            The Operators that were appended, and pairs of parameter and gradient.

        Raises:
            GraphError: no parameter has a gradient.
            ProgramError: the loss depends on none of the parameters.
            AttributeValueError: the loss is neither a tensor nor a Program variable.
        """
        if isinstance(loss, Variable):
            chosen = self._parameters if parameters is None else parameters
            return self._static.minimize(loss, startup_program, chosen, no_grad_set)
        if not isinstance(loss, Tensor):
            raise AttributeValueError(
                f"{self.subject}, minimize: loss expected a tensor or a Program variable, got {type(loss).__name__}"
            )
        pairs = self._pairs(parameters, no_grad_set)
        if not pairs:
            raise GraphError(
                f"{self.subject}, minimize: expected a parameter with a gradient, none has one; "
                "call loss.backward() first"
            )
        self._step(pairs)
        return [], pairs

    def _pairs(self, parameters: Any, no_grad_set: Any) -> list[tuple[Any, Any]]:
        """Returns parameter and gradient of those that a step changes."""
        chosen = self._named() if parameters is None else as_named(parameters, self.subject)
        blocked = self._blocked(chosen, no_grad_set)
        return [
            (param, param.grad)
            for param in chosen.values()
            if param.grad is not None and not param.stop_gradient
            if id(param) not in blocked
        ]

    def _blocked(self, chosen: Mapping[str, Any], no_grad_set: Any) -> set[int]:
        """Returns the ids of the parameters that are left out, given as such or by name.

        Raises:
            AttributeValueError: one parameter or name instead of a set, or an entry that is none of the parameters.
        """
        if isinstance(no_grad_set, (str, Tensor)) or not isinstance(no_grad_set, (Iterable, type(None))):
            raise AttributeValueError(
                f"{self.subject}: no_grad_set expected a set of parameters or names, got one "
                f"{type(no_grad_set).__name__}; put it into a set"
            )
        known = {key: id(param) for name, param in chosen.items() for key in (name, param.name, id(param))}
        blocked = set()
        for entry in no_grad_set or ():
            key = entry if isinstance(entry, str) else id(entry)
            if key not in known:
                shown = repr(entry) if isinstance(entry, str) else f"a {type(entry).__name__}"
                raise AttributeValueError(
                    f"{self.subject}: no_grad_set expected parameters to leave out "
                    f"({alternatives('', [param.name for param in chosen.values()])}), got {shown}"
                )
            blocked.add(known[key])
        return blocked

    def apply_gradients(
        self, params_grads: Sequence[tuple[Any, Any]], startup_program: Program | None = None
    ) -> list[Any]:
        """Makes a step with gradients that were found before, such as those of `append_backward`.

        Args:
            params_grads: pairs of parameter and gradient: tensors, or Variables of one Program.
            startup_program: as for `minimize`.

        Returns:
            The Operators that were appended; none for tensors.

        Raises:
            AttributeValueError: no pairs.
        """
        pairs = list(params_grads)
        if not pairs:
            raise AttributeValueError(
                f"{self.subject}, apply_gradients: expected pairs of parameter and gradient, got none"
            )
        if isinstance(pairs[0][0], Variable):
            return self._static.apply(pairs, startup_program)
        self._step(pairs)
        return []

    def clear_grad(self, set_to_zero: bool = True) -> None:
        """Sets the gradient of every parameter that has one to zeros, or to None."""
        for param in self._named().values():
            param.clear_gradient(set_to_zero)

    clear_gradients = clear_grad

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Sets the gradient of every parameter to None, or to zeros, in PyTorch's words."""
        self.clear_grad(not set_to_none)

    def decayed(self, param: Any, grad: Any) -> Any:
        """Returns a gradient with the weight decay of its parameter added."""
        coefficient = self.decay_of(param)
        if not coefficient:
            return grad
        wide = computed_in(param.dtype)
        if wide != param.dtype:  # in 16 bits a small decay would vanish beside the gradient
            param, grad = cast(param, dtype=wide), cast(grad, dtype=wide)
        return elementwise_add(grad, scale(param, scale=coefficient))

    def decay_of(self, param: Any) -> float:
        """Returns the coefficient of the decay that a parameter's gradient gets: its own, else the optimizer's."""
        own = getattr(param, "regularizer", None)
        return self._decay if own is None else decay_coefficient(own, self.subject)

    def _named(self) -> dict[str, Any]:
        if self._parameters is None:
            raise AttributeValueError(
                f"{self.subject}: parameters expected a list of tensors to work on, got None; "
                "pass parameters=layer.parameters()"
            )
        return self._parameters

    def own_names(self) -> dict[int, str]:
        """Returns by id the names of the parameters that it was given."""
        return {id(param): name for name, param in (self._parameters or {}).items()}

    def _rate(self, param: Any) -> Tensor:
        factor = learning_rate_factor(param)
        dtype = rate_dtype(param.dtype)
        key = (factor, dtype)
        if key not in self._rates:
            self._rates[key] = full([1], self._learning_rate * factor, dtype)
        return self._rates[key]

    def _state_of(self, name: str, param: Any) -> dict[str, Tensor]:
        if name not in self._state:
            self._state[name] = {slot.name: full(*slot.filling(param)) for slot in self.slots}
        held = self._state[name]
        for slot in self.slots:
            if held[slot.name].dtype != slot.dtype(param):  # its layer was cast since
                held[slot.name] = held[slot.name].astype(slot.dtype(param))
        return held

    # -- learning rate ------------------------------------------------------------------------------------------------

    def get_lr(self) -> float:
        """Returns the learning rate."""
        return self._learning_rate

    def set_lr(self, value: float) -> None:
        """Sets the learning rate, also of the Programs that `minimize` was called for.

        Raises:
            AttributeValueError: no number ≥ 0.
            ProgramError: they run in another Scope than the one that is the global one now.
        """
        rate = as_rate(value, f"{self.subject}, set_lr")
        self._static.set_rate(rate)
        self._learning_rate = rate
        self._rates.clear()

    # -- state --------------------------------------------------------------------------------------------------------

    def state_dict(self) -> dict[str, Any]:
        """Returns the state by `<parameter>.<slot>`, and the numbers that the optimizer was made with.

        These are `weight_decay`, the attributes of its update op, such as `beta1` or `mu`, and `learning_rate`. A
        parameter that was never changed has no state yet. The tensors are the optimizer's own; those of parameters that
        Programs change are copies of what the global Scope holds.

        Raises:
            StateDictError: a Program was built, and the global Scope holds no state of it.
        """
        held = {**self._state, **self._static.state()}
        state: dict[str, Any] = {
            f"{name}.{slot}": value for name, slots in held.items() for slot, value in slots.items()
        }
        return {**state, WEIGHT_DECAY: self._decay, **self._attrs, RATE: self._learning_rate}

    def set_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        """Puts back what `state_dict` gave; a parameter without an entry starts afresh, a number without one stays.

        So an empty state, Paddle's before the first step, starts all afresh. Nothing is set where it raises.

        Raises:
            StateDictError: no mapping; an entry belongs to no parameter, or one of a parameter's is
                missing; or Programs were built with other numbers than those given, or the global Scope, whose state of
                Programs is put back, holds none.
            ShapeError: an entry has another shape than its parameter.
            AttributeValueError: a number is none, or out of its range.
        """
        if not isinstance(state_dict, Mapping):
            raise StateDictError(
                f"{self.subject}, set_state_dict: expected a mapping as state_dict() gives it, got "
                f"{type(state_dict).__name__}"
            )
        numbers = {WEIGHT_DECAY: self._decay, **self._attrs, RATE: self._learning_rate}
        given = {name: _number(state_dict.get(name, now), now, name, self.subject) for name, now in numbers.items()}
        rate = as_rate(given.pop(RATE), self.subject)
        decay = decay_coefficient(given.pop(WEIGHT_DECAY), self.subject)
        self._check_attrs(given)
        if self._static.is_used and (decay, given) != (self._decay, self._attrs):
            raise StateDictError(
                f"{self.subject}, set_state_dict: expected the numbers that its Programs were built with, "
                f"{ {WEIGHT_DECAY: self._decay, **self._attrs} }, got { {WEIGHT_DECAY: decay, **given} }; make another "
                "optimizer"
            )
        updated = {name: param for name, (param, _) in self._static.named().items()}
        fresh = self._restored_slots(updated, {key: value for key, value in state_dict.items() if key not in numbers})
        changes = self._static.changes(fresh)
        if RATE in state_dict:
            self.set_lr(rate)
        global_scope().commit(changes)
        self._state = {name: slots for name, slots in fresh.items() if name not in updated}
        self._decay, self._attrs = decay, given

    load_state_dict = set_state_dict

    def _check_attrs(self, attrs: Mapping[str, Any]) -> None:
        """Checks the attributes of the update op that are fractions."""
        for name in self.fractions:
            if not 0 <= attrs[name] < 1:
                raise AttributeValueError(f"{self.subject}: {name} expected in [0, 1), got {attrs[name]}")

    def _restored_slots(self, updated: Mapping[str, Variable], entries: dict[str, Any]) -> dict[str, dict[str, Tensor]]:
        """Returns the slots of every parameter that has entries, also of those that Programs update.

        Raises:
            StateDictError, ShapeError: as `set_state_dict` raises them.
        """
        fresh: dict[str, dict[str, Tensor]] = {}
        known = {**(self._parameters or {}), **updated} if self._static.is_used else self._named()
        for name, param in known.items():
            keys = {slot.name: f"{name}.{slot.name}" for slot in self.slots}
            given = [key for key in keys.values() if key in entries]
            if not given:
                continue
            if len(given) < len(keys):
                missing = [key for key in keys.values() if key not in entries]
                raise StateDictError(f"{self.subject}, set_state_dict: expected {', '.join(missing)} too, not there")
            fresh[name] = {
                slot.name: self._restored(slot, param, keys[slot.name], entries.pop(keys[slot.name]))
                for slot in self.slots
            }
        if entries:
            raise StateDictError(
                f"{self.subject}, set_state_dict: expected entries of its parameters "
                f"({alternatives('', known)}), got {alternatives('', entries)}; parameters given with names, "
                "as layer.named_parameters() has them, keep them"
            )
        return fresh

    def _restored(self, slot: Slot, param: Any, key: str, value: Any) -> Tensor:
        numbers = as_numbers(values_of(value), f"{self.subject}, set_state_dict, {key!r}")
        array = np.array(fitted(numbers, slot.dtype(param), f"{self.subject}, set_state_dict, {key!r}"))
        shape = tuple(slot.filling(param)[0])
        if array.shape != shape:
            raise ShapeError(f"{self.subject}, set_state_dict, {key!r}: expected shape {shape}, got {array.shape}")
        return Tensor(array)


def _number(value: Any, like: Any, name: str, subject: str) -> Any:
    """Returns a number of a state as one of the kind that the optimizer has; files give arrays of one element.

    Raises:
        AttributeValueError: it is of another kind.
    """
    plain = np.asarray(value).item() if getattr(value, "size", 1) == 1 and hasattr(value, "dtype") else value
    is_number = isinstance(plain, (int, float)) and not isinstance(plain, bool)
    if isinstance(plain, bool) if isinstance(like, bool) else is_number:
        return plain if isinstance(like, bool) else float(plain)
    raise AttributeValueError(
        f"{subject}, set_state_dict: {name} expected a {'bool' if isinstance(like, bool) else 'number'}, got {value!r}"
    )
