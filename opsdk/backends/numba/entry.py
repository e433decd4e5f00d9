"""The C function of a Numba row: the whole kernel, compiled into an entry that knows nothing of Python."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from opsdk.backends.call.language import NativeEntry
from opsdk.backends.call.one_shape import one_shape
from opsdk.backends.native import ARGUMENTS
from opsdk.backends.numba.cpu import buffers_of, check_unchanged, dispatcher_of
from opsdk.backends.numba.failure import failure, is_compile_failure, unsupported
from opsdk.core.errors import DTypeError, KernelNotFoundError, ShapeError
from opsdk.core.lazy import slow
from opsdk.core.spec import TensorSpec, shape_text
from opsdk.define.kernel.kernel import Kernel
from opsdk.define.opdef import OpDef


# Any, in this file: attribute values.
def entry_of(opdef: OpDef, kernel: Kernel, specs: Sequence[TensorSpec | None], attrs: dict[str, Any]) -> NativeEntry:
    """Returns the function for inputs of some dtypes and numbers of dimensions.

    Raises:
        KernelNotFoundError: the kernel is compiled with parallel=True.
        ShapeError: the op is for inputs of one shape, and gets others.
        DTypeError, CompileError: the kernel cannot be compiled for them.
    """
    schema, names = opdef.schema, kernel.parameters
    buffers_of(opdef, kernel)
    check_unchanged(opdef, kernel)
    dispatcher = dispatcher_of(opdef, kernel)
    if slow("opsdk.backends.numba.reading").Reading(dispatcher).is_parallel:
        raise KernelNotFoundError(
            f"{opdef.subject}: native entry expected a kernel that runs on its caller's thread, got one that is "
            f"compiled with parallel=True, at {kernel.origin}"
        )
    whole = slow("opsdk.backends.native.whole")
    pairs = list(zip(schema.input_names, specs, strict=True))
    inputs = [whole.Operand(name, spec.dtype, spec.ndim) for name, spec in pairs if spec is not None]
    shapes = {shape_text(spec.shape) for _, spec in pairs if spec is not None}
    if one_shape(opdef) is not None and len(shapes) > 1:
        found = " and ".join(sorted(shapes))
        raise ShapeError(f"{opdef.subject}: native entry expected inputs of one shape, got {found}")
    outputs = _outputs(opdef, specs, attrs, whole.Operand)
    every = [*inputs, *outputs]
    refused = unsupported(opdef, kernel.origin, [(operand.name, operand.dtype) for operand in every])
    if refused is not None:
        raise refused
    numbers = {name: type(value).__name__ for name, value in attrs.items() if type(value) in (int, float)}
    numbers = {name: kind for name, kind in numbers.items() if name in names}
    constants = {name: None for name, spec in pairs if spec is None}
    constants |= {name: _frozen(value) for name, value in attrs.items() if name in names and name not in numbers}
    symbol = f"{schema.name}_{'_'.join(operand.dtype.name for operand in inputs)}"
    try:
        image = whole.entry_of(symbol, dispatcher, names, inputs, outputs, numbers, constants)
    except whole.UnexpectedResult as error:
        raise DTypeError(f"{opdef.subject}, numba row: {error}", at=str(kernel.origin)) from error
    except Exception as error:
        if is_compile_failure(error):
            raise failure(opdef, kernel.origin, error, {}) from error
        raise
    pointers = tuple((operand.name, operand.dtype.name) for operand in every)
    prototype = f"int32_t {symbol}{ARGUMENTS}"
    held = (dispatcher, image)
    return NativeEntry(image.addresses[symbol], prototype, "call", str(kernel), pointers, tuple(numbers), held)


def _outputs(opdef: OpDef, specs: Sequence[TensorSpec | None], attrs: dict[str, Any], operand: Any) -> list[Any]:
    """Returns the outputs that a kernel makes, as operands.

    Raises:
        DTypeError: an output is no single tensor.
    """
    schema = opdef.schema
    inferred = opdef.infer(schema, list(specs), attrs)
    made = []
    for position in schema.fresh_outputs:
        spec = inferred[position]
        if not isinstance(spec, TensorSpec):
            raise DTypeError(
                f"{opdef.subject}, output {schema.output_names[position]!r}: native entry expected one tensor whose "
                f"dtype follows from the inputs, got {spec}"
            )
        made.append(operand(schema.output_names[position], np.dtype(spec.dtype), spec.ndim))
    return made


def _frozen(value: Any) -> Any:
    """Returns a value in the form in which Numba takes it as a constant: lists are tuples."""
    return tuple(map(_frozen, value)) if isinstance(value, list) else value
