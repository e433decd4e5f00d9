"""Optimizer: the base of all, and what they do for tensors; Program variables are `static_update`'s part."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from opsdk.autograd.creation import full
from opsdk.autograd.tensor import Tensor
from opsdk.core.dtype import computed_in
from opsdk.core.errors import AttributeValueError, GraphError, ProgramError, ScheduleError
from opsdk.core.modes import GradMode
from opsdk.core.names import unique_name
from opsdk.core.origin import trimming
from opsdk.core.suggest import alternatives
from opsdk.define.frontend import at_once
from opsdk.ops.creation import constant
from opsdk.ops.elementwise import elementwise_add, scale
from opsdk.ops.shape import cast
from opsdk.optimizer.grouped import Grouped
from opsdk.optimizer.parameters import (
    RATE,
    Slot,
    as_named,
    as_rate,
    decay_coefficient,
    key_of,
    learning_rate_factor,
    listed,
    rate_dtype,
)
from opsdk.optimizer.schedule import LRScheduler
from opsdk.optimizer.static_update import StaticUpdate
from opsdk.static.ir.program import Program
from opsdk.static.ir.variable import Variable


# Any, in this file: parameters, gradients and state are tensors or Program variables, whichever the loss is.
class Optimizer(Grouped):
    """Changes parameters by their gradients.

    A subclass names its state in `slots` and the in-place op that a step is in `op`, or calls it in `update`. The same
    call serves both runtimes: it changes tensors at once, and appends an Operator for Program variables.

    Args:
        learning_rate: > 0, or 0 to stand still, or a schedule of `opsdk.optimizer.lr`; every parameter's own factor
            comes on top.
        parameters: `layer.parameters()`, which knows their names; tensors, `(name, tensor)` pairs, or a mapping; with
            names the state survives a change of order. Or groups: dictionaries of `params` and settings for them,
            `learning_rate`, a factor as in Paddle, or `lr`, a rate as in PyTorch, `weight_decay`, and the optimizer's
            own numbers. Not needed for Programs.
        weight_decay: an L2 coefficient ≥ 0, or an `L2Decay`; a parameter's own `regularizer` takes its place.
        grad_clip: `nn.ClipGradByValue`, `ClipGradByNorm` or `ClipGradByGlobalNorm`: what changes gradients before the
            decay is added to them.
        name: without meaning; accepted as in Paddle.

    Raises:
        AttributeValueError: a learning rate, weight decay or parameter that is none.
    """

    op: Any = None
    slots: Sequence[Slot] = ()
    fractions: Sequence[str] = ()  # attributes of the op that lie in [0, 1)
    _made: Mapping[str, Any] = {}  # attributes of the op, as a subclass was given them; `state_dict` carries them
    _is_maximized = False

    def __init__(
        self,
        learning_rate: float | LRScheduler = 0.001,
        parameters: Any = None,
        weight_decay: Any = None,
        grad_clip: Any = None,
        name: str | None = None,
    ) -> None:
        self.subject = f"optimizer {type(self).__name__}"
        parameters = listed(parameters)
        self._schedule = learning_rate if isinstance(learning_rate, LRScheduler) else None
        self._learning_rate = as_rate(self._schedule() if self._schedule else learning_rate, self.subject)
        if grad_clip is not None and not callable(grad_clip):
            raise AttributeValueError(
                f"{self.subject}: grad_clip expected nn.ClipGradByValue, ClipGradByNorm or ClipGradByGlobalNorm, got "
                f"{type(grad_clip).__name__}"
            )
        self._clip = grad_clip
        self._parameters = None if parameters is None else as_named(parameters, self.subject)
        self._decay = decay_coefficient(weight_decay, self.subject)
        self._attrs = self._checked_attrs(dict(self._made))
        self._groups, self._group_of = self._grouped(parameters)
        self._state: dict[str, dict[str, Tensor]] = {}
        self._rates: dict[Any, Any] = {}  # by rate and dtype, and of which rate of the optimizer
        self._static = StaticUpdate(self)
        if self._schedule is not None:
            self._schedule.follow_with(self)

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
        return self.op(param, grad, rate, *(state[slot.name] for slot in self.slots), **self._update_attrs(param))

    def _update_attrs(self, param: Any) -> dict[str, Any]:
        return self.numbers_in(self.group_of(param))

    # -- tensors ------------------------------------------------------------------------------------------------------

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Changes every trainable parameter that has a gradient; none where none has, not even by decay.

        Args:
            closure: makes the gradients first, in PyTorch's words: clears them, computes the loss, calls its
                `backward()`, and returns it.

        Returns:
            What the closure returned; None without one.

        Raises:
            AttributeValueError: the optimizer was made without parameters.
            GraphError: none of its parameters is trainable.
        """
        named = self.named()
        if named and all(param.stop_gradient for param in named.values()):
            raise GraphError(
                f"{self.subject}, step: expected a parameter that is trained, got {len(named)} with "
                "stop_gradient=True; set stop_gradient=False before the forward"
            )
        loss = None
        if closure is not None:
            with GradMode(True):
                loss = closure()
        self._step(self._pairs(None, None))
        return loss

    def _step(self, pairs: Sequence[tuple[Any, Any]]) -> None:
        own = self.own_names()
        with GradMode(False):
            for param, grad in self.clipped(pairs):
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
        chosen = self.named() if parameters is None else as_named(parameters, self.subject)
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
        for param in self.named().values():
            param.clear_gradient(set_to_zero)

    clear_gradients = clear_grad

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Sets the gradient of every parameter to None, or to zeros, in PyTorch's words."""
        self.clear_grad(not set_to_none)

    def clipped(self, pairs: Sequence[tuple[Any, Any]]) -> Sequence[tuple[Any, Any]]:
        """Returns pairs of parameter and gradient, clipped as the optimizer was told to; turned where it maximises."""
        if self._is_maximized:
            pairs = [(param, scale(grad, scale=-1.0)) for param, grad in pairs]
        return pairs if self._clip is None else self._clip(pairs)

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
        return self._group_decay(param) if own is None else decay_coefficient(own, self.subject)

    def _group_decay(self, param: Any) -> float:
        return self.decay_in(self.group_of(param))

    def own_factor(self, param: Any) -> float:
        """Returns a parameter's own factor on the learning rate."""
        return learning_rate_factor(param)

    def factor_in_programs(self, param: Any) -> float:
        """Returns the factor on the learning rate of Programs: a parameter's own, and its group's.

        Raises:
            ProgramError: its group has a rate of its own.
        """
        group = self.group_of(param)
        if self._schedule is not None and self._schedule.momentum() is not None:
            self._check_no_program(type(self._schedule).__name__, True)
        if group is not None and group.rate is not None:
            raise ProgramError(
                f"{self.subject}: a group of a Program's parameters expected learning_rate, a factor on the one rate "
                f"of the Program, got lr={group.rate}"
            )
        return self.own_factor(param) * (1.0 if group is None else group.factor)

    def _rate(self, param: Any) -> Tensor:
        key = self.rate_of(self.group_of(param)) * self.own_factor(param), rate_dtype(param.dtype), param.place
        if self._rates.get(RATE) != (now := self.get_lr()):
            self._rates = {RATE: now}
        if key not in self._rates:
            self._rates[key] = at_once(full, [1], *key[:2]).to(param.place)
        made: Tensor = self._rates[key]
        return made

    def kept_for(self, param: Variable) -> dict[str, Tensor]:
        """Returns the state of a layer's parameter, for a Program that updates it: the one that `step` changes."""
        state = self._state_of(self.own_names().get(key_of(param), param.name), param.held)
        for slot in self.slots:
            tensor = state[slot.name]
            if tensor._name is None:
                tensor.name = unique_name(f"{param.name}_{slot.name}")
                tensor._initial = constant(slot.value, tensor.dtype, self.subject, list(tensor.shape))
                tensor._is_state = True
        return state

    def _state_of(self, name: str, param: Any) -> dict[str, Tensor]:
        if name not in self._state:
            self._state[name] = {slot.name: at_once(full, *slot.filling(param)) for slot in self.slots}
        held = self._state[name]
        for slot in self.slots:
            kept = held[slot.name]
            if kept.dtype != slot.dtype(param) or kept.place != param.place:  # its layer was cast or moved since
                held[slot.name] = kept.astype(slot.dtype(param)).to(param.place)
        return held

    # -- learning rate ------------------------------------------------------------------------------------------------

    @property
    def schedule(self) -> LRScheduler | None:
        """The schedule that gives the learning rate; None where it is fixed."""
        return self._schedule

    def set_lr(self, value: float) -> None:
        """Sets the learning rate, also of the Programs that `minimize` was called for.

        Raises:
            AttributeValueError: no number ≥ 0.
            ScheduleError: a schedule gives the rate.
            ProgramError: they run in another Scope than the one that is the global one now.
        """
        rate = as_rate(value, f"{self.subject}, set_lr")
        if self._schedule is not None:
            raise ScheduleError(
                f"{self.subject}, set_lr: expected an optimizer of a fixed rate, {type(self._schedule).__name__} gives "
                "it; call its step(), or set_lr_scheduler"
            )
        self.follow(rate)
        self._learning_rate = rate

    def _check_no_program(self, schedule: str, is_built: bool = False) -> None:
        if is_built or self._static.is_used:
            raise ProgramError(
                f"{self.subject}: a Program has its momentum as a number, got {schedule}, which cycles it; make that "
                "with cycle_momentum=False"
            )

    def set_lr_scheduler(self, scheduler: LRScheduler) -> None:
        """Goes by another schedule from now on.

        Raises:
            AttributeValueError: it is no schedule, or cycles a momentum that there is not.
            ProgramError: it cycles a momentum, which Programs have as a number.
        """
        if not isinstance(scheduler, LRScheduler):
            raise AttributeValueError(
                f"{self.subject}, set_lr_scheduler: expected an LRScheduler, got {type(scheduler).__name__}"
            )
        before, self._schedule = self._schedule, scheduler
        try:
            if scheduler.momentum() is not None:
                self.momentum_word()
                self._check_no_program(type(scheduler).__name__)
            self.follow(scheduler())
        except BaseException:
            self._schedule = before
            raise
        if before is not None and before is not scheduler:
            before.leave(self)
        scheduler.follow_with(self)

    def follow(self, rate: float) -> None:
        """Brings a new rate to the Programs; schedules call it when they go on."""
        self._static.set_rate(rate)
