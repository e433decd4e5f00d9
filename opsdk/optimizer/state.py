"""OptimizerState: what an optimizer knows of the past, as a state dictionary, and put back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from opsdk.autograd.tensor import Tensor
from opsdk.core.errors import AttributeValueError, ShapeError, StateDictError
from opsdk.core.fit import as_numbers, fitted
from opsdk.core.suggest import alternatives
from opsdk.ops.numpy_protocol import values_of
from opsdk.optimizer.groups import LR, Group
from opsdk.optimizer.parameters import RATE, WEIGHT_DECAY, Slot, as_rate, decay_coefficient
from opsdk.optimizer.schedule import LRScheduler
from opsdk.optimizer.static_update import StaticUpdate
from opsdk.static.ir.variable import Variable
from opsdk.static.run.scope import global_scope

SCHEDULE, GROUPS = "LR_Scheduler", "groups"
NAME_TABLE = "StructuredToParameterName@@"  # an entry of Paddle's files that is no state


# Any, in this file: parameters and state are tensors or Program variables; numbers of every kind.
class OptimizerState:
    """The part of an optimizer that is saved: slots by parameter, numbers, groups, the schedule."""

    subject: str
    slots: Sequence[Slot]
    fractions: Sequence[str]
    _attrs: dict[str, Any]
    _decay: float
    _groups: list[Group]
    _learning_rate: float
    _parameters: dict[str, Any] | None
    _schedule: LRScheduler | None
    _state: dict[str, dict[str, Tensor]]
    _static: StaticUpdate

    def state_dict(self) -> dict[str, Any]:
        """Returns the state by `<parameter>.<slot>`, and the numbers that the optimizer was made with.

        These are `weight_decay`, the attributes of its update op, such as `beta1` or `mu`, and `learning_rate`; of
        groups a list of their settings, of a schedule where it is, as `LR_Scheduler`. A parameter that was never
        changed has no state yet. The tensors are the optimizer's own; those of parameters that Programs change are
        copies of what the global Scope holds.

        Raises:
            StateDictError: a Program was built, and the global Scope holds no state of it.
        """
        held = {**self._state, **self._static.state()}
        state: dict[str, Any] = {
            f"{name}.{slot}": value for name, slots in held.items() for slot, value in slots.items()
        }
        state = {**state, **self._own_numbers()}
        if self._groups:
            state[GROUPS] = [group.state() for group in self._groups]
        if self._schedule is not None:
            state[SCHEDULE] = self._schedule.state_dict()
        return state

    def _own_numbers(self) -> dict[str, Any]:
        rate = self._learning_rate if self._schedule is None else self._schedule()
        return {WEIGHT_DECAY: self._decay, **self._attrs, RATE: rate}

    def set_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        """Puts back what `state_dict` gave; a parameter without an entry starts afresh, a number without one stays.

        So an empty state, Paddle's before the first step, starts all afresh. Paddle's own names,
        `linear_0.w_0_moment1_0`, are known by the names of the parameters. Nothing is set where it raises.

        Raises:
            StateDictError: no mapping; an entry belongs to no parameter, or one of a parameter's is
                missing; the schedule or the groups are others; or Programs were built with other numbers than those
                given, or the global Scope, whose state of Programs is put back, holds none.
            ShapeError: an entry has another shape than its parameter.
            AttributeValueError: a number is none, or out of its range.
        """
        if not isinstance(state_dict, Mapping):
            raise StateDictError(
                f"{self.subject}, set_state_dict: expected a mapping as state_dict() gives it, got "
                f"{type(state_dict).__name__}"
            )
        entries = {key: value for key, value in state_dict.items() if key != NAME_TABLE}
        numbers = self._own_numbers()
        given = {name: _number(entries.pop(name, now), now, name, self.subject) for name, now in numbers.items()}
        rate = as_rate(given.pop(RATE), self.subject)
        decay = decay_coefficient(given.pop(WEIGHT_DECAY), self.subject)
        self._checked_attrs(given)
        if self._static.is_used and (decay, given) != (self._decay, self._attrs):
            raise StateDictError(
                f"{self.subject}, set_state_dict: expected the numbers that its Programs were built with, "
                f"{ {WEIGHT_DECAY: self._decay, **self._attrs} }, got { {WEIGHT_DECAY: decay, **given} }; make another "
                "optimizer"
            )
        groups = self._given_groups(entries.pop(GROUPS, None))
        schedule = self._given_schedule(entries.pop(SCHEDULE, None))
        updated = {name: param for name, (param, _) in self._static.named().items()}
        fresh = self._restored_slots(updated, entries)
        changes = self._static.changes(fresh)
        if self._schedule is not None and schedule is not None:
            self._schedule.set_state_dict(schedule)
        elif RATE in state_dict and self._schedule is None:
            self._static.set_rate(rate)
            self._learning_rate = rate
        global_scope().commit(changes)
        kept = {name: slots for name, slots in self._state.items() if name in updated}  # the Programs', changed above
        self._state = {name: slots for name, slots in fresh.items() if name not in updated} | kept
        self._decay, self._attrs = decay, given
        for group, new in zip(self._groups, groups, strict=True):
            group.factor, group.rate, group.decay, group.attrs = new.factor, new.rate, new.decay, new.attrs

    load_state_dict = set_state_dict

    def _given_groups(self, given: Any) -> list[Group]:
        """Returns the settings of each group: those given, else its own."""
        if given is None:
            given = [group.state() for group in self._groups]
        own = [{*group.state()} - {LR} for group in self._groups]
        if not isinstance(given, list) or [{*entry} - {LR} for entry in given] != own:
            raise StateDictError(
                f"{self.subject}, set_state_dict: groups expected the settings of {len(self._groups)} groups as they "
                f"are here, got {given!r}"
            )
        return [Group(entry, self._attrs, f"{self.subject}, set_state_dict") for entry in given]

    def _given_schedule(self, given: Any) -> Any:
        """Returns the state of the schedule, once it is sure that it fits."""
        if given is None:
            return None
        if self._schedule is None:
            raise StateDictError(
                f"{self.subject}, set_state_dict: expected a state without {SCHEDULE}, since it has a fixed rate, got "
                "one; make it with the schedule that was saved"
            )
        self._schedule.check_state(given)
        return given

    def _checked_attrs(self, attrs: dict[str, Any]) -> dict[str, Any]:
        """Returns the attributes of the update op, once those that are fractions have been looked at."""
        for name in self.fractions:
            if not 0 <= attrs[name] < 1:
                raise AttributeValueError(f"{self.subject}: {name} expected in [0, 1), got {attrs[name]}")
        return attrs

    def _own_keys(self, known: Mapping[str, Any], entries: dict[str, Any]) -> dict[str, Any]:
        """Returns entries with Paddle's names, `<parameter's own name>_<slot>_0`, as ours."""
        names = {
            f"{param.name}_{slot.paddle or slot.name}_0": (f"{name}.{slot.name}", slot)
            for name, param in known.items()
            for slot in self.slots
        }
        return {
            key if key not in names else names[key][0]: value
            if key not in names
            else self.from_paddle(names[key][1], value)
            for key, value in entries.items()
        }

    def from_paddle(self, slot: Slot, value: Any) -> Any:
        """Returns what a slot of ours is for one of Paddle's."""
        return value

    def _restored_slots(self, updated: Mapping[str, Variable], entries: dict[str, Any]) -> dict[str, dict[str, Tensor]]:
        """Returns the slots of every parameter that has entries, also of those that Programs update.

        Raises:
            StateDictError, ShapeError: as `set_state_dict` raises them.
        """
        fresh: dict[str, dict[str, Tensor]] = {}
        known = {**(self._parameters or {}), **updated} if self._static.is_used else self.named()
        entries = self._own_keys(known, entries)
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
        made = Tensor(array)
        return made.to(param.place) if isinstance(param, Tensor) else made

    def named(self) -> dict[str, Any]:
        """Returns its parameters by name.

        Raises:
            AttributeValueError: it was made without.
        """
        if self._parameters is None:
            raise AttributeValueError(
                f"{self.subject}: parameters expected a list of tensors to work on, got None; "
                "pass parameters=layer.parameters()"
            )
        return self._parameters

    def own_names(self) -> dict[int, str]:
        """Returns by id the names of the parameters that it was given."""
        return {id(param): name for name, param in (self._parameters or {}).items()}


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
