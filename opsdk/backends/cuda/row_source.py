"""Source of row kernels on CUDA: a block for each row, whose threads share its positions among them.

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
from collections.abc import Mapping, Sequence
from typing import ClassVar

from opsdk.backends.native.row_writer import Reduced, RowWriter, indented
from opsdk.expr.node import Node, topological
from opsdk.expr.row.row import COLUMN
from opsdk.expr.row.row_plan import compared_with_extremes, lowered
from opsdk.expr.trace import Expression

MOST_THREADS = 256  # of a block; shared memory is reserved for as many
_BLOCK = 64  # positions that a thread sums one by one
_TOGETHER = 8  # reductions that are joined at once, each in shared memory of its own: 16 KiB of float64


def takes_positions(expression: Expression) -> bool:
    """Whether an expression takes single elements, whose positions may lie outside of the row."""
    return any(node.op == "row_take" for node in topological(expression.wanted))


def row_source(
    name: str, expression: Expression, roles: Sequence[str], results: Sequence[str], dtypes: Sequence[str]
) -> str:
    """Returns the source of a kernel over contiguous memory, given as pointers or as arrays of one dimension.

    Its parameters are the results, the inputs, the attributes, `status` if it takes positions, the number of rows and
    the length of one. Blocks have a power of two of threads, up to `MOST_THREADS`. A `column` result is a line of zeros
    for each block, to which the block adds its own rows. `status` becomes 1 where a position lies outside of the row.

    The code uses `cuda`, the primitives by their names, `product`, which is never fused with a sum, `inf`, `nan`,
    `int64`, `real`, which makes a number one of the computation's precision, and `store`, which makes it one of the
    results' dtype; whoever compiles it supplies them.

    Args:
        name: of the kernel.
        expression: what to compute.
        roles: of the inputs.
        results: roles of the results that are wanted.
        dtypes: names of the inputs' dtypes.
    """
    return _Writer(expression, roles, results, dtypes).text(name)


class _Writer(RowWriter):
    over = "for j in range(tx, n, width):"
    blocks = f"for base in range(tx, n, width * {_BLOCK}):"
    block = f"for j in range(base, min(base + width * {_BLOCK}, n), width):"
    steps: ClassVar[Mapping[str, str]] = {"row_sum": "add", "row_max": "maximum", "row_min": "minimum"}
    cheap = math.inf
    _most = 0

    def __init__(
        self, expression: Expression, roles: Sequence[str], results: Sequence[str], dtypes: Sequence[str]
    ) -> None:
        super().__init__(expression, roles, results, dtypes)
        below = topological(list(compared_with_extremes(lowered(expression.wanted))))
        self._rounded = {node for node in below if node.op in ("mul", "square")}

    def _text(self, node: Node) -> str:
        if node not in self._rounded:
            return super()._text(node)
        left, right = (self._ref(node.args[0]), self._ref(node.args[-1]))
        return f"product({left}, {right})"

    def load(self, pointer: str, dtype: str, index: str) -> str:
        return f"real({pointer}[{index}])"

    def store(self, pointer: str, index: str, value: str) -> str:
        return f"{pointer}[{index}] = store({value})"

    def refused(self) -> list[str]:
        return [*self.once(["status[0] = 1"]), "return"]  # the whole block: all its threads read the same position

    def once(self, lines: Sequence[str]) -> list[str]:
        return ["if tx == 0:", *indented(lines)]

    def walked(self, inside: Sequence[str], reductions: Sequence[Reduced]) -> list[str]:
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

    def text(self, name: str) -> str:
        count = self.inputs + len(self.results)
        pointers = [f"p{i}" for i in (*range(self.inputs, count), *range(self.inputs))]
        raw = [f"s{i}" for i in range(len(self.expression.attrs))]
        status = ["status"] if takes_positions(self.expression) else []
        lines = ["tx = int64(cuda.threadIdx.x)", "width = int64(cuda.blockDim.x)", "size = real(n)"]
        lines += self.attributes()
        body = self.row()
        lines += [f"part{i} = cuda.shared.array({MOST_THREADS}, real)" for i in range(self._most)]
        if COLUMN in self.results:
            lines.append("line = int64(cuda.blockIdx.x) * n")
        lines += ["for r in range(int64(cuda.blockIdx.x), rows, int64(cuda.gridDim.x)):"]
        lines += indented(["row = r * n", *body])
        head = f"def {name}({', '.join([*pointers, *raw, *status, 'rows', 'n'])}):"
        return "\n".join([head, *indented(lines), ""])
