"""The built-in ops as functions with NumPy's and Paddle's argument conventions; they take any runtime's values.

Written by `python -m tests.contracts.stubs`.
"""

from collections.abc import Sequence
from typing import Any

from opsdk.core.dtype import DTypeLike
from opsdk.define.op import Op

relu: Op
sigmoid: Op
tanh: Op
angle: Op
conj: Op
imag: Op
real: Op
abs: Op
cos: Op
erf: Op
exp: Op
expm1: Op
log: Op
log1p: Op
reciprocal: Op
rsqrt: Op
sign: Op
sin: Op
sqrt: Op
square: Op
tan: Op
equal: Op
where: Op
matmul: Op
add: Op
subtract: Op
multiply: Op
divide: Op
pow: Op
maximum: Op
minimum: Op

def softmax(x: Any, axis: int = -1) -> Any:
    """Returns exp(x) normalised to sum 1 along an axis. Differentiable."""

def log_softmax(x: Any, axis: int = -1) -> Any:
    """Returns the logarithm of softmax. Differentiable."""

def logsumexp(x: Any, axis: int | Sequence[int] | None = None, keepdim: bool = False) -> Any:
    """Returns the logarithm of the sum of exp(x) over axes, all unless given; nothing overflows.
    Differentiable.
    """

def clip(x: Any, min: float | None = None, max: float | None = None) -> Any:
    """Returns x held inside [min, max]. Differentiable; the bounds count as inside.

    Raises:
        DTypeError: a bound is a whole number that the floats of x would round; one written as a float
    is rounded.
    """

def sum(x: Any, axis: int | Sequence[int] | None = None, keepdim: bool = False) -> Any:
    """Returns the sum over axes, all unless given. Differentiable."""

def mean(x: Any, axis: int | Sequence[int] | None = None, keepdim: bool = False) -> Any:
    """Returns the mean over axes, all unless given. Differentiable."""

def max(x: Any, axis: int | Sequence[int] | None = None, keepdim: bool = False) -> Any:
    """Returns the greatest element over axes. Differentiable; ties share the gradient."""

def min(x: Any, axis: int | Sequence[int] | None = None, keepdim: bool = False) -> Any:
    """Returns the least element over axes. Differentiable; ties share the gradient."""

def cumsum(x: Any, axis: int | None = None, dtype: DTypeLike | None = None) -> Any:
    """Returns the sums of the elements up to each along an axis, of x flattened unless given. Differentiable."""

def argmax(x: Any, axis: int | None = None, keepdim: bool = False) -> Any:
    """Returns the position of the greatest element along an axis, or in x flattened; int64. Not differentiable."""

def cast(x: Any, dtype: DTypeLike) -> Any:
    """Returns x in another dtype. Differentiable between float dtypes."""

def reshape(x: Any, shape: Sequence[int]) -> Any:
    """Returns x in another shape; -1 once for a size that follows, 0 for the input's own. Differentiable."""

def expand(x: Any, shape: Sequence[int]) -> Any:
    """Returns x broadcast to a shape; -1 for its own size there, sizes of Variables for theirs. Differentiable."""

def pad(x: Any, pad: Sequence[int], mode: str = 'constant', value: float = 0.0) -> Any:
    """Returns x with elements put before and after along its axes. Differentiable.

    Args:
        x: of any runtime.
        pad: a pair (before, after) for each axis, as NumPy has it; or numbers for fewer than all axes,
    those of the
            last axis first, as PyTorch and Paddle have it.
        mode: `constant`, `reflect`, `replicate` or `circular`.
        value: what is put there where the mode is constant.

    Raises:
        ShapeError: numbers for all axes, which PyTorch and Paddle read in opposite orders; or a number
    below 0.
        AttributeValueError: another mode.
    """

def split(x: Any, num_or_sections: int | Sequence[int], axis: int = 0) -> list[Any]:
    """Returns the pieces of x along an axis: so many of one size, or one of each size listed, of which one
    may be -1.

    A number says how many there are, as in Paddle and NumPy; PyTorch's says how large they are.
    Differentiable.
    """

def transpose(x: Any, perm: Sequence[int]) -> Any:
    """Returns x with its axes in another order. Differentiable."""

def unsqueeze(x: Any, axis: int | Sequence[int]) -> Any:
    """Returns x with axes of size 1 put in. Differentiable."""

def squeeze(x: Any, axis: int | Sequence[int] | None = None) -> Any:
    """Returns x without axes of size 1: all, or those of `axis`; () is all, as in Paddle. Differentiable."""

def flatten(x: Any, start_axis: int = 0, stop_axis: int = -1) -> Any:
    """Returns x with a range of axes joined into one. Differentiable."""

def concat(x: Sequence[Any], axis: int = 0) -> Any:
    """Returns the values one after another along an axis. Differentiable."""

def stack(x: Sequence[Any], axis: int = 0) -> Any:
    """Returns the values side by side along a new axis. Differentiable."""

def gather(x: Any, index: Any, axis: int = 0) -> Any:
    """Returns slices of x along an axis, at integer positions. Differentiable in x."""
