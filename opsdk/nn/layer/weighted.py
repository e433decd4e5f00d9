"""Layers of one weight each: slopes, a bilinear map, bags of rows, and a cell in PyTorch's words."""

from __future__ import annotations

from typing import Any

from opsdk.core.errors import AttributeValueError
from opsdk.nn import functional
from opsdk.nn.layer.cells import SimpleRNNCell, check_sizes
from opsdk.nn.layer.layer import Layer
from opsdk.nn.layer.layers import Embedding
from opsdk.nn.layer.torch_layout import TorchEntry, TorchLayout
from opsdk.ops.initializer import Constant, Normal


# Any, in this file: forms of `as_param_attr`; tensors, variables or arrays, and the same out.
class PReLU(Layer):
    """`functional.prelu` with slopes that are trained.

    Args:
        num_parameters: 1, or the number of channels.
        init: of the slopes.
        weight_attr: a `ParamAttr`, initializer or name.
        data_format: as of the function.
        name: start of the layer's unique name.

    Attributes:
        weight: of shape (num_parameters,).

    Raises:
        AttributeValueError: a number below 1, or no weight.
    """

    def __init__(
        self,
        num_parameters: int = 1,
        init: float = 0.25,
        weight_attr: Any = None,
        data_format: str = "NCHW",
        name: str | None = None,
    ) -> None:
        super().__init__(name)
        check_sizes("PReLU", num_parameters=num_parameters)
        if weight_attr is False:
            raise AttributeValueError("PReLU: weight_attr expected slopes, got False")
        self.num_parameters, self.data_format = num_parameters, data_format
        self.weight = self.create_parameter((num_parameters,), weight_attr, default_initializer=Constant(float(init)))

    def forward(self, x: Any) -> Any:
        """Returns x where x > 0, else weight · x. Differentiable in both."""
        return functional.prelu(x, self.weight, self.data_format)

    def extra_repr(self) -> str:
        """Returns the number of slopes."""
        return f"num_parameters={self.num_parameters}"


class Bilinear(Layer):
    """`functional.bilinear` with a weight and a bias of its own.

    Args:
        in1_features: size of the last axis of the first input, ≥ 1.
        in2_features: that of the second.
        out_features: that of the output.
        weight_attr: a `ParamAttr`, initializer or name; Xavier's uniform values unless said otherwise.
        bias_attr: the same for the bias, zeros unless said otherwise; False for no bias.
        name: start of the layer's unique name.
        bias: False for no bias, in PyTorch's words.

    Attributes:
        weight: of shape (out_features, in1_features, in2_features).
        bias: of shape (1, out_features), as in Paddle, or None; one line in PyTorch.

    Raises:
        AttributeValueError: a size below 1, or no weight.
    """

    def __init__(
        self,
        in1_features: int,
        in2_features: int,
        out_features: int,
        weight_attr: Any = None,
        bias_attr: Any = None,
        name: str | None = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__(name)
        sizes = {"in1_features": in1_features, "in2_features": in2_features, "out_features": out_features}
        check_sizes("Bilinear", **sizes)
        if weight_attr is False:
            raise AttributeValueError("Bilinear: weight_attr expected a weight, got False")
        self._sizes = sizes
        self.weight = self.create_parameter((out_features, in1_features, in2_features), weight_attr)
        self.bias = self.create_parameter((1, out_features), bias_attr if bias else False, is_bias=True)

    @property
    def torch_layout(self) -> TorchLayout:  # type: ignore[override]
        """How it lies in PyTorch, whose bias is one line."""
        return TorchLayout({"bias": TorchEntry("bias", shape=(self._sizes["out_features"],))})

    def forward(self, x1: Any, x2: Any) -> Any:
        """Returns Σ x1_i weight_oij x2_j + bias_o, of shape (..., out_features). Differentiable in all."""
        return functional.bilinear(x1, x2, self.weight, self.bias)

    def extra_repr(self) -> str:
        """Returns the sizes."""
        return ", ".join(f"{name}={size}" for name, size in self._sizes.items())


class EmbeddingBag(Layer):
    """`functional.embedding_bag` with a table of its own, in PyTorch's words; the arguments are those of the function.

    Attributes:
        weight: of shape (num_embeddings, embedding_dim), normal values at first, zeros in the row for padding.

    Raises:
        AttributeValueError: a size below 1.
    """

    def __init__(
        self,
        num_embeddings: int,
        embedding_dim: int,
        max_norm: float | None = None,
        norm_type: float = 2.0,
        scale_grad_by_freq: bool = False,
        mode: str = "mean",
        sparse: bool = False,
        _weight: Any = None,
        include_last_offset: bool = False,
        padding_idx: int | None = None,
    ) -> None:
        super().__init__()
        check_sizes("EmbeddingBag", num_embeddings=num_embeddings, embedding_dim=embedding_dim)
        self.num_embeddings, self.embedding_dim, self.mode = num_embeddings, embedding_dim, mode
        self.max_norm, self.norm_type, self.scale_grad_by_freq = max_norm, norm_type, scale_grad_by_freq
        self.include_last_offset, self.padding_idx = include_last_offset, padding_idx
        table = Embedding(num_embeddings, embedding_dim, padding_idx, weight_attr=Normal())
        self.weight = table.weight
        if _weight is not None:
            self.weight.set_value(_weight)

    def forward(self, input: Any, offsets: Any = None, per_sample_weights: Any = None) -> Any:
        """Returns a row for each bag. Differentiable in the weight."""
        options = self.max_norm, self.norm_type, self.scale_grad_by_freq, self.mode, False, per_sample_weights
        kept = self.include_last_offset, self.padding_idx
        return functional.embedding_bag(input, self.weight, offsets, *options, *kept)

    def extra_repr(self) -> str:
        """Returns the sizes and the mode."""
        return f"{self.num_embeddings}, {self.embedding_dim}, mode={self.mode!r}"


class RNNCell(SimpleRNNCell):
    """`SimpleRNNCell` in PyTorch's words: a call gives the new state, once.

    Args:
        input_size: size of the input, ≥ 1.
        hidden_size: size of the state, ≥ 1.
        bias: False for no biases.
        nonlinearity: `tanh` or `relu`.

    Raises:
        AttributeValueError: a size below 1, or another nonlinearity.
    """

    def __init__(self, input_size: int, hidden_size: int, bias: bool = True, nonlinearity: str = "tanh") -> None:
        attrs = (None, None) if bias else (False, False)
        super().__init__(input_size, hidden_size, nonlinearity, None, None, *attrs)

    def forward(self, input: Any, hx: Any = None) -> Any:
        """Returns the new state. Differentiable."""
        return super().forward(input, hx)[0]


LAYERS = PReLU, Bilinear, EmbeddingBag, RNNCell
