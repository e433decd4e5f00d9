"""ValueMethods: the operators and methods that tensors and Program variables share, each a call of an op."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from opsdk.core.errors import DTypeError
from opsdk.core.spellings import spelled
from opsdk.core.written import written
from opsdk.define.op import Op
from opsdk.ops import functions, logical
from opsdk.ops import shape as moving
from opsdk.ops.elements import indexing
from opsdk.ops.elementwise import scale
from opsdk.ops.numpy_protocol import NumpyProtocol

_MOST = 2**24  # whole numbers up to it are numbers of every dtype that is computed in
_TINY, _HELD = 1e-44, 3e38  # between these float32, in which 16-bit numbers are computed, surely holds a float


# Any: a tensor or Program variable, and the same back.
def _unary(op: Op) -> Callable[[Any], Any]:
    """Returns an op of one tensor as a method."""
    return _method(op, lambda self, name: op(self), name="str | None")


def _binary(op: Op) -> Callable[[Any, Any], Any]:
    """Returns an op of two tensors as a method of the first."""
    return _method(op, lambda self, y: op(self, y), "y")


def _method(op: Op, function: Any, *others: str, **named: str) -> Any:
    is_silent = set(op.opdef.schema.input_names) <= set(op.opdef.traits.nondifferentiable)
    doc = f"{op.opdef.doc}{'' if is_silent else ' Differentiable.'}"
    annotations = {**dict.fromkeys(others, "Any"), **named, "return": "Any"}
    name = f"ValueMethods.{op.__name__}"
    return written(
        function,
        name,
        annotations,
        module=__name__,
        doc=doc,
        self=True,
        defaults=(None,) * len(named),
        origin=op.opdef.origin,
    )


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

    __and__, __rand__ = _operators(functions.bitwise_and)
    __or__, __ror__ = _operators(functions.bitwise_or)
    __xor__, __rxor__ = _operators(functions.bitwise_xor)
    __lshift__, __rlshift__ = _operators(functions.bitwise_left_shift)
    __rshift__, __rrshift__ = _operators(functions.bitwise_right_shift)

    def __neg__(self) -> Any:
        return scale(self, scale=-1.0)

    def __pos__(self) -> Any:
        return self

    def __invert__(self) -> Any:
        return functions.bitwise_not(self)

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
        return moving.assign(self)

    def reshape(self, *sizes: Any, shape: Any = None, name: str | None = None) -> Any:
        """Returns the elements in another shape; -1 once for a size that follows. Differentiable."""
        sizes = sizes if shape is None else (*sizes, shape)
        wanted = sizes[0] if len(sizes) == 1 and isinstance(sizes[0], (list, tuple, np.ndarray)) else sizes
        return moving.reshaped(self, wanted)

    @spelled
    def expand(self, *sizes: Any, shape: Any = None, name: str | None = None) -> Any:
        """Returns the value broadcast to a shape; -1 for its own size there. Differentiable."""
        sizes = sizes if shape is None else (*sizes, shape)
        return functions.expand(self, sizes[0] if len(sizes) == 1 and not isinstance(sizes[0], int) else sizes)

    @property
    def T(self) -> Any:
        """The value with its axes reversed."""
        ndim = len(self.shape)  # type: ignore[attr-defined]
        return moving.transpose(self, perm=list(range(ndim))[::-1])

    # -- functions ----------------------------------------------------------------------------------------------------

    @spelled
    def matmul(self, y: Any, transpose_x: bool = False, transpose_y: bool = False) -> Any:
        """Returns the matrix product. Differentiable in both."""
        return functions.matmul(self, y, transpose_x=transpose_x, transpose_y=transpose_y)

    cast = astype = functions.cast
    __abs__ = _unary(functions.abs)

    @spelled
    def add(self, y: Any, alpha: float = 1) -> Any:
        """Returns x + alpha · y. Differentiable."""
        return functions.add(self, y) if alpha == 1 else functions.add(self, y * alpha)

    @spelled
    def subtract(self, y: Any, alpha: float = 1) -> Any:
        """Returns x - alpha · y. Differentiable."""
        return functions.subtract(self, y) if alpha == 1 else functions.subtract(self, y * alpha)

    sub = subtract

    def where(self, x: Any = None, y: Any = None, name: str | None = None) -> Any:
        """Returns x where this condition holds, y elsewhere, as in Paddle; PyTorch's method is of x.

        Raises:
            DTypeError: the condition holds other than bools.
        """
        if self.dtype.kind != "b":  # type: ignore[attr-defined]
            raise DTypeError(
                f"where: as a method it is of the condition and expected bools, got {self.dtype}; "  # type: ignore[attr-defined]
                "write opsdk.where(condition, x, y)"
            )
        return functions.where(self, x, y)

    def transpose(self, *perm: Any, **options: Any) -> Any:
        """Returns the value with its axes in another order; two numbers, as PyTorch has them, change places."""
        given = perm if len(perm) == 2 and isinstance(perm[0], int) else [_joined(perm)] if perm else []
        return functions.transpose(self, *given, **options)

    @property
    def mT(self) -> Any:
        """Matrices with their last two axes in each other's place."""
        return functions.mT(self)

    @property
    def mH(self) -> Any:
        """Matrices transposed and conjugated."""
        return functions.adjoint(self)

    @property
    def H(self) -> Any:
        """A matrix transposed and conjugated."""
        return functions.conj(functions.t(self))


def _joined(given: tuple[Any, ...]) -> Any:
    """Returns what is given as one list, or as numbers one after another."""
    return given[0] if len(given) == 1 else given


# Any: a function of a value and numbers, and it as a method.
def _spread(function: Any) -> Any:
    """Returns a function that takes a list as a method that takes numbers one after another too."""

    def method(self: Any, *numbers: Any, **options: Any) -> Any:
        return function(self, *([_joined(numbers)] if numbers else []), **options)

    method.__name__, method.__qualname__ = function.__name__, f"ValueMethods.{function.__name__}"
    method.__doc__ = function.__doc__
    return method


_SPREAD = "permute view tile repeat flip reverse broadcast_to"
_NOT_OF_ONE_VALUE = """
    broadcast_shape broadcast_shapes cartesian_prod concat cat concatenate column_stack dstack einsum hstack meshgrid
    multi_dot row_stack searchsorted shape sum_at sum_to vstack
"""
for _name in sorted({*vars(functions)["__all__"]} - {*_NOT_OF_ONE_VALUE.split(), *vars(ValueMethods)}):
    _value = getattr(functions, _name)
    if isinstance(_value, Op):
        _value = _unary(_value) if len(_value.opdef.schema.inputs) == 1 else spelled(_binary(_value))
    setattr(ValueMethods, _name, _spread(_value) if _name in _SPREAD.split() else _value)

__all__ = ["ValueMethods"]


def _is_number(value: Any, other: Any) -> bool:
    """Whether `other` is a plain number that `scale` can take without changing the dtype of `value`."""
    if other.__class__ is float:  # one beyond float32 is held to the dtype, as an array beside the value
        is_held = _TINY < abs(other) < _HELD or not other
        return bool(value.dtype.kind in "fV" and (is_held or value.dtype.itemsize == 8))
    return other.__class__ is int and bool(value.dtype.kind in "fV") and -_MOST < other < _MOST
