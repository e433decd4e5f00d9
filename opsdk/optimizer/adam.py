"""Adam and AdamW: steps scaled by running moments of the gradient."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from opsdk.core.errors import AttributeValueError
from opsdk.ops import update
from opsdk.optimizer.optimizer import Optimizer
from opsdk.optimizer.slot import Slot


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

    slots = (Slot("moment1"), Slot("moment2"), Slot("beta1_pow", 1.0, True), Slot("beta2_pow", 1.0, True))

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

    def _check_attrs(self, attrs: Mapping[str, Any]) -> None:
        for name in ("beta1", "beta2"):
            if not 0 <= attrs[name] < 1:
                raise AttributeValueError(f"{self.subject}: {name} expected in [0, 1), got {attrs[name]}")

    # Any: tensors or Program variables.
    def update(self, param: Any, grad: Any, rate: Any, state: Mapping[str, Any]) -> Any:
        """Calls `adam`."""
        return update.adam(param, grad, rate, *(state[slot.name] for slot in self.slots), **self._attrs_of())

    def _attrs_of(self) -> dict[str, float]:
        return self._attrs


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

    def _attrs_of(self) -> dict[str, float]:
        return {**self._attrs, "decay": self._decay}
