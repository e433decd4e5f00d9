"""Pooling as layers, in Paddle's words and in PyTorch's, for sequences, images and volumes.

Written by `python -m tests.contracts.stubs`.
"""

from typing import Any

from opsdk.nn.layer.layer import Layer

class MaxPool1D(Layer):
    """The greatest element of each window of sequences: `functional.max_pool1d`, in Paddle's words.

    Args:
        kernel_size: how large windows are: a number, or one for each axis.
        stride: how far they lie apart; their size unless given.
        padding: places around the input, in the forms that `conv2d` takes.
        ceil_mode: whether a last window counts that reaches beyond the padding.
        return_mask, return_indices: whether places are returned too.
    """

    def __init__(self, kernel_size: Any, stride: Any = None, padding: Any = 0, return_mask: bool = False, ceil_mode: bool = False, data_format: str | None = None, name: str | None = None) -> None:
        ...

    def extra_repr(self) -> str:
        """Returns the windows."""

    def forward(self, x: Any) -> Any:
        """Returns the greatest element of each window. Differentiable."""

class MaxPool1d(Layer):
    """The greatest element of each window of sequences: `functional.max_pool1d`, in PyTorch's words.

    Args:
        kernel_size: how large windows are: a number, or one for each axis.
        stride: how far they lie apart; their size unless given.
        padding: places around the input, in the forms that `conv2d` takes.
        ceil_mode: whether a last window counts that reaches beyond the padding.
        return_mask, return_indices: whether places are returned too.
    """

    def __init__(self, kernel_size: Any, stride: Any = None, padding: Any = 0, dilation: Any = 1, return_indices: bool = False, ceil_mode: bool = False) -> None:
        ...

    def extra_repr(self) -> str:
        """Returns the windows."""

    def forward(self, x: Any) -> Any:
        """Returns the greatest element of each window. Differentiable."""

class AvgPool1D(Layer):
    """The mean of each window of sequences: `functional.avg_pool1d`, in Paddle's words.

    Args:
        kernel_size: how large windows are: a number, or one for each axis.
        stride: how far they lie apart; their size unless given.
        padding: places around the input, in the forms that `conv2d` takes.
        ceil_mode: whether a last window counts that reaches beyond the padding.
        exclusive, count_include_pad: whether zeros of the padding are left out of means, or count.
    """

    def __init__(self, kernel_size: Any, stride: Any = None, padding: Any = 0, exclusive: bool = True, ceil_mode: bool = False, name: str | None = None) -> None:
        ...

    def extra_repr(self) -> str:
        """Returns the windows."""

    def forward(self, x: Any) -> Any:
        """Returns the mean of each window. Differentiable."""

class AvgPool1d(Layer):
    """The mean of each window of sequences: `functional.avg_pool1d`, in PyTorch's words.

    Args:
        kernel_size: how large windows are: a number, or one for each axis.
        stride: how far they lie apart; their size unless given.
        padding: places around the input, in the forms that `conv2d` takes.
        ceil_mode: whether a last window counts that reaches beyond the padding.
        exclusive, count_include_pad: whether zeros of the padding are left out of means, or count.
    """

    def __init__(self, kernel_size: Any, stride: Any = None, padding: Any = 0, ceil_mode: bool = False, count_include_pad: bool = True, divisor_override: float | None = None) -> None:
        ...

    def extra_repr(self) -> str:
        """Returns the windows."""

    def forward(self, x: Any) -> Any:
        """Returns the mean of each window. Differentiable."""

class AdaptiveAvgPool1D(Layer):
    """The mean of each window of sequences: `functional.adaptive_avg_pool1d`, in Paddle's words.

    Args:
        output_size: how many windows along each axis; None for as many as there are elements.
    """

    def __init__(self, output_size: Any, data_format: str | None = None, name: str | None = None) -> None:
        ...

    def extra_repr(self) -> str:
        """Returns the windows."""

    def forward(self, x: Any) -> Any:
        """Returns the mean of each window. Differentiable."""

