"""The layout of row calls: inputs with their rows last and contiguous, results of the shape of their role."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from opsdk.backends.call.buffers import infer
from opsdk.core.errors import ShapeError
from opsdk.define.infer import normalize_axes
from opsdk.define.opdef import OpDef
from opsdk.expr.row.row import FULL, ROW
from opsdk.expr.row.row_function import RowFunction
from opsdk.expr.row.row_infer import AXIS


# Any, in this file: arrays of NumPy or of a device, attribute values.
def laid_out(
    opdef: OpDef,
    rows: RowFunction,
    arrays: Sequence[Any],
    attrs: Mapping[str, Any],
    contiguous: Callable[[Any], Any],
) -> tuple[list[Any], tuple[int, ...], int]:
    """Returns the inputs as a kernel reads them, the full shape with the row as its last axis, and which axis that was.

    Args:
        opdef: the op, for messages.
        rows: its function.
        arrays: the inputs of a call.
        attrs: the attributes of the call, the axis among them.
        contiguous: returns an array in C order, itself where it is.

    Raises:
        ShapeError: the shapes are not those of the inputs' roles.
    """
    full = arrays[rows.roles.index(FULL)]
    ndim = full.ndim
    if not ndim:
        if opdef.gradient_of is None:
            infer(opdef, arrays, attrs)  # says it in the caller's terms
        name = rows.inputs[rows.roles.index(FULL)]
        raise ShapeError(f"{opdef.subject}: input {name!r} expected at least one axis, got ()")
    (at,) = normalize_axes(attrs.get(AXIS, -1), ndim, opdef.subject)
    try:
        along, shape = rows.rows_last(arrays, ndim, at, opdef.subject)
    except ShapeError:
        if opdef.gradient_of is None:
            infer(opdef, arrays, attrs)  # says it in the caller's terms
        raise
    return [contiguous(array) for array in along], shape, at


def result_shape(role: str, shape: tuple[int, ...]) -> tuple[int, ...]:
    """Returns the shape in which a kernel writes a result that is not summed over rows."""
    return shape if role == FULL else (*shape[:-1], 1) if role == ROW else shape[:-1]


def turned_back(array: Any, shape: tuple[int, ...], axis: int, contiguous: Callable[[Any], Any]) -> Any:
    """Returns a result with its rows along the axis that the caller gave."""
    if axis == len(shape) - 1 or array.ndim < len(shape):
        return array
    return contiguous(np.moveaxis(array, -1, axis))
