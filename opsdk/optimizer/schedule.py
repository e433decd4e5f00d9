"""LRScheduler: the base of schedules, and of those that are a function of the step."""

from __future__ import annotations

import math
import weakref
from collections.abc import Callable, Mapping
from copy import copy
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, ClassVar

from opsdk.core.errors import AttributeValueError, ScheduleError, StateDictError
from opsdk.optimizer.parameters import as_rate


class LRScheduler:
    """A learning rate that changes: an optimizer that is given it goes by it, in both runtimes.

    A subclass defines `get_lr()`, which reads `base_lr`, `last_epoch` and `last_lr`. Calling a schedule gives the rate,
    `step()` goes on; a step is an epoch or a batch, whichever the training loop takes it for.

    Args:
        learning_rate: `base_lr`.
        last_epoch: the step to go on after; -1 begins at step 0.
        verbose: prints the rate at every step.

    Raises:
        AttributeValueError: no number ≥ 0.
    """

    keys: ClassVar[tuple[str, ...]] = ()  # what a state holds beside `last_epoch` and `last_lr`

    def __init__(self, learning_rate: float = 0.1, last_epoch: int = -1, verbose: bool = False) -> None:
        self.base_lr = as_rate(learning_rate, type(self).__name__)
        self.last_lr = self.base_lr
        self.last_epoch = last_epoch
        self.verbose = verbose
        self._followers: weakref.WeakSet[Any] = weakref.WeakSet()  # optimizers that Programs follow (any: one up)
        self._is_left = False  # whether all of them go by other schedules since
        self.step()

    def __call__(self) -> float:
        """Returns the learning rate."""
        return self.last_lr

    def get_last_lr(self) -> list[float]:
        """Returns the rate of each group of the optimizer that goes by it, in PyTorch's words; the rate without one."""
        groups = self.followers[0].param_groups if len(self._followers) == 1 else []
        return [group["lr"] for group in groups] or [self.last_lr]

    def get_lr(self) -> float:
        """Returns the rate of step `last_epoch`."""
        raise NotImplementedError(f"schedule {type(self).__name__}: expected it to define get_lr()")

    def momentum(self) -> float | None:
        """Returns the momentum, or first beta, that optimizers have at this step; None for their own."""
        return None

    def rate_from(self, base: float) -> float:
        """Returns the rate that this step has where the schedule starts from another rate.

        Raises:
            ScheduleError: what it does is not known for another one.
        """
        if base == self.base_lr:
            return self.last_lr
        raise ScheduleError(
            f"{type(self).__name__}: expected an optimizer whose groups have no lr of their own, which only schedules "
            f"of opsdk.optimizer.lr go by, got {base}; give groups learning_rate, a factor"
        )

    def step(self, epoch: int | None = None) -> None:
        """Goes to the next step, or to the one that is given.

        Raises:
            ScheduleError: it is beyond the last one, or the optimizer took another schedule; nothing has changed.
        """
        if self._is_left:
            raise ScheduleError(
                f"{type(self).__name__}, step: expected a schedule that an optimizer goes by, got one whose optimizer "
                "took another since; lr.SequentialLR and lr.ChainedScheduler join several"
            )
        before = self.last_epoch
        self.last_epoch = before + 1 if epoch is None else epoch
        try:
            self._follow(as_rate(self.get_lr(), type(self).__name__))
        except BaseException:
            self.last_epoch = before
            raise
        if self.verbose:
            print(f"Epoch {self.last_epoch}: {type(self).__name__} set learning rate to {self.last_lr}.")  # noqa: T201 - asked for

    def _follow(self, rate: float) -> None:
        for optimizer in self.followers:
            optimizer.follow(rate)
        self.last_lr = rate

    def follow_with(self, optimizer: Any) -> None:
        """Makes an optimizer's Programs go by this schedule."""
        self._followers.add(optimizer)
        self._is_left = False

    @property
    def followers(self) -> list[Any]:
        """The optimizers that go by this schedule."""
        return list(self._followers)

    def leave(self, optimizer: Any) -> None:
        """Lets an optimizer go by another one."""
        self._followers.discard(optimizer)
        self._is_left = not self._followers

    # Any: numbers, and the state of a schedule inside.
    def state_dict(self) -> dict[str, Any]:
        """Returns where the schedule is: `last_epoch`, `last_lr` and what it remembers beside."""
        held = {name: getattr(self, name) for name in ("last_epoch", "last_lr", *self.keys)}
        return {name: value.state_dict() if isinstance(value, LRScheduler) else value for name, value in held.items()}

    def set_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        """Goes on from where `state_dict` was.

        Raises:
            StateDictError: it does not have exactly the schedule's entries, or not of their kinds; nothing has changed.
        """
        self.check_state(state_dict)
        for name, value in state_dict.items():
            inner = getattr(self, name)
            if isinstance(inner, LRScheduler):
                inner.set_state_dict(value)
            else:
                setattr(self, name, value)
        self._follow(self.last_lr)

    def check_state(self, state_dict: Mapping[str, Any]) -> None:
        """Raises what `set_state_dict` would, and sets nothing."""
        own = self.state_dict()
        given = {} if not isinstance(state_dict, Mapping) else dict(state_dict)
        fits = set(given) == set(own) and all(type(given[name]) in _KINDS[type(own[name])] for name in own)
        if not fits:
            raise StateDictError(
                f"{type(self).__name__}, set_state_dict: expected {', '.join(own)} as state_dict() gives them, got "
                f"{', '.join(map(str, given)) or type(state_dict).__name__}"
            )
        for name, value in given.items():
            if isinstance(inner := getattr(self, name), LRScheduler):
                inner.check_state(value)

    set_dict = load_state_dict = set_state_dict


