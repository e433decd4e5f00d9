"""Layers beside those that are made from tables: a linear map, a table of vectors, axes joined into one."""

from __future__ import annotations

from typing import Any

import numpy as np

from opsdk.core.errors import AttributeValueError
from opsdk.nn import functional
from opsdk.nn.embedding import as_row
from opsdk.nn.functions.words import in_both_words
from opsdk.nn.layer.layer import Layer
from opsdk.nn.layer.torch_layout import TorchEntry, TorchLayout
from opsdk.ops.functions import flatten


class Linear(Layer):
    """A linear map of the last axis.

    Args:
        in_features: size of the last axis of the input, ≥ 1.
        out_features: size of the last axis of the output, ≥ 1.
        weight_attr: a `ParamAttr`, initializer or name; Xavier's uniform values unless said otherwise.
        bias_attr: the same for the bias, zeros unless said otherwise; False for no bias.
        bias: False for no bias, in PyTorch's words.
        name: start of the layer's unique name.

    Attributes:
        weight: of shape (in_features, out_features).
        bias: of shape (out_features,), or None.

    Raises:
        AttributeValueError: a size below 1, or no weight.
    """

    torch_layout = TorchLayout({"weight": TorchEntry("weight", (1, 0))})

    # Any: every form that `as_param_attr` takes; tensors, variables or arrays.
    def __init__(
        self,
        in_features: int,
        out_features: int,
        weight_attr: Any = None,
        bias_attr: Any = None,
        bias: bool = True,
        name: str | None = None,
    ) -> None:
        super().__init__(name)
        if not all(isinstance(size, (int, np.integer)) and 1 <= size < 2**63 for size in (in_features, out_features)):
            raise AttributeValueError(f"Linear: expected sizes ≥ 1, got {in_features!r} and {out_features!r}")
        if weight_attr is False:
            raise AttributeValueError("Linear: weight_attr expected a weight, got False; for no bias, bias_attr=False")
        self.in_features = in_features
        self.out_features = out_features
        weight = self.create_parameter((in_features, out_features), weight_attr)
        assert weight is not None  # only False means no parameter
        self.weight = weight
        self.bias = self.create_parameter((out_features,), bias_attr if bias else False, is_bias=True)

    def forward(self, x: Any) -> Any:
        """Returns x · weight + bias.

        Args:
            x: float values of shape (..., in_features).

        Returns:
            Values of shape (..., out_features). Differentiable in x, weight and bias.
        """
        return functional.linear(x, self.weight, self.bias)

    def extra_repr(self) -> str:
        """Returns the sizes and the dtype, and that there is no bias where there is none."""
        sizes = f"in_features={self.in_features}, out_features={self.out_features}"
        return f"{sizes}, dtype={self.weight.dtype}{', bias=False' if self.bias is None else ''}"


class Embedding(Layer):
    """A table of vectors, of which rows are taken by their numbers.

    Args:
        num_embeddings: rows of the table, ≥ 1.
        embedding_dim: size of a row, ≥ 1.
        padding_idx: a number, from the end where it is negative, whose row is zeros and is not trained.
        sparse: without meaning: gradients are dense.
        weight_attr: a `ParamAttr`, initializer or name; Xavier's uniform values unless said otherwise.
        name: start of the layer's unique name.
        max_norm: None; rows are not renormalised.
        norm_type: of `max_norm`.
        scale_grad_by_freq: False; gradients are not divided by how often a row was taken.

    Attributes:
        weight: of shape (num_embeddings, embedding_dim).

    Raises:
        AttributeValueError: a size below 1, no weight, or an option that is not served.
        ShapeError: the table has no row `padding_idx`.
    """

    # Any: every form that `as_param_attr` takes; tensors, variables or arrays.
    def __init__(
        self,
        num_embeddings: int,
        embedding_dim: int,
        padding_idx: int | None = None,
        sparse: bool = False,
        weight_attr: Any = None,
        name: str | None = None,
        *,
        max_norm: float | None = None,
        norm_type: float = 2.0,
        scale_grad_by_freq: bool = False,
    ) -> None:
        super().__init__(name)
        if not all(isinstance(size, (int, np.integer)) and size >= 1 for size in (num_embeddings, embedding_dim)):
            raise AttributeValueError(f"Embedding: expected sizes ≥ 1, got {num_embeddings!r} and {embedding_dim!r}")
        if weight_attr is False or max_norm is not None or scale_grad_by_freq:
            raise AttributeValueError(
                "Embedding: expected a weight, max_norm=None and scale_grad_by_freq=False, the only ones served, got "
                f"weight_attr={weight_attr!r}, {max_norm!r} and {scale_grad_by_freq!r}"
            )
        self.num_embeddings = num_embeddings
        self.embedding_dim = embedding_dim
        self.padding_idx = None
        if padding_idx is not None:
            self.padding_idx = as_row(padding_idx, num_embeddings, "Embedding")
        self.sparse = sparse
        weight = self.create_parameter((num_embeddings, embedding_dim), weight_attr)
        assert weight is not None  # only False means no parameter
        if self.padding_idx is not None:
            values = weight.numpy().copy()
            values[self.padding_idx] = 0
            weight.set_value(values)
        self.weight = weight

    def forward(self, x: Any) -> Any:
        """Returns the rows of the numbers of x, of shape (*x.shape, embedding_dim). Differentiable in the weight."""
        return functional.embedding(x, self.weight, self.padding_idx)

    def extra_repr(self) -> str:
        """Returns the arguments, as Paddle prints them."""
        padding = "" if self.padding_idx is None else f"padding_idx={self.padding_idx}, "
        return f"{self.num_embeddings}, {self.embedding_dim}, {padding}sparse={self.sparse}, scale_grad_by_freq=False"


class Flatten(Layer):
    """Joins axes, all but the first unless said otherwise.

    Args:
        start_axis: the first to join.
        stop_axis: the last to join.
    """

    @in_both_words
    def __init__(self, start_axis: int = 1, stop_axis: int = -1) -> None:
        super().__init__()
        self.start_axis = start_axis
        self.stop_axis = stop_axis

    # Any: tensors, variables or arrays.
    def forward(self, x: Any) -> Any:
        """Returns x with the axes joined. Differentiable."""
        return flatten(x, self.start_axis, self.stop_axis)
