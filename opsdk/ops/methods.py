"""ValueMethods: the operators and methods that tensors and Program variables share, each a call of an op."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from opsdk.core.written import written
from opsdk.define.op import Op
from opsdk.ops import functions, logical, shape
from opsdk.ops.elements import indexing
from opsdk.ops.elementwise import scale
from opsdk.ops.numpy_protocol import NumpyProtocol

_MOST = 2**24  # whole numbers up to it are numbers of every dtype that is computed in
_TINY, _HELD = 1e-44, 3e38  # between these float32, in which 16-bit numbers are computed, surely holds a float


# Any: a tensor or Program variable, and the same back.
def _unary(op: Op) -> Callable[[Any], Any]:
    """Returns an op of one tensor as a method."""
    return _method(op, lambda self: op(self))


def _binary(op: Op) -> Callable[[Any, Any], Any]:
    """Returns an op of two tensors as a method of the first."""
    return _method(op, lambda self, y: op(self, y), "y")


def _itself(function: Any) -> Any:
    return function


def _method(op: Op, function: Any, *others: str) -> Any:
    is_silent = set(op.opdef.schema.input_names) <= set(op.opdef.traits.nondifferentiable)
    doc = f"{op.opdef.doc}{'' if is_silent else ' Differentiable.'}"
    annotations = {**dict.fromkeys(others, "Any"), "return": "Any"}
    name = f"ValueMethods.{op.__name__}"
    return written(function, name, annotations, module=__name__, doc=doc, self=True, origin=op.opdef.origin)


# Any: operands, one of them a tensor or Program variable.
def _operators(op: Op) -> tuple[Callable[[Any, Any], Any], Callable[[Any, Any], Any]]:
    """Returns an op of two tensors as an operator, and as the one that Python asks where the other operand has none."""

    def operator(self: Any, other: Any) -> Any:
        return op(self, other)

    def reflected(self: Any, other: Any) -> Any:
        return op(other, self)

    return operator, reflected


# Any, in this file: `self` and the results are tensors or Program variables; operands may also be arrays or numbers.
class ValueMethods(NumpyProtocol):
    """Arithmetic, comparison, indexing and the common functions as methods.

    Whatever `self` is, the result is of the same runtime. Numbers take the dtype of `self`.
    """

    __slots__ = ()

    # -- arithmetic ---------------------------------------------------------------------------------------------------

    def __add__(self, other: Any) -> Any:
        return scale(self, bias=float(other)) if _is_number(self, other) else functions.add(self, other)

    __radd__ = __add__

    def __sub__(self, other: Any) -> Any:
        return scale(self, bias=-float(other)) if _is_number(self, other) else functions.subtract(self, other)

    def __rsub__(self, other: Any) -> Any:
        if _is_number(self, other):
            return scale(self, scale=-1.0, bias=float(other))
        return functions.subtract(other, self)

    def __mul__(self, other: Any) -> Any:
        return scale(self, scale=float(other)) if _is_number(self, other) else functions.multiply(self, other)

    def __rmul__(self, other: Any) -> Any:
        return scale(self, scale=float(other)) if _is_number(self, other) else functions.multiply(other, self)

    __truediv__, __rtruediv__ = _operators(functions.divide)
    __pow__, __rpow__ = _operators(functions.pow)
    __floordiv__, __rfloordiv__ = _operators(functions.floor_divide)
    __mod__, __rmod__ = _operators(functions.remainder)
    __matmul__, __rmatmul__ = _operators(functions.matmul)

    def __neg__(self) -> Any:
        return scale(self, scale=-1.0)

    # -- comparison ---------------------------------------------------------------------------------------------------

    __lt__ = _operators(logical.less_than)[0]
    __le__ = _operators(logical.less_equal)[0]
    __gt__ = _operators(logical.greater_than)[0]
    __ge__ = _operators(logical.greater_equal)[0]

    def __eq__(self, other: object) -> Any:
        return NotImplemented if other is None or isinstance(other, str) else logical.equal(self, other)

    def __ne__(self, other: object) -> Any:
        return NotImplemented if other is None or isinstance(other, str) else logical.not_equal(self, other)

    __hash__ = object.__hash__

    # -- elements -----------------------------------------------------------------------------------------------------

    def __getitem__(self, index: Any) -> Any:
        code, arrays = indexing.encode_index(index)
        return indexing.index(self, arrays, index=code) if arrays else indexing.getitem(self, index=code)

    def clone(self) -> Any:
        """Returns a copy that gradients flow through."""
        return shape.assign(self)

    def reshape(self, *sizes: Any) -> Any:
        """Returns the elements in another shape; -1 once for a size that follows. Differentiable."""
        wanted = sizes[0] if len(sizes) == 1 and isinstance(sizes[0], (list, tuple, np.ndarray)) else sizes
        return shape.reshaped(self, wanted)

    def expand(self, *sizes: Any) -> Any:
        """Returns the value broadcast to a shape; -1 for its own size there. Differentiable."""
        return functions.expand(self, sizes[0] if len(sizes) == 1 and not isinstance(sizes[0], int) else sizes)

    @property
    def T(self) -> Any:
        """The value with its axes reversed."""
        ndim = len(self.shape)  # type: ignore[attr-defined]
        return shape.transpose(self, perm=list(range(ndim))[::-1])

    # -- functions ----------------------------------------------------------------------------------------------------

    def matmul(self, other: Any, transpose_x: bool = False, transpose_y: bool = False) -> Any:
        """Returns the matrix product. Differentiable in both."""
        return functions.matmul(self, other, transpose_x=transpose_x, transpose_y=transpose_y)


# The functions of `functions` that are methods under their names: as they are, and the ops of two tensors and of one.
_AS_THEY_ARE = """
    cast transpose t flatten unsqueeze squeeze broadcast_to expand_as tile flip roll moveaxis swapaxes diagonal
    trace tril triu repeat_interleave split chunk unbind gather take_along_axis put_along_axis index_add
    masked_fill sum mean max min prod var std norm all any argmax argmin cumsum cumprod logsumexp sort argsort
    topk clip mm bmm mv dot outer lerp isclose allclose equal_all
