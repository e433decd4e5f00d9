"""SGD: a step against the gradient."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from opsdk.ops import update
from opsdk.optimizer.optimizer import Optimizer


class SGD(Optimizer):
    """w -= lr · (g + λ · w).

    Args:
        learning_rate: lr.
        parameters: see `Optimizer`.
        weight_decay: λ.
    """

    # Any: tensors or Program variables.
    def update(self, param: Any, grad: Any, rate: Any, state: Mapping[str, Any]) -> Any:
        """Calls `sgd`."""
        return update.sgd(param, grad, rate)
