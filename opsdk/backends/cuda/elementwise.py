"""Elementwise expressions on CUDA: a grid-stride loop around a scalar function, for each kind of call.

With two inputs, an attribute and one output, on arrays of two dimensions, the kernel is

    def kernel(y0, x0, x1, a0, n):
        for i in range(cuda.grid(1), n, cuda.gridsize(1)):
            i1 = i % y0.shape[1]
            i0 = i // y0.shape[1]
            t = scalar(real(x0[i0, i1]), real(x1[i0, i1]), real(a0))
            y0[i0, i1] = store(t)

Inputs are views of the output's shape, with steps of zero where they are broadcast. On one dimension no division is
left; that is the way of arrays which are contiguous, whatever their shape, and of pointers to contiguous memory.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from opsdk.backends.call.language import Launch
from opsdk.backends.cuda.launch import BoundKernel, ExpressionLaunch
from opsdk.backends.cuda.math import compute_dtype, kernel_of
from opsdk.backends.memory.device import Memory
from opsdk.backends.native.runtime import collapsed
from opsdk.core.dtype import promote_types
from opsdk.core.errors import ShapeError
from opsdk.define.kernel.kernel import Kernel
from opsdk.define.kernel.launch import Geometry
from opsdk.define.opdef import OpDef
from opsdk.expr.exact import check_constants, check_inputs, check_whole
from opsdk.expr.scalar import static_of
from opsdk.expr.source import scalar_source
from opsdk.expr.trace import Expression

_THREADS = 256
_MOST_BLOCKS = 4096  # more than any device runs at once; a thread takes several elements beyond
_WARP = 32


# Any, in this file: arrays of NumPy or CuPy, attribute values.
class CudaElementwise(ExpressionLaunch):
    """The launch of a scalar function over the elements of arrays that broadcast."""

    def results(self, memory: Memory, arrays: Sequence[Any], attrs: dict[str, Any]) -> list[Any]:
        """Computes the results on arrays at one place, with None where one is not wanted.

        Kernels see views of one shape of as few dimensions as will do, with steps of zero where they are broadcast.
        """
        dtype = promote_types(*[array.dtype for array in arrays])
        computed = compute_dtype(dtype)
        static = static_of(attrs)
        expression = self.function.expression(static)
        values = [attrs[name] for name in expression.attrs]
        check_whole(expression.attrs, values, computed)
        check_constants(expression.wanted, computed, self.opdef.subject)
        check_inputs(expression.inputs, arrays, computed, self.opdef.subject)
        shape = self._shape(arrays)
        made = [memory.empty(shape, dtype) for _ in expression.wanted]
        operands = [*made, *arrays]
        dims, steps = collapsed(shape, [np.broadcast_to(array, shape).strides for array in operands])
        views = [memory.broadcast(array, tuple(dims), tuple(own)) for array, own in zip(operands, steps, strict=True)]
        if made and made[0].size:
            key = (static, dtype, views[0].ndim)
            if key not in self._kernels:
                name = f"{self.function.name}_elements"  # no name that the kernel's text has
                self._kernels[key] = BoundKernel(elementwise_kernel(name, expression, dtype, views[0].ndim))
            numbers = [computed.type(value) for value in values]
            self._kernels[key](geometry_for(made[0].size), [*views, *numbers, made[0].size])
        ready = iter(made)
        return [None if node is None else next(ready) for node in expression.outputs]

    def _shape(self, arrays: Sequence[Any]) -> tuple[int, ...]:
        try:
            return np.broadcast_shapes(*[array.shape for array in arrays])
        except ValueError as error:
            shapes = " and ".join(str(array.shape) for array in arrays)
            raise ShapeError(f"{self.opdef.subject}: expected shapes that broadcast, got {shapes}") from error


def geometry_for(size: int) -> Geometry:
    """Returns the launch of a grid-stride loop over so many elements."""
    threads = min(_THREADS, -(-size // _WARP) * _WARP)
    return Geometry((min(-(-size // threads), _MOST_BLOCKS),), (threads,))


def elementwise_kernel(name: str, expression: Expression, dtype: np.dtype[Any], ndim: int = 1) -> Callable[..., Any]:
    """Returns the kernel of an expression for results of a dtype, as a function that Numba compiles or simulates."""
    source = kernel_source(name, len(expression.inputs), len(expression.attrs), len(expression.wanted), ndim)
    return kernel_of(source, name, compute_dtype(dtype), dtype, scalar_source(expression, f"{name}_scalar"))


def kernel_source(name: str, inputs: int, attrs: int, outputs: int, ndim: int) -> str:
    """Returns the source of a kernel over arrays, or over pointers to contiguous memory where `ndim` is 1.

    The code uses `cuda`, the function `scalar`, `real`, which makes a number one of the computation's precision, and
    `store`, which makes it one of the outputs' dtype; whoever compiles it supplies them.

    Args:
        name: of the kernel.
        inputs: how many there are; their parameters are `x0…`.
        attrs: likewise, `a0…`.
        outputs: likewise, `y0…`.
        ndim: dimensions of the arrays, at least 1; their number of elements is the last parameter, `n`.
    """
    ys, xs, numbers = _names("y", outputs), _names("x", inputs), _names("a", attrs)
    index = _names("i", ndim) if ndim > 1 else ["i"]
    at = ", ".join(index)
    operands = ", ".join([*(f"real({x}[{at}])" for x in xs), *(f"real({number})" for number in numbers)])
    results = ["t"] if outputs == 1 else [f"t[{k}]" for k in range(outputs)]
    lines = [
        f"def {name}({', '.join([*ys, *xs, *numbers, 'n'])}):",
        "    for i in range(cuda.grid(1), n, cuda.gridsize(1)):",
        *_unravelled(index),
        f"        t = scalar({operands})",
        *(f"        {y}[{at}] = store({result})" for y, result in zip(ys, results, strict=True)),
    ]
    return "\n".join([*lines, ""])


def _names(letter: str, count: int) -> list[str]:
    return [f"{letter}{k}" for k in range(count)]


def _unravelled(index: Sequence[str]) -> list[str]:
    """Returns the code that finds an element's place in each dimension, the last first."""
    if len(index) == 1:
        return []
    lines = ["        rest = i"]
    for axis in range(len(index) - 1, 0, -1):
        lines += [f"        {index[axis]} = rest % y0.shape[{axis}]", f"        rest = rest // y0.shape[{axis}]"]
    return [*lines, f"        {index[0]} = rest"]


def launch_of(opdef: OpDef, kernel: Kernel) -> Launch:
    """Returns the launch of an elementwise expression on CUDA."""
    return CudaElementwise(opdef, kernel.source, kernel.origin).launch
