"""Elementwise launches: from a scalar function to compiled code, one kernel per combination of dtypes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy import ndarray

from opsdk.backends.call.language import Launch
from opsdk.backends.memory.arena import SMALLEST, empty
from opsdk.backends.native.code import Code, KernelText, Numbers
from opsdk.backends.native.elementwise_source import kernel_source
from opsdk.backends.native.geometry import Geometry, geometry_of
from opsdk.backends.native.runtime import PROTOTYPE, ffi, piece_of, run_shared, strided_address
from opsdk.core.bounded import Bounded
from opsdk.core.errors import OpsdkError, ShapeError
from opsdk.core.fast import FAST
from opsdk.core.once import once
from opsdk.define.kernel.kernel import Kernel
from opsdk.define.opdef import OpDef
from opsdk.expr.count import cost
from opsdk.expr.exact import check_constants, check_inputs
from opsdk.expr.scalar import MOST_COMBINATIONS, ScalarFunction, Static, static_of

# Work below this is done by the caller alone. A thread that is awake comes after 1 µs or two; one that sleeps, as all
# do from 30 µs after a job on, takes another 30 to 50 and may find nothing left to do.
SHARED_FROM = 25_000  # nanoseconds
NS_PER_COST, NS_PER_TENSOR = 0.03, 0.06  # of one element of float32, one thread
_LEAST_PIECE = 4096
_MOST_INPUTS = 8  # of what the fast path calls

Key = tuple[Any, ...]  # Any: dtypes and the values of static attributes


class ElementwiseCode(Code):
    """A kernel for one combination of dtypes and static attributes.

    Attributes:
        dtype: of the results.
        outputs: per result whether it is wanted.
        numbers: the attributes as it takes them.
        shared_from: the size from which all threads work on it.
    """

    def __init__(
        self, scalar: ScalarFunction, static: Static, dtypes: Sequence[np.dtype[Any]], whole: Sequence[str] = ()
    ) -> None:
        expression = scalar.expression(static)
        self.dtype = np.result_type(*dtypes)
        self.outputs = tuple(node is not None for node in expression.outputs)
        compute = np.dtype("float64" if self.dtype == np.float64 else "float32")
        check_constants(expression.wanted, compute, f"op {scalar.name!r}")
        inputs = [dtype.name for dtype in dtypes]
        results = [self.dtype.name] * len(expression.wanted)
        text = KernelText(
            name=f"{scalar.name}_{'_'.join(inputs)}",
            source=kernel_source(expression, inputs, results, whole).text,
            pointers=(*inputs, *results),
            attrs=expression.attrs,
            compute=compute.name,
        )
        super().__init__(text)
        self.numbers = Numbers(expression.attrs, text.compute)
        per_element = NS_PER_COST * cost(expression.wanted) + NS_PER_TENSOR * len(text.pointers)
        self.shared_from = int(SHARED_FROM / per_element)


class Elementwise:
    """Everything about the compiled rows of one scalar function: its kernels, by kind of call."""

    def __init__(self, opdef: OpDef, scalar: ScalarFunction) -> None:
        self.opdef = opdef
        self.scalar = scalar
        self._codes: Bounded[Key, ElementwiseCode] = Bounded(MOST_COMBINATIONS)
        self._geometries: dict[Key, tuple[tuple[int, ...], Geometry]] = {}

        self._whole = whole_attrs(opdef)
        kinds = {decl.name: decl.type for decl in opdef.schema.attrs}
        self._may_be_static = any(kinds.get(name) not in ("float", "int") for name in scalar.attrs)

    def code(self, arrays: Sequence[ndarray], static: Static) -> ElementwiseCode | None:
        """Returns the kernel for actual inputs; None where no result is wanted."""
        dtypes = [array.dtype for array in arrays]
        key = (static, *dtypes)
        found = self._codes.get(key)
        if found is None and self.scalar.expression(static).wanted:
            found = self._codes[key] = ElementwiseCode(self.scalar, static, dtypes, self._whole)
        return found

    # Any: attribute values.
    def launch(self, /, *arrays: ndarray, **attrs: Any) -> Any:
        """Computes the results: an array, or a tuple with None where a result is not wanted."""
        code = self.code(arrays, static_of(attrs) if self._may_be_static else ())
        if code is None:
            return self.scalar(*arrays, **attrs)
        first = arrays[0]
        shape = first.shape
        for array in arrays:
            flags = array.flags
            if array.shape != shape or not flags.c_contiguous or not flags.aligned:
                return self._launch_strided(code, arrays, attrs)
        tools = ffi()
        view = tools.from_buffer
        size = first.size
        made = [empty(shape, code.dtype) for wanted in code.outputs if wanted]
        pointers = tools.new(code.kind, [view(array) for array in (*arrays, *made)])
        numbers = code.numbers.of(attrs) if code.text.attrs else tools.NULL
        if size < code.shared_from:
            status = code.call(pointers, tools.NULL, numbers, 0, size)
        else:
            status = run_shared(code.address, pointers, tools.NULL, numbers, size, piece_of(size, _LEAST_PIECE))
        if status:
            self._refuse(status, code, arrays)
        return made[0] if len(code.outputs) == 1 else spread(code.outputs, made)

    def _refuse(self, status: int, code: ElementwiseCode, arrays: Sequence[ndarray]) -> None:
        """Raises what a status of a kernel means."""
        check_inputs(self.scalar.inputs, arrays, np.dtype(code.text.compute), self.opdef.subject)
        raise OpsdkError(f"{self.opdef.subject}: kernel expected status 0, got {status}")

    def _launch_strided(self, code: ElementwiseCode, arrays: Sequence[ndarray], attrs: dict[str, Any]) -> Any:
        arrays = [array if array.flags.aligned else array.copy() for array in arrays]
        key = (code.address, *[(array.shape, array.strides) for array in arrays])
        known = self._geometries.get(key)
        if known is None:
            if len(self._geometries) > 256:
                self._geometries.clear()
            known = self._geometries[key] = self._layout(code, arrays)
        shape, geometry = known
        made = [empty(shape, code.dtype) for wanted in code.outputs if wanted]
        tools = ffi()
        pointers = tools.new(code.kind, [_address(tools, array) for array in (*arrays, *made)])
        numbers = code.numbers.of(attrs) if code.text.attrs else tools.NULL
        size = geometry.size
        status = 0
        if size < code.shared_from:
            if size:
                status = strided_call()(pointers, geometry.sizes, numbers, 0, size)
        else:
            status = run_shared(
                strided_address(), pointers, geometry.sizes, numbers, size, piece_of(size, _LEAST_PIECE)
            )
        if status:
            self._refuse(status, code, arrays)
        return made[0] if len(code.outputs) == 1 else spread(code.outputs, made)

    def _layout(self, code: ElementwiseCode, arrays: Sequence[ndarray]) -> tuple[tuple[int, ...], Geometry]:
        """Returns the shape of the results, and the walk over inputs and results.

        Raises:
            ShapeError: the inputs do not broadcast.
        """
        try:
            shape = np.broadcast_shapes(*[array.shape for array in arrays])
        except ValueError as error:
            shapes = " and ".join(str(array.shape) for array in arrays)
            raise ShapeError(f"{self.opdef.subject}: expected shapes that broadcast, got {shapes}") from error
        made = [empty(shape, code.dtype) for wanted in code.outputs if wanted]
        return shape, geometry_of(code.address, shape, [*arrays, *made], len(arrays))


@once
def strided_call() -> Any:
    """Returns the entry that walks strided operands, callable with cffi arrays (Any: cffi has no types)."""
    return ffi().cast(PROTOTYPE, strided_address())


def _address(tools: Any, array: ndarray) -> Any:
    """Returns where an array begins, for cffi (Any: it has no types)."""
    if array.flags.c_contiguous:
        return tools.from_buffer(array)
    return tools.cast("void *", array.__array_interface__["data"][0])


def spread(outputs: Sequence[bool], made: Sequence[ndarray]) -> tuple[ndarray | None, ...]:
    """Returns the results with None where one is not wanted."""
    ready = iter(made)
    return tuple(next(ready) if wanted else None for wanted in outputs)


def whole_attrs(opdef: OpDef) -> tuple[str, ...]:
    """Returns the attributes that are whole numbers."""
    return tuple(decl.name for decl in opdef.schema.attrs if decl.type.rstrip("?") == "int")


def launch_of(opdef: OpDef, kernel: Kernel) -> Launch:
    """Returns the launch of a compiled elementwise row."""
    scalar: Any = kernel.source  # Any: a ScalarFunction, as the language says
    general = Elementwise(opdef, scalar)
    is_plain = not scalar.attrs and len(opdef.schema.outputs) == 1 and len(scalar.inputs) <= _MOST_INPUTS
    return general.launch if FAST is None or not is_plain else _entry(general)


def _entry(general: Elementwise) -> Launch:
    """Returns the launch of a function without attributes, which learns the kernels that C may call on small arrays."""
    known: dict[np.dtype[Any], tuple[int, int, ElementwiseCode]] = {}

    def launch(*arrays: ndarray) -> Any:  # Any: what a launch returns
        made = general.launch(*arrays)
        dtype = arrays[0].dtype
        if dtype not in known and all(array.dtype is dtype for array in arrays):
            code = general.code(arrays, ())
            if code is not None and code.dtype is dtype:  # larger ones take memory of the arena, or all threads
                known[dtype] = code.address, min(code.shared_from, SMALLEST // dtype.itemsize), code
        return made

    entry: Launch = FAST.Entry(launch, known, len(general.scalar.inputs))
    return entry
