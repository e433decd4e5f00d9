"""Places: where an array lives and where a kernel runs."""

from __future__ import annotations

import re
from dataclasses import dataclass


@dataclass(frozen=True, repr=False)
class Place:
    """A kind of memory (`cpu`, `cuda`) and the index of the device."""

    kind: str
    index: int = 0

    @property
    def type(self) -> str:
        """The kind, in PyTorch's word."""
        return self.kind

    def __str__(self) -> str:
        return f"Place({self.kind})" if self.kind == "cpu" else f"Place({self.kind}:{self.index})"

    __repr__ = __str__


CPU = Place("cpu")


def CPUPlace() -> Place:  # Paddle's spelling, part of the contract
    """Returns the place of host memory."""
    return CPU


def CUDAPlace(index: int = 0) -> Place:
    """Returns the place of one CUDA device.

    Args:
        index: the number of the device, from 0.
    """
    return Place("cuda", index)


def as_place(value: object) -> Place | None:
    """Returns a place that is given as one or by name, "cpu" or "cuda:0"; None for what names none.

    Paddle's "gpu:0" is "cuda:0".
    """
    if isinstance(value, Place):
        return value
    match = re.fullmatch(r"(cpu)|(?:cuda|gpu)(?::(\d+))?", value) if isinstance(value, str) else None
    return None if match is None else CPU if match[1] else CUDAPlace(int(match[2] or 0))
