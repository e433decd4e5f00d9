"""The built-in ops as functions with NumPy's and Paddle's argument conventions; they take any runtime's values."""

# ruff: noqa: F401 - the ops that are imported here are public functions as they are
from __future__ import annotations

import builtins
from collections.abc import Sequence
from types import FunctionType
from typing import Any

import numpy as np

from opsdk.core import sums
from opsdk.core.dtype import DTypeLike, as_dtype, computed_in, is_differentiable
from opsdk.core.errors import AttributeValueError, DTypeError, ShapeError
from opsdk.core.fit import shown
from opsdk.core.spec import OpenSize
from opsdk.core.spellings import spelled
from opsdk.define.frontend import owner_of
from opsdk.define.infer import normalize_axes
from opsdk.define.op import Op
from opsdk.expr.exact import holds
from opsdk.ops import (
    composed,
    elementary,
    elementwise,
    joining,
    normalization,
    positions,
    reduction,
    resizing,
)
from opsdk.ops import shape as moving
from opsdk.ops.activation import relu, sigmoid, tanh
from opsdk.ops.angle import angle
from opsdk.ops.complex import conj, imag, real
from opsdk.ops.composed import *  # noqa: F403 - those that are made of several ops
from opsdk.ops.composites import aliases, arranging, formulas, ordering, places, products, statistics, torchs
from opsdk.ops.composites.arranging import *  # noqa: F403
from opsdk.ops.composites.formulas import *  # noqa: F403
from opsdk.ops.composites.ordering import *  # noqa: F403
from opsdk.ops.composites.places import *  # noqa: F403
from opsdk.ops.composites.products import *  # noqa: F403
from opsdk.ops.composites.statistics import *  # noqa: F403
from opsdk.ops.einsum import einsum
from opsdk.ops.elementary import *  # noqa: F403 - of one value each
from opsdk.ops.elements import indexing
from opsdk.ops.elementwise import atan2, copysign, floor_divide, fmod, hypot, logaddexp, remainder
from opsdk.ops.integers import *  # noqa: F403 - of whole numbers
from opsdk.ops.lines import along_axis, by_position, moments, sorting
from opsdk.ops.lines.by_position import gather_nd, index_add, index_sample, index_select, scatter
from opsdk.ops.lines.moments import norm, std, var
from opsdk.ops.logical import *  # noqa: F403 - those that tell true from false
from opsdk.ops.matmul import matmul

# Any, in this file: arrays, tensors or Program variables, and the same out.
add = elementwise.elementwise_add
subtract = elementwise.elementwise_sub
multiply = elementwise.elementwise_mul
divide = elementwise.elementwise_div
pow = elementwise.elementwise_pow
maximum = elementwise.elementwise_max
minimum = elementwise.elementwise_min
shape = positions.shape
where, round = places.where, formulas.round  # ops of these names come with others


# Any: arrays, tensors or Program variables, in whatever gives them one by one.
def _as_parts(values: Any, subject: str) -> list[Any]:
    """Returns the values that are joined as a list: those of any iterable, the rows of an array or tensor.

    Raises:
        AttributeValueError: nothing is in it.
    """
    has_parts = not isinstance(values, (str, bytes, dict)) and hasattr(values, "__iter__")
    if not has_parts or getattr(values, "ndim", 1) == 0:
        raise AttributeValueError(f"{subject}: x expected a list of values to join, got {type(values).__name__}")
    return list(values)


def softmax(x: Any, axis: int = -1, dtype: DTypeLike | None = None) -> Any:
    """Returns exp(x) normalised to sum 1 along an axis. Differentiable."""
    return normalization.softmax(x if dtype is None else cast(x, dtype), axis=axis)


def log_softmax(x: Any, axis: int = -1, dtype: DTypeLike | None = None) -> Any:
    """Returns the logarithm of softmax. Differentiable."""
    return normalization.log_softmax(x if dtype is None else cast(x, dtype), axis=axis)


