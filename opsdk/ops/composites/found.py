"""What functions give of several values by name, as PyTorch names them."""

from __future__ import annotations

from typing import Any, NamedTuple


# Any, in this file: arrays, tensors or Program variables.
class Found(NamedTuple):
    """Elements, and their positions."""

    values: Any
    indices: Any


class Extremes(NamedTuple):
    """The least and the greatest element."""

    min: Any
    max: Any
