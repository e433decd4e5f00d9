"""Schedules in PyTorch's words: each is made of an optimizer, which goes by it from then on."""

from __future__ import annotations

import inspect
import math
from bisect import bisect_right
from collections.abc import Callable, Sequence
from typing import Any

from opsdk.core.errors import AttributeValueError
from opsdk.optimizer.lr import decay as lr
from opsdk.optimizer.optimizer import Optimizer
from opsdk.optimizer.parameters import as_rate
from opsdk.optimizer.schedule import AT_LEAST_1, GROWING, Schedule


# Any: arguments of schedules, which differ.
def _started(schedule: Schedule, optimizer: Optimizer, base: Any, last_epoch: int, **told: Any) -> None:
    """Makes a schedule, as its base is made, of the rate that an optimizer began with."""
    if not isinstance(optimizer, Optimizer):
        raise AttributeValueError(
            f"{type(schedule).__name__}: optimizer expected one of opsdk.optimizer, got {type(optimizer).__name__}; "
            f"{base.__name__} is made of a rate"
        )
    if "learning_rate" in base.__dataclass_fields__:
        told["learning_rate"] = optimizer.initial_lr
    base.__init__(schedule, **told, last_epoch=last_epoch)
    optimizer.set_lr_scheduler(schedule)


class StepLR(lr.StepDecay):
    """Times `gamma` every `step_size` steps."""

    def __init__(self, optimizer: Optimizer, step_size: int, gamma: float = 0.1, last_epoch: int = -1) -> None:
        _started(self, optimizer, lr.StepDecay, last_epoch, step_size=step_size, gamma=gamma)


class MultiStepLR(lr.MultiStepDecay):
    """Times `gamma` at each of the `milestones`."""

    def __init__(
        self, optimizer: Optimizer, milestones: Sequence[int], gamma: float = 0.1, last_epoch: int = -1
    ) -> None:
        _started(self, optimizer, lr.MultiStepDecay, last_epoch, milestones=list(milestones), gamma=gamma)


class ExponentialLR(lr.ExponentialDecay):
    """Times `gamma` every step."""

    def __init__(self, optimizer: Optimizer, gamma: float, last_epoch: int = -1) -> None:
        _started(self, optimizer, lr.ExponentialDecay, last_epoch, gamma=gamma)


class CosineAnnealingLR(lr.CosineAnnealingDecay):
    """Half a cosine down to `eta_min` in `T_max` steps, and up again (Loshchilov & Hutter, 2017, without restarts)."""

    def __init__(self, optimizer: Optimizer, T_max: int, eta_min: float = 0.0, last_epoch: int = -1) -> None:
        _started(self, optimizer, lr.CosineAnnealingDecay, last_epoch, T_max=T_max, eta_min=eta_min)


class LambdaLR(lr.LambdaDecay):
    """Times `lr_lambda(step)`."""

    def __init__(self, optimizer: Optimizer, lr_lambda: Callable[[int], float], last_epoch: int = -1) -> None:
        _started(self, optimizer, lr.LambdaDecay, last_epoch, lr_lambda=lr_lambda)


class MultiplicativeLR(lr.MultiplicativeDecay):
    """Times `lr_lambda(1)`, then `lr_lambda(2)`, and so on."""

    def __init__(self, optimizer: Optimizer, lr_lambda: Callable[[int], float], last_epoch: int = -1) -> None:
        _started(self, optimizer, lr.MultiplicativeDecay, last_epoch, lr_lambda=lr_lambda)


class PolynomialLR(lr.PolynomialDecay):
    """Falls to 0 in `total_iters` steps, as a power of what is left."""

    def __init__(self, optimizer: Optimizer, total_iters: int = 5, power: float = 1.0, last_epoch: int = -1) -> None:
        steps = {"decay_steps": total_iters, "end_lr": 0.0, "power": power}
        _started(self, optimizer, lr.PolynomialDecay, last_epoch, **steps)


class ConstantLR(lr.LambdaDecay):
    """Times `factor` before step `total_iters`."""

    def __init__(self, optimizer: Optimizer, factor: float = 1 / 3, total_iters: int = 5, last_epoch: int = -1) -> None:
        if not AT_LEAST_1[0](total_iters) or not 0 <= factor <= 1:
            raise AttributeValueError(
                f"ConstantLR: expected a factor in [0, 1] and total_iters {AT_LEAST_1[1]}, got {factor!r} and "
                f"{total_iters!r}"
            )
        held = lambda step: factor if step < total_iters else 1.0  # noqa: E731 - in the words of its base
        _started(self, optimizer, lr.LambdaDecay, last_epoch, lr_lambda=held)