class AdaptiveAvgPool1d(Layer):
    """The mean of each window of sequences: `functional.adaptive_avg_pool1d`, in PyTorch's words.

    Args:
        output_size: how many windows along each axis; None for as many as there are elements.
    """

    def __init__(self, output_size: Any) -> None:
        ...

    def extra_repr(self) -> str:
        """Returns the windows."""

    def forward(self, x: Any) -> Any:
        """Returns the mean of each window. Differentiable."""

class AdaptiveMaxPool1D(Layer):
    """The greatest element of each window of sequences: `functional.adaptive_max_pool1d`, in Paddle's words.

    Args:
        output_size: how many windows along each axis; None for as many as there are elements.
        return_mask, return_indices: whether places are returned too.
    """

    def __init__(self, output_size: Any, return_mask: bool = False, name: str | None = None) -> None:
        ...

    def extra_repr(self) -> str:
        """Returns the windows."""

    def forward(self, x: Any) -> Any:
        """Returns the greatest element of each window. Differentiable."""

class AdaptiveMaxPool1d(Layer):
    """The greatest element of each window of sequences: `functional.adaptive_max_pool1d`, in PyTorch's words.

    Args:
        output_size: how many windows along each axis; None for as many as there are elements.
        return_mask, return_indices: whether places are returned too.
    """

    def __init__(self, output_size: Any, return_indices: bool = False) -> None:
        ...

    def extra_repr(self) -> str:
        """Returns the windows."""

    def forward(self, x: Any) -> Any:
        """Returns the greatest element of each window. Differentiable."""

class MaxPool2D(Layer):
    """The greatest element of each window of images: `functional.max_pool2d`, in Paddle's words.

    Args:
        kernel_size: how large windows are: a number, or one for each axis.
        stride: how far they lie apart; their size unless given.
        padding: places around the input, in the forms that `conv2d` takes.
        ceil_mode: whether a last window counts that reaches beyond the padding.
        return_mask, return_indices: whether places are returned too.
    """

    def __init__(self, kernel_size: Any, stride: Any = None, padding: Any = 0, return_mask: bool = False, ceil_mode: bool = False, data_format: str | None = None, name: str | None = None) -> None:
        ...

    def extra_repr(self) -> str:
        """Returns the windows."""

    def forward(self, x: Any) -> Any:
        """Returns the greatest element of each window. Differentiable."""

class MaxPool2d(Layer):
    """The greatest element of each window of images: `functional.max_pool2d`, in PyTorch's words.

    Args:
        kernel_size: how large windows are: a number, or one for each axis.
        stride: how far they lie apart; their size unless given.
        padding: places around the input, in the forms that `conv2d` takes.
        ceil_mode: whether a last window counts that reaches beyond the padding.
        return_mask, return_indices: whether places are returned too.
    """

    def __init__(self, kernel_size: Any, stride: Any = None, padding: Any = 0, dilation: Any = 1, return_indices: bool = False, ceil_mode: bool = False) -> None:
        ...

    def extra_repr(self) -> str:
        """Returns the windows."""

    def forward(self, x: Any) -> Any:
        """Returns the greatest element of each window. Differentiable."""

class AvgPool2D(Layer):
    """The mean of each window of images: `functional.avg_pool2d`, in Paddle's words.

    Args:
        kernel_size: how large windows are: a number, or one for each axis.
        stride: how far they lie apart; their size unless given.
        padding: places around the input, in the forms that `conv2d` takes.
        ceil_mode: whether a last window counts that reaches beyond the padding.
        exclusive, count_include_pad: whether zeros of the padding are left out of means, or count.
    """

    def __init__(self, kernel_size: Any, stride: Any = None, padding: Any = 0, ceil_mode: bool = False, exclusive: bool = True, divisor_override: float | None = None, data_format: str | None = None, name: str | None = None) -> None:
        ...

    def extra_repr(self) -> str:
        """Returns the windows."""

    def forward(self, x: Any) -> Any:
        """Returns the mean of each window. Differentiable."""

