"""Row expressions on CUDA: a kernel for each kind of call, in which a block runs each row, its threads sharing it.

Of `x - row_max(x)`, with one input and one result, it is

    def kernel(p1, p0, rows, n):
        tx = int64(cuda.threadIdx.x)
        width = int64(cuda.blockDim.x)
        size = real(n)
        part0 = cuda.shared.array(256, real)
        for r in range(int64(cuda.blockIdx.x), rows, int64(cuda.gridDim.x)):
            row = r * n
            t1 = real(-inf)
            for j in range(tx, n, width):
                x0 = real(p0[row + j])
                t1 = maximum(t1, x0)
            part0[tx] = t1
            cuda.syncthreads()
            half = width // 2
            while half > 0:
                if tx < half:
                    part0[tx] = maximum(part0[tx], part0[tx + half])
                cuda.syncthreads()
                half = half // 2
            t1 = part0[0]
            cuda.syncthreads()
            for j in range(tx, n, width):
                ...

Nothing is kept between two loops: what a later one needs is computed again, which costs less than memory would. In a
value that is compared with its own extreme products are rounded by `product`, so that it is the same each time. The
order of a sum follows from the length of the row and the size of a block, so that a call gives the same bits each time.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar

import numpy as np

from opsdk.backends.call.language import Launch
from opsdk.backends.cuda.launch import BoundKernel, ExpressionLaunch
from opsdk.backends.cuda.math import compute_dtype, kernel_of
from opsdk.backends.memory.device import Memory
from opsdk.backends.native.row_writer import Reduced, RowWriter, indented
from opsdk.backends.native.rowwise import laid_out, result_shape, turned_back
from opsdk.core.errors import AttributeValueError
from opsdk.define.kernel.kernel import Kernel
from opsdk.define.kernel.launch import Geometry
from opsdk.define.opdef import OpDef
from opsdk.expr.exact import check_whole
from opsdk.expr.node import Node, topological
from opsdk.expr.row.row import COLUMN
from opsdk.expr.row.row_function import RowFunction
from opsdk.expr.row.row_infer import AXIS
from opsdk.expr.row.row_plan import compared_with_extremes, lowered
from opsdk.expr.scalar import Static, static_of

_MOST_BLOCKS = 4096  # more than any device runs at once; a block takes several rows beyond
_LINES = 256  # of a column result, one a block: the same on every device, so that sums are
_WARP = 32
_EACH = 4  # positions that a thread of a long row takes at least
MOST_THREADS = 256  # of a block; shared memory is reserved for as many
_BLOCK = 64  # positions that a thread sums one by one
_TOGETHER = 8  # reductions that are joined at once, each in shared memory of its own: 16 KiB of float64


# Any, in this file: arrays of NumPy or CuPy, attribute values, functions of numbers.
class CudaRowCode(RowWriter):
    """A row kernel for one combination of dtypes and static attributes, over pointers or arrays of one dimension.

    Its parameters are the results, the inputs, the attributes, `status` if it takes positions, the number of rows and
    the length of one. Blocks have a power of two of threads, up to `MOST_THREADS`. A `column` result is a line of zeros
    for each block, to which the block adds its own rows. `status` becomes 1 where a position lies outside of the row.

    Args:
        rows: the function.
        static: the attributes that decide its expression.
        dtypes: of the inputs.

    Attributes:
        expression: what it computes.
        results: roles of the results that are wanted.
        stored, computed: the dtypes of the results and of the computation.
        checks: whether it takes single elements, whose positions may lie outside of the row, and reports that.
        name, source: of the kernel, as `kernel_of` takes them.

    Raises:
        DTypeError: a dtype that devices do not compute with.
    """

    over = "for j in range(tx, n, width):"
    blocks = f"for base in range(tx, n, width * {_BLOCK}):"
    block = f"for j in range(base, min(base + width * {_BLOCK}, n), width):"
    steps: ClassVar[Mapping[str, str]] = {"row_sum": "add", "row_max": "maximum", "row_min": "minimum"}
    cheap = math.inf
    _most = 0

    def __init__(self, rows: RowFunction, static: Static, dtypes: Sequence[np.dtype[Any]]) -> None:
        for dtype in dtypes:
            if dtype.kind not in "biu":
                compute_dtype(dtype)
        self.stored = rows.dtype(dtypes)
        self.computed = compute_dtype(self.stored)
        rows.check_constants(static, dtypes)
        expression = rows.expression(static)
        results = [role for role, node in zip(rows.results, expression.outputs, strict=True) if node is not None]
        super().__init__(expression, rows.roles, results, [dtype.name for dtype in dtypes])
        below = topological(list(compared_with_extremes(lowered(expression.wanted))))
        self._rounded = {node for node in below if node.op in ("mul", "square")}
        self.checks = any(node.op == "row_take" for node in topological(expression.wanted))
        self.name = f"{rows.name}_rows"  # no primitive's name, which the kernel may call
        self.source = self._source()

    def made(self) -> Callable[..., Any]:
        """Returns the kernel as a function that Numba compiles or simulates."""
        return kernel_of(self.source, self.name, self.computed, self.stored)

    def _text(self, node: Node) -> str:
        if node not in self._rounded:
            return super()._text(node)
        left, right = (self._ref(node.args[0]), self._ref(node.args[-1]))
        return f"product({left}, {right})"

    def load(self, pointer: str, dtype: str, index: str) -> str:
        """Returns how an element is read, as a number of the computation."""
        return f"real({pointer}[{index}])"

    def store(self, pointer: str, index: str, value: str) -> str:
        """Returns how a result is written."""
        return f"{pointer}[{index}] = store({value})"

    def refused(self) -> list[str]:
        """Returns what is done where a position lies outside of the row."""
        return [*self.once(["status[0] = 1"]), "return"]  # the whole block: all its threads read the same position

    def once(self, lines: Sequence[str]) -> list[str]:
        """Returns lines as the first thread of a block does them."""
        return ["if tx == 0:", *indented(lines)]

    def walked(self, inside: Sequence[str], reductions: Sequence[Reduced]) -> list[str]:
        """Returns the loop over a row, after which the threads join what each has accumulated."""
        lines = super().walked(inside, reductions)
        for start in range(0, len(reductions), _TOGETHER):
            lines += self._joined(reductions[start : start + _TOGETHER])
        return lines

    def _joined(self, reductions: Sequence[Reduced]) -> list[str]:
        self._most = max(self._most, len(reductions))
        steps = [
            f"part{i}[tx] = {self.steps[entry.op]}(part{i}[tx], part{i}[tx + half])"
            for i, entry in enumerate(reductions)
        ]
        return [
            *(f"part{i}[tx] = {entry.name}" for i, entry in enumerate(reductions)),
            "cuda.syncthreads()",
            "half = width // 2",
            "while half > 0:",
            *indented(["if tx < half:", *indented(steps), "cuda.syncthreads()", "half = half // 2"]),
            *(f"{entry.name} = part{i}[0]" for i, entry in enumerate(reductions)),
            "cuda.syncthreads()",  # all have read before the next reduction writes
        ]

    def _source(self) -> str:
        count = self.inputs + len(self.results)
        pointers = [f"p{i}" for i in (*range(self.inputs, count), *range(self.inputs))]
        raw = [f"s{i}" for i in range(len(self.expression.attrs))]
        status = ["status"] if self.checks else []
        lines = ["tx = int64(cuda.threadIdx.x)", "width = int64(cuda.blockDim.x)", "size = real(n)"]
        lines += self.attributes()
        body = self.row()
        lines += [f"part{i} = cuda.shared.array({MOST_THREADS}, real)" for i in range(self._most)]
        if COLUMN in self.results:
            lines.append("line = int64(cuda.blockIdx.x) * n")
        lines += ["for r in range(int64(cuda.blockIdx.x), rows, int64(cuda.gridDim.x)):"]
        lines += indented(["row = r * n", *body])
        head = f"def {self.name}({', '.join([*pointers, *raw, *status, 'rows', 'n'])}):"
        return "\n".join([head, *indented(lines), ""])


class CudaRowwise(ExpressionLaunch):
    """The launch of a row function over the rows of arrays."""

    def results(self, memory: Memory, arrays: Sequence[Any], attrs: dict[str, Any]) -> list[Any]:
        """Computes the results on arrays at one place, with None where one is not wanted."""
        function: RowFunction = self.function
        given, shape, axis = laid_out(self.opdef, function, arrays, attrs, in_order)
        own = {name: value for name, value in attrs.items() if name != AXIS}
        static, dtypes = static_of(own), [array.dtype for array in arrays]
        if not function.expression(static).wanted:
            return [None] * len(function.results)
        key = (static, *dtypes)
        if key not in self._kernels:
            code = CudaRowCode(function, static, dtypes)
            self._kernels[key] = code, BoundKernel(code.made())
        code, run = self._kernels[key]
        function.check_length(shape[-1], static, dtypes)
        values = [own[name] for name in code.expression.attrs]
        check_whole(code.expression.attrs, values, code.computed)
        function.check_numbers(arrays, static)
        if not math.prod(shape):  # nothing to launch for; what there is of such rows is numbers without a meaning
            made = function(*arrays, **attrs)
            return list(made) if isinstance(made, tuple) else [made]
        rows, length = math.prod(shape[:-1]), shape[-1]
        geometry = geometry_for(rows, length, COLUMN in code.results)
        results = [_result(memory, code, role, shape, geometry.grid[0]) for role in code.results]
        numbers = [code.computed.type(value) for value in values]
        status = [memory.zeros((1,), np.dtype("int32"))] if code.checks else []
        run(geometry, [*(array.reshape(-1) for array in (*results, *given)), *numbers, *status, rows, length])
        if status and memory.to_host(status[0])[0]:
            function(*arrays, **attrs)  # the reference meets the same position, and names it
            raise AttributeValueError(f"{self.opdef.subject}: row_take expected a position in [0, {length})")
        ready = iter(
            _finished(array, role, code, shape, axis) for array, role in zip(results, code.results, strict=True)
        )
        return [None if node is None else next(ready) for node in code.expression.outputs]


def geometry_for(rows: int, length: int, has_column: bool) -> Geometry:
    """Returns the launch for so many rows: how many threads share one follows from its length alone."""
    most = max(min(length, _WARP), min(-(-length // _EACH), MOST_THREADS))
    return Geometry((min(rows, _LINES if has_column else _MOST_BLOCKS),), (1 << (most - 1).bit_length(),))


def in_order(array: Any) -> Any:
    """Returns an array in C order: itself, or a copy at its place."""
    return array if array.flags.c_contiguous else array.copy(order="C")


def _result(memory: Memory, code: CudaRowCode, role: str, shape: tuple[int, ...], blocks: int) -> Any:
    if role == COLUMN:
        return memory.zeros((blocks, shape[-1]), code.computed)
    return memory.empty(result_shape(role, shape), code.stored)


def _finished(array: Any, role: str, code: CudaRowCode, shape: tuple[int, ...], axis: int) -> Any:
    if role == COLUMN:
        return array.sum(axis=0, dtype=code.computed).astype(code.stored, copy=False)
    return turned_back(array, shape, axis, in_order)


def launch_of(opdef: OpDef, kernel: Kernel) -> Launch:
    """Returns the launch of a row expression on CUDA."""
    return CudaRowwise(opdef, kernel.source, kernel.origin).launch
