"""Building blocks of static networks: `fc`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from opsdk.core.errors import ProgramError
from opsdk.core.names import unique_name
from opsdk.ops import functions
from opsdk.ops.initializer import Constant, ParamAttr
from opsdk.static.parameter import create_parameter
from opsdk.static.variable import Variable

_ACTIVATIONS = {
    "relu": functions.relu,
    "sigmoid": functions.sigmoid,
    "tanh": functions.tanh,
    "softmax": functions.softmax,
}


def fc(
    x: Variable,
    size: int,
    num_flatten_dims: int = 1,
    weight_attr: ParamAttr | None = None,
    bias_attr: ParamAttr | bool | None = None,
    activation: str | None = None,
    name: str | None = None,
) -> Any:
    """Appends a fully connected layer: activation(x · w + b).

    Args:
        x: float Variable of at least two dimensions; those from `num_flatten_dims` on are flattened into columns.
        size: number of outputs, > 0.
        num_flatten_dims: how many leading dimensions stay.
        weight_attr: the weight of shape (columns, size); Xavier uniform unless given.
        bias_attr: the bias of shape (size,), zero unless given; False for none.
        activation: `relu`, `sigmoid`, `tanh` or `softmax`.
        name: prefix of the names of parameters and results.

    Returns:
        Variable of x's leading dimensions and `size`. Differentiable in x, weight and bias.

    Raises:
        ProgramError: x is no Variable of enough dimensions, a column size is unknown, or the activation is unknown.
    """
    if not isinstance(x, Variable) or not 1 <= num_flatten_dims < len(x.shape):
        got = f"shape {x.shape}" if isinstance(x, Variable) else type(x).__name__
        raise ProgramError(f"fc: x expected a Variable of more than {num_flatten_dims} dimensions, got {got}")
    columns: Sequence[int] = x.shape[num_flatten_dims:]
    if -1 in columns or size <= 0:
        raise ProgramError(f"fc: expected known columns and size > 0, got columns {columns} and size {size}")
    if activation is not None and activation not in _ACTIVATIONS:
        raise ProgramError(f"fc: activation expected one of {', '.join(_ACTIVATIONS)} or None, got {activation!r}")
    prefix = name or unique_name("fc")
    rows = 1
    for columns_size in columns:
        rows *= columns_size
    block = x.block.program.current_block()
    weight = create_parameter([rows, size], x.dtype, f"{prefix}.w_0", weight_attr)
    shape = (*x.shape[:num_flatten_dims], size)
    out = block.create_var(block.free_name(f"{prefix}.tmp_0"), shape, x.dtype)
    block.append_op("mul", {"x": x, "y": weight}, {"out": out}, {"x_num_col_dims": num_flatten_dims})
    if bias_attr is not False:
        attr = bias_attr if isinstance(bias_attr, ParamAttr) else None
        bias = create_parameter([size], x.dtype, f"{prefix}.b_0", attr, default_initializer=Constant(0.0))
        summed = block.create_var(block.free_name(f"{prefix}.tmp_1"), shape, x.dtype)
        block.append_op("elementwise_add", {"x": out, "y": bias}, {"out": summed})
        out = summed
    return out if activation is None else _ACTIVATIONS[activation](out)
