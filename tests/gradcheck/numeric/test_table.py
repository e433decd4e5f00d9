from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from gradcheck.model.dtypes import FloatArray
from gradcheck.numeric.table import Table


@dataclass(frozen=True)
class Pairs(Table):
    _shared: ClassVar[tuple[str, ...]] = ("unit",)

    unit: FloatArray
    number: FloatArray
    rows: FloatArray


def pairs(*numbers: float) -> Pairs:
    line = np.array(numbers)
    return Pairs(np.array([7.0]), line, np.stack([line, -line]))


def as_lists(table: Pairs) -> tuple[list[float], list[float], list[list[float]]]:
    return table.unit.tolist(), table.number.tolist(), table.rows.tolist()


def test_columns_are_chosen_in_every_field_but_those_that_all_columns_share() -> None:
    chosen = pairs(1.0, 2.0, 3.0)[np.array([2, 0])]
    assert as_lists(chosen) == ([7.0], [3.0, 1.0], [[3.0, 1.0], [-3.0, -1.0]])


def test_tables_are_joined_along_their_columns() -> None:
    joined = Pairs.concat([pairs(1.0), pairs(2.0, 3.0)])
    assert as_lists(joined) == ([7.0], [1.0, 2.0, 3.0], [[1.0, 2.0, 3.0], [-1.0, -2.0, -3.0]])


def test_each_column_comes_whole_from_one_of_two_tables() -> None:
    mixed = pairs(1.0, 2.0).where(np.array([True, False]), pairs(8.0, 9.0))
    assert as_lists(mixed) == ([7.0], [1.0, 9.0], [[1.0, 9.0], [-1.0, -9.0]])
