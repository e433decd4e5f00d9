"""ValueMethods: the operators and methods that tensors and Program variables share, each a call of an op."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from opsdk.core.written import written
from opsdk.define.op import Op
from opsdk.ops import elementwise, functions, indexing, shape
from opsdk.ops.elementwise import scale
from opsdk.ops.numpy_protocol import NumpyProtocol

_MOST = 2**24  # whole numbers up to it are numbers of every dtype that is computed in
_TINY, _HELD = 1e-44, 3e38  # between these float32, in which 16-bit numbers are computed, surely holds a float


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
    __matmul__, __rmatmul__ = _operators(functions.matmul)

    def __neg__(self) -> Any:
        return scale(self, scale=-1.0)

    # -- comparison ---------------------------------------------------------------------------------------------------

    __lt__ = _operators(elementwise.less_than)[0]
    __le__ = _operators(elementwise.less_equal)[0]
    __gt__ = _operators(elementwise.greater_than)[0]
    __ge__ = _operators(elementwise.greater_equal)[0]

    def __eq__(self, other: object) -> Any:
        return NotImplemented if other is None or isinstance(other, str) else elementwise.equal(self, other)

    def __ne__(self, other: object) -> Any:
        return NotImplemented if other is None or isinstance(other, str) else elementwise.not_equal(self, other)

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

    cast = astype = functions.cast
    transpose = functions.transpose
    flatten = functions.flatten
    unsqueeze = functions.unsqueeze
    squeeze = functions.squeeze
    sum = functions.sum
    mean = functions.mean
    max = functions.max
    min = functions.min
    argmax = functions.argmax
    cumsum = functions.cumsum
    logsumexp = functions.logsumexp
    sort = functions.sort
    argsort = functions.argsort
    topk = functions.topk
    take_along_axis = functions.take_along_axis
    split = functions.split
    exp = _method(functions.exp)
    log = _method(functions.log)
    sqrt = _method(functions.sqrt)
    square = _method(functions.square)
    __abs__ = abs = _method(functions.abs)
    tanh = _method(functions.tanh)
    conj = _method(functions.conj)
    real = _method(functions.real)
    imag = _method(functions.imag)
    angle = _method(functions.angle)


def _is_number(value: Any, other: Any) -> bool:
    """Whether `other` is a plain number that `scale` can take without changing the dtype of `value`."""
    if other.__class__ is float:  # one beyond float32 is held to the dtype, as an array beside the value
        is_held = _TINY < abs(other) < _HELD or not other
        return bool(value.dtype.kind in "fV" and (is_held or value.dtype.itemsize == 8))
    return other.__class__ is int and bool(value.dtype.kind in "fV") and -_MOST < other < _MOST
