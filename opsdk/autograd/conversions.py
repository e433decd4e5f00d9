"""Conversions: a tensor in another dtype or at another place, and what PyTorch's users ask of one, as methods."""

from __future__ import annotations

import builtins
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from opsdk.backends.call.normalise import shares
from opsdk.core.dtype import DTypeLike
from opsdk.core.errors import PlaceError, ShapeError
from opsdk.core.fit import as_bool
from opsdk.core.lazy import slow
from opsdk.core.modes import is_grad_enabled
from opsdk.core.place import CPU, CUDAPlace, Place, as_place
from opsdk.core.spellings import renamed
from opsdk.ops.composites.dtype_methods import DtypeMethods

if TYPE_CHECKING:
    from opsdk.autograd.tensor import Tensor


_CREATION = "opsdk.autograd.creation"


# Any, in this file: `self` is a tensor.
class Conversions(DtypeMethods):
    """What a tensor is in another dtype, at another place, or in PyTorch's words."""

    __slots__ = ()

    def to(
        self: Any,
        *wanted: Any,
        dtype: DTypeLike | None = None,
        device: Any = None,
        blocking: builtins.bool | None = None,
        non_blocking: builtins.bool | None = None,
    ) -> Tensor:
        """Returns the tensor at a place, in a dtype, or both; itself where it is so already. Differentiable.

        Args:
            wanted: places, dtypes and tensors, whose place and dtype are meant, in any order.
            dtype: an element type; differentiable between floats.
            device: a place, or its name: "cpu", "cuda", "cuda:0", "gpu:0".
            blocking: without meaning, and so is `non_blocking`.
            non_blocking: see there.

        Raises:
            PlaceError: there is no such device, or it has no name of one.
        """
        place, kind = asked_for("to", wanted, device, dtype)
        made = self if kind is None else self._in_dtype(kind)
        if place is None or place == self.place:
            return made
        if made.stop_gradient or not is_grad_enabled():
            return slow(_CREATION).to_tensor(made.detach(), place=place)
        there = partial(slow(_CREATION).to_tensor, place=place)
        moved: Tensor = slow("opsdk.autograd.py_layer").Moved.apply(made, there)
        return moved

    def cpu(self: Any) -> Tensor:
        """Returns the tensor in host memory. Differentiable."""
        return self.to(CPU)

    def cuda(
        self: Any,
        device_id: Any = None,
        blocking: builtins.bool | None = None,
        *,
        device: Any = None,
        non_blocking: Any = None,
    ) -> Tensor:
        """Returns the tensor in the memory of a CUDA device, the first unless given. Differentiable.

        Args:
            device_id: its number, its place, or the name of that.
            blocking: without meaning.
            device: `device_id` in PyTorch's word.
            non_blocking: without meaning.

        Raises:
            PlaceError: there is no such device here.
        """
        return self.to(cuda_place("cuda", device_id if device is None else device))

    def numel(self: Any) -> builtins.int:
        """Returns the number of elements."""
        return self.size

    nelement = numel

    @property
    def device(self: Any) -> Place:
        """The place, in PyTorch's word."""
        place: Place = self.place
        return place

    @property
    def is_cpu(self: Any) -> builtins.bool:
        """Whether the values are in host memory."""
        return builtins.bool(self.place.kind == "cpu")

    @property
    def is_cuda(self: Any) -> builtins.bool:
        """Whether the values are in the memory of a CUDA device."""
        return not self.is_cpu

    @property
    def itemsize(self: Any) -> builtins.int:
        """Bytes of one element."""
        return builtins.int(self.dtype.itemsize)

    @property
    def nbytes(self: Any) -> builtins.int:
        """Bytes of all elements."""
        return builtins.int(self.size * self.dtype.itemsize)

    @property
    def grad_fn(self: Any) -> Any:  # any: a node of the graph
        """The recorded call that made this tensor; None of a leaf."""
        return None if self._edge is None else self._edge[0]

    def view(self: Any, *sizes: Any, **words: Any) -> Tensor:  # any: sizes
        """Returns the same memory in another shape, -1 once for a size that follows. Differentiable.

        Raises:
            ShapeError: the elements do not lie so that they need no copy; `reshape` makes one.
        """
        made = self.reshape(*sizes, **renamed(words, ("shape",)))
        if self.size and not shares(made._array, self._array):
            raise ShapeError(
                f"view: expected elements that lie in order for shape {tuple(made.shape)}, got strides "
                f"{self.stride()} of shape {tuple(self.shape)}; use reshape, which copies"
            )
        viewed: Tensor = made
        return viewed

    def stride(self: Any, dim: builtins.int | None = None) -> Any:  # any: a number or several
        """Returns the steps between neighbours along each axis, or one, in elements."""
        steps = tuple(step // self.dtype.itemsize for step in self._array.strides)
        return steps if dim is None else steps[dim]

    def type(self: Any, dtype: DTypeLike | None = None) -> Any:  # any: a tensor, or a name
        """Returns the tensor in another dtype; without one, the name of its own."""
        return self.dtype.name if dtype is None else self._in_dtype(dtype)

    def is_nonzero(self: Any) -> builtins.bool:
        """Returns whether the one element is other than 0."""
        return builtins.bool(self.item())

    def is_same_size(self: Any, other: Tensor) -> builtins.bool:
        """Returns whether another tensor has this shape."""
        return tuple(self.shape) == tuple(other.shape)

    def new_tensor(self: Any, data: Any, dtype: DTypeLike | None = None) -> Tensor:  # any: data
        """Returns a tensor of data, of this dtype unless given, at this place."""
        made: Tensor = slow(_CREATION).to_tensor(data, self.dtype if dtype is None else dtype, self.place)
        return made

    def new_full(self: Any, size: Any, fill_value: Any, dtype: DTypeLike | None = None) -> Tensor:  # any: numbers
        """Returns a tensor of one value, of this dtype unless given, at this place."""
        made: Tensor = slow(_CREATION).full(size, fill_value, self.dtype if dtype is None else dtype).to(self.place)
        return made

    def new_zeros(self: Any, *sizes: Any, size: Any = None, dtype: DTypeLike | None = None) -> Tensor:  # any: sizes
        """Returns zeros, of this dtype unless given, at this place: `new_zeros(2, 3)` and `new_zeros([2, 3])`."""
        return self.new_full(_one(sizes, size), 0, dtype)

    new_empty = new_zeros

    def new_ones(self: Any, *sizes: Any, size: Any = None, dtype: DTypeLike | None = None) -> Tensor:  # any: sizes
        """Returns ones, of this dtype unless given, at this place: `new_ones(2, 3)` and `new_ones([2, 3])`."""
        return self.new_full(_one(sizes, size), 1, dtype)

    def is_contiguous(self: Any) -> builtins.bool:
        """Returns whether the elements lie side by side in C order."""
        return builtins.bool(self._array.flags.c_contiguous)

    def contiguous(self: Any) -> Tensor:
        """Returns the tensor with its elements side by side in C order; itself where they are. Differentiable."""
        return self if self.is_contiguous() else self.clone()

    def requires_grad_(self: Any, requires_grad: builtins.bool = True) -> Tensor:
        """Sets whether a gradient is asked for, and returns the tensor."""
        self.stop_gradient = not as_bool(requires_grad, "requires_grad_")
        return self

    def retain_grad(self: Any) -> None:
        """Keeps the gradient of an interior tensor in `grad`: `retain_grads` in PyTorch's spelling."""
        self.retain_grads()


def asked_for(
    subject: str, wanted: Sequence[Any], device: Any, dtype: DTypeLike | None
) -> tuple[Place | None, DTypeLike | None]:
    """Returns which place and which dtype are meant by the arguments of a `to`, Paddle's or PyTorch's.

    Args:
        subject: who asks, for messages.
        wanted: places, dtypes and tensors in any order; bools say whether to wait, which is without meaning.
        device: a place, or its name.
        dtype: an element type.

    Raises:
        PlaceError: `device` names no place.
    """
    place = None if device is None else as_place(device)
    if device is not None and place is None:
        raise PlaceError(f"{subject}: device expected 'cpu', 'cuda', 'cuda:0' or a place, got {device!r}")
    for each in wanted:
        if each is None or isinstance(each, builtins.bool):
            continue
        named = each.place if hasattr(each, "place") else as_place(each)
        place = named or place
        dtype = each.dtype if hasattr(each, "place") else dtype if named else each
    return place, dtype


def cuda_place(subject: str, which: Any) -> Place:
    """Returns the place of a CUDA device that is given by its number, its place or name; the first for None.

    Raises:
        PlaceError: it is none.
    """
    is_number = isinstance(which, builtins.int) and not isinstance(which, builtins.bool)
    place = CUDAPlace(which or 0) if which is None or is_number else as_place(which)
    if place is None or place.kind != "cuda":
        raise PlaceError(f"{subject}: device expected a number, 'cuda:0' or CUDAPlace(0), got {which!r}")
    return place


# Any: sizes in every form.
def _one(sizes: tuple[Any, ...], size: Any) -> Any:
    """Returns one shape, given one number after another, as a list, or by name."""
    given = sizes if size is None else (*sizes, size)
    return given[0] if len(given) == 1 else given
