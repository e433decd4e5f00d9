"""Schedules in PyTorch's words: each is made of an optimizer, which goes by it from then on."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from opsdk.core.errors import AttributeValueError
from opsdk.optimizer.lr import decay as lr
from opsdk.optimizer.optimizer import Optimizer
from opsdk.optimizer.schedule import AT_LEAST_1, Schedule


# Any: a schedule's class, whose arguments differ.
def _started(schedule: Schedule, optimizer: Optimizer, base: Any, last_epoch: int, **told: Any) -> None:
    """Makes a schedule, as its base is made, of the rate that an optimizer has."""
    if not isinstance(optimizer, Optimizer):
        raise AttributeValueError(
            f"{type(schedule).__name__}: optimizer expected one of opsdk.optimizer, got {type(optimizer).__name__}; "
            f"{base.__name__} is made of a rate"
        )
    base.__init__(schedule, optimizer.get_lr(), **told, last_epoch=last_epoch)
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


__all__ = [
    "ConstantLR",
    "CosineAnnealingLR",
    "ExponentialLR",
    "LambdaLR",
    "MultiStepLR",
    "MultiplicativeLR",
    "PolynomialLR",
    "ReduceLROnPlateau",
    "StepLR",
]
