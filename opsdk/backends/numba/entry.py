"""The C function of a Numba kernel: pointers and sizes made into arrays, the kernel called, its results copied out.

The whole kernel is compiled into an entry that knows nothing of Python. Imported only when something has to be
compiled, since it imports Numba.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numba import carray, float64, int32, int64, types
from numba.extending import overload
from numba.np import numpy_support

from opsdk.backends.call.language import NativeEntry
from opsdk.backends.call.one_shape import one_shape
from opsdk.backends.native import ARGUMENTS
from opsdk.backends.native.compiler import Export, compile_object
from opsdk.backends.native.elementwise_source import INEXACT
from opsdk.backends.native.loader import load
from opsdk.backends.numba.cpu import buffers_of, check_unchanged, dispatcher_of
from opsdk.backends.numba.failure import failure, is_compile_failure, unsupported
from opsdk.backends.numba.reading import Reading
from opsdk.core.errors import DTypeError, KernelNotFoundError, ShapeError
from opsdk.core.spec import TensorSpec, shape_text
from opsdk.define.kernel.kernel import Kernel
from opsdk.define.kernel.sizes import size_function
from opsdk.define.opdef import OpDef

OTHER_SHAPE = 4  # a status, beside `RAISED` and those of row kernels

# Any, in this file: attribute values; Numba's types, dispatchers, constants of a call.


class UnexpectedResult(Exception):
    """A kernel returns what is no array of the declared kind; none of Numba's errors, which it would paraphrase."""


def entry_of(opdef: OpDef, kernel: Kernel, specs: Sequence[TensorSpec | None], attrs: dict[str, Any]) -> NativeEntry:
    """Returns the function for inputs of some dtypes and numbers of dimensions, compiled now.

    Raises:
        KernelNotFoundError: the kernel is compiled with parallel=True, or data decide the sizes of its outputs.
        ShapeError: the op is for inputs of one shape, and gets others.
        DTypeError, CompileError: the kernel cannot be compiled for them.
    """
    schema, names = opdef.schema, kernel.parameters
    buffers_of(opdef, kernel)
    check_unchanged(opdef, kernel)
    dispatcher = dispatcher_of(opdef, kernel)
    if Reading(dispatcher).is_parallel:
        raise KernelNotFoundError(
            f"{opdef.subject}: native entry expected a kernel that runs on its caller's thread, got one that is "
            f"compiled with parallel=True, at {kernel.origin}"
        )
    if size_function(kernel) is not None:
        raise KernelNotFoundError(
            f"{opdef.subject}: native entry expected a kernel whose outputs have sizes that follow from those of its "
            f"inputs, got one with {size_function(kernel)}, at {kernel.origin}; write it in C, whose function says how "
            "many it filled"
        )
    given = dict(zip(schema.input_names, specs, strict=True))
    inputs = {name: spec for name, spec in given.items() if spec is not None}
    shapes = {shape_text(spec.shape) for spec in inputs.values()}
    if one_shape(opdef) is not None and len(shapes) > 1:
        found = " and ".join(sorted(shapes))
        raise ShapeError(f"{opdef.subject}: native entry expected inputs of one shape, got {found}")
    outputs = _outputs(opdef, specs, attrs)
    operands = [*inputs.items(), *outputs.items()]
    refused = unsupported(opdef, kernel.origin, [(name, spec.dtype) for name, spec in operands])
    if refused is not None:
        raise refused
    numbers = {name: type(attrs[name]) for name in attrs if name in names and type(attrs[name]) in (int, float)}
    constants = {name: None for name, spec in given.items() if spec is None}
    constants |= {name: _frozen(value) for name, value in attrs.items() if name in names and name not in numbers}
    symbol = f"{schema.name}_{'_'.join(spec.dtype.name for spec in inputs.values())}"
    text = _source(names, operands, list(outputs), numbers, constants)
    space = {"kernel": dispatcher, **_NAMES, **{f"c{i}": value for i, value in enumerate(constants.values())}}
    exec(compile(text, f"<opsdk entry {symbol}>", "exec"), space)
    dtypes: list[np.dtype[Any]] = [spec.dtype for _, spec in operands]
    pointers = [types.CPointer(numpy_support.from_dtype(dtype)) for dtype in dtypes]
    signature = int32(int64, int64, types.CPointer(int64), *pointers, *[float64] * len(numbers))
    export = Export(symbol, space["entry"], signature, is_range=True, may_raise=True, fastmath=frozenset())
    try:
        image = load(compile_object(symbol, [export]), [symbol])
    except UnexpectedResult as error:
        raise DTypeError(f"{opdef.subject}, numba kernel: {error}", at=str(kernel.origin)) from error
    except Exception as error:
        if is_compile_failure(error):
            raise failure(opdef, kernel.origin, error, {}) from error
        raise
    named = tuple((name, spec.dtype.name) for name, spec in operands)
    prototype = f"int32_t {symbol}{ARGUMENTS}"
    held = (dispatcher, image)
    return NativeEntry(image.addresses[symbol], prototype, "call", str(kernel), named, tuple(numbers), held)


