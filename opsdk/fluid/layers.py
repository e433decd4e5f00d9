"""`fluid.layers`: building functions of Paddle 1.x over opsdk's own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from opsdk.core.errors import AttributeValueError
from opsdk.ops import functions, loss
from opsdk.static import accuracy, create_global_var, create_parameter, data, py_func
from opsdk.static import nn as static_nn
from opsdk.static.nn import case, cond, switch_case, while_loop

# Any, in this file: Variables, and what 1.x takes beside them.
_ACTIVATIONS = {name: getattr(functions, name) for name in ("relu", "sigmoid", "tanh", "softmax", "exp", "abs", "sqrt")}
relu, sigmoid, tanh, exp, sqrt = (functions.relu, functions.sigmoid, functions.tanh, functions.exp, functions.sqrt)
matmul, transpose, cast, concat = functions.matmul, functions.transpose, functions.cast, functions.concat


def fc(
    input: Any,
    size: int,
    num_flatten_dims: int = 1,
    param_attr: Any = None,
    bias_attr: Any = None,
    act: str | None = None,
    name: str | None = None,
) -> Any:
    """Appends a fully connected layer: act(input · w + b), as `static.nn.fc`.

    Raises:
        ProgramError: as of `static.nn.fc`.
    """
    return static_nn.fc(input, size, num_flatten_dims, param_attr, bias_attr, act, name)


def mean(x: Any, name: str | None = None) -> Any:
    """Returns the mean of all elements."""
    return functions.mean(x)


def reduce_mean(input: Any, dim: int | Sequence[int] | None = None, keep_dim: bool = False, name: Any = None) -> Any:
    """Returns means along axes, of all elements unless `dim` says along which."""
    return functions.mean(input, dim, keep_dim)


def reduce_sum(input: Any, dim: int | Sequence[int] | None = None, keep_dim: bool = False, name: Any = None) -> Any:
    """Returns sums along axes, of all elements unless `dim` says along which."""
    return functions.sum(input, dim, keep_dim)


def softmax(input: Any, use_cudnn: bool = False, name: str | None = None, axis: int = -1) -> Any:
    """Returns the softmax along an axis."""
    return functions.softmax(input, axis)


def reshape(
    x: Any,
    shape: Sequence[int],
    actual_shape: Any = None,
    act: str | None = None,
    inplace: bool = False,
    name: str | None = None,
) -> Any:
    """Returns x in another shape, behind an activation where one is named.

    Raises:
        AttributeValueError: the activation is unknown, or `actual_shape` is given.
    """
    if actual_shape is not None:
        raise AttributeValueError("reshape: actual_shape expected None, got one; write -1 in shape for an open size")
    made = functions.reshape(x, shape)
    if act is None:
        return made
    if act not in _ACTIVATIONS:
        raise AttributeValueError(f"reshape: act expected one of {', '.join(_ACTIVATIONS)} or None, got {act!r}")
    return _ACTIVATIONS[act](made)


def cross_entropy(input: Any, label: Any, soft_label: bool = False, ignore_index: int = -100) -> Any:
    """Returns −log of the probability of the label, for each row: `input` has probabilities, as in Paddle 1.x.

    Raises:
        AttributeValueError: `soft_label` is true, for which `opsdk.nn.functional.cross_entropy` is.
    """
    _only_hard("cross_entropy", soft_label)
    return loss.cross_entropy(input, label, ignore_index=ignore_index)


def softmax_with_cross_entropy(
    logits: Any,
    label: Any,
    soft_label: bool = False,
    ignore_index: int = -100,
    numeric_stable_mode: bool = True,
    return_softmax: bool = False,
    axis: int = -1,
) -> Any:
    """Returns the cross entropy of the softmax of logits, for each row; with `return_softmax` both.

    Raises:
        AttributeValueError: `soft_label` is true, or the axis is not the last.
    """
    _only_hard("softmax_with_cross_entropy", soft_label)
    if axis not in (-1, len(logits.shape) - 1):
        raise AttributeValueError(
            f"softmax_with_cross_entropy: axis expected -1, the last, got {axis}; transpose first"
        )
    probabilities, each = loss.softmax_with_cross_entropy(logits, label, ignore_index=ignore_index)
    return (each, probabilities) if return_softmax else each


def _only_hard(name: str, soft_label: bool) -> None:
    if soft_label:
        raise AttributeValueError(
            f"{name}: soft_label expected False, got True; opsdk.nn.functional.cross_entropy takes soft labels"
        )


__all__ = [
    "accuracy",
    "case",
    "cast",
    "concat",
    "cond",
    "create_global_var",
    "create_parameter",
    "cross_entropy",
    "data",
    "exp",
    "fc",
    "matmul",
    "mean",
    "py_func",
    "reduce_mean",
    "reduce_sum",
    "relu",
    "reshape",
    "sigmoid",
    "softmax",
    "softmax_with_cross_entropy",
    "sqrt",
    "switch_case",
    "tanh",
    "transpose",
    "while_loop",
]
