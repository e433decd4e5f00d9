"""Native entries: the C function of a compiled row, for whoever calls it without Python."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from opsdk.backends.c import row as c_row
from opsdk.backends.call.available import is_usable, missing_packages
from opsdk.backends.call.one_shape import one_shape
from opsdk.backends.call.plan import attrs_key, keep
from opsdk.backends.native.elementwise import Elementwise, ElementwiseCode
from opsdk.backends.native.rowwise import RowCode, Rowwise
from opsdk.backends.numba.cpu import buffers_of, check_unchanged, dispatcher_of
from opsdk.backends.numba.failure import failure, is_compile_failure, unsupported
from opsdk.core.errors import AttributeValueError, BindingError, DTypeError, KernelNotFoundError, ShapeError
from opsdk.core.lazy import slow
from opsdk.core.spec import TensorSpec, shape_text
from opsdk.define.call import bind, complete_attrs
from opsdk.define.kernel.kernel import Kernel
from opsdk.define.op import Op
from opsdk.define.opdef import OpDef
from opsdk.expr.row.row_function import RowFunction
from opsdk.expr.row.row_infer import AXIS
from opsdk.expr.scalar import ScalarFunction, static_of

ELEMENTS, ROWS, CALL, DLTENSORS = "elements", "rows", "call", "dltensors"
_COMPILED = ("numba", "c")
_ARGUMENTS = "(void **pointers, const int64_t *sizes, const double *attrs, int64_t start, int64_t stop)"


@dataclass(frozen=True)
class NativeEntry:
    """A C function of a compiled row.

    Attributes:
        address: where it is, for as long as the process lives.
        prototype: its declaration in C.
        kind: what its arguments mean: `elements`, `rows` or `call`, or `dltensors` for the function of a C row.
        row: the row that it is of, as text.
        pointers: name and dtype of what each of `pointers` points to: inputs, then outputs.
        attrs: names of what `attrs` holds, in order; all other attributes are frozen into the code.
        keep: what has to live as long as the address is used.
    """

    address: int
    prototype: str
    kind: str
    row: str
    pointers: tuple[tuple[str, str], ...]
    attrs: tuple[str, ...]
    keep: object


# Any: arrays, tensors or specs, None for an input that is left out; attribute values.
def native(op: Op | OpDef, *values: Any, **attrs: Any) -> NativeEntry:
    """Returns the C function that computes an op for a kind of call, compiled where it is not yet.

    It computes one call or a part of one, knows nothing of Python, and may be called from any thread. It returns 0, or
    another status: 1 for an exception in the kernel, 2 for a `row_take` outside of its row, 3 where there is no memory,
    4 where the kernel gives another shape than it was told, 5 for a whole number (an attribute, or a position in a very
    long row) that the doubles of `attrs` or the dtype of the computation do not hold; what a C row returns is its own
    affair. Gradients have functions of their own: ask for `op.grad`.

    Args:
        op: an op with a compiled row: an expression, a Numba kernel, or C source.
        values: the inputs as specs, arrays or tensors, of which only dtypes and numbers of dimensions matter.
        attrs: attributes; numbers are arguments of the C function, everything else is decided here.

    Returns:
        The entry. All arrays that it is called with are C-contiguous and aligned.

    Raises:
        BindingError: this is no op.
        KernelNotFoundError: no compiled row serves these inputs.
        ShapeError: the inputs of an elementwise op differ in shape, or a row op has none with rows.
        AttributeValueError: the axis of a row op is not the last one.
        DTypeError, CompileError: the row cannot be compiled for them.

    Example:
        >>> import opsdk
        >>> entry = opsdk.native(opsdk.relu, opsdk.TensorSpec((None,), "float32"))
        >>> entry.kind, entry.pointers
        ('elements', (('x', 'float32'), ('out', 'float32')))
    """
    opdef = op.opdef if isinstance(op, Op) else op
    if not isinstance(opdef, OpDef):
        raise BindingError(
            f"native entry: expected an op, got {type(op).__name__} {getattr(op, '__name__', '')!r}; opsdk.find_op "
            "finds an op by its name"
        )
    inputs, given = bind(opdef, values, attrs)
    specs = [_spec(opdef, name, value) for name, value in zip(opdef.schema.input_names, inputs, strict=True)]
    complete = complete_attrs(opdef, given)
    kernel = _row(opdef, specs)
    if isinstance(kernel.source, RowFunction):
        _check_rows(opdef, specs, complete)
    frozen = tuple((name, value) for name, value in complete.items() if type(value) not in (int, float))
    shapes = tuple(spec and (spec.dtype, spec.shape) for spec in specs)
    key = ("native", kernel, shapes, attrs_key(complete), repr(frozen))
    found = opdef.plans.get(key)
    if not isinstance(found, NativeEntry):
        found = _made(opdef, kernel, specs, complete)
        keep(opdef, key, found)
    return found


def _spec(opdef: OpDef, name: str, value: Any) -> TensorSpec | None:
    if isinstance(value, list):
        raise KernelNotFoundError(
            f"{opdef.subject}: native entry expected inputs that are single tensors, got a list for {name!r}"
        )
    if value is None or isinstance(value, TensorSpec):
        return value
    return TensorSpec(value.shape, value.dtype)


def _row(opdef: OpDef, specs: Sequence[TensorSpec | None]) -> Kernel:
    dtypes = [spec.dtype for spec in specs if spec is not None]
    deciding = opdef.schema.deciding(specs)
    first = None if deciding is None else deciding.dtype
    compiled = [row for row in opdef.kernels if row.language in _COMPILED]
    row = opdef.kernels.select("cpu", first, dtypes, lambda row: row.language in _COMPILED and is_usable(row))
    if row is None:
        missing = sorted({package for row in compiled for package in missing_packages(row)})
        raise KernelNotFoundError(
            f"{opdef.subject}: no compiled row for (cpu, {', '.join(map(str, dtypes)) or 'no tensor'}); rows: "
            f"{', '.join(map(str, opdef.kernels)) or 'none'}; give it a row in numba or c",
            because=f"not installed: {', '.join(missing)}" if missing else "",
        )
    return row


def _check_rows(opdef: OpDef, specs: Sequence[TensorSpec | None], attrs: Mapping[str, Any]) -> None:
    """Checks that there are rows, along the last axis: one behind the other in memory."""
    last = max((spec.ndim for spec in specs if spec is not None), default=0) - 1
    if last < 0:
        raise ShapeError(f"{opdef.subject}: native entry expected an input with rows, got none with a dimension")
    axis = attrs.get(AXIS, -1)
    if axis not in (-1, last):
        raise AttributeValueError(
            f"{opdef.subject}: native entry expected axis -1 or {last}, the last, since it walks rows that lie one "
            f"behind the other in memory, got {axis}; move the axis there, and ask for the entry of that"
        )


def _made(opdef: OpDef, kernel: Kernel, specs: Sequence[TensorSpec | None], attrs: dict[str, Any]) -> NativeEntry:
    source = kernel.source
    present = [spec for spec in specs if spec is not None]
    if kernel.language == "c":
        function = c_row.native_entry(opdef, present[0].dtype)
        return NativeEntry(function.address, function.prototype, DLTENSORS, str(kernel), (), (), function)
    if isinstance(source, RowFunction):
        static = static_of({name: value for name, value in attrs.items() if name != AXIS})
        rows = Rowwise(opdef, source).code(present, static)  # type: ignore[arg-type]  # a spec has the dtype of an array
        return _of_code(opdef, kernel, rows, ROWS)
    if isinstance(source, ScalarFunction):
        shapes = {shape_text(spec.shape) for spec in present}
        if len(shapes) > 1:
            raise ShapeError(
                f"{opdef.subject}: native entry expected inputs of one shape, which it walks side by side, got "
                f"{' and '.join(sorted(shapes))}"
            )
        code = Elementwise(opdef, source).code(present, static_of(attrs))  # type: ignore[arg-type]  # as above
        return _of_code(opdef, kernel, code, ELEMENTS)
    return _of_user(opdef, kernel, specs, attrs)


def _of_code(opdef: OpDef, kernel: Kernel, code: ElementwiseCode | RowCode | None, kind: str) -> NativeEntry:
    if code is None:
        raise AttributeValueError(
            f"{opdef.subject}: native entry expected a result that is wanted, got none; let needs_input_grad hold True"
        )
    schema, text = opdef.schema, code.text
    outputs = [name for name, is_wanted in zip(schema.output_names, code.outputs, strict=True) if is_wanted]
    pointers = tuple(zip([*schema.input_names, *outputs], text.pointers, strict=True))
    return NativeEntry(code.address, f"int32_t {text.name}{_ARGUMENTS}", kind, str(kernel), pointers, text.attrs, code)


def _of_user(opdef: OpDef, kernel: Kernel, specs: Sequence[TensorSpec | None], attrs: dict[str, Any]) -> NativeEntry:
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
    prototype = f"int32_t {symbol}{_ARGUMENTS}"
    held = (dispatcher, image)
    return NativeEntry(image.addresses[symbol], prototype, CALL, str(kernel), pointers, tuple(numbers), held)


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
