"""InPlaceMethods: what changes the values of a tensor, and of all that share its memory, and tells the graph."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

from opsdk.autograd.tensor_state import TensorState, about_to_change, check_in_place, check_unviewed
from opsdk.autograd.views import follow
from opsdk.core.dtype import word_of
from opsdk.core.errors import DTypeError, InPlaceError, ShapeError
from opsdk.core.fit import as_numbers, fitted, one_number
from opsdk.core.modes import is_grad_enabled
from opsdk.ops import functions
from opsdk.ops.composites import aliases
from opsdk.ops.elements.index_put import index_put_
from opsdk.ops.elements.indexing import encode_index, getitem
from opsdk.ops.elements.windows import copy_
from opsdk.ops.elementwise import scale
from opsdk.ops.methods import ValueMethods
from opsdk.ops.numpy_protocol import values_of

Self = TypeVar("Self", bound="InPlaceMethods")
CAST = "cast the tensor first"


# Any, in this file: numbers, arrays and tensors, the values of a tensor; arguments of an op.
def _in_place(compute: Callable[..., Any], name: str, what: str, in_steps: bool = False) -> Callable[..., Any]:
    """Returns what an op computes of a tensor as a method that puts it in the tensor's place."""

    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        given = self.clone() if in_steps and is_grad_enabled() else self
        return self._become(compute(given, *args, **kwargs), name)

    method.__name__, method.__qualname__ = name, f"InPlaceMethods.{name}"
    method.__doc__ = f"Sets the tensor to {what}, in place, and returns it. Differentiable as `{what}` is."
    return method


class InPlaceMethods(TensorState):
    """Methods that change a tensor in place; where recording is on, the graph follows.

    What the tape saved of the old values can no longer be differentiated, and says so (`VersionError`). Of a view the
    base changes with it, and every other view; a leaf that needs a gradient is changed inside `no_grad` alone, and so
    is what shares its memory.
    """

    __slots__ = ()

    def set_value(self, value: Any) -> None:
        """Copies values into the tensor; what the tape saved of it before can then no longer be differentiated.

        No gradient flows through it: values are all that is taken of a tensor; `copy_` is differentiable.

        Args:
            value: tensor or array of this shape; the dtype is converted; that may round floats, no more.

        Raises:
            ShapeError: the value has another shape.
            DTypeError: the tensor's dtype does not hold it.
            InPlaceError: recording is on, and the tensor shares its memory with a leaf that needs a gradient.
        """
        array = as_numbers(values_of(value), "set_value")
        if array.shape != self._array.shape:
            raise ShapeError(f"set_value: expected shape {self._array.shape}, got {array.shape}")
        check_unviewed(self, "set_value")
        self._overwrite(fitted(array, self._array.dtype, "set_value", remedy=CAST))

    def _overwrite(self, value: Any) -> None:
        """Changes every element; what an op made this tensor of is then no longer what it holds."""
        if self._edge is not None and is_grad_enabled():
            self._edge, self._stop = None, True
        about_to_change((self,))
        self._array[...] = value
        self._version[0] += 1
        follow(self)

    def _become(self: Self, made: Any, name: str) -> Self:
        """Takes values and place in the graph of a tensor that was computed from this one."""
        if made._array.shape != self._array.shape:
            raise ShapeError(
                f"{name}: expected a result of shape {self._array.shape} like the tensor, got {made._array.shape}"
            )
        words = {word_of(made._array.dtype), word_of(self._array.dtype)}
        if made._array.dtype != self._array.dtype and words in ({"float"}, {"complex"}):
            made = functions.cast(made, self._array.dtype)  # as PyTorch rounds what was promoted
        if made._array.dtype != self._array.dtype:
            raise DTypeError(f"{name}: expected a result of {self._array.dtype}, got {made._array.dtype}; {CAST}")
        check_in_place(self, name, is_recorded=made._edge is not None)
        if made._edge is not None:
            _keep_old(made._edge[0], self._array)
        about_to_change((self,))
        self._array[...] = made._array
        self._version[0] += 1
        if is_grad_enabled():
            self._edge, self._stop = made._edge, made._stop
        follow(self)
        return self

    def _rebound(self, other: Any) -> Any:
        """Leaves `x += other` to `x = x + other`, as in Paddle; PyTorch changes x in place.

        Raises:
            InPlaceError: the tensor is a leaf that needs a gradient, inside `no_grad`, where only a change would do.
        """
        if self._edge is None and not self._stop and not is_grad_enabled():
            raise InPlaceError(
                "augmented assignment: expected recording, or a tensor with stop_gradient=True, got a leaf that needs "
                "a gradient inside no_grad; x -= y is x = x - y here, another tensor under that name: change this one "
                "with x.copy_(x - y)"
            )
        return NotImplemented

    __iadd__ = __isub__ = __imul__ = __itruediv__ = __ipow__ = __imatmul__ = _rebound

    def copy_(self: Self, value: Any) -> Self:
        """Copies values into the tensor, in place, and returns it. Differentiable in the values.

        Args:
            value: number, array or tensor that broadcasts to this shape; the dtype is converted where this one holds
                all of that kind.

        Raises:
            ShapeError: it does not broadcast.
            DTypeError: the tensor's dtype does not hold it.
            InPlaceError: as of `check_in_place`.
        """
        check_in_place(self, "copy_")
        copied: Self = copy_(self, self._held(value, "copy_"))
        return copied

    def _held(self, value: Any, subject: str) -> Any:
        """Returns values in the dtype of the tensor, as far as that holds all of their kind."""
        dtype = self._array.dtype
        if not isinstance(value, TensorState):
            return fitted(as_numbers(value, subject), dtype, subject, remedy=CAST)
        if value._array.dtype == dtype:
            return value
        if not np.can_cast(value._array.dtype, dtype, "same_kind"):
            raise DTypeError(f"{subject}: value expected a dtype that {dtype} holds, got {value._array.dtype}; {CAST}")
        return functions.cast(value, dtype)

    def __setitem__(self, index: Any, value: Any) -> None:
        """Copies values, as `copy_` takes them, into the elements at an index of any kind.

        Raises:
            ShapeError: the value does not broadcast to the elements.
            DTypeError: the tensor's dtype does not hold it, or an array of the index holds floats.
            IndexError: a position lies outside.
            InPlaceError: as of `check_in_place`.
        """
        check_in_place(self, "x[index] = value")
        code, arrays = encode_index(index)
        value = self._held(value, "x[index] = value")
        if arrays:
            index_put_(self, arrays, value, index=code)
        else:
            copy_(getitem(self, index=code), value)

    def fill_(self: Self, value: float) -> Self:
        """Sets every element to one number, in place; returns the tensor.

        Raises:
            ShapeError: the value is several.
            DTypeError: it is no number, or the tensor's dtype does not hold it.
            InPlaceError: as of `check_in_place`.
        """
        number = fitted(one_number(value, "fill_, value"), self._array.dtype, "fill_", remedy=CAST)
        check_in_place(self, "fill_")
        self._overwrite(number[()])
        return self

    def zero_(self: Self) -> Self:
        """Sets every element to zero, in place; returns the tensor."""
        return self.fill_(0)

    def detach_(self: Self) -> Self:
        """Takes the tensor out of the graph, and returns it.

        Raises:
            InPlaceError: it shares its memory with tensors that would change with it.
        """
        check_unviewed(self, "detach_")
        self._edge, self._stop = None, True
        return self

    scale_ = _in_place(scale, "scale_", "scale(x, ...)")


