"""Layers that drop: what they do while they train, and nothing while they are evaluated."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from opsdk.core.errors import AttributeValueError, ShapeError
from opsdk.nn import dropout as functions
from opsdk.nn.functions.words import put
from opsdk.nn.layer.layer import Layer


# Any, in this file: tensors, variables or arrays, and the same out.
class _Dropping(Layer):
    """What all layers that drop are made with."""

    inplace = False

    def __init__(self, p: float, name: str | None = None) -> None:
        super().__init__(name)
        functions.check_probability(p, type(self).__name__)
        self.p = p

    def _put(self, x: Any, made: Any) -> Any:
        return put(x, made, type(self).__name__) if self.inplace else made

    def extra_repr(self) -> str:
        """Returns the probability."""
        return f"p={self.p}"


class Dropout(_Dropping):
    """Sets elements to 0 with probability p while it trains; evaluated, it is the identity (Srivastava et al. 2014).

    Args:
        p: probability of 0, in [0, 1].
        axis: the axes along which elements are dropped one by one; along all others together. All unless given.
        mode: `upscale_in_train` divides what is kept by 1 - p; `downscale_in_infer` multiplies by 1 - p when evaluated.
        name: start of the layer's unique name.
        inplace: puts what comes out in the place of what goes in, which has to be a tensor.

    Raises:
        AttributeValueError: p or the mode is none of these.
    """

    def __init__(
        self,
        p: float = 0.5,
        axis: int | Sequence[int] | None = None,
        mode: str = functions.MODES[0],
        name: str | None = None,
        inplace: bool = False,
    ) -> None:
        super().__init__(p, name)
        if isinstance(axis, bool):  # PyTorch's second argument
            axis, inplace = None, axis or inplace
        if mode not in functions.MODES:
            raise AttributeValueError(f"Dropout: mode expected {' or '.join(functions.MODES)}, got {mode!r}")
        self.axis = axis
        self.mode = mode
        self.inplace = inplace

    def forward(self, x: Any) -> Any:
        """Returns x with elements set to 0. Differentiable."""
        return self._put(x, functions.dropout(x, self.p, self.axis, self.training, self.mode))

    def extra_repr(self) -> str:
        """Returns the arguments, as Paddle prints them."""
        return f"p={self.p}, axis={self.axis}, mode={self.mode}, inplace={self.inplace}"


class _MapDropping(_Dropping):
    """Paddle's layers that drop whole maps."""

    _axes: int

    def __init__(self, p: float = 0.5, data_format: str | None = None, name: str | None = None) -> None:
        super().__init__(p, name)
        wanted = functions.FORMATS[self._axes][0] if data_format is None else data_format
        functions.check_format(wanted, self._axes, type(self).__name__)
        self.data_format = wanted

    def forward(self, x: Any) -> Any:
        """Returns x with whole maps set to 0. Differentiable."""
        function = functions.dropout2d if self._axes == 4 else functions.dropout3d
        return function(x, self.p, self.training, self.data_format)

    def extra_repr(self) -> str:
        """Returns the arguments."""
        return f"p={self.p}, data_format={self.data_format}"


class Dropout2D(_MapDropping):
    """Sets whole maps of images to 0 with probability p while it trains (Tompson et al. 2015).

    Args:
        p: probability of 0, in [0, 1]; what is kept is divided by 1 - p.
        data_format: `NCHW` unless given, or `NHWC`.
        name: start of the layer's unique name.

    Raises:
        AttributeValueError: p or the format is none of these.
    """

    _axes = 4


class Dropout3D(_MapDropping):
    """Sets whole maps of volumes to 0 with probability p while it trains; NCDHW unless given, or NDHWC.

    Raises:
        AttributeValueError: p or the format is none of these.
    """

    _axes = 5


class _Channels(_Dropping):
    """PyTorch's layers that drop whole channels, which stand on axis 1, or 0 of what has no axis for a batch."""

    _axes: tuple[int, ...]

    def __init__(self, p: float = 0.5, inplace: bool = False) -> None:
        super().__init__(p)
        self.inplace = inplace

    def forward(self, x: Any) -> Any:
        """Returns x with whole channels set to 0. Differentiable.

        Raises:
            ShapeError: x has another number of axes.
        """
        ndim = len(x.shape)
        if ndim not in self._axes:
            wanted = " or ".join(map(str, self._axes))
            raise ShapeError(f"{type(self).__name__}: x expected {wanted} axes, got shape {tuple(x.shape)}")
        has_batch = ndim == self._axes[-1] or type(self) is Dropout2d
        return self._put(x, functions.dropout(x, self.p, [0, 1] if has_batch else [0], self.training))

    def extra_repr(self) -> str:
        """Returns the arguments, as PyTorch prints them."""
        return f"p={self.p}, inplace={self.inplace}"


class Dropout1d(_Channels):
    """Drops whole channels of x of shape (N, C, L) or (C, L), in PyTorch's words."""

    _axes = 2, 3


class Dropout2d(_Channels):
    """Drops whole channels of x of shape (N, C, H, W), in PyTorch's words; three axes are (N, C, L)."""

    _axes = 3, 4


class Dropout3d(_Channels):
    """Drops whole channels of x of shape (N, C, D, H, W) or (C, D, H, W), in PyTorch's words."""

    _axes = 4, 5


class AlphaDropout(_Dropping):
    """Sets elements to the least value of SELU with probability p while it trains; mean 0 and variance 1 stay.

    Klambauer et al. 2017, Self-Normalizing Neural Networks.

    Args:
        p: the probability, in [0, 1].
        name: start of the layer's unique name.
        inplace: puts what comes out in the place of what goes in, which has to be a tensor.

    Raises:
        AttributeValueError: p lies outside.
    """

    def __init__(self, p: float = 0.5, name: str | None = None, *, inplace: bool = False) -> None:
        super().__init__(p, name)
        self.inplace = inplace

    def forward(self, x: Any) -> Any:
        """Returns x with elements replaced. Differentiable."""
        return self._put(x, functions.alpha_dropout(x, self.p, self.training))


class DropBlock(_Dropping):
    """Sets square blocks of each map to 0 while it trains, about a share of p (Ghiasi et al. 2018, DropBlock).

    Args:
        p: the share, in [0, 1]; what is kept is scaled to the mean of before.
        block_size: the side of a block, ≥ 1.
        name: start of the layer's unique name.

    Raises:
        AttributeValueError: p or the block size is none of these.
    """

    def __init__(self, p: float = 0.5, block_size: int = 7, name: str | None = None) -> None:
        super().__init__(p, name)
        functions.check_side(block_size, "DropBlock")
        self.block_size = block_size

    def forward(self, x: Any) -> Any:
        """Returns x, of shape (N, C, H, W), with blocks set to 0. Differentiable."""
        return functions.drop_block(x, self.p, self.block_size, self.training)

    def extra_repr(self) -> str:
        """Returns the arguments."""
        return f"p={self.p}, block_size={self.block_size}"


LAYERS = Dropout, Dropout2D, Dropout3D, Dropout1d, Dropout2d, Dropout3d, AlphaDropout, DropBlock
