"""The optimizers: each is an entry, the in-place op that its step is, with what that keeps and is set to."""

from __future__ import annotations

from typing import Any

from opsdk.ops import update
from opsdk.optimizer.optimizer import Optimizer
from opsdk.optimizer.parameters import Slot


class SGD(Optimizer):
    """w -= lr · (g + λ · w).

    Args:
        learning_rate: lr.
        parameters: see `Optimizer`.
        weight_decay: λ.
    """

    op = update.sgd


class Momentum(Optimizer):
    """v = μ · v + g + λ · w; w -= lr · v, or with Nesterov's lookahead lr · (g + λ · w + μ · v).

    Args:
        learning_rate: lr.
        momentum: μ, in [0, 1).
        parameters: see `Optimizer`.
        use_nesterov: looks ahead.
        weight_decay: λ.
    """

    op = update.momentum
    slots = (Slot("velocity"),)

    # Any: see `Optimizer`.
    def __init__(
        self,
        learning_rate: float = 0.001,
        momentum: float = 0.9,
        parameters: Any = None,
        use_nesterov: bool = False,
        weight_decay: Any = None,
    ) -> None:
        super().__init__(learning_rate, parameters, weight_decay)
        self._attrs = {"mu": float(momentum), "use_nesterov": bool(use_nesterov)}


class Adam(Optimizer):
    """Kingma & Ba (2015); weight decay is added to the gradient.

    Args:
        learning_rate: size of a step.
        beta1: decay of the first moment, in [0, 1).
        beta2: decay of the second moment, in [0, 1).
        epsilon: added to the root of the second moment, > 0.
        parameters: see `Optimizer`.
        weight_decay: an L2 coefficient.

    Raises:
        AttributeValueError: a beta outside of [0, 1).
    """

    op = update.adam
    slots = (Slot("moment1"), Slot("moment2"), Slot("beta1_pow", 1.0, True), Slot("beta2_pow", 1.0, True))
    fractions = ("beta1", "beta2")

    # Any: see `Optimizer`.
    def __init__(
        self,
        learning_rate: float = 0.001,
        beta1: float = 0.9,
        beta2: float = 0.999,
        epsilon: float = 1e-08,
        parameters: Any = None,
        weight_decay: Any = None,
    ) -> None:
        super().__init__(learning_rate, parameters, weight_decay)
        attrs = {"beta1": float(beta1), "beta2": float(beta2), "epsilon": float(epsilon)}
        self._check_attrs(attrs)
        self._attrs = attrs


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
    """

    # Any: see `Optimizer`.
    def __init__(
        self,
        learning_rate: float = 0.001,
        beta1: float = 0.9,
        beta2: float = 0.999,
        epsilon: float = 1e-08,
        parameters: Any = None,
        weight_decay: Any = 0.01,
    ) -> None:
        super().__init__(learning_rate, beta1, beta2, epsilon, parameters, weight_decay)

    def decay_of(self, param: Any) -> float:
        """Returns the coefficient of what the gradient gets: the parameter's own; λ draws the parameter itself."""
        return 0.0 if getattr(param, "regularizer", None) is None else super().decay_of(param)

    def _update_attrs(self) -> dict[str, float]:
        return {**self._attrs, "decay": self._decay}
