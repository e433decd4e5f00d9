"""Grouped: an optimizer's groups of parameters, and PyTorch's `param_groups`, which shows and changes them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, MutableMapping
from typing import Any

from opsdk.autograd.creation import full
from opsdk.autograd.tensor import Tensor
from opsdk.core.errors import AttributeValueError, ProgramError, ScheduleError
from opsdk.core.suggest import alternatives
from opsdk.define.frontend import at_once
from opsdk.optimizer.groups import LR, NAME, Group, own_numbers, words_of
from opsdk.optimizer.parameters import (
    RATE,
    WEIGHT_DECAY,
    as_groups,
    as_named,
    as_rate,
    decay_coefficient,
    key_of,
    learning_rate_factor,
    rate_dtype,
)
from opsdk.optimizer.state import OptimizerState


# Any, in this file: parameters are tensors or Program variables; settings are numbers, flags and pairs of them.
class Grouped(OptimizerState):
    """The part of an optimizer that knows what holds for which parameter."""

    _group_of: dict[int, Group]
    _rates: dict[Any, Any]

    def _grouped(self, parameters: Any) -> tuple[list[Group], dict[int, Group]]:
        entries = as_groups(parameters, self.subject) or []
        groups = [Group(entry, self._attrs, self.subject) for entry in entries]
        for group in groups:
            self._checked_attrs({**self._attrs, **group.attrs})
        owners: dict[int, Group] = {}
        for entry, group in zip(entries, groups, strict=True):
            for name, param in as_named(entry["params"], self.subject).items():
                if id(param) in owners:
                    raise AttributeValueError(
                        f"{self.subject}: expected each parameter in one group, got {name!r} in two"
                    )
                owners[id(param)] = group
        return groups, owners

    def group_of(self, param: Any) -> Group | None:
        """Returns the group of a parameter; None in an optimizer without groups."""
        return self._group_of.get(key_of(param))

    @property
    def param_groups(self) -> list[ParamGroup]:
        """The groups in PyTorch's words, `params`, `lr`, `betas` and so on: what is written there holds from then on.

        An optimizer without groups has one, whose settings are its own.
        """
        return [ParamGroup(self, group) for group in (self._groups or (None,))]

    def add_param_group(self, param_group: Mapping[str, Any]) -> None:
        """Adds parameters with settings of their own, such as `{"params": layer.parameters(), "lr": 0.01}`.

        Raises:
            AttributeValueError: no group, or one of its parameters is there already.
            ProgramError: Programs were built.
        """
        subject = f"{self.subject}, add_param_group"
        entry = {"params": param_group} if not isinstance(param_group, Mapping) else dict(param_group)
        if not isinstance(param_group, Mapping) or "params" not in entry:
            raise AttributeValueError(f"{subject}: expected a dictionary with params, got {type(param_group).__name__}")
        if self._static.is_used:
            raise ProgramError(f"{subject}: expected no Program built yet, got one; make the optimizer with all groups")
        given = entry["params"] if not isinstance(entry["params"], Tensor) else [entry["params"]]
        group, own = Group(entry, self._attrs, self.subject), self.named()
        self._checked_attrs({**self._attrs, **group.attrs})
        new = as_named(given, subject)
        there = next((name for name, param in own.items() if any(param is other for other in new.values())), None)
        if there is not None:
            raise AttributeValueError(f"{subject}: expected parameters that it does not have, got {there!r}")
        if not self._groups:
            self._groups = [Group({}, self._attrs, self.subject)]
            self._group_of = {id(param): self._groups[0] for param in own.values()}
        self._groups.append(group)
        for name, param in new.items():
            own[name if name not in own else f"{len(own)}.{name}"] = param
            self._group_of[id(param)] = group

    def numbers_in(self, group: Group | None) -> dict[str, Any]:
        """Returns the numbers of the update op that hold in a group."""
        own = self._attrs if group is None else {**self._attrs, **group.attrs}
        momentum = None if self._schedule is None else self._schedule.momentum()
        return own if momentum is None else {**own, self.momentum_word(): momentum}

    def momentum_word(self) -> str:
        """Returns what the update op calls a momentum, or its first beta.

        Raises:
            AttributeValueError: it has none.
        """
        for word in ("mu", "beta1", "momentum"):
            if word in self._attrs:
                return word
        raise AttributeValueError(
            f"{self.subject}: expected a momentum or betas for {type(self._schedule).__name__} to cycle, has none; "
            "make it with momentum=, or the schedule with cycle_momentum=False"
        )

    def decay_in(self, group: Group | None) -> float:
        """Returns the weight decay that holds in a group."""
        return self._decay if group is None or group.decay is None else group.decay

    def get_lr(self) -> float:
        """Returns the learning rate."""
        return self._learning_rate if self._schedule is None else self._schedule()

    @property
    def initial_lr(self) -> float:
        """The learning rate that schedules which are made of the optimizer start from."""
        return self._learning_rate

    def rate_of(self, group: Group | None) -> float:
        """Returns the learning rate that holds in a group, before parameters' own factors."""
        if group is None:
            return self.get_lr()
        if group.rate is None:
            return self.get_lr() * group.factor
        return group.rate if self._schedule is None else self._schedule.rate_from(group.rate)

    def own_factor(self, param: Any) -> float:
        """Returns a parameter's own factor on the learning rate."""
        return learning_rate_factor(param)

    def _rate(self, param: Any) -> Tensor:
        key = self.rate_of(self.group_of(param)) * self.own_factor(param), rate_dtype(param.dtype), param.place
        if self._rates.get(RATE) != (now := self.get_lr()):
            self._rates = {RATE: now}
        if key not in self._rates:
            self._rates[key] = at_once(full, [1], *key[:2]).to(param.place)
        made: Tensor = self._rates[key]
        return made

    def change(self, group: Group | None, word: str, value: Any) -> None:
        """Changes a setting of a group, or of all without one; `word` is PyTorch's.

        Raises:
            AttributeValueError: the value is none of its kind; nothing has changed.
            ProgramError: Programs were built with it.
        """
        subject = f"{self.subject}, param_groups"
        if self._static.is_used:
            raise ProgramError(
                f"{subject}: expected {word!r} as Programs were built with it, got {value!r}; build anew"
            )
        if word == LR and group is not None:
            group.rate, group.factor = as_rate(value, subject), 1.0
            self._rates = {}
        elif word == WEIGHT_DECAY:
            decay = decay_coefficient(value, subject)
            if group is None:
                self._decay = decay
            else:
                group.decay = decay
        else:
            known = self.numbers_in(group)
            new = own_numbers({word: value}, known, subject)
            typed = {name: type(known[name])(number) for name, number in new.items()}
            self._checked_attrs({**known, **typed})
            (self._attrs if group is None else group.attrs).update(typed)