class ReduceLROnPlateau(lr.ReduceOnPlateau):
    """Times `factor` once `patience` steps in a row were no better than the best; see `ReduceOnPlateau`."""

    def __init__(
        self,
        optimizer: Optimizer,
        mode: str = "min",
        factor: float = 0.1,
        patience: int = 10,
        threshold: float = 1e-4,
        threshold_mode: str = "rel",
        cooldown: int = 0,
        min_lr: float = 0.0,
        eps: float = 1e-8,
    ) -> None:
        told = {"mode": mode, "factor": factor, "patience": patience, "threshold": threshold}
        told |= {"threshold_mode": threshold_mode, "cooldown": cooldown, "min_lr": min_lr, "epsilon": eps}
        _started(self, optimizer, lr.ReduceOnPlateau, -1, **told)


class SequentialLR(Schedule):
    """One schedule after the other: the next one begins, at its step 0, at each of the `milestones`."""

    def __init__(
        self, optimizer: Optimizer, schedulers: Sequence[Schedule], milestones: Sequence[int], last_epoch: int = -1
    ) -> None:
        self.schedulers, self.milestones = list(schedulers), list(milestones)
        _check_joined(self, lr.ReduceOnPlateau)
        if len(self.milestones) != len(self.schedulers) - 1 or not (not self.milestones or GROWING[0](self.milestones)):
            raise AttributeValueError(
                f"SequentialLR: milestones expected {len(self.schedulers) - 1} growing steps, at which the next of "
                f"{len(self.schedulers)} schedules begins, got {milestones!r}"
            )
        if any(isinstance(each, lr.MultiplicativeDecay) for each in self.schedulers[1:]):
            raise AttributeValueError(
                "SequentialLR: expected MultiplicativeLR first, since it goes on from the rate before it, got it "
                "later; LambdaLR says the factor of each step"
            )
        self._begin = optimizer.initial_lr
        _started(self, optimizer, Schedule, last_epoch)

    def _base(self) -> float:
        return self._begin

    def _part(self, step: int) -> tuple[Schedule, int]:
        which = bisect_right(self.milestones, step)
        return self.schedulers[which], step - (self.milestones[which - 1] if which else 0)

    def _rate(self, step: int) -> float:
        schedule, own = self._part(step)
        return schedule.at(own, self.base_lr)


class ChainedScheduler(Schedule):
    """The product of several schedules, each as the factor that it has on the rate.

    Beyond its `T_max` a cosine is this factor too, where PyTorch adds to the rate on its way up.
    """

    def __init__(self, schedulers: Sequence[Schedule], optimizer: Optimizer | None = None) -> None:
        self.schedulers = list(schedulers)
        _check_joined(self, lr.ReduceOnPlateau, lr.CyclicLR, lr.OneCycleLR, lr.CosineAnnealingWarmRestarts, LambdaLR)
        if any(getattr(each, "eta_min", 0) for each in self.schedulers):
            raise AttributeValueError(
                "ChainedScheduler: expected factors on the rate, got a cosine with eta_min above 0"
            )
        followers = [each for schedule in self.schedulers for each in schedule.followers]
        if optimizer is None and not followers:
            raise AttributeValueError("ChainedScheduler: optimizer expected one of opsdk.optimizer, got None")
        made_of = followers[-1] if optimizer is None else optimizer
        self._begin = made_of.initial_lr
        _started(self, made_of, Schedule, -1)

    def _base(self) -> float:
        return self._begin

    def _rate(self, step: int) -> float:
        return self.base_lr * math.prod(each.at(step, 1.0) for each in self.schedulers)


def _check_joined(joined: Any, *others: type) -> None:
    wrong = next(
        (each for each in joined.schedulers if not isinstance(each, Schedule) or isinstance(each, others)), None
    )
    if wrong is not None or not joined.schedulers:
        raise AttributeValueError(
            f"{type(joined).__name__}: schedulers expected a list of schedules, and none of "
            f"{', '.join(each.__name__ for each in others)}, got {'none' if wrong is None else type(wrong).__name__}"
        )