def _outputs(opdef: OpDef, specs: Sequence[TensorSpec | None], attrs: dict[str, Any]) -> dict[str, TensorSpec]:
    """Returns the outputs that a kernel makes.

    Raises:
        DTypeError: an output is no single tensor.
    """
    schema = opdef.schema
    inferred = opdef.infer(schema, list(specs), attrs)
    made = {}
    for position in schema.fresh_outputs:
        spec = inferred[position]
        if not isinstance(spec, TensorSpec):
            raise DTypeError(
                f"{opdef.subject}, output {schema.output_names[position]!r}: native entry expected one tensor whose "
                f"dtype follows from the inputs, got {spec}"
            )
        made[schema.output_names[position]] = spec
    return made


def _frozen(value: Any) -> Any:
    """Returns a value in the form in which Numba takes it as a constant: lists are tuples."""
    return tuple(map(_frozen, value)) if isinstance(value, list) else value


def _source(
    parameters: Sequence[str],
    operands: Sequence[tuple[str, TensorSpec]],
    outputs: Sequence[str],
    numbers: Mapping[str, type],
    constants: Iterable[str],
) -> str:
    """Returns the text of an entry.

    Args:
        parameters: what the kernel takes, in its own order.
        operands: the arrays that the entry has pointers to, by name: inputs, then outputs.
        outputs: the arrays that are made; a kernel that does not take them returns them.
        numbers: types of the attributes that come with each call, by name.
        constants: names of everything else that the kernel takes, frozen into the code.
    """
    given = [f"p{i}" for i in range(len(operands))] + [f"s{i}" for i in range(len(numbers))]
    lines = [f"def entry({', '.join(('start', 'stop', 'sizes', *given))}):"]
    values = {name: f"c{i}" for i, name in enumerate(constants)}
    at = 0
    for i, (name, spec) in enumerate(operands):
        shape = "".join(f"sizes[{at + axis}], " for axis in range(spec.ndim))
        at += spec.ndim
        lines.append(f"    a{i} = array(p{i}, ({shape or '1,'}))" + ("" if spec.ndim else ".reshape(())"))
        values[name] = f"a{i}"
    for i, (name, kind) in enumerate(numbers.items()):
        if kind is int:  # as a double, which may stand for several whole numbers from 2⁵³ on
            lines += [f"    if not abs(s{i}) < {2.0**53} or s{i} != trunc(s{i}):", f"        return status({INEXACT})"]
        values[name] = f"integer(s{i})" if kind is int else f"s{i}"
    call = f"kernel({', '.join(values[name] for name in parameters)})"
    if not outputs or outputs[0] in parameters:
        return "\n".join([*lines, f"    {call}", "    return status(0)"])
    lines += [f"    made = {call}"]
    for i, name in enumerate(outputs):
        result = "made" if len(outputs) == 1 else f"made[{i}]"
        lines += [f"    if not put({values[name]}, {result}):", f"        return status({OTHER_SHAPE})"]
    return "\n".join([*lines, "    return status(0)"])


def put(out: Any, made: Any) -> Any:
    """Copies a result into an array; tells whether it has its shape. It exists inside kernels only."""


@overload(put, jit_options={"error_model": "numpy"})
def _put(out: Any, made: Any) -> Any:
    if isinstance(made, types.Array) and (made.ndim, made.dtype) == (out.ndim, out.dtype):

        def copied(out: Any, made: Any) -> bool:
            if out.shape != made.shape:
                return False
            out[...] = made
            return True

        return copied
    if isinstance(made, (types.Number, types.Boolean)) and out.ndim == 0 and _holds(out.dtype, made):

        def stored(out: Any, made: Any) -> bool:
            out[()] = made
            return True

        return stored
    raise UnexpectedResult(f"expected {out.dtype} in {out.ndim} dimensions to be returned, got {made}")


def _holds(dtype: Any, number: Any) -> bool:
    order = (types.Boolean, types.Integer, types.Float, types.Complex)
    ranks = [next(i for i, kind in enumerate(order) if isinstance(each, kind)) for each in (number, dtype)]
    return ranks[0] <= ranks[1]


# What the text of an entry refers to, beside the kernel and constants.
_NAMES = {"array": carray, "integer": np.int64, "trunc": np.trunc, "status": np.int32, "put": put}