def logsumexp(x: Any, axis: int | Sequence[int] | None = None, keepdim: bool = False) -> Any:
    """Returns the logarithm of the sum of exp(x) over axes, all unless given; nothing overflows. Differentiable."""
    x = moving.as_value(x)
    ndim = len(x.shape)
    axes = normalize_axes(moving.as_axes(axis), ndim, "op 'opsdk::logsumexp'")
    last = axes if len(axes) == 1 else (-1,)
    if len(axes) != 1:  # they lie last, as one
        lead = [i for i in range(ndim) if i not in axes]
        x = flatten(transpose(x, [*lead, *axes]), len(lead)) if axes else unsqueeze(x, -1)
    made = normalization.logsumexp(x, axis=last[0])
    return unsqueeze(made, axes) if keepdim else made


def clip(x: Any, min: Any = None, max: Any = None) -> Any:
    """Returns x held inside [min, max]: numbers, or values that broadcast. Differentiable; bounds count as inside.

    Raises:
        DTypeError: a bound is a whole number that the floats of x would round; one written as a float is rounded.
    """
    if builtins.any(hasattr(bound, "shape") and not isinstance(bound, np.generic) for bound in (min, max)):
        x = x if min is None else maximum(x, min)
        return x if max is None else minimum(x, max)
    dtype = getattr(x, "dtype", None)
    wide = None if dtype is None or not is_differentiable(dtype) else computed_in(dtype)
    for name, bound in (("min", min), ("max", max)):
        if wide is not None and isinstance(bound, (int, np.integer)) and not holds(wide, int(bound)):
            raise DTypeError(
                f"op 'opsdk::clip': {name} expected a whole number that {wide} holds, got {shown(int(bound))}; write "
                "it as a float where it may be rounded, or cast the tensor beside it"
            )
    return elementary.clip(x, min=min, max=max)


def sum(x: Any, axis: int | Sequence[int] | None = None, keepdim: bool = False, dtype: DTypeLike | None = None) -> Any:
    """Returns the sum over axes, all unless given, in a dtype, that of x unless given. Differentiable."""
    x = x if dtype is None else cast(x, dtype)
    if axis is None and not keepdim:
        return reduction.reduce_sum(x)
    return reduction.reduce_sum(x, axis=moving.as_axes(axis), keepdim=keepdim)


def mean(x: Any, axis: int | Sequence[int] | None = None, keepdim: bool = False) -> Any:
    """Returns the mean over axes, all unless given. Differentiable."""
    if axis is None and not keepdim:
        return reduction.reduce_mean(x)
    return reduction.reduce_mean(x, axis=moving.as_axes(axis), keepdim=keepdim)


def max(x: Any, axis: int | Sequence[int] | None = None, keepdim: bool = False) -> Any:
    """Returns the greatest element over axes. Differentiable; ties share the gradient."""
    return reduction.reduce_max(x, axis=moving.as_axes(axis), keepdim=keepdim)


def min(x: Any, axis: int | Sequence[int] | None = None, keepdim: bool = False) -> Any:
    """Returns the least element over axes. Differentiable; ties share the gradient."""
    return reduction.reduce_min(x, axis=moving.as_axes(axis), keepdim=keepdim)


def cumsum(x: Any, axis: int | None = None, dtype: DTypeLike | None = None) -> Any:
    """Returns the sums of the elements up to each along an axis, of x flattened unless given. Differentiable."""
    x = moving.as_value(x) if dtype is None else cast(x, dtype)
    return reduction.cumsum(reshape(x, [-1]) if axis is None else x, axis=0 if axis is None else axis)


def numel(x: Any) -> Any:
    """Returns the number of elements, as a value of int64 to compute with. Not differentiable."""
    return composed.prod(shape(moving.as_value(x)))


def argmin(x: Any, axis: int | None = None, keepdim: bool = False) -> Any:
    """Returns the position of the least element along an axis, or in x flattened; int64. Not differentiable."""
    return reduction.argmin(x, axis=axis, keepdim=keepdim)


def argmax(x: Any, axis: int | None = None, keepdim: bool = False) -> Any:
    """Returns the position of the greatest element along an axis, or in x flattened; int64. Not differentiable."""
    return reduction.argmax(x, axis=axis, keepdim=keepdim)


def cast(x: Any, dtype: DTypeLike) -> Any:
    """Returns x in another dtype. Differentiable between float dtypes."""
    return moving.cast(x, dtype=as_dtype(dtype))


def reshape(x: Any, shape: Sequence[int]) -> Any:
    """Returns x in another shape; -1 once for a size that follows, 0 for the input's own. Differentiable."""
    return moving.reshaped(x, shape)


