"""The optimizers: each is an entry, the in-place op that its step is, with what that keeps and is set to."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from opsdk.core.errors import AttributeValueError
from opsdk.ops.numpy_protocol import values_of
from opsdk.ops.updates import adaptive
from opsdk.ops.updates import plain as update
from opsdk.optimizer.optimizer import Optimizer
from opsdk.optimizer.parameters import Slot, as_groups
from opsdk.optimizer.schedule import LRScheduler
from opsdk.optimizer.spellings import in_both_forms


@in_both_forms
class SGD(Optimizer):
    """w -= lr · (g + λ · w); with a momentum, as in PyTorch, `Momentum`.

    Args:
        learning_rate: lr.
        parameters: see `Optimizer`; PyTorch's `momentum` and `nesterov` are settings of groups too.
        weight_decay: λ.
        grad_clip: see `Optimizer`.
        name: without meaning.
        momentum: μ of `Momentum`, in [0, 1).
        dampening: takes this part from every gradient but the first that enters the velocity.
        nesterov: looks ahead.

    Raises:
        AttributeValueError: μ outside of [0, 1), or a lookahead without momentum or with dampening.
    """

    op = update.sgd

    # Any: see `Optimizer`.
    def __init__(
        self,
        learning_rate: float | LRScheduler = 0.001,
        parameters: Any = None,
        weight_decay: Any = None,
        grad_clip: Any = None,
        name: str | None = None,
        *,
        momentum: float = 0.0,
        dampening: float = 0.0,
        nesterov: bool = False,
    ) -> None:
        groups = as_groups(parameters, "optimizer SGD") or []
        told: list[dict[str, Any]] = [
            {"momentum": momentum, "dampening": dampening, "nesterov": nesterov, **entry} for entry in (*groups, {})
        ]
        if any(each["nesterov"] and (not each["momentum"] or each["dampening"]) for each in told):
            raise AttributeValueError("optimizer SGD: nesterov expected a momentum, and no dampening, got others")
        if any(each["dampening"] for each in told):
            self.op, self.slots = adaptive.dampened_momentum, (Slot("velocity"), Slot("steps", 0.0, True))
            self._made = {"mu": float(momentum), "dampening": float(dampening)}
        elif any(each["momentum"] for each in told):
            self.op, self.slots = update.momentum, (Slot("velocity"),)
            self._made = {"mu": float(momentum), "use_nesterov": bool(nesterov)}
        self.fractions = ("mu",) if self._made else ()
        super().__init__(learning_rate, parameters, weight_decay, grad_clip, name)


class Momentum(Optimizer):
    """v = μ · v + g + λ · w; w -= lr · v, or with Nesterov's lookahead lr · (g + λ · w + μ · v).

    Args:
        learning_rate: lr.
        momentum: μ, in [0, 1).
        parameters: see `Optimizer`.
        use_nesterov: looks ahead.
        weight_decay: λ.
        grad_clip: see `Optimizer`.
        name: without meaning.

    Raises:
        AttributeValueError: μ outside of [0, 1).
    """

    op = update.momentum
    slots = (Slot("velocity"),)
    fractions = ("mu",)

    # Any: see `Optimizer`.
    def __init__(
        self,
        learning_rate: float | LRScheduler = 0.001,
        momentum: float = 0.9,
        parameters: Any = None,
        use_nesterov: bool = False,
        weight_decay: Any = None,
        grad_clip: Any = None,
        name: str | None = None,
    ) -> None:
        self._made = {"mu": float(momentum), "use_nesterov": bool(use_nesterov)}
        super().__init__(learning_rate, parameters, weight_decay, grad_clip, name)


@in_both_forms
class Adam(Optimizer):
    """Kingma & Ba (2015); weight decay is added to the gradient.

    Args:
        learning_rate: size of a step.
        beta1: decay of the first moment, in [0, 1).
        beta2: decay of the second moment, in [0, 1).
        epsilon: added to the root of the second moment, > 0.
        parameters: see `Optimizer`.
        weight_decay: an L2 coefficient.
        grad_clip: see `Optimizer`.
        name: without meaning.
        amsgrad: divides by the root of the greatest second moment there was (Reddi et al., 2018).

    Raises:
        AttributeValueError: a beta outside of [0, 1).
    """

    op = update.adam
    slots = (Slot("moment1"), Slot("moment2"), *(Slot(f"beta{n}_pow", 1.0, True, f"beta{n}_pow_acc") for n in (1, 2)))
    fractions = ("beta1", "beta2")

    # Any: see `Optimizer`.
    def __init__(
        self,
        learning_rate: float | LRScheduler = 0.001,
        beta1: float = 0.9,
        beta2: float = 0.999,
        epsilon: float = 1e-08,
        parameters: Any = None,
        weight_decay: Any = None,
        grad_clip: Any = None,
        name: str | None = None,
        *,
        amsgrad: bool = False,
    ) -> None:
        self._made = {"beta1": float(beta1), "beta2": float(beta2), "epsilon": float(epsilon)}
        if amsgrad:
            self.op, self.slots = adaptive.amsgrad, (*self.slots[:2], Slot("moment2_max"), *self.slots[2:])
        super().__init__(learning_rate, parameters, weight_decay, grad_clip, name)

    def update(self, param: Any, grad: Any, rate: Any, state: Mapping[str, Any]) -> Any:
        """Calls the in-place op, with β₁ᵗ of the β₁ that holds now where a schedule cycles it, as in PyTorch."""
        attrs = self._update_attrs(param)
        if self._schedule is not None and self._schedule.momentum() is not None:
            power = float(state["beta2_pow"].item())
            steps = round(math.log(power) / math.log(attrs["beta2"])) if power > 0 else math.inf
            state["beta1_pow"].set_value(np.array([attrs["beta1"] ** steps]))
        return super().update(param, grad, rate, state)

    def _is_uniform(self) -> bool:
        return super()._is_uniform() and (self._schedule is None or self._schedule.momentum() is None)

    def from_paddle(self, slot: Slot, value: Any) -> Any:
        """Returns a slot of Paddle's as ours: its powers of β are those of the next step."""
        beta = self._attrs.get(slot.name.removesuffix("_pow"), 1.0)
        return np.asarray(values_of(value), np.float64) / beta if slot.is_scalar else value