# Functions of which each is one in place too; what tells true from false is written as 1 and 0.
_CHANGES = """
    abs acos acosh add addcdiv addcmul addmm addmv addr asin asinh atan atan2 atanh baddbmm bitwise_and
    bitwise_left_shift bitwise_not bitwise_or bitwise_right_shift bitwise_xor ceil clamp_max clamp_min clip copysign cos
    cosh cumprod cumsum deg2rad digamma div erf erfc erfinv exp exp2 expm1 float_power floor floor_divide fmod
    frac gcd heaviside hypot index_add index_copy index_fill index_put lcm ldexp lerp lgamma log log10 log1p log2 logit
    masked_fill masked_scatter maximum minimum multiply nan_to_num neg pow put_along_axis rad2deg reciprocal relu
    remainder renorm round rsqrt scatter scatter_add sgn sigmoid sign sin sinc sinh softmax sqrt square stanh subtract
    tan tanh tril triu trunc xlogy
"""
_IN_STEPS = "addmm addmv addr baddbmm logit masked_scatter renorm sgn"  # whose first steps save what then changes
_TESTS = """
    equal not_equal less_than less_equal greater_than greater_equal logical_and logical_or logical_xor logical_not
"""


def _truth(function: Callable[..., Any]) -> Callable[..., Any]:
    def compute(x: Any, *args: Any, **options: Any) -> Any:
        return functions.cast(function(x, *args, **options), x._array.dtype)

    return compute


for _name in (*_CHANGES.split(), *_TESTS.split()):
    _function = getattr(ValueMethods, _name)
    _made = _truth(_function) if _name in _TESTS.split() else _function
    setattr(InPlaceMethods, f"{_name}_", _in_place(_made, f"{_name}_", f"{_name}(x, ...)", _name in _IN_STEPS.split()))
for _alias, _name in {**aliases.ALIASES, "divide": "div"}.items():
    if hasattr(InPlaceMethods, f"{_name}_") and not hasattr(InPlaceMethods, f"{_alias}_"):
        setattr(InPlaceMethods, f"{_alias}_", getattr(InPlaceMethods, f"{_name}_"))


def _keep_old(node: Any, array: Any) -> None:
    """Has a node keep a copy of an array that it saved, which is about to change."""
    saved = node.saved
    if any(value is array for value in saved[::3]):
        kept: list[Any] = []
        for i in range(0, len(saved), 3):
            kept += (array.copy(), [0], 0) if saved[i] is array else saved[i : i + 3]
        node.saved = tuple(kept)