_NUMBER = (int, float)
_KINDS: dict[type, tuple[type, ...]] = {int: (int,), float: _NUMBER, dict: (dict,), type(None): (*_NUMBER, type(None))}
_KINDS[float] = (*_NUMBER, type(None))

Check = tuple[Callable[[Any], bool], str]
AT_LEAST_1: Check = (lambda n: isinstance(n, int) and not isinstance(n, bool) and n >= 1, "an integer ≥ 1")
NUMBERS: Check = (lambda n: isinstance(n, _NUMBER) and math.isfinite(n), "a number")
CALLED: Check = (callable, "a function of the step")
GROWING: Check = (
    lambda n: isinstance(n, (list, tuple)) and len(n) > 0 and all(a < b for a, b in pairwise(n)),
    "a list of steps, each greater than the one before",
)


@dataclass(eq=False, repr=False)
class Schedule(LRScheduler):
    """A schedule whose arguments are its fields; `_rate` is a function of them and of the step."""

    checks: ClassVar[Mapping[str, Check]] = {}
    is_absolute: ClassVar[bool] = False  # whether its rates are given, and no rate that it starts from
    last_epoch: int = field(default=-1, kw_only=True)
    verbose: bool = field(default=False, kw_only=True)

    def __init_subclass__(cls, checks: Mapping[str, Check] | None = None) -> None:
        cls.checks = {**cls.checks, **(checks or {})}

    def __post_init__(self) -> None:
        for name, (holds, words) in self.checks.items():
            if not holds(getattr(self, name)):
                raise AttributeValueError(
                    f"{type(self).__name__}: {name} expected {words}, got {getattr(self, name)!r}"
                )
        super().__init__(self._base(), self.last_epoch, self.verbose)

    def _base(self) -> float:
        rate: float = vars(self).get("learning_rate", 0.0)
        return rate

    def get_lr(self) -> float:
        """Returns the rate of step `last_epoch`."""
        return self._rate(max(self.last_epoch, 0))

    def rate_from(self, base: float) -> float:
        """Returns the rate that this step has where the schedule starts from another rate."""
        return self.last_lr if base == self.base_lr else self.at(self.last_epoch, base)

    def at(self, step: int, base: float) -> float:
        """Returns the rate of a step where the schedule starts from a rate; it stays where it is."""
        other = copy(self)
        other.last_epoch = step
        other.base_lr = self.base_lr if self.is_absolute else base
        return other.get_lr()

    def _rate(self, step: int) -> float:
        raise NotImplementedError