@in_both_forms
class AdamW(Adam):
    """Loshchilov & Hutter (2019): weight decay draws the parameter itself, not its gradient: w *= 1 - lr · λ.

    Args:
        learning_rate: size of a step.
        beta1: decay of the first moment, in [0, 1).
        beta2: decay of the second moment, in [0, 1).
        epsilon: added to the root of the second moment, > 0.
        parameters: see `Optimizer`.
        weight_decay: λ, of all parameters. A parameter's own `regularizer` comes on top: as in Paddle, it adds its
            coefficient times the parameter to the gradient, as for every other optimizer.
        lr_ratio: gives a parameter's own factor on the learning rate, of the parameter.
        apply_decay_param_fun: whether λ draws a parameter, of its own name; all where it is None.
        grad_clip: see `Optimizer`.
        name: without meaning.
        amsgrad: see `Adam`.
    """

    # Any: see `Optimizer`.
    def __init__(
        self,
        learning_rate: float | LRScheduler = 0.001,
        beta1: float = 0.9,
        beta2: float = 0.999,
        epsilon: float = 1e-08,
        parameters: Any = None,
        weight_decay: Any = 0.01,
        lr_ratio: Callable[[Any], float] | None = None,
        apply_decay_param_fun: Callable[[str], bool] | None = None,
        grad_clip: Any = None,
        name: str | None = None,
        *,
        amsgrad: bool = False,
    ) -> None:
        for argument, value in (("lr_ratio", lr_ratio), ("apply_decay_param_fun", apply_decay_param_fun)):
            if value is not None and not callable(value):
                raise AttributeValueError(f"optimizer AdamW: {argument} expected a function, got {value!r}")
        self._lr_ratio, self._is_drawn = lr_ratio, apply_decay_param_fun
        told = (learning_rate, beta1, beta2, epsilon, parameters, weight_decay, grad_clip, name)
        super().__init__(*told, amsgrad=amsgrad)

    def decay_of(self, param: Any) -> float:
        """Returns the coefficient of what the gradient gets: the parameter's own; λ draws the parameter itself."""
        return 0.0 if getattr(param, "regularizer", None) is None else super().decay_of(param)

    def own_factor(self, param: Any) -> float:
        """Returns a parameter's own factor on the learning rate."""
        return super().own_factor(param) * (1.0 if self._lr_ratio is None else float(self._lr_ratio(param)))

    def _is_uniform(self) -> bool:
        return super()._is_uniform() and self._lr_ratio is None and self._is_drawn is None

    def _update_attrs(self, param: Any) -> dict[str, Any]:
        is_drawn = self._is_drawn is None or self._is_drawn(param.name)
        return {**super()._update_attrs(param), "decay": self._group_decay(param) if is_drawn else 0.0}


