"""Row launches: from a row function to compiled code; rows are shared among threads, whose number changes no bit.

The code is loops in Python for Numba, row after row, each of which stays in the first cache.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
from numpy import ndarray

from opsdk.backends.call.buffers import infer
from opsdk.backends.call.language import Launch
from opsdk.backends.native.code import SHARED_FROM, Code, Kernels, compute_dtype, spread
from opsdk.backends.native.elementwise_source import INEXACT, inexact_text, load_text, refusals, store_text
from opsdk.backends.native.row_writer import RowWriter, indented
from opsdk.backends.native.runtime import ffi, run_shared
from opsdk.core.errors import AttributeValueError, OpsdkError, ShapeError
from opsdk.core.spec import TensorSpec
from opsdk.core.sums import total
from opsdk.define.infer import normalize_axes
from opsdk.define.kernel.kernel import Kernel
from opsdk.define.opdef import OpDef
from opsdk.expr.exact import may_round
from opsdk.expr.row.row import COLUMN, FULL, ROW
from opsdk.expr.row.row_function import RowFunction
from opsdk.expr.row.row_infer import AXIS
from opsdk.expr.scalar import Static, static_of
from opsdk.expr.trace import Expression

_PIECES = 64  # of the work, always the same ones
_PER_LINE = 64  # rows that are summed in one line of a column result, one by one in float64; lines are summed in blocks
_BLOCK = 1024  # elements that are summed in vector lanes, some tens of them in each

# Statuses of a row kernel.
OUTSIDE, NO_MEMORY = 2, 3


class Rowwise(Kernels):
    """Everything about the compiled kernels of one row function."""

    function: RowFunction
    sizes: ClassVar[tuple[int, ...]] = (_BLOCK,)

    def _made(self, expression: Expression, static: Static, dtypes: Sequence[np.dtype[Any]]) -> Code:
        rows, dtype = self.function, self.function.dtype(dtypes)
        rows.check_constants(static, dtypes)
        outputs = zip(rows.results, expression.outputs, strict=True)
        results = [role for role, node in outputs if node is not None]
        writer = _Writer(expression, rows.roles, results, [each.name for each in dtypes], dtype.name)
        source = writer.text(rows.most_positions(static, dtypes), self._whole)
        read = rows.numbers(static, dtypes)
        rounds = any(
            name in read and role in (FULL, COLUMN) and may_round(each, compute_dtype(dtype))
            for name, role, each in zip(rows.inputs, rows.roles, dtypes, strict=True)
        )
        return Code(rows.name, expression, dtypes, dtype, source, results, rounds)

    def _static(self, attrs: Mapping[str, Any]) -> Static:
        return static_of({name: value for name, value in attrs.items() if name != AXIS})

    # Any: attribute values.
    def launch(self, /, *arrays: ndarray, **attrs: Any) -> Any:
        """Computes the results: an array, or a tuple with None where a result is not wanted.

        Raises:
            ShapeError: the shapes are not those of the inputs' roles, or positions of such long rows would be rounded.
            AttributeValueError: `row_take` was given a position outside of the row.
        """
        given, shape, at = laid_out(self.opdef, self.function, arrays, attrs, np.ascontiguousarray)
        own = {name: value for name, value in attrs.items() if name != AXIS}
        code = self.code(arrays, static_of(own) if own else ())
        if code is None:
            return self.function(*arrays, **attrs)
        if code.may_round:
            self.function.check_numbers(arrays, static_of(own))
        length = shape[-1]
        rows = math.prod(shape[:-1])
        per_line = min(-(-rows // _PIECES) or 1, _PER_LINE)
        per_piece = per_line * -(-rows // (per_line * _PIECES))
        made = [self._result(code, role, shape, -(-rows // per_line) or 1) for role in code.results]
        tools = ffi()
        pointers = tools.new(code.kind, [tools.from_buffer(array) for array in (*given, *made)])
        sizes = tools.new("int64_t[]", [length, per_line])
        numbers = code.numbers(attrs)
        if rows * length * code.ns < SHARED_FROM or rows == 1:
            status = code.call(pointers, sizes, numbers, 0, rows)
        else:
            status = run_shared(code.address, pointers, sizes, numbers, rows, per_piece)
        if status:
            self._raise(status, length, arrays, attrs)
        results = zip(made, code.results, strict=True)
        finished = [_finished(array, role, code, shape, at) for array, role in results]
        return finished[0] if len(code.outputs) == 1 else spread(code.outputs, finished)

    def _result(self, code: Code, role: str, shape: tuple[int, ...], lines: int) -> ndarray:
        if role == COLUMN:
            made = self._empty((lines, shape[-1]), np.dtype("float64"))
            made[...] = 0.0
            return made
        return self._empty(result_shape(role, shape), code.dtype)

    def turns(self, arrays: Sequence[ndarray], attrs: Mapping[str, Any]) -> Iterator[tuple[str, bool]]:
        """Yields whether rows are longer than a block of their sums, and several of them are summed in one line."""
        code = self.code(arrays, self._static(attrs))
        if code is not None:
            _, shape, _ = laid_out(self.opdef, self.function, arrays, attrs, np.ascontiguousarray)
            if f", {_BLOCK}):" in code.source:
                yield f"rows of more than the {_BLOCK} elements of a block", shape[-1] > _BLOCK
            if COLUMN in code.results:
                yield f"more than {_PIECES} rows", math.prod(shape[:-1]) > _PIECES

    def _raise(self, status: int, length: int, arrays: Sequence[ndarray], attrs: dict[str, Any]) -> None:
        if status == OUTSIDE:
            self.function(*arrays, **attrs)  # the reference meets the same position, and names it
            raise AttributeValueError(f"{self.opdef.subject}: row_take expected a position in [0, {length})")
        if status == INEXACT:
            self.function.check_numbers(arrays, self._static(attrs))
            self.function.check_length(length, self._static(attrs), [array.dtype for array in arrays])
        if status == NO_MEMORY:
            raise MemoryError(f"{self.opdef.subject}: no memory for rows of {length} elements")
        raise OpsdkError(f"{self.opdef.subject}: kernel expected status 0, got {status}")


def _finished(array: ndarray, role: str, code: Code, shape: tuple[int, ...], axis: int) -> ndarray:
    """Returns a result in the shape that its caller knows: lines summed, rows back along their axis."""
    if role == COLUMN:
        return total(array, (0,), dtype=code.dtype)
    return turned_back(array, shape, axis, np.ascontiguousarray)


def launch_of(opdef: OpDef, kernel: Kernel) -> Launch:
    """Returns the launch of a compiled row op."""
    rows: Any = kernel.source  # Any: a RowFunction, as the language says
    return Rowwise(opdef, rows).launch


KERNELS = Rowwise  # what gives C functions


# Any: arrays of NumPy or of a device, attribute values.
def laid_out(
    opdef: OpDef,
    rows: RowFunction,
    arrays: Sequence[Any],
    attrs: Mapping[str, Any],
    contiguous: Callable[[Any], Any],
) -> tuple[list[Any], tuple[int, ...], int]:
    """Returns the inputs as a kernel reads them, the full shape with the row as its last axis, and which axis that was.

    Args:
        opdef: the op, for messages.
        rows: its function.
        arrays: the inputs of a call.
        attrs: the attributes of the call, the axis among them.
        contiguous: returns an array in C order, itself where it is.

    Raises:
        ShapeError: the shapes are not those of the inputs' roles.
    """
    full = arrays[rows.roles.index(FULL)]
    ndim = full.ndim
    if not ndim:
        if opdef.gradient_of is None:
            infer(opdef, arrays, attrs)  # says it in the caller's terms
        name = rows.inputs[rows.roles.index(FULL)]
        raise ShapeError(f"{opdef.subject}: input {name!r} expected at least one axis, got ()")
    (at,) = normalize_axes(attrs.get(AXIS, -1), ndim, opdef.subject)
    try:
        along, shape = rows.rows_last(arrays, ndim, at, opdef.subject)
    except ShapeError:
        if opdef.gradient_of is None:
            infer(opdef, arrays, attrs)  # says it in the caller's terms
        raise
    return [contiguous(array) for array in along], shape, at


def result_shape(role: str, shape: tuple[int, ...]) -> tuple[int, ...]:
    """Returns the shape in which a kernel writes a result that is not summed over rows."""
    return shape if role == FULL else (*shape[:-1], 1) if role == ROW else shape[:-1]


def turned_back(array: Any, shape: tuple[int, ...], axis: int, contiguous: Callable[[Any], Any]) -> Any:
    """Returns a result with its rows along the axis that the caller gave."""
    if axis == len(shape) - 1 or array.ndim < len(shape):
        return array
    return contiguous(np.moveaxis(array, -1, axis))


def check_rows(opdef: OpDef, specs: Sequence[TensorSpec | None], attrs: Mapping[str, Any]) -> None:
    """Checks that there are rows, along the last axis: one behind the other in memory.

    Raises:
        ShapeError: no input has a dimension.
        AttributeValueError: the axis is another one.
    """
    last = max((spec.ndim for spec in specs if spec is not None), default=0) - 1
    if last < 0:
        raise ShapeError(f"{opdef.subject}: native entry expected an input with rows, got none with a dimension")
    axis = attrs.get(AXIS, -1)
    if axis not in (-1, last):
        raise AttributeValueError(
            f"{opdef.subject}: native entry expected axis -1 or {last}, the last, since it walks rows that lie one "
            f"behind the other in memory, got {axis}; move the axis there, and ask for the entry of that"
        )


class _Writer(RowWriter):
    """The loops of one kernel; `dtype` is the name of the results' dtype."""

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
        """Returns source that defines `kernel(start, stop, sizes, *pointers, *numbers)`; start and stop count rows.

        `sizes` holds the length of a row, and how many rows share one line of a `column` result.

        Args:
            most: the length up to which positions are exact, beyond which the kernel refuses a row; None for any.
            whole: attributes that are whole numbers; the kernel refuses one that would be rounded.
        """
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
