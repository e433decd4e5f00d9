"""Row expressions on CUDA: a kernel for each kind of call, which a block runs for each row."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from opsdk.backends.call.language import Launch
from opsdk.backends.cuda.elementwise import compiled_text
from opsdk.backends.cuda.launch import BoundKernel, at_one_place, failures
from opsdk.backends.cuda.math import compute_dtype, functions
from opsdk.backends.cuda.row_source import MOST_THREADS, row_source, takes_positions
from opsdk.backends.cuda.runtime import is_simulated, numba_cuda
from opsdk.backends.memory.device import Memory
from opsdk.backends.native.rowwise import laid_out, result_shape, turned_back
from opsdk.core.errors import AttributeValueError
from opsdk.core.origin import Origin
from opsdk.define.kernel.kernel import Kernel
from opsdk.define.kernel.launch import Geometry
from opsdk.define.opdef import OpDef
from opsdk.expr.exact import check_whole
from opsdk.expr.row.row import COLUMN
from opsdk.expr.row.row_function import RowFunction
from opsdk.expr.row.row_infer import AXIS
from opsdk.expr.scalar import Static, static_of

_MOST_BLOCKS = 4096  # more than any device runs at once; a block takes several rows beyond
_LINES = 256  # of a column result, one a block: the same on every device, so that sums are
_WARP = 32
_EACH = 4  # positions that a thread of a long row takes at least


# Any, in this file: arrays of NumPy or CuPy, attribute values, functions of numbers.
class CudaRowCode:
    """A row kernel for one combination of dtypes and static attributes.

    Args:
        rows: the function.
        static: the attributes that decide its expression.
        dtypes: of the inputs.

    Attributes:
        expression: what it computes.
        results: roles of the results that are wanted.
        stored, computed: the dtypes of the results and of the computation.
        checks: whether it reports positions outside of a row.
        name, source: of the kernel.

    Raises:
        DTypeError: a dtype that devices do not compute with.
    """

    def __init__(self, rows: RowFunction, static: Static, dtypes: Sequence[np.dtype[Any]]) -> None:
        self.expression = rows.expression(static)
        for dtype in dtypes:
            if dtype.kind not in "biu":
                compute_dtype(dtype)
        self.stored = rows.dtype(dtypes)
        self.computed = compute_dtype(self.stored)
        rows.check_constants(static, dtypes)
        outputs = zip(rows.results, self.expression.outputs, strict=True)
        self.results = tuple(role for role, node in outputs if node is not None)
        self.checks = takes_positions(self.expression)
        self.name = f"{rows.name}_rows"  # no primitive's name, which the kernel may call
        names = [dtype.name for dtype in dtypes]
        self.source = row_source(self.name, self.expression, rows.roles, self.results, names)

    def made(self) -> Callable[..., Any]:
        """Returns the kernel as a function that Numba compiles or simulates."""
        names = {
            **functions(self.computed.name),
            "cuda": numba_cuda("CUDA row"),
            "real": self.computed.type,
            "store": self.stored.type,
            "int64": np.int64,
            "inf": math.inf,
            "nan": math.nan,
        }
        if not is_simulated():
            return compiled_text(self.source, self.name, names)
        # Each simulated thread has NumPy's warnings to itself. The simulator gives `cuda` to the namespace of what it
        # runs, so that the kernel has to be in the same one.
        quiet = f"def quiet(*values):\n    with errstate(all='ignore'):\n        {self.name}(*values)\n"
        names |= {"int64": _whole, "errstate": np.errstate}
        return compiled_text(self.source + quiet, "quiet", names)


def _whole(value: Any) -> int:
    """Returns a number without its fraction; the least of all where a device gives that, for what is no number."""
    return int(value) if abs(value) < 2**63 else -(2**63)


class CudaRowwise:
    """Everything about the CUDA row of one row function: its kernels, by kind of call.

    Args:
        opdef: the op.
        rows: what it computes on one row.
        origin: where it was written.
    """

    def __init__(self, opdef: OpDef, rows: RowFunction, origin: Origin) -> None:
        self.opdef = opdef
        self.rows = rows
        self.origin = origin
        self._kernels: dict[Any, tuple[CudaRowCode, BoundKernel]] = {}

    def launch(self, /, *values: Any, **attrs: Any) -> Any:
        """Computes the results: an array, or a tuple with None where a result is not wanted.

        Raises:
            ShapeError: the shapes are not those of the inputs' roles.
            DTypeError: a dtype that is not computed with on a device.
            AttributeValueError: `row_take` was given a position outside of the row.
        """
        subject = f"{self.opdef.subject}, CUDA row"
        memory, arrays = at_one_place(values, subject)
        with failures(self.opdef, self.origin, subject), memory.active():
            made = self._launched(memory, arrays, attrs)
        if arrays is not values:
            made = [None if array is None else memory.to_host(array) for array in made]
        return made[0] if len(made) == 1 else tuple(made)

    def _launched(self, memory: Memory, arrays: Sequence[Any], attrs: dict[str, Any]) -> list[Any]:
        given, shape, axis = laid_out(self.opdef, self.rows, arrays, attrs, in_order)
        own = {name: value for name, value in attrs.items() if name != AXIS}
        static, dtypes = static_of(own), [array.dtype for array in arrays]
        if not self.rows.expression(static).wanted:
            return [None] * len(self.rows.results)
        code, run = self._kernel(static, dtypes)
        self.rows.check_length(shape[-1], static, dtypes)
        values = [own[name] for name in code.expression.attrs]
        check_whole(code.expression.attrs, values, code.computed)
        self.rows.check_numbers(arrays, static)
        if not math.prod(shape):  # nothing to launch for; what there is of such rows is numbers without a meaning
            made = self.rows(*arrays, **attrs)
            return list(made) if isinstance(made, tuple) else [made]
        rows, length = math.prod(shape[:-1]), shape[-1]
        geometry = geometry_for(rows, length, COLUMN in code.results)
        results = [_result(memory, code, role, shape, geometry.grid[0]) for role in code.results]
        numbers = [code.computed.type(value) for value in values]
        status = [_zeros(memory, (1,), np.dtype("int32"))] if code.checks else []
        run(geometry, [*(array.reshape(-1) for array in (*results, *given)), *numbers, *status, rows, length])
        if status and memory.to_host(status[0])[0]:
            self.rows(*arrays, **attrs)  # the reference meets the same position, and names it
            raise AttributeValueError(f"{self.opdef.subject}: row_take expected a position in [0, {length})")
        ready = iter(
            _finished(array, role, code, shape, axis) for array, role in zip(results, code.results, strict=True)
        )
        return [None if node is None else next(ready) for node in code.expression.outputs]

    def _kernel(self, static: Static, dtypes: Sequence[np.dtype[Any]]) -> tuple[CudaRowCode, BoundKernel]:
        key = (static, *dtypes)
        found = self._kernels.get(key)
        if found is None:
            code = CudaRowCode(self.rows, static, dtypes)
            found = self._kernels[key] = code, BoundKernel(code.made())
        return found


def geometry_for(rows: int, length: int, has_column: bool) -> Geometry:
    """Returns the launch for so many rows: how many threads share one follows from its length alone."""
    most = max(min(length, _WARP), min(-(-length // _EACH), MOST_THREADS))
    return Geometry((min(rows, _LINES if has_column else _MOST_BLOCKS),), (1 << (most - 1).bit_length(),))


def in_order(array: Any) -> Any:
    """Returns an array in C order: itself, or a copy at its place."""
    return array if array.flags.c_contiguous else array.copy(order="C")


def _zeros(memory: Memory, shape: Sequence[int], dtype: np.dtype[Any]) -> Any:
    made = memory.empty(shape, dtype)
    made.fill(0)
    return made


def _result(memory: Memory, code: CudaRowCode, role: str, shape: tuple[int, ...], blocks: int) -> Any:
    if role == COLUMN:
        return _zeros(memory, (blocks, shape[-1]), code.computed)
    return memory.empty(result_shape(role, shape), code.stored)


def _finished(array: Any, role: str, code: CudaRowCode, shape: tuple[int, ...], axis: int) -> Any:
    if role == COLUMN:
        return array.sum(axis=0, dtype=code.computed).astype(code.stored, copy=False)
    return turned_back(array, shape, axis, in_order)


def launch_of(opdef: OpDef, kernel: Kernel) -> Launch:
    """Returns the launch of an expression's row on CUDA."""
    source: Any = kernel.source  # Any: of the form that the language says
    return CudaRowwise(opdef, source, kernel.origin).launch
