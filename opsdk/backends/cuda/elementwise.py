"""Elementwise rows on CUDA: an expression as a kernel for each kind of call."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from opsdk.backends.call.language import Launch
from opsdk.backends.cuda.launch import BoundKernel, at_one_place, failures
from opsdk.backends.cuda.math import compute_dtype, device_function, functions
from opsdk.backends.cuda.runtime import is_simulated, numba_cuda
from opsdk.backends.cuda.source import kernel_source
from opsdk.backends.memory.device import Memory
from opsdk.backends.native.geometry import collapsed
from opsdk.core.errors import ShapeError
from opsdk.core.origin import Origin
from opsdk.define.kernel.kernel import Kernel
from opsdk.define.kernel.launch import Geometry
from opsdk.define.opdef import OpDef
from opsdk.expr.exact import check_constants, check_inputs, check_whole
from opsdk.expr.scalar import ScalarFunction, Static, static_of
from opsdk.expr.source import scalar_source
from opsdk.expr.trace import Expression

_THREADS = 256
_MOST_BLOCKS = 4096  # more than any device runs at once; a thread takes several elements beyond
_WARP = 32


# Any, in this file: arrays of NumPy or CuPy, attribute values, functions of numbers.
class CudaElementwise:
    """Everything about the CUDA row of one scalar function: its kernels, by kind of call.

    Args:
        opdef: the op.
        scalar: what it computes on one element.
        origin: where it was written.
    """

    def __init__(self, opdef: OpDef, scalar: ScalarFunction, origin: Origin) -> None:
        self.opdef = opdef
        self.scalar = scalar
        self.origin = origin
        self._kernels: dict[Any, tuple[BoundKernel, Expression]] = {}

    def launch(self, /, *values: Any, **attrs: Any) -> Any:
        """Computes the results: an array, or a tuple with None where a result is not wanted.

        Raises:
            ShapeError: the inputs do not broadcast.
            DTypeError: a dtype that is not computed with on a device.
        """
        subject = f"{self.opdef.subject}, CUDA row"
        memory, arrays = at_one_place(values, subject)
        dtype = np.result_type(*[array.dtype for array in arrays])
        number = compute_dtype(dtype).type
        static = static_of(attrs)
        expression = self.scalar.expression(static)
        attributes = [attrs[name] for name in expression.attrs]
        check_whole(expression.attrs, attributes, compute_dtype(dtype))
        check_constants(expression.wanted, compute_dtype(dtype), self.opdef.subject)
        check_inputs(expression.inputs, arrays, compute_dtype(dtype), self.opdef.subject)
        shape = self._shape(arrays)
        made = [memory.empty(shape, dtype) for _ in expression.wanted]
        views = collapsed_views([*made, *arrays], shape, memory)
        if made and made[0].size:
            numbers = [number(value) for value in attributes]
            with failures(self.opdef, self.origin, subject), memory.active():
                self._kernel(static, expression, dtype, views[0].ndim)(geometry_for(made[0].size), [*views, *numbers])
        if arrays is not values:
            made = [memory.to_host(array) for array in made]
        ready = iter(made)
        outputs = tuple(None if node is None else next(ready) for node in expression.outputs)
        return outputs[0] if len(outputs) == 1 else outputs

    def _shape(self, arrays: Sequence[Any]) -> tuple[int, ...]:
        try:
            return np.broadcast_shapes(*[array.shape for array in arrays])
        except ValueError as error:
            shapes = " and ".join(str(array.shape) for array in arrays)
            raise ShapeError(f"{self.opdef.subject}: expected shapes that broadcast, got {shapes}") from error

    def _kernel(self, static: Static, expression: Expression, dtype: np.dtype[Any], ndim: int) -> BoundKernel:
        key = (static, dtype, ndim)
        found = self._kernels.get(key)
        if found is None:
            name = self.scalar.name
            source = kernel_source(name, len(expression.inputs), len(expression.attrs), len(expression.wanted), ndim)
            kernel = compiled_text(source, name, names_for(expression, name, dtype))
            found = self._kernels[key] = BoundKernel(kernel), expression
        return found[0]


def geometry_for(size: int) -> Geometry:
    """Returns the launch of a grid-stride loop over so many elements."""
    threads = min(_THREADS, -(-size // _WARP) * _WARP)
    return Geometry((min(-(-size // threads), _MOST_BLOCKS),), (threads,))


def collapsed_views(arrays: Sequence[Any], shape: tuple[int, ...], memory: Memory) -> list[Any]:
    """Returns arrays as views of one shape of as few dimensions as will do, with steps of zero where broadcast."""
    dims, steps = collapsed(shape, [_steps(array, shape) for array in arrays])
    return [memory.broadcast(array, tuple(dims), tuple(own)) for array, own in zip(arrays, steps, strict=True)]


def _steps(array: Any, shape: tuple[int, ...]) -> list[int]:
    lead = len(shape) - array.ndim
    own = zip(array.shape, array.strides, strict=True)
    return [0] * lead + [0 if size == 1 else step for size, step in own]


def names_for(expression: Expression, name: str, dtype: np.dtype[Any]) -> dict[str, Any]:
    """Returns what the code of an elementwise kernel refers to."""
    compute = compute_dtype(dtype)
    supplied = {**functions(compute.name), "real": compute.type, "inf": math.inf, "nan": math.nan}
    scalar = compiled_text(scalar_source(expression, f"{name}_scalar"), f"{name}_scalar", supplied)
    cuda = numba_cuda("CUDA row")
    if is_simulated():
        quiet: dict[str, Callable[..., Any]] = {"scalar": scalar, "real": compute.type, "store": dtype.type}
        return {"cuda": cuda, **{name: _quiet(function) for name, function in quiet.items()}}
    return {"cuda": cuda, "scalar": device_function(scalar), "real": compute.type, "store": dtype.type}


def compiled_text(source: str, name: str, names: dict[str, Any]) -> Callable[..., Any]:
    """Returns the function of a name that a source defines, with what the source refers to."""
    space = dict(names)
    exec(compile(source, f"<opsdk CUDA {name}>", "exec"), space)
    function: Callable[..., Any] = space[name]
    return function


def _quiet(function: Callable[..., Any]) -> Callable[..., Any]:
    """Returns a function that gives inf and nan without a warning, as a device does."""

    def quiet(*values: Any) -> Any:
        with np.errstate(all="ignore"):
            return function(*values)

    return quiet


def launch_of(opdef: OpDef, kernel: Kernel) -> Launch:
    """Returns the launch of an expression's row on CUDA."""
    source: Any = kernel.source  # Any: of the form that the language says
    return CudaElementwise(opdef, source, kernel.origin).launch