class AvgPool2d(Layer):
    """The mean of each window of images: `functional.avg_pool2d`, in PyTorch's words.

    Args:
        kernel_size: how large windows are: a number, or one for each axis.
        stride: how far they lie apart; their size unless given.
        padding: places around the input, in the forms that `conv2d` takes.
        ceil_mode: whether a last window counts that reaches beyond the padding.
        exclusive, count_include_pad: whether zeros of the padding are left out of means, or count.
    """

    def __init__(self, kernel_size: Any, stride: Any = None, padding: Any = 0, ceil_mode: bool = False, count_include_pad: bool = True, divisor_override: float | None = None) -> None:
        ...

    def extra_repr(self) -> str:
        """Returns the windows."""

    def forward(self, x: Any) -> Any:
        """Returns the mean of each window. Differentiable."""

class AdaptiveAvgPool2D(Layer):
    """The mean of each window of images: `functional.adaptive_avg_pool2d`, in Paddle's words.

    Args:
        output_size: how many windows along each axis; None for as many as there are elements.
    """

    def __init__(self, output_size: Any, data_format: str | None = None, name: str | None = None) -> None:
        ...

    def extra_repr(self) -> str:
        """Returns the windows."""

    def forward(self, x: Any) -> Any:
        """Returns the mean of each window. Differentiable."""

class AdaptiveAvgPool2d(Layer):
    """The mean of each window of images: `functional.adaptive_avg_pool2d`, in PyTorch's words.

    Args:
        output_size: how many windows along each axis; None for as many as there are elements.
    """

    def __init__(self, output_size: Any) -> None:
        ...

    def extra_repr(self) -> str:
        """Returns the windows."""

    def forward(self, x: Any) -> Any:
        """Returns the mean of each window. Differentiable."""

class AdaptiveMaxPool2D(Layer):
    """The greatest element of each window of images: `functional.adaptive_max_pool2d`, in Paddle's words.

    Args:
        output_size: how many windows along each axis; None for as many as there are elements.
        return_mask, return_indices: whether places are returned too.
    """

    def __init__(self, output_size: Any, return_mask: bool = False, name: str | None = None) -> None:
        ...

    def extra_repr(self) -> str:
        """Returns the windows."""

    def forward(self, x: Any) -> Any:
        """Returns the greatest element of each window. Differentiable."""

class AdaptiveMaxPool2d(Layer):
    """The greatest element of each window of images: `functional.adaptive_max_pool2d`, in PyTorch's words.

    Args:
        output_size: how many windows along each axis; None for as many as there are elements.
        return_mask, return_indices: whether places are returned too.
    """

    def __init__(self, output_size: Any, return_indices: bool = False) -> None:
        ...

    def extra_repr(self) -> str:
        """Returns the windows."""

    def forward(self, x: Any) -> Any:
        """Returns the greatest element of each window. Differentiable."""

class MaxPool3D(Layer):
    """The greatest element of each window of volumes: `functional.max_pool3d`, in Paddle's words.

    Args:
        kernel_size: how large windows are: a number, or one for each axis.
        stride: how far they lie apart; their size unless given.
        padding: places around the input, in the forms that `conv2d` takes.
        ceil_mode: whether a last window counts that reaches beyond the padding.
        return_mask, return_indices: whether places are returned too.
    """

    def __init__(self, kernel_size: Any, stride: Any = None, padding: Any = 0, return_mask: bool = False, ceil_mode: bool = False, data_format: str | None = None, name: str | None = None) -> None:
        ...

    def extra_repr(self) -> str:
        """Returns the windows."""

    def forward(self, x: Any) -> Any:
        """Returns the greatest element of each window. Differentiable."""

class MaxPool3d(Layer):
    """The greatest element of each window of volumes: `functional.max_pool3d`, in PyTorch's words.

    Args:
        kernel_size: how large windows are: a number, or one for each axis.
        stride: how far they lie apart; their size unless given.
        padding: places around the input, in the forms that `conv2d` takes.
        ceil_mode: whether a last window counts that reaches beyond the padding.
        return_mask, return_indices: whether places are returned too.
    """

    def __init__(self, kernel_size: Any, stride: Any = None, padding: Any = 0, dilation: Any = 1, return_indices: bool = False, ceil_mode: bool = False) -> None:
        ...

    def extra_repr(self) -> str:
        """Returns the windows."""

    def forward(self, x: Any) -> Any:
        """Returns the greatest element of each window. Differentiable."""

