"""Momentum: steps along a decaying sum of gradients."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from opsdk.ops import update
from opsdk.optimizer.optimizer import Optimizer
from opsdk.optimizer.slot import Slot


class Momentum(Optimizer):
    """v = μ · v + g + λ · w; w -= lr · v, or with Nesterov's lookahead lr · (g + λ · w + μ · v).

    Args:
        learning_rate: lr.
        momentum: μ, in [0, 1).
        parameters: see `Optimizer`.
        use_nesterov: looks ahead.
        weight_decay: λ.
    """

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

    # Any: tensors or Program variables.
    def update(self, param: Any, grad: Any, rate: Any, state: Mapping[str, Any]) -> Any:
        """Calls `momentum`."""
        return update.momentum(param, grad, rate, state["velocity"], **self._attrs)
