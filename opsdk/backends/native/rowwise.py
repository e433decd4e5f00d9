"""Row launches: from a row function to compiled code; rows are shared among threads, whose number changes no bit."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy import ndarray

from opsdk.backends.call.language import Launch
from opsdk.backends.memory.arena import empty
from opsdk.backends.native.code import Code, KernelText, Numbers
from opsdk.backends.native.elementwise import NS_PER_COST, NS_PER_TENSOR, SHARED_FROM, spread, whole_attrs
from opsdk.backends.native.elementwise_source import INEXACT
from opsdk.backends.native.row_layout import laid_out, result_shape, turned_back
from opsdk.backends.native.row_source import NO_MEMORY, OUTSIDE, row_source
from opsdk.backends.native.runtime import ffi, run_shared
from opsdk.core.bounded import Bounded
from opsdk.core.errors import AttributeValueError, OpsdkError
from opsdk.core.sums import total
from opsdk.define.kernel.kernel import Kernel
from opsdk.define.opdef import OpDef
from opsdk.expr.count import cost
from opsdk.expr.exact import may_round
from opsdk.expr.row.row import COLUMN, FULL
from opsdk.expr.row.row_function import RowFunction
from opsdk.expr.row.row_infer import AXIS
from opsdk.expr.scalar import MOST_COMBINATIONS, Static, static_of

_PIECES = 64  # of the work, always the same ones
_PER_LINE = 64  # rows that are summed in one line of a column result, one by one in float64; lines are summed in blocks

Key = tuple[Any, ...]  # Any: dtypes and the values of static attributes


class RowCode(Code):
    """A row kernel for one combination of dtypes and static attributes.

    Attributes:
        dtype: of the results.
        outputs: per result whether it is wanted.
        results: roles of those that are.
        numbers: the attributes as it takes them.
        ns: a rough time for one element.
        may_round: whether it computes with elements that are whole numbers and that it might round; what there is one
            of per row it looks at itself.
    """

    def __init__(
        self, rows: RowFunction, static: Static, dtypes: Sequence[np.dtype[Any]], whole: Sequence[str] = ()
    ) -> None:
        expression = rows.expression(static)
        self.dtype = rows.dtype(dtypes)
        self.outputs = tuple(node is not None for node in expression.outputs)
        self.results = tuple(role for role, wanted in zip(rows.results, self.outputs, strict=True) if wanted)
        rows.check_constants(static, dtypes)
        inputs = [dtype.name for dtype in dtypes]
        compute = "float64" if self.dtype == np.float64 else "float32"
        results = ["float64" if role == COLUMN else self.dtype.name for role in self.results]
        most = rows.most_positions(static, dtypes)
        text = KernelText(
            name=f"{rows.name}_{'_'.join(inputs)}",
            source=row_source(expression, rows.roles, self.results, inputs, self.dtype.name, most, whole),
            pointers=(*inputs, *results),
            attrs=expression.attrs,
            compute=compute,
        )
        super().__init__(text)
        self.compute = np.dtype(compute)
        read = rows.numbers(static, dtypes)
        self.may_round = any(
            name in read and role in (FULL, COLUMN) and may_round(dtype, self.compute)
            for name, role, dtype in zip(rows.inputs, rows.roles, dtypes, strict=True)
        )
        self.numbers = Numbers(expression.attrs, compute)
        self.ns = NS_PER_COST * cost(expression.wanted) + NS_PER_TENSOR * len(text.pointers)


class Rowwise:
    """Everything about the compiled rows of one row function: its kernels, by kind of call."""

    def __init__(self, opdef: OpDef, rows: RowFunction) -> None:
        self.opdef = opdef
        self.rows = rows
        self._codes: Bounded[Key, RowCode] = Bounded(MOST_COMBINATIONS)
        self._whole = whole_attrs(opdef)

    def code(self, arrays: Sequence[ndarray], static: Static) -> RowCode | None:
        """Returns the kernel for actual inputs; None where no result is wanted."""
        key = (static, *[array.dtype for array in arrays])
        found = self._codes.get(key)
        if found is None and self.rows.expression(static).wanted:
            found = self._codes[key] = RowCode(self.rows, static, [array.dtype for array in arrays], self._whole)
        return found

    # Any: attribute values.
    def launch(self, /, *arrays: ndarray, **attrs: Any) -> Any:
        """Computes the results: an array, or a tuple with None where a result is not wanted.

        Raises:
            ShapeError: the shapes are not those of the inputs' roles, or positions of such long rows would be rounded.
            AttributeValueError: `row_take` was given a position outside of the row.
        """
        given, shape, at = laid_out(self.opdef, self.rows, arrays, attrs, np.ascontiguousarray)
        own = {name: value for name, value in attrs.items() if name != AXIS}
        code = self.code(arrays, static_of(own) if own else ())
        if code is None:
            return self.rows(*arrays, **attrs)
        if code.may_round:
            self.rows.check_numbers(arrays, static_of(own))
        length = shape[-1]
        rows = math.prod(shape[:-1])
        per_line = min(-(-rows // _PIECES) or 1, _PER_LINE)
        per_piece = per_line * -(-rows // (per_line * _PIECES))
        made = [self._result(code, role, shape, -(-rows // per_line) or 1) for role in code.results]
        tools = ffi()
        pointers = tools.new(code.kind, [tools.from_buffer(array) for array in (*given, *made)])
        sizes = tools.new("int64_t[]", [length, per_line])
        numbers = code.numbers.of(own)
        if rows * length * code.ns < SHARED_FROM or rows == 1:
            status = code.call(pointers, sizes, numbers, 0, rows)
        else:
            status = run_shared(code.address, pointers, sizes, numbers, rows, per_piece)
        if status:
            self._raise(status, length, arrays, attrs)
        results = zip(made, code.results, strict=True)
        finished = [_finished(array, role, code, shape, at) for array, role in results]
        return finished[0] if len(code.outputs) == 1 else spread(code.outputs, finished)

    def _result(self, code: RowCode, role: str, shape: tuple[int, ...], lines: int) -> ndarray:
        if role == COLUMN:
            return np.zeros((lines, shape[-1]), np.float64)
        return empty(result_shape(role, shape), code.dtype)

    def _raise(self, status: int, length: int, arrays: Sequence[ndarray], attrs: dict[str, Any]) -> None:
        if status == OUTSIDE:
            self.rows(*arrays, **attrs)  # the reference meets the same position, and names it
            raise AttributeValueError(f"{self.opdef.subject}: row_take expected a position in [0, {length})")
        if status == INEXACT:
            own = {name: value for name, value in attrs.items() if name != AXIS}
            self.rows.check_numbers(arrays, static_of(own))
            self.rows.check_length(length, static_of(own), [array.dtype for array in arrays])
        if status == NO_MEMORY:
            raise MemoryError(f"{self.opdef.subject}: no memory for rows of {length} elements")
        raise OpsdkError(f"{self.opdef.subject}: kernel expected status 0, got {status}")


def _finished(array: ndarray, role: str, code: RowCode, shape: tuple[int, ...], axis: int) -> ndarray:
    """Returns a result in the shape that its caller knows: lines summed, rows back along their axis."""
    if role == COLUMN:
        return total(array, (0,), dtype=code.dtype)
    made: ndarray = turned_back(array, shape, axis, np.ascontiguousarray)
    return made


def launch_of(opdef: OpDef, kernel: Kernel) -> Launch:
    """Returns the launch of a compiled row op."""
    rows: Any = kernel.source  # Any: a RowFunction, as the language says
    return Rowwise(opdef, rows).launch
