"""Flatten: a range of axes joined into one."""

from __future__ import annotations

from typing import Any

from opsdk.nn.layer.layer import Layer
from opsdk.ops.functions import flatten


class Flatten(Layer):
    """Joins axes, all but the first unless said otherwise.

    Args:
        start_axis: the first to join.
        stop_axis: the last to join.
    """

    def __init__(self, start_axis: int = 1, stop_axis: int = -1) -> None:
        super().__init__()
        self.start_axis = start_axis
        self.stop_axis = stop_axis

    # Any: tensors, variables or arrays.
    def forward(self, x: Any) -> Any:
        """Returns x with the axes joined. Differentiable."""
        return flatten(x, self.start_axis, self.stop_axis)