def expand(x: Any, shape: Sequence[int]) -> Any:
    """Returns x broadcast to a shape; -1 for its own size there, sizes of Variables for theirs. Differentiable."""
    return resizing.expanded(moving.as_value(x), shape)


def pad(x: Any, pad: Sequence[int], mode: str = "constant", value: float = 0.0) -> Any:
    """Returns x with elements put before and after along its axes. Differentiable.

    Args:
        x: of any runtime.
        pad: a pair (before, after) for each axis, as NumPy has it; or numbers for fewer than all axes, those of the
            last axis first, as PyTorch and Paddle have it.
        mode: `constant`, `reflect`, `replicate` or `circular`.
        value: what is put there where the mode is constant.

    Raises:
        ShapeError: numbers for all axes, which PyTorch and Paddle read in opposite orders; or a number below 0.
        AttributeValueError: another mode.
    """
    x = moving.as_value(x)
    return resizing.pad(x, pad=resizing.widths_of(x, pad), mode=mode, value=value)


def split(x: Any, num_or_sections: int | Sequence[int], axis: int = 0) -> list[Any]:
    """Returns the pieces of x along an axis: so many of one size, or one of each size listed, of which one may be -1.

    A number says how many there are, as in Paddle and NumPy; PyTorch's says how large they are. Differentiable.
    """
    if isinstance(num_or_sections, (int, np.integer)):
        return joining.split(x, num=num_or_sections, axis=axis)  # type: ignore[no-any-return]
    return joining.split(x, sections=list(num_or_sections), axis=axis)  # type: ignore[no-any-return]


def transpose(x: Any, perm: Sequence[int]) -> Any:
    """Returns x with its axes in another order. Differentiable."""
    return moving.transpose(x, perm=moving.as_axes(perm))


def unsqueeze(x: Any, axis: int | Sequence[int]) -> Any:
    """Returns x with axes of size 1 put in. Differentiable."""
    return moving.unsqueeze(x, axis=moving.as_axes(axis))


def squeeze(x: Any, axis: int | Sequence[int] | None = None) -> Any:
    """Returns x without axes of size 1: all, or those of `axis`; () is all, as in Paddle. Differentiable."""
    return moving.squeeze(x, axis=moving.as_axes(axis))


def flatten(x: Any, start_axis: int = 0, stop_axis: int = -1) -> Any:
    """Returns x with a range of axes joined into one. Differentiable."""
    return moving.flatten(x, start_axis=start_axis, stop_axis=stop_axis)


def concat(x: Sequence[Any], axis: int = 0) -> Any:
    """Returns the values one after another along an axis. Differentiable."""
    return joining.concat(_as_parts(x, "concat"), axis=axis)


def stack(x: Sequence[Any], axis: int = 0) -> Any:
    """Returns the values side by side along a new axis. Differentiable."""
    return joining.stack(_as_parts(x, "stack"), axis=axis)


def gather(x: Any, index: Any, axis: int = 0) -> Any:
    """Returns slices of x along an axis, at integer positions. Differentiable in x."""
    return joining.gather(x, index, axis=axis)


def take_along_axis(x: Any, index: Any, axis: int = -1) -> Any:
    """Returns elements of each line of x along an axis, at positions of its own. Differentiable in x."""
    return along_axis.take_along_axis(x, index, axis=axis)


def put_along_axis(x: Any, index: Any, values: Any, axis: int = -1) -> Any:
    """Returns x with values where `take_along_axis` takes its elements; x stays as it is. Differentiable in both."""
    return along_axis.put_along_axis(x, index, values, axis=axis)


def scatter_add(x: Any, index: Any, values: Any, axis: int = -1) -> Any:
    """Returns x with values added where `take_along_axis` takes its elements. Differentiable in both.

    As in NumPy, the index has the axes of x, and all others than `axis` broadcast; PyTorch also takes one that is
    smaller than x there, which is `scatter_add` to a slice of x.
    """
    return along_axis.scatter_add(x, index, values, axis=axis)


