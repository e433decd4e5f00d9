"""Linear: y = x · weight + bias."""

from __future__ import annotations

from typing import Any

import numpy as np

from opsdk.core.errors import AttributeValueError
from opsdk.nn import functional
from opsdk.nn.layer.layer import Layer


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
        """Returns the sizes and the dtype."""
        return f"in_features={self.in_features}, out_features={self.out_features}, dtype={self.weight.dtype}"
