"""Building blocks of static networks: `fc`, branches and loops, and `accuracy`, which measures one."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count
from math import prod
from typing import Any

import numpy as np

from opsdk.core.dtype import is_differentiable
from opsdk.core.errors import ProgramError
from opsdk.core.names import unique_name
from opsdk.ops import functions, loss
from opsdk.ops.initializer import as_param_attr
from opsdk.static.control.flow import case as case
from opsdk.static.control.flow import cond as cond
from opsdk.static.control.flow import switch_case as switch_case
from opsdk.static.control.flow import while_loop as while_loop
from opsdk.static.ir.block import Block
from opsdk.static.ir.parameter import create_parameter
from opsdk.static.ir.program import default_main_program, default_startup_program
from opsdk.static.ir.variable import Variable

# Any: Variables, as everywhere in a Program.
_ACTIVATIONS: dict[str, Callable[[Any], Any]] = {
    "relu": functions.relu,
    "sigmoid": functions.sigmoid,
    "tanh": functions.tanh,
    "softmax": functions.softmax,
}


def fc(
    x: Variable,
    size: int,
    num_flatten_dims: int = 1,
    weight_attr: Any = None,
    bias_attr: Any = None,
    activation: str | None = None,
    name: str | None = None,
) -> Any:
    """Appends a fully connected layer: activation(x · w + b).

    Args:
        x: float Variable of at least two dimensions; those from `num_flatten_dims` on are flattened into columns.
        size: number of outputs, > 0.
        num_flatten_dims: how many leading dimensions stay.
        weight_attr: the weight of shape (columns, size), as `ParamAttr`, initialiser or name (Any: each of these);
            Xavier uniform unless given. The name of an existing parameter shares it.
        bias_attr: the bias of shape (size,) likewise, zero unless given; False for none.
        activation: `relu`, `sigmoid`, `tanh` or `softmax`.
        name: prefix of the names of parameters and results; two layers of one name do not share.

    Returns:
        Variable of x's leading dimensions and `size`. Differentiable in x, weight and bias.

    Raises:
        ProgramError: x is no float Variable of enough dimensions or not of the default main Program, a column size is
            unknown, or the activation is unknown. Nothing is appended then.
    """
    if not isinstance(num_flatten_dims, (int, np.integer)):
        raise ProgramError(f"fc: num_flatten_dims expected a whole number, got {num_flatten_dims!r}")
    if not isinstance(x, Variable) or not 1 <= num_flatten_dims < len(x.shape):
        got = f"shape {x.shape}" if isinstance(x, Variable) else type(x).__name__
        raise ProgramError(f"fc: x expected a Variable of more than {num_flatten_dims} dimensions, got {got}")
    if not is_differentiable(x.dtype):
        raise ProgramError(f"fc: x expected a float Variable, got {x.name!r} of {x.dtype}; cast it first")
    if x.block.program is not default_main_program():
        raise ProgramError(f"fc: {x.name!r} expected in the default main Program; call fc inside its program_guard")
    columns = x.shape[num_flatten_dims:]
    if -1 in columns or not isinstance(size, (int, np.integer)) or size <= 0:
        raise ProgramError(f"fc: expected known columns and size > 0, got columns {columns} and size {size!r}")
    if activation is not None and activation not in _ACTIVATIONS:
        raise ProgramError(f"fc: activation expected one of {', '.join(_ACTIVATIONS)} or None, got {activation!r}")
    if weight_attr is False:
        raise ProgramError("fc: weight_attr expected a weight, got False; only the bias can be left out")
    bias = as_param_attr(bias_attr, "fc: bias_attr")
    prefix = name or unique_name("fc")
    block = x.block.program.current_block()
    with block.all_or_nothing(), default_startup_program().global_block().all_or_nothing():
        weight = create_parameter([prod(columns), size], x.dtype, _numbered(block, f"{prefix}.w"), weight_attr)
        shape = (*x.shape[:num_flatten_dims], size)
        out = block.create_var(_numbered(block, f"{prefix}.tmp"), shape, x.dtype)
        block.append_op("mul", {"x": x, "y": weight}, {"out": out}, {"x_num_col_dims": num_flatten_dims})
        if bias is not None:
            shift = create_parameter([size], x.dtype, _numbered(block, f"{prefix}.b"), bias, is_bias=True)
            summed = block.create_var(_numbered(block, f"{prefix}.tmp"), shape, x.dtype)
            block.append_op("elementwise_add", {"x": out, "y": shift}, {"out": summed})
            out = summed
        return out if activation is None else _ACTIVATIONS[activation](out)


def accuracy(input: Variable, label: Variable, k: int = 1) -> Any:
    """Appends the share of rows whose label is among the k greatest scores.

    Args:
        input: float Variable of shape (rows, classes).
        label: integer Variable of shape (rows,) or (rows, 1).
        k: how many of the greatest count, ≥ 1.

    Returns:
        A 0-d float32 Variable. Not differentiable.

    Raises:
        AttributeValueError: k below 1.
    """
    return loss.among_best(input, label, k)


def _numbered(block: Block, name: str) -> str:
    """Returns the name with the lowest number behind it that is free."""
    return next(f"{name}_{number}" for number in count() if not block.has_var(f"{name}_{number}"))
