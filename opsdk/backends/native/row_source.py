"""The loops of a row kernel, as Python source for Numba: row after row, each of which stays in the first cache."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

import numpy as np

from opsdk.backends.native.elementwise_source import INEXACT, inexact_text, load_text, refusals, store_text
from opsdk.backends.native.row_writer import RowWriter, indented
from opsdk.expr.row.row import COLUMN
from opsdk.expr.trace import Expression

# Statuses of a row kernel.
OUTSIDE, NO_MEMORY = 2, 3

_BLOCK = 1024  # elements that are summed in vector lanes, some tens of them in each


def row_source(
    expression: Expression,
    roles: Sequence[str],
    results: Sequence[str],
    dtypes: Sequence[str],
    dtype: str,
    most: int | None = None,
    whole: Sequence[str] = (),
) -> str:
    """Returns source that defines `kernel(start, stop, sizes, *pointers, *numbers)`, where start and stop count rows.

    Args:
        expression: what to compute.
        roles: of the inputs.
        results: roles of the results that are wanted.
        dtypes: names of the inputs' dtypes.
        dtype: name of the results' dtype.
        whole: attributes that are whole numbers; the kernel refuses one that would be rounded.
        most: the length up to which positions are exact, beyond which the kernel refuses a row; None for any.

    `sizes` holds the length of a row, and how many rows share one line of a `column` result.
    """
    return _Writer(expression, roles, results, dtypes, dtype).text(most, whole)


class _Writer(RowWriter):
    blocks = f"for base in range(0, n, {_BLOCK}):"
    block = f"for j in range(base, min(base + {_BLOCK}, n)):"
    steps: ClassVar[Mapping[str, str]] = {"row_sum": "radd", "row_max": "rmax", "row_min": "rmin"}

    def __init__(
        self, expression: Expression, roles: Sequence[str], results: Sequence[str], dtypes: Sequence[str], dtype: str
    ) -> None:
        super().__init__(expression, roles, results, dtypes)
        self._dtype = dtype

    def load(self, pointer: str, dtype: str, index: str) -> str:
        return load_text(pointer, dtype).format(i=index)

    def store(self, pointer: str, index: str, value: str) -> str:
        return store_text(pointer, self._dtype, value).format(i=index)

    def refused(self) -> list[str]:
        return [*self._release(), f"return int32({OUTSIDE})"]

    def inexact(self, pointer: str, dtype: str) -> list[str]:
        test = inexact_text(pointer, dtype, np.dtype("float64" if self._dtype == "float64" else "float32"))
        return [f"if {test.format(i='r')}:", *indented([*self._release(), f"return int32({INEXACT})"])] if test else []

    def text(self, most: int | None, whole: Sequence[str]) -> str:
        pointers = [f"p{i}" for i in range(self.inputs + len(self.results))]
        raw = [f"s{i}" for i in range(len(self.expression.attrs))]
        checks = [] if most is None else [f"if n > {most}: return int32({INEXACT})"]
        checks += refusals(self.expression.attrs, whole)
        lines = ["n = sizes[0]", *checks, "size = real(n)", *self.attributes(), *self._allocate()]
        lines.append("for r in range(start, stop):")
        lines += indented(["row = r * n", *(["line = (r // sizes[1]) * n"] if COLUMN in self.results else [])])
        lines += [*indented(self.row()), *self._release(), "return int32(0)"]
        head = f"def kernel({', '.join(('start', 'stop', 'sizes', *pointers, *raw))}):"
        return "\n".join([head, *indented(lines), ""])

    def _allocate(self) -> list[str]:
        if not self.kept:
            return []
        tests = " or ".join(f"address_of({buffer}) == 0" for buffer in self.kept.values())
        lines = [f"{buffer} = scratch(n)" for buffer in self.kept.values()]
        return [*lines, f"if {tests}:", *indented([*self._release(), f"return int32({NO_MEMORY})"])]

    def _release(self) -> list[str]:
        return [f"release({buffer})" for buffer in self.kept.values()]
