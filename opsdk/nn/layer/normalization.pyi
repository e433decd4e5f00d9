"""Normalization as layers, in Paddle's words and in PyTorch's.

Written by `python -m tests.contracts.stubs`.
"""

from typing import Any

from opsdk.core.dtype import DTypeLike
from opsdk.nn.layer.layer import Layer

class GroupNorm(Layer):
    """Mean 0 and variance 1 for each group of channels of each instance; see `functional.group_norm`.

    Args:
        num_groups: how many groups; divides num_channels.
        num_channels: of the input.
        epsilon: added to the variance, > 0.
        affine: False for neither weight nor bias.
        dtype: of the parameters.
        weight_attr: a `ParamAttr`, initializer or name; ones unless said otherwise; False for no weight.
        bias_attr: the same for the bias, zeros unless said otherwise; False for no bias.
        data_format: NCHW and the like, or NHWC.
        name: start of the layer's unique name.
        eps: `epsilon`, in PyTorch's words.

    Attributes:
        weight: of shape (num_channels,), or None.
        bias: likewise.

    Raises:
        AttributeValueError: the groups do not divide the channels, which Paddle says at the first call.
    """

    def __init__(self, num_groups: int, num_channels: int, epsilon: float = 1e-05, *, affine: bool = True, dtype: DTypeLike = 'float32', weight_attr: Any = None, bias_attr: Any = None, data_format: str = 'NCHW', name: str | None = None, eps: float | None = None, device: Any = None) -> None:
        ...

    def extra_repr(self) -> str:
        """Returns what it was made with."""

    def forward(self, x: Any) -> Any:
        """Returns x with each group of channels normalized. Differentiable."""

class LayerNorm(Layer):
    """Mean 0 and variance 1 over the last axes, times a weight, plus a bias; see `functional.layer_norm`.

    Args:
        normalized_shape: the sizes of these axes.
        epsilon: added to the variance, > 0.
        elementwise_affine: False for neither weight nor bias.
        bias: False for no bias.
        dtype: of the parameters.
        weight_attr: a `ParamAttr`, initializer or name; ones unless said otherwise; False for no weight.
        bias_attr: the same for the bias, zeros unless said otherwise; False for no bias.
        name: start of the layer's unique name.
        eps: `epsilon`, in PyTorch's words.

    Attributes:
        weight: of all these sizes in one line, as in Paddle, or None. PyTorch's has them as axes.
        bias: likewise.
    """

    def __init__(self, normalized_shape: Any, epsilon: float = 1e-05, *, elementwise_affine: bool = True, bias: bool = True, dtype: DTypeLike = 'float32', weight_attr: Any = None, bias_attr: Any = None, name: str | None = None, eps: float | None = None, device: Any = None) -> None:
        ...

    def extra_repr(self) -> str:
        """Returns what it was made with."""

    def forward(self, x: Any) -> Any:
        """Returns x with its last axes normalized. Differentiable."""

class RMSNorm(Layer):
    """Mean square 1 over the last axes, times a weight, in PyTorch's words; see `functional.rms_norm`.

    Args:
        normalized_shape: the sizes of these axes.
        eps: added to the mean square; None for the distance of 1 from the next number of the input's dtype.
        elementwise_affine: False for no weight.
        device: where the weight lies.
        dtype: of the weight; float32 unless given.

    Attributes:
        weight: of the shape given, or None.
    """

    def __init__(self, normalized_shape: Any, eps: float | None = None, elementwise_affine: bool = True, device: Any = None, dtype: DTypeLike | None = None) -> None:
        ...

    def extra_repr(self) -> str:
        """Returns what it was made with."""

    def forward(self, x: Any) -> Any:
        """Returns x with its last axes normalized. Differentiable."""

class BatchNorm1D(Layer):
    """Mean 0 and variance 1 of each channel over a batch of features (N, C) or sequences (N, C, L), times
    a weight, plus a bias.

    In training mean and variance are those of the batch, and the running ones go towards them; else the
    running ones are
    taken. `momentum` is how much of the running ones stays, and the variance that is kept divides by
    the count. See `functional.batch_norm`.

    Attributes:
        weight: of shape (num_features,), ones at first; or None.
        bias: likewise, zeros.
        _mean, _variance: the running statistics, parameters that are not trained, as in Paddle.
    """

    def __init__(self, num_features: int, momentum: float = 0.9, epsilon: float = 1e-05, weight_attr: Any = None, bias_attr: Any = None, data_format: str | None = None, use_global_stats: bool | None = None, name: str | None = None, *, device: Any = None, dtype: DTypeLike | None = None) -> None:
        ...

    def extra_repr(self) -> str:
        """Returns what it was made with."""

    def forward(self, x: Any) -> Any:
        """Returns x normalized, in training by its own statistics, which the running ones go towards."""

