"""Places: where an array lives and where a kernel runs."""

from __future__ import annotations

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