class AvgPool3D(Layer):
    """The mean of each window of volumes: `functional.avg_pool3d`, in Paddle's words.

    Args:
        kernel_size: how large windows are: a number, or one for each axis.
        stride: how far they lie apart; their size unless given.
        padding: places around the input, in the forms that `conv2d` takes.
        ceil_mode: whether a last window counts that reaches beyond the padding.
        exclusive, count_include_pad: whether zeros of the padding are left out of means, or count.
    """

    def __init__(self, kernel_size: Any, stride: Any = None, padding: Any = 0, ceil_mode: bool = False, exclusive: bool = True, divisor_override: float | None = None, data_format: str | None = None, name: str | None = None) -> None:
        ...

    def extra_repr(self) -> str:
        """Returns the windows."""

    def forward(self, x: Any) -> Any:
        """Returns the mean of each window. Differentiable."""

class AvgPool3d(Layer):
    """The mean of each window of volumes: `functional.avg_pool3d`, in PyTorch's words.

    Args:
        kernel_size: how large windows are: a number, or one for each axis.
        stride: how far they lie apart; their size unless given.
        padding: places around the input, in the forms that `conv2d` takes.
        ceil_mode: whether a last window counts that reaches beyond the padding.
        exclusive, count_include_pad: whether zeros of the padding are left out of means, or count.
    """

    def __init__(self, kernel_size: Any, stride: Any = None, padding: Any = 0, ceil_mode: bool = False, count_include_pad: bool = True, divisor_override: float | None = None) -> None:
        ...

    def extra_repr(self) -> str:
        """Returns the windows."""

    def forward(self, x: Any) -> Any:
        """Returns the mean of each window. Differentiable."""

class AdaptiveAvgPool3D(Layer):
    """The mean of each window of volumes: `functional.adaptive_avg_pool3d`, in Paddle's words.

    Args:
        output_size: how many windows along each axis; None for as many as there are elements.
    """

    def __init__(self, output_size: Any, data_format: str | None = None, name: str | None = None) -> None:
        ...

    def extra_repr(self) -> str:
        """Returns the windows."""

    def forward(self, x: Any) -> Any:
        """Returns the mean of each window. Differentiable."""

class AdaptiveAvgPool3d(Layer):
    """The mean of each window of volumes: `functional.adaptive_avg_pool3d`, in PyTorch's words.

    Args:
        output_size: how many windows along each axis; None for as many as there are elements.
    """

    def __init__(self, output_size: Any) -> None:
        ...

    def extra_repr(self) -> str:
        """Returns the windows."""

    def forward(self, x: Any) -> Any:
        """Returns the mean of each window. Differentiable."""

class AdaptiveMaxPool3D(Layer):
    """The greatest element of each window of volumes: `functional.adaptive_max_pool3d`, in Paddle's words.

    Args:
        output_size: how many windows along each axis; None for as many as there are elements.
        return_mask, return_indices: whether places are returned too.
    """

    def __init__(self, output_size: Any, return_mask: bool = False, name: str | None = None) -> None:
        ...

    def extra_repr(self) -> str:
        """Returns the windows."""

    def forward(self, x: Any) -> Any:
        """Returns the greatest element of each window. Differentiable."""

class AdaptiveMaxPool3d(Layer):
    """The greatest element of each window of volumes: `functional.adaptive_max_pool3d`, in PyTorch's words.

    Args:
        output_size: how many windows along each axis; None for as many as there are elements.
        return_mask, return_indices: whether places are returned too.
    """

    def __init__(self, output_size: Any, return_indices: bool = False) -> None:
        ...

    def extra_repr(self) -> str:
        """Returns the windows."""

    def forward(self, x: Any) -> Any:
        """Returns the greatest element of each window. Differentiable."""
