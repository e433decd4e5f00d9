"""ValueMethods: the operators and methods that tensors and Program variables share, each a call of an op."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from opsdk.core.dtype import DTypeLike, as_dtype
from opsdk.core.errors import AttributeValueError
from opsdk.core.written import written
from opsdk.define.op import Op
from opsdk.ops import activation, compare, elementary, elementwise, joining, matmul, reduction, shape
from opsdk.ops import complex as complex_numbers
from opsdk.ops.numpy_protocol import NumpyProtocol

_MOST = 2**24  # whole numbers up to it are numbers of every dtype that is computed in
_TINY, _HELD = 1e-44, 3e38  # between these float32, in which 16-bit numbers are computed, surely holds a float


# Any: what is no list of axes reaches the attribute, which says so.
def as_axes(axis: Any) -> Any:
    """Returns an axis argument as the list that reductions take."""
    if isinstance(axis, np.ndarray):
        axis = axis.tolist()
    if isinstance(axis, (int, np.integer)):
        return [axis]
    return list(axis) if hasattr(axis, "__iter__") and not isinstance(axis, (str, bytes)) else axis


# Any: arrays, tensors or Program variables, in whatever gives them one by one.
def as_parts(values: Any, subject: str) -> list[Any]:
    """Returns the values that are joined as a list: those of any iterable, the rows of an array or tensor.

    Raises:
        AttributeValueError: nothing is in it.
    """
    has_parts = not isinstance(values, (str, bytes, dict)) and hasattr(values, "__iter__")
    if not has_parts or getattr(values, "ndim", 1) == 0:
        raise AttributeValueError(f"{subject}: x expected a list of values to join, got {type(values).__name__}")
    return list(values)


# Any: a tensor or Program variable, and the same back.
def _method(op: Op) -> Callable[[Any], Any]:
    """Returns an op of one tensor as a method."""
    made: Callable[[Any], Any] = written(
        lambda self: op(self),
        f"ValueMethods.{op.__name__}",
        {"return": "Any"},
        module=__name__,
        doc=f"{op.opdef.doc} Differentiable.",
        self=True,
        origin=op.opdef.origin,
    )
    return made


# Any, in this file: `self` and the results are tensors or Program variables; operands may also be arrays or numbers.
class ValueMethods(NumpyProtocol):
    """Arithmetic, comparison, indexing and the common functions as methods.

    Whatever `self` is, the result is of the same runtime. Numbers take the dtype of `self`.
    """

    __slots__ = ()

    # -- arithmetic ---------------------------------------------------------------------------------------------------

    def __add__(self, other: Any) -> Any:
        return elementwise.scale(self, bias=float(other)) if _is_number(self, other) else _call("add", self, other)

    __radd__ = __add__

    def __sub__(self, other: Any) -> Any:
        return elementwise.scale(self, bias=-float(other)) if _is_number(self, other) else _call("sub", self, other)

    def __rsub__(self, other: Any) -> Any:
        if _is_number(self, other):
            return elementwise.scale(self, scale=-1.0, bias=float(other))
        return _call("sub", other, self)

    def __mul__(self, other: Any) -> Any:
        return elementwise.scale(self, scale=float(other)) if _is_number(self, other) else _call("mul", self, other)

    def __rmul__(self, other: Any) -> Any:
        return elementwise.scale(self, scale=float(other)) if _is_number(self, other) else _call("mul", other, self)

    def __truediv__(self, other: Any) -> Any:
        return _call("div", self, other)

    def __rtruediv__(self, other: Any) -> Any:
        return _call("div", other, self)

    def __pow__(self, other: Any) -> Any:
        return _call("pow", self, other)

    def __rpow__(self, other: Any) -> Any:
        return _call("pow", other, self)

    def __neg__(self) -> Any:
        return elementwise.scale(self, scale=-1.0)

    def __matmul__(self, other: Any) -> Any:
        return matmul.matmul(self, other)

    def __rmatmul__(self, other: Any) -> Any:
        return matmul.matmul(other, self)

    def __abs__(self) -> Any:
        return elementary.abs(self)

    # -- comparison ---------------------------------------------------------------------------------------------------

    def __lt__(self, other: Any) -> Any:
        return compare.less_than(self, other)

    def __le__(self, other: Any) -> Any:
        return compare.less_equal(self, other)

    def __gt__(self, other: Any) -> Any:
        return compare.greater_than(self, other)

    def __ge__(self, other: Any) -> Any:
        return compare.greater_equal(self, other)

    def __eq__(self, other: object) -> Any:
        return NotImplemented if other is None or isinstance(other, str) else compare.equal(self, other)

    def __ne__(self, other: object) -> Any:
        return NotImplemented if other is None or isinstance(other, str) else compare.not_equal(self, other)

    __hash__ = object.__hash__

    # -- elements -----------------------------------------------------------------------------------------------------

    def __getitem__(self, index: Any) -> Any:
        return joining.getitem(self, index=joining.encode_index(index))

    def astype(self, dtype: DTypeLike) -> Any:
        """Returns the value in another dtype; differentiable between float dtypes."""
        return shape.cast(self, dtype=as_dtype(dtype))

    cast = astype

    def clone(self) -> Any:
        """Returns a copy that gradients flow through."""
        return shape.assign(self)

    def reshape(self, *sizes: Any) -> Any:
        """Returns the elements in another shape; -1 once for a size that follows. Differentiable."""
        wanted = sizes[0] if len(sizes) == 1 and isinstance(sizes[0], (list, tuple, np.ndarray)) else sizes
        return shape.reshape(self, shape=shape.sizes_for(self, wanted))

    def transpose(self, perm: Sequence[int]) -> Any:
        """Returns the value with its axes in another order. Differentiable."""
        return shape.transpose(self, perm=as_axes(perm))

    @property
    def T(self) -> Any:
        """The value with its axes reversed."""
        ndim = len(self.shape)  # type: ignore[attr-defined]
        return shape.transpose(self, perm=list(range(ndim))[::-1])

    def flatten(self, start_axis: int = 0, stop_axis: int = -1) -> Any:
        """Returns the value with a range of axes joined into one. Differentiable."""
        return shape.flatten(self, start_axis=start_axis, stop_axis=stop_axis)

    def unsqueeze(self, axis: int | Sequence[int]) -> Any:
        """Returns the value with axes of size 1 put in. Differentiable."""
        return shape.unsqueeze(self, axis=as_axes(axis))

    def squeeze(self, axis: int | Sequence[int] | None = None) -> Any:
        """Returns the value without axes of size 1: all, or those of `axis`; () is all. Differentiable."""
        return shape.squeeze(self, axis=as_axes(axis))

    # -- functions ----------------------------------------------------------------------------------------------------

    def matmul(self, other: Any, transpose_x: bool = False, transpose_y: bool = False) -> Any:
        """Returns the matrix product. Differentiable in both."""
        return matmul.matmul(self, other, transpose_x=transpose_x, transpose_y=transpose_y)

    def sum(self, axis: int | Sequence[int] | None = None, keepdim: bool = False) -> Any:
        """Returns the sum over axes, all unless given. Differentiable."""
        if axis is None and not keepdim:
            return reduction.reduce_sum(self)
        return reduction.reduce_sum(self, axis=as_axes(axis), keepdim=keepdim)

    def mean(self, axis: int | Sequence[int] | None = None, keepdim: bool = False) -> Any:
        """Returns the mean over axes, all unless given. Differentiable."""
        if axis is None and not keepdim:
            return reduction.reduce_mean(self)
        return reduction.reduce_mean(self, axis=as_axes(axis), keepdim=keepdim)

    def max(self, axis: int | Sequence[int] | None = None, keepdim: bool = False) -> Any:
        """Returns the greatest element over axes. Differentiable; ties share the gradient."""
        return reduction.reduce_max(self, axis=as_axes(axis), keepdim=keepdim)

    def min(self, axis: int | Sequence[int] | None = None, keepdim: bool = False) -> Any:
        """Returns the least element over axes. Differentiable; ties share the gradient."""
        return reduction.reduce_min(self, axis=as_axes(axis), keepdim=keepdim)

    def argmax(self, axis: int | None = None, keepdim: bool = False) -> Any:
        """Returns the position of the greatest element along an axis, or in all of it, int64. Not differentiable."""
        return reduction.argmax(self, axis=axis, keepdim=keepdim)

    exp = _method(elementary.exp)
    log = _method(elementary.log)
    sqrt = _method(elementary.sqrt)
    square = _method(elementary.square)
    abs = _method(elementary.abs)
    tanh = _method(activation.tanh)
    conj = _method(complex_numbers.conj)
    real = _method(complex_numbers.real)
    imag = _method(complex_numbers.imag)


def _is_number(value: Any, other: Any) -> bool:
    """Whether `other` is a plain number that `scale` can take without changing the dtype of `value`."""
    if other.__class__ is float:  # one beyond float32 is held to the dtype, as an array beside the value
        is_held = _TINY < abs(other) < _HELD or not other
        return bool(value.dtype.kind in "fV" and (is_held or value.dtype.itemsize == 8))
    return other.__class__ is int and bool(value.dtype.kind in "fV") and -_MOST < other < _MOST


def _call(name: str, left: Any, right: Any) -> Any:
    return _BINARY[name](left, right)


_BINARY = {
    "add": elementwise.elementwise_add,
    "sub": elementwise.elementwise_sub,
    "mul": elementwise.elementwise_mul,
    "div": elementwise.elementwise_div,
    "pow": elementwise.elementwise_pow,
}

__all__ = ["ValueMethods", "as_axes", "as_parts", "np"]
