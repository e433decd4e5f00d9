"""The C functions of expressions: a part of the elements, or of the rows, from arrays that lie side by side."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from opsdk.backends.call.language import NativeEntry
from opsdk.backends.native import ARGUMENTS
from opsdk.backends.native.elementwise import Elementwise, ElementwiseCode
from opsdk.backends.native.rowwise import RowCode, Rowwise
from opsdk.core.errors import AttributeValueError, ShapeError
from opsdk.core.spec import TensorSpec, shape_text
from opsdk.define.kernel.kernel import Kernel
from opsdk.define.opdef import OpDef
from opsdk.expr.row.row_function import RowFunction
from opsdk.expr.row.row_infer import AXIS
from opsdk.expr.scalar import static_of


# Any, in this file: attribute values.
def entry_of(opdef: OpDef, kernel: Kernel, specs: Sequence[TensorSpec | None], attrs: Mapping[str, Any]) -> NativeEntry:
    """Returns the function over the elements, or over the rows, of inputs.

    Raises:
        ShapeError: elements are of inputs of several shapes.
        AttributeValueError: no result is wanted.
    """
    source: Any = kernel.source
    present: Any = [spec for spec in specs if spec is not None]  # which have dtypes, as arrays do
    code: ElementwiseCode | RowCode | None
    if kernel.form == RowFunction.kernel_form:
        static = static_of({name: value for name, value in attrs.items() if name != AXIS})
        code = Rowwise(opdef, source).code(present, static)
    else:
        _check_shapes(opdef, present)
        code = Elementwise(opdef, source).code(present, static_of(attrs))
    if code is None:
        raise AttributeValueError(
            f"{opdef.subject}: native entry expected a result that is wanted, got none; let needs_input_grad hold True"
        )
    schema, text = opdef.schema, code.text
    outputs = [name for name, is_wanted in zip(schema.output_names, code.outputs, strict=True) if is_wanted]
    pointers = tuple(zip([*schema.input_names, *outputs], text.pointers, strict=True))
    prototype = f"int32_t {text.name}{ARGUMENTS}"
    return NativeEntry(code.address, prototype, kernel.form, str(kernel), pointers, text.attrs, code)


def _check_shapes(opdef: OpDef, specs: Sequence[TensorSpec]) -> None:
    shapes = {shape_text(spec.shape) for spec in specs}
    if len(shapes) > 1:
        raise ShapeError(
            f"{opdef.subject}: native entry expected inputs of one shape, which it walks side by side, got "
            f"{' and '.join(sorted(shapes))}"
        )


def check_rows(opdef: OpDef, specs: Sequence[TensorSpec | None], attrs: Mapping[str, Any]) -> None:
    """Checks that there are rows, along the last axis: one behind the other in memory.

    Raises:
        ShapeError: no input has a dimension.
        AttributeValueError: the axis is another one.
    """
    last = max((spec.ndim for spec in specs if spec is not None), default=0) - 1
    if last < 0:
        raise ShapeError(f"{opdef.subject}: native entry expected an input with rows, got none with a dimension")
    axis = attrs.get(AXIS, -1)
    if axis not in (-1, last):
        raise AttributeValueError(
            f"{opdef.subject}: native entry expected axis -1 or {last}, the last, since it walks rows that lie one "
            f"behind the other in memory, got {axis}; move the axis there, and ask for the entry of that"
        )