class RMSProp(Optimizer):
    """Tieleman & Hinton (2012): r = ρ · r + (1 - ρ) · g²; v = μ · v + lr · g / √(r + ε); w -= v.

    Args:
        learning_rate: lr.
        rho: ρ, in [0, 1).
        epsilon: ε, > 0, inside of the root, as in Paddle.
        momentum: μ, in [0, 1).
        centered: takes the mean gradient's square from r, so that the root is a deviation (Graves, 2013).
        parameters: see `Optimizer`.
        weight_decay: an L2 coefficient.
        grad_clip: see `Optimizer`.
        name: without meaning.
        as_torch: takes ε and lr out of the root and of v, as `RMSprop` does.

    Raises:
        AttributeValueError: ρ or μ outside of [0, 1).
    """

    op = update.rmsprop
    slots = (Slot("mean_square"), Slot("mean_grad"), Slot("momentum"))
    fractions = ("rho", "momentum")

    # Any: see `Optimizer`.
    def __init__(
        self,
        learning_rate: float | LRScheduler,
        rho: float = 0.95,
        epsilon: float = 1e-06,
        momentum: float = 0.0,
        centered: bool = False,
        parameters: Any = None,
        weight_decay: Any = None,
        grad_clip: Any = None,
        name: str | None = None,
        *,
        as_torch: bool = False,
    ) -> None:
        numbers = {"rho": float(rho), "epsilon": float(epsilon), "momentum": float(momentum)}
        self._made = {**numbers, "centered": bool(centered)} | ({"as_torch": True} if as_torch else {})
        super().__init__(learning_rate, parameters, weight_decay, grad_clip, name)


@in_both_forms
class RMSprop(RMSProp):
    """RMSProp as PyTorch has it: v = μ · v + g / (√r + ε); w -= lr · v. The arguments are PyTorch's."""


@in_both_forms
class Adagrad(Optimizer):
    """Duchi, Hazan & Singer (2011): s += g²; w -= lr · g / (√s + ε).

    Args:
        learning_rate: lr.
        epsilon: ε, > 0.
        parameters: see `Optimizer`.
        weight_decay: an L2 coefficient.
        grad_clip: see `Optimizer`.
        name: without meaning.
        initial_accumulator_value: of s at first, ≥ 0.
        lr_decay: divides lr by 1 + lr_decay · steps so far.

    Raises:
        AttributeValueError: s below 0.
    """

    op = update.adagrad

    # Any: see `Optimizer`.
    def __init__(
        self,
        learning_rate: float | LRScheduler,
        epsilon: float = 1e-06,
        parameters: Any = None,
        weight_decay: Any = None,
        grad_clip: Any = None,
        name: str | None = None,
        initial_accumulator_value: float = 0.0,
        *,
        lr_decay: float = 0.0,
    ) -> None:
        if not initial_accumulator_value >= 0:
            raise AttributeValueError(
                f"optimizer Adagrad: initial_accumulator_value expected a number ≥ 0, got {initial_accumulator_value!r}"
            )
        self.slots = (Slot("moment", float(initial_accumulator_value)),)
        self._made = {"epsilon": float(epsilon)}
        if lr_decay:
            self.op, self.slots = adaptive.decayed_adagrad, (*self.slots, Slot("steps", 0.0, True))
            self._made |= {"lr_decay": float(lr_decay)}
        super().__init__(learning_rate, parameters, weight_decay, grad_clip, name)
