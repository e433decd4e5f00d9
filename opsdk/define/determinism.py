"""What an op that is not deterministic declares beyond that."""

from __future__ import annotations

from dataclasses import dataclass

from opsdk.core.errors import DefinitionError


@dataclass(frozen=True)
class Repeats:
    """Two runs of an op differ, and `verify` is to judge means over so many of them: `deterministic=opsdk.Repeats(64)`.

    Args:
        count: of draws for each mean, ≥ 8; the error bar falls as one over its root.

    Raises:
        DefinitionError: the count is less, or no integer.
    """

    count: int

    def __post_init__(self) -> None:
        if not isinstance(self.count, int) or self.count < 8:  # True is 1
            raise DefinitionError(f"Repeats: expected an integer ≥ 8, got {self.count!r}; 64 give a bar of percents")

    def __bool__(self) -> bool:
        """Whether the same inputs give the same bits: they do not."""
        return False