class BatchNorm1d(Layer):
    """Mean 0 and variance 1 of each channel over a batch of features (N, C) or sequences (N, C, L), times
    a weight, plus a bias.

    In training mean and variance are those of the batch, and the running ones go towards them; else the
    running ones are
    taken. `momentum` is how much of the running ones goes, and the variance that is kept divides by the
    count less one; a momentum of None takes the mean of all batches. See `functional.batch_norm`.

    Attributes:
        weight: of shape (num_features,), ones at first; or None.
        bias: likewise, zeros.
        running_mean, running_var, num_batches_tracked: buffers.
    """

    def __init__(self, num_features: int, eps: float = 1e-05, momentum: float | None = 0.1, affine: bool = True, track_running_stats: bool = True, device: Any = None, dtype: DTypeLike | None = None, *, bias: bool = True) -> None:
        ...

    def extra_repr(self) -> str:
        """Returns what it was made with."""

    def forward(self, x: Any) -> Any:
        """Returns x normalized, in training by its own statistics, which the running ones go towards."""

class InstanceNorm1D(Layer):
    """Mean 0 and variance 1 of each channel of each of sequences (N, C, L); see `functional.instance_norm`.

    Attributes:
        scale: of shape (num_features,), ones at first; or None.
        bias: likewise, zeros.
    """

    def __init__(self, num_features: int, epsilon: float = 1e-05, momentum: float = 0.9, weight_attr: Any = None, bias_attr: Any = None, data_format: str | None = None, name: str | None = None, *, device: Any = None, dtype: DTypeLike | None = None) -> None:
        ...

    def extra_repr(self) -> str:
        """Returns what it was made with."""

    def forward(self, x: Any) -> Any:
        """Returns x with each channel of each instance normalized."""

class InstanceNorm1d(Layer):
    """Mean 0 and variance 1 of each channel of each of sequences (N, C, L); see `functional.instance_norm`.

    Attributes:
        weight: of shape (num_features,), ones at first; or None.
        bias: likewise, zeros.
    """

    def __init__(self, num_features: int, eps: float = 1e-05, momentum: float = 0.1, affine: bool = False, track_running_stats: bool = False, device: Any = None, dtype: DTypeLike | None = None, *, bias: bool = True) -> None:
        ...

    def extra_repr(self) -> str:
        """Returns what it was made with."""

    def forward(self, x: Any) -> Any:
        """Returns x with each channel of each instance normalized."""

class BatchNorm2D(Layer):
    """Mean 0 and variance 1 of each channel over a batch of images (N, C, H, W), times a weight, plus a bias.

    In training mean and variance are those of the batch, and the running ones go towards them; else the
    running ones are
    taken. `momentum` is how much of the running ones stays, and the variance that is kept divides by
    the count. See `functional.batch_norm`.

    Attributes:
        weight: of shape (num_features,), ones at first; or None.
        bias: likewise, zeros.
        _mean, _variance: the running statistics, parameters that are not trained, as in Paddle.
    """

    def __init__(self, num_features: int, momentum: float = 0.9, epsilon: float = 1e-05, weight_attr: Any = None, bias_attr: Any = None, data_format: str | None = None, use_global_stats: bool | None = None, name: str | None = None, *, device: Any = None, dtype: DTypeLike | None = None) -> None:
        ...

    def extra_repr(self) -> str:
        """Returns what it was made with."""

    def forward(self, x: Any) -> Any:
        """Returns x normalized, in training by its own statistics, which the running ones go towards."""

class BatchNorm2d(Layer):
    """Mean 0 and variance 1 of each channel over a batch of images (N, C, H, W), times a weight, plus a bias.

    In training mean and variance are those of the batch, and the running ones go towards them; else the
    running ones are
    taken. `momentum` is how much of the running ones goes, and the variance that is kept divides by the
    count less one; a momentum of None takes the mean of all batches. See `functional.batch_norm`.

    Attributes:
        weight: of shape (num_features,), ones at first; or None.
        bias: likewise, zeros.
        running_mean, running_var, num_batches_tracked: buffers.
    """

    def __init__(self, num_features: int, eps: float = 1e-05, momentum: float | None = 0.1, affine: bool = True, track_running_stats: bool = True, device: Any = None, dtype: DTypeLike | None = None, *, bias: bool = True) -> None:
        ...

    def extra_repr(self) -> str:
        """Returns what it was made with."""

    def forward(self, x: Any) -> Any:
        """Returns x normalized, in training by its own statistics, which the running ones go towards."""