class ParamGroup(MutableMapping[str, Any]):
    """Parameters of an optimizer with what holds for them, in PyTorch's words: writing changes it from now on.

    Args:
        optimizer: an `Optimizer` (any: it stands one module above).
        group: whose settings; None for those of an optimizer without groups.
    """

    def __init__(self, optimizer: Any, group: Group | None) -> None:
        self._optimizer, self._group = optimizer, group

    def __getitem__(self, key: str) -> Any:
        optimizer, group = self._optimizer, self._group
        if key == "params":
            return [param for param in optimizer.named().values() if optimizer.group_of(param) is group]
        if key == LR:
            return optimizer.rate_of(group)
        if key == WEIGHT_DECAY:
            return optimizer.decay_in(group)
        if key == NAME and group is not None and group.name is not None:
            return group.name
        numbers = optimizer.numbers_in(group)
        values = [numbers[name] for name in words_of(numbers)[key]]
        return values[0] if len(values) == 1 else tuple(values)

    def __setitem__(self, key: str, value: Any) -> None:
        """Changes a setting.

        Raises:
            AttributeValueError: it has no such setting, or the value is none of its kind; nothing has changed.
            ScheduleError: the rate, while a schedule gives it.
            ProgramError: the numbers are in Programs by now.
        """
        subject = f"{self._optimizer.subject}, param_groups"
        if key not in self or key == "params":
            raise AttributeValueError(
                f"{subject}: expected {alternatives('', [word for word in self if word != 'params'])} to change, got "
                f"{key!r}; add_param_group adds parameters"
            )
        if key == LR and self._group is None:
            self._optimizer.set_lr(value)
            return
        if key == LR and self._optimizer.schedule is not None:
            raise ScheduleError(
                f"{subject}: expected an optimizer of a fixed rate, {type(self._optimizer.schedule).__name__} gives "
                "it; call its step(), or set_lr_scheduler"
            )
        self._optimizer.change(self._group, key, value)

    def __delitem__(self, key: str) -> None:
        raise TypeError(f"{self._optimizer.subject}, param_groups: a setting can be changed, not deleted")

    def __iter__(self) -> Iterator[str]:
        named = self._group is not None and self._group.name is not None
        words = words_of(self._optimizer.numbers_in(self._group))
        return iter(("params", LR, WEIGHT_DECAY, *words, *((NAME,) if named else ())))

    def __len__(self) -> int:
        return len(list(iter(self)))

    def __repr__(self) -> str:
        params = self["params"]
        shown = ", ".join(f"{key}={value}" for key, value in self.items() if key != "params")
        return f"ParamGroup({len(params)} parameters, {shown})"
