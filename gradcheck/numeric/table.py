"""Tables: arrays that stand side by side, column by column, and are chosen, joined and mixed together."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import fields
from typing import Any, ClassVar, TypeVar

import numpy as np

from gradcheck.model.dtypes import Array, BoolArray

_T = TypeVar("_T", bound="Table")


class Table:
    """A frozen dataclass of arrays whose last axis is that of the columns; all columns have what `_shared` names."""

    _shared: ClassVar[tuple[str, ...]] = ()

    def __getitem__(self: _T, columns: Any) -> _T:  # Any: whatever NumPy takes as an index
        """Gives the table of some of the columns."""
        return _each([self], lambda parts: parts[0][..., columns])

    @classmethod
    def concat(cls: type[_T], tables: Sequence[_T]) -> _T:
        """Gives the columns of all tables, one after the other; what they share is that of the first."""
        return _each(tables, lambda parts: np.concatenate(parts, axis=-1))

    def where(self: _T, condition: BoolArray, other: _T) -> _T:
        """Gives these columns where the condition holds, else the other's."""
        return _each([self, other], lambda parts: np.where(condition, *parts))


def _each(tables: Sequence[_T], combine: Callable[[Sequence[Array]], Array]) -> _T:
    first = tables[0]
    made = {
        field.name: getattr(first, field.name)
        if field.name in first._shared
        else combine([getattr(table, field.name) for table in tables])
        for field in fields(first)  # type: ignore[arg-type]  # every subclass is a dataclass
    }
    return type(first)(**made)