class InstanceNorm2D(Layer):
    """Mean 0 and variance 1 of each channel of each of images (N, C, H, W); see `functional.instance_norm`.

    Attributes:
        scale: of shape (num_features,), ones at first; or None.
        bias: likewise, zeros.
    """

    def __init__(self, num_features: int, epsilon: float = 1e-05, momentum: float = 0.9, weight_attr: Any = None, bias_attr: Any = None, data_format: str | None = None, name: str | None = None, *, device: Any = None, dtype: DTypeLike | None = None) -> None:
        ...

    def extra_repr(self) -> str:
        """Returns what it was made with."""

    def forward(self, x: Any) -> Any:
        """Returns x with each channel of each instance normalized."""

class InstanceNorm2d(Layer):
    """Mean 0 and variance 1 of each channel of each of images (N, C, H, W); see `functional.instance_norm`.

    Attributes:
        weight: of shape (num_features,), ones at first; or None.
        bias: likewise, zeros.
    """

    def __init__(self, num_features: int, eps: float = 1e-05, momentum: float = 0.1, affine: bool = False, track_running_stats: bool = False, device: Any = None, dtype: DTypeLike | None = None, *, bias: bool = True) -> None:
        ...

    def extra_repr(self) -> str:
        """Returns what it was made with."""

    def forward(self, x: Any) -> Any:
        """Returns x with each channel of each instance normalized."""

class BatchNorm3D(Layer):
    """Mean 0 and variance 1 of each channel over a batch of volumes (N, C, D, H, W), times a weight, plus
    a bias.

    In training mean and variance are those of the batch, and the running ones go towards them; else the
    running ones are
    taken. `momentum` is how much of the running ones stays, and the variance that is kept divides by
    the count. See `functional.batch_norm`.

    Attributes:
        weight: of shape (num_features,), ones at first; or None.
        bias: likewise, zeros.
        _mean, _variance: the running statistics, parameters that are not trained, as in Paddle.
    """

    def __init__(self, num_features: int, momentum: float = 0.9, epsilon: float = 1e-05, weight_attr: Any = None, bias_attr: Any = None, data_format: str | None = None, use_global_stats: bool | None = None, name: str | None = None, *, device: Any = None, dtype: DTypeLike | None = None) -> None:
        ...

    def extra_repr(self) -> str:
        """Returns what it was made with."""

    def forward(self, x: Any) -> Any:
        """Returns x normalized, in training by its own statistics, which the running ones go towards."""

class BatchNorm3d(Layer):
    """Mean 0 and variance 1 of each channel over a batch of volumes (N, C, D, H, W), times a weight, plus
    a bias.

    In training mean and variance are those of the batch, and the running ones go towards them; else the
    running ones are
    taken. `momentum` is how much of the running ones goes, and the variance that is kept divides by the
    count less one; a momentum of None takes the mean of all batches. See `functional.batch_norm`.

    Attributes:
        weight: of shape (num_features,), ones at first; or None.
        bias: likewise, zeros.
        running_mean, running_var, num_batches_tracked: buffers.
    """

    def __init__(self, num_features: int, eps: float = 1e-05, momentum: float | None = 0.1, affine: bool = True, track_running_stats: bool = True, device: Any = None, dtype: DTypeLike | None = None, *, bias: bool = True) -> None:
        ...

    def extra_repr(self) -> str:
        """Returns what it was made with."""

    def forward(self, x: Any) -> Any:
        """Returns x normalized, in training by its own statistics, which the running ones go towards."""

class InstanceNorm3D(Layer):
    """Mean 0 and variance 1 of each channel of each of volumes (N, C, D, H, W); see `functional.instance_norm`.

    Attributes:
        scale: of shape (num_features,), ones at first; or None.
        bias: likewise, zeros.
    """

    def __init__(self, num_features: int, epsilon: float = 1e-05, momentum: float = 0.9, weight_attr: Any = None, bias_attr: Any = None, data_format: str | None = None, name: str | None = None, *, device: Any = None, dtype: DTypeLike | None = None) -> None:
        ...

    def extra_repr(self) -> str:
        """Returns what it was made with."""

    def forward(self, x: Any) -> Any:
        """Returns x with each channel of each instance normalized."""

class InstanceNorm3d(Layer):
    """Mean 0 and variance 1 of each channel of each of volumes (N, C, D, H, W); see `functional.instance_norm`.

    Attributes:
        weight: of shape (num_features,), ones at first; or None.
        bias: likewise, zeros.
    """

    def __init__(self, num_features: int, eps: float = 1e-05, momentum: float = 0.1, affine: bool = False, track_running_stats: bool = False, device: Any = None, dtype: DTypeLike | None = None, *, bias: bool = True) -> None:
        ...

    def extra_repr(self) -> str:
        """Returns what it was made with."""

    def forward(self, x: Any) -> Any:
        """Returns x with each channel of each instance normalized."""