"""
_OF_TWO = """
    add subtract multiply divide floor_divide remainder pow maximum minimum atan2 equal not_equal less_than
    less_equal greater_than greater_equal logical_and logical_or logical_xor
"""
_OF_ONE = """
    logical_not isnan isinf isfinite exp expm1 log log1p log2 log10 sqrt rsqrt square reciprocal abs sign floor
    ceil trunc round sin cos tan asin acos atan sinh cosh tanh asinh acosh atanh erf erfinv lgamma digamma sigmoid
    conj real imag angle
"""
_ALSO = {"astype": "cast", "amax": "max", "amin": "min", "mod": "remainder", "__abs__": "abs"}

for _names, _as_method in ((_AS_THEY_ARE, _itself), (_OF_TWO, _binary), (_OF_ONE, _unary)):
    for _name in _names.split():
        setattr(ValueMethods, _name, _as_method(getattr(functions, _name)))
for _name, _other in _ALSO.items():
    setattr(ValueMethods, _name, getattr(ValueMethods, _other))

__all__ = ["ValueMethods"]


def _is_number(value: Any, other: Any) -> bool:
    """Whether `other` is a plain number that `scale` can take without changing the dtype of `value`."""
    if other.__class__ is float:  # one beyond float32 is held to the dtype, as an array beside the value
        is_held = _TINY < abs(other) < _HELD or not other
        return bool(value.dtype.kind in "fV" and (is_held or value.dtype.itemsize == 8))
    return other.__class__ is int and bool(value.dtype.kind in "fV") and -_MOST < other < _MOST
