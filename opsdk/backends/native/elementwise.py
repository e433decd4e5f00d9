"""Elementwise launches: from a scalar function to compiled code, one kernel per combination of dtypes."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, ClassVar

import numpy as np
from numpy import ndarray

from opsdk.backends.call.language import Launch, NativeEntry
from opsdk.backends.memory.arena import SMALLEST, empty
from opsdk.backends.native.code import Code, Kernels, compute_dtype, spread
from opsdk.backends.native.elementwise_source import TILE, is_tiled, kernel_source
from opsdk.backends.native.runtime import entry_at, ffi, geometry_of, piece_of, run_shared, strided_address
from opsdk.core.bounded import Bounded
from opsdk.core.dtype import promote_types
from opsdk.core.errors import OpsdkError, ShapeError
from opsdk.core.fast import FAST
from opsdk.core.spec import TensorSpec, shape_text
from opsdk.define.kernel.kernel import Kernel
from opsdk.define.opdef import OpDef
from opsdk.expr.exact import check_constants, check_inputs
from opsdk.expr.scalar import ScalarFunction, Static, static_of
from opsdk.expr.trace import Expression

_LEAST_PIECE = 4096
_MOST_INPUTS = 8  # of what the fast path calls
_MOST_LAYOUTS = 256  # of operands that are not contiguous, which one op keeps


class Elementwise(Kernels):
    """Everything about the compiled kernels of one scalar function."""

    function: ScalarFunction
    sizes: ClassVar[tuple[int, ...]] = (TILE,)

    def __init__(self, opdef: OpDef, function: ScalarFunction, empty: Callable[..., ndarray] = empty) -> None:
        super().__init__(opdef, function, empty)
        # Any: shapes and strides; the shape of the results, their size and the `sizes` of the walk.
        self._walks: Bounded[tuple[Any, ...], tuple[tuple[int, ...], int, Any]] = Bounded(_MOST_LAYOUTS)
        numbers = {decl.name for decl in opdef.schema.attrs if decl.type.is_number}
        self._may_be_static = not numbers.issuperset(function.attrs)

    def _made(self, expression: Expression, static: Static, dtypes: Sequence[np.dtype[Any]]) -> Code:
        dtype, name = promote_types(*dtypes), self.function.name
        check_constants(expression.wanted, compute_dtype(dtype), f"op {name!r}")
        results = [dtype.name] * len(expression.wanted)
        source = kernel_source(expression, [each.name for each in dtypes], results, self._whole)
        return Code(name, expression, dtypes, dtype, source)

    # Any: attribute values.
    def launch(self, /, *arrays: ndarray, **attrs: Any) -> Any:
        """Computes the results: an array, or a tuple with None where a result is not wanted.

        Raises:
            ShapeError: the inputs do not broadcast.
        """
        code = self.code(arrays, static_of(attrs) if self._may_be_static else ())
        if code is None:
            return self.function(*arrays, **attrs)
        tools = ffi()
        view = tools.from_buffer
        first = arrays[0]
        shape, size, sizes = first.shape, first.size, tools.NULL
        call, address = code.call, code.address
        for array in arrays:
            flags = array.flags
            if array.shape != shape or not flags.c_contiguous or not flags.aligned:
                arrays = tuple([array if array.flags.aligned else array.copy() for array in arrays])
                shape, size, sizes = self._walk(code, arrays)
                view, address = partial(_address, tools), strided_address()
                call = entry_at(address)
                break
        empty = self._empty
        made = [empty(shape, code.dtype) for wanted in code.outputs if wanted]
        pointers = tools.new(code.kind, [view(array) for array in (*arrays, *made)])
        numbers = code.numbers(attrs) if code.attrs else tools.NULL
        if size < code.shared_from:
            status = call(pointers, sizes, numbers, 0, size)
        else:
            status = run_shared(address, pointers, sizes, numbers, size, piece_of(size, _LEAST_PIECE))
        if status:
            check_inputs(self.function.inputs, arrays, code.compute, self.opdef.subject)
            raise OpsdkError(f"{self.opdef.subject}: kernel expected status 0, got {status}")
        return made[0] if len(code.outputs) == 1 else spread(code.outputs, made)

    def turns(self, arrays: Sequence[ndarray], attrs: Mapping[str, Any]) -> Iterator[tuple[str, bool]]:
        """Yields whether a call has more elements than a tile, where a long expression is computed in tiles."""
        code = self.code(arrays, static_of(attrs))
        if code is not None and is_tiled(code.source):
            size = math.prod(np.broadcast_shapes(*[array.shape for array in arrays]))
            yield f"more than the {TILE} elements of a tile", size > TILE

    def _walk(self, code: Code, arrays: Sequence[ndarray]) -> tuple[tuple[int, ...], int, Any]:
        """Returns the shape of the results, how many elements it has, and what the walk over inputs and results reads.

        Raises:
            ShapeError: the inputs do not broadcast.
        """
        key = (code.address, *[(array.shape, array.strides) for array in arrays])
        found = self._walks.get(key)
        if found is None:
            try:
                shape = np.broadcast_shapes(*[array.shape for array in arrays])
            except ValueError as error:
                shapes = " and ".join(str(array.shape) for array in arrays)
                raise ShapeError(f"{self.opdef.subject}: expected shapes that broadcast, got {shapes}") from error
            made = [empty(shape, code.dtype) for wanted in code.outputs if wanted]
            found = shape, *geometry_of(code.address, shape, [*arrays, *made], len(arrays))
            self._walks[key] = found
        return found

    def entry(self, kernel: Kernel, specs: Sequence[TensorSpec | None], attrs: Mapping[str, Any]) -> NativeEntry:
        """Returns the C function over a part of the elements of arrays that lie side by side.

        Raises:
            ShapeError: elements are of inputs of several shapes.
            AttributeValueError: no result is wanted.
        """
        shapes = {shape_text(spec.shape) for spec in specs if spec is not None}
        if len(shapes) > 1:
            raise ShapeError(
                f"{self.opdef.subject}: native entry expected inputs of one shape, which it walks side by side, got "
                f"{' and '.join(sorted(shapes))}"
            )
        return super().entry(kernel, specs, attrs)


def _address(tools: Any, array: ndarray) -> Any:
    """Returns where an array begins, for cffi (Any: it has no types)."""
    if array.flags.c_contiguous:
        return tools.from_buffer(array)
    return tools.cast("void *", array.__array_interface__["data"][0])


def launch_of(opdef: OpDef, kernel: Kernel) -> Launch:
    """Returns the launch of a compiled elementwise kernel."""
    scalar: Any = kernel.source  # Any: a ScalarFunction, as the language says
    general = Elementwise(opdef, scalar)
    is_plain = not scalar.attrs and len(opdef.schema.outputs) == 1 and len(scalar.inputs) <= _MOST_INPUTS
    return general.launch if FAST is None or not is_plain else _entry(general)


def _entry(general: Elementwise) -> Launch:
    """Returns the launch of a function without attributes, which learns the kernels that C may call on small arrays."""
    known: dict[np.dtype[Any], tuple[int, int, Code]] = {}

    def launch(*arrays: ndarray) -> Any:  # Any: what a launch returns
        made = general.launch(*arrays)
        dtype = arrays[0].dtype
        if dtype not in known and all(array.dtype is dtype for array in arrays):
            code = general.code(arrays, ())
            if code is not None and code.dtype is dtype:  # larger ones take memory of the arena, or all threads
                known[dtype] = code.address, min(code.shared_from, SMALLEST // dtype.itemsize), code
        return made

    return FAST.Entry(launch, known, len(general.function.inputs))


KERNELS = Elementwise  # what gives C functions