def sum_to(x: Any, shape: Sequence[Any]) -> Any:
    """Returns x summed over the axes along which a shape was broadcast to it, x itself where none was. Differentiable.

    float16 and bfloat16 are added in float32; all sums are taken in blocks and rounded once.

    Args:
        x: of any dtype and of a shape that `shape` broadcasts to.
        shape: the shape wanted, sizes ≥ 0; or the whole shape of a Variable, with sizes that only a run can tell.

    Raises:
        ShapeError: the shape does not broadcast to that of x.

    Example:
        >>> sum_to(np.ones((2, 3)), (3,))
        array([2., 2., 2.])
    """
    wanted = tuple(shape)
    first = next((size for size in wanted if isinstance(size, OpenSize)), None)
    if first is not None:
        own = tuple(first.owner.shape)
        if len(own) != len(wanted) or not builtins.all(map(_is_same_size, wanted, own)):
            raise first.unknown("a number for sum_to")
        return reduction.sum_to_like(x, first.owner)
    if owner_of(x) is None:
        return reduction.sum_to(x, wanted)
    have = [None if isinstance(size, OpenSize) else size for size in x.shape]
    if tuple(have) == wanted:
        return x
    axes = reduction.stretched_axes(have, wanted)
    return reshape(reduction.reduce_sum(x, axis=axes, keepdim=True) if axes else x, wanted)


def _is_same_size(size: Any, other: Any) -> bool:
    if isinstance(size, OpenSize) or isinstance(other, OpenSize):
        return isinstance(size, OpenSize) and isinstance(other, OpenSize) and size.is_of(other.owner, other.axis)
    return bool(size == other)


def sum_at(values: Any, index: Any, size: Any) -> Any:
    """Sums values by their positions: element `i` of the result is the sum of the values whose index is `i`.

    Differentiable in the values.

    Args:
        values: numeric, of shape (*index.shape, *rest).
        index: integer positions in [0, size).
        size: length of the first axis of the result; of a Variable also one that only a run can tell.

    Returns:
        Of shape (size, *rest) and of the values' dtype, zero where no value belongs. Sums of many values are taken in
        blocks, those of float16 and bfloat16 in float32, and rounded once.

    Raises:
        DTypeError: the index holds other than integers.
        ShapeError: the values' shape does not begin with that of the index, or the size is none.
        InputValueError: a position lies outside.

    Example:
        >>> sum_at(np.array([1.0, 2.0, 4.0]), np.array([0, 2, 0]), 3)
        array([5., 0., 2.])
    """
    if owner_of(values) is None and owner_of(index) is None and not isinstance(size, OpenSize):
        return sums.sum_at(values, index, size)  # what references call, on arrays of any place
    like, attrs = positions.size_of(size, "sum_at")
    return positions.sum_at(values, index, like, **attrs)


def one_hot(x: Any, num_classes: Any = -1, dtype: DTypeLike = "float32") -> Any:
    """Returns 1 where a new last axis equals the class of x, else 0. Not differentiable.

    Args:
        x: integer classes in [0, num_classes).
        num_classes: length of the new axis; of a Variable also one that only a run can tell. -1 is one more than the
            greatest class, which a Variable does not know.
        dtype: of the result.

    Raises:
        ShapeError: a class lies outside, or the number is none.
    """
    if isinstance(num_classes, int) and num_classes == -1 and hasattr(x, "numpy"):
        num_classes = int(x.numpy().max()) + 1 if x.numpy().size else -1
    like, attrs = positions.size_of(num_classes, "one_hot", "num_classes")
    return positions.one_hot(x, like, dtype=as_dtype(dtype, "one_hot"), **attrs)


_HOMES = {
    __name__,
    einsum.__module__,
    *(
        each.__name__
        for each in (composed, by_position, moments, arranging, formulas, ordering, places, products, statistics)
    ),
}
for _name, _value in list(vars().items()):
    if isinstance(_value, FunctionType) and not _name.startswith("_") and _value.__module__ in _HOMES:
        globals()[_name] = spelled(_value, torchs.FORMS.get(_name))
globals().update({alias: globals()[name] for alias, name in aliases.ALIASES.items()})


def _is_public(name: str, value: object) -> bool:
    """Whether something is one of these functions: an op as it is, or what stands here or in a file for itself."""
    return not name.startswith("_") and (isinstance(value, Op) or getattr(value, "__module__", "") in _HOMES)


__all__ = [name for name, value in vars().items() if _is_public(name, value)]