# Schedules that both libraries call so: of a rate in Paddle's form, of an optimizer in PyTorch's. Each function has
# PyTorch's arguments, and gives Paddle's.
def _linear(start_factor: float = 1 / 3, end_factor: float = 1.0, total_iters: int = 5) -> dict[str, Any]:
    return {"start_factor": start_factor, "end_factor": end_factor, "total_steps": total_iters}


def _restarts(T_0: int, T_mult: int = 1, eta_min: float = 0.0) -> dict[str, Any]:
    return {"T_0": T_0, "T_mult": T_mult, "eta_min": eta_min}


def _one_cycle(
    max_lr: float,
    total_steps: int | None = None,
    epochs: int | None = None,
    steps_per_epoch: int | None = None,
    pct_start: float = 0.3,
    anneal_strategy: str = "cos",
    cycle_momentum: bool = True,
    base_momentum: float = 0.85,
    max_momentum: float = 0.95,
    div_factor: float = 25.0,
    final_div_factor: float = 1e4,
    three_phase: bool = False,
) -> dict[str, Any]:
    if total_steps is None and (epochs is None or steps_per_epoch is None):
        raise AttributeValueError("OneCycleLR: expected total_steps, or epochs and steps_per_epoch, got neither")
    highest = as_rate(max_lr, "OneCycleLR, max_lr")
    return {
        "max_learning_rate": highest,
        "total_steps": (epochs or 0) * (steps_per_epoch or 0) if total_steps is None else total_steps,
        "divide_factor": div_factor,
        "end_learning_rate": highest / div_factor / final_div_factor,
        "phase_pct": pct_start,
        "anneal_strategy": anneal_strategy,
        "three_phase": three_phase,
        "momenta": (base_momentum, max_momentum) if cycle_momentum else None,
    }


def _cyclic(
    base_lr: float,
    max_lr: float,
    step_size_up: int = 2000,
    step_size_down: int | None = None,
    mode: str = "triangular",
    gamma: float = 1.0,
    scale_fn: Callable[[float], float] | None = None,
    scale_mode: str = "cycle",
    cycle_momentum: bool = True,
    base_momentum: float = 0.8,
    max_momentum: float = 0.9,
) -> dict[str, Any]:
    return {
        "base_learning_rate": as_rate(base_lr, "CyclicLR, base_lr"),
        "max_learning_rate": as_rate(max_lr, "CyclicLR, max_lr"),
        "step_size_up": step_size_up,
        "step_size_down": step_size_down,
        "mode": mode,
        "exp_gamma": gamma,
        "scale_fn": scale_fn,
        "scale_mode": scale_mode,
        "momenta": (base_momentum, max_momentum) if cycle_momentum else None,
    }


def _of_either(base: type[Schedule], told: Callable[..., dict[str, Any]]) -> type[Schedule]:
    def __init__(self: Any, *args: Any, last_epoch: int = -1, **options: Any) -> None:
        given = options.pop("optimizer") if "optimizer" in options else args[0] if args else None
        if isinstance(given, Optimizer):
            own = args[1:] if args and args[0] is given else args
            _started(self, given, base, last_epoch, **told(*own, **options))
        else:
            base.__init__(self, *args, last_epoch=last_epoch, **options)

    shown = str(inspect.signature(told)).partition(" ->")[0][1:]
    doc = f"{base.__doc__}\n\n    In PyTorch's form: `{base.__name__}(optimizer, {shown}`.\n    "
    members = {"__init__": __init__, "__doc__": doc, "__module__": __name__}
    return type(base.__name__, (base,), members)


LinearLR = _of_either(lr.LinearLR, _linear)
CosineAnnealingWarmRestarts = _of_either(lr.CosineAnnealingWarmRestarts, _restarts)
OneCycleLR = _of_either(lr.OneCycleLR, _one_cycle)
CyclicLR = _of_either(lr.CyclicLR, _cyclic)

__all__ = [
    "ChainedScheduler",
    "ConstantLR",
    "CosineAnnealingLR",
    "CosineAnnealingWarmRestarts",
    "CyclicLR",
    "ExponentialLR",
    "LambdaLR",
    "LinearLR",
    "MultiStepLR",
    "MultiplicativeLR",
    "OneCycleLR",
    "PolynomialLR",
    "ReduceLROnPlateau",
    "SequentialLR",
    "StepLR",
]
