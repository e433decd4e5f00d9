"""TensorSpec: the shape and dtype of a value that need not exist yet; OpenSize: a size that only a run can tell."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np

from opsdk.core.dtype import DTypeLike, as_dtype
from opsdk.core.errors import ProgramError, ShapeError

Shape = tuple["int | None", ...]


class OpenSize:
    """A size that is known only when a Program runs. It prints as -1 and equals -1 and None; it has no number.

    Whatever would need one raises: arithmetic, order, conversion, a comparison with a known size.

    Args:
        owner: what has the size, with a `name`: a Program's variable, or a description of one (Any: floors above
            make it).
        axis: which of its sizes it is.
    """

    __slots__ = ("_owner", "axis")

    def __init__(self, owner: Any, axis: int) -> None:
        self._owner = owner
        self.axis = axis

    @property
    def owner(self) -> Any:
        """What has the size."""
        return self._owner

    # Any: an open size is compared with whatever a shape may hold.
    def is_of(self, owner: Any, axis: int) -> bool:
        """Whether this is the size of one axis of one value."""
        return self._owner is owner and self.axis == axis

    def unknown(self, wanted: str) -> ProgramError:
        """Returns the error of a use that needs a number."""
        return ProgramError(
            f"{self._subject}: expected {wanted}, but this size is known only when the Program runs; declare it, "
            "leave it to an op (mean, sum, reshape with -1), or compare it with -1 to see that it is open"
        )

    @property
    def _subject(self) -> str:
        return f"size {self.axis} of {getattr(self._owner, 'name', None)!r}"

    def __eq__(self, other: object) -> bool:
        if isinstance(other, OpenSize):
            if not other.is_of(self._owner, self.axis):
                raise self.unknown(f"a number to compare with {other._subject}")
            return True
        if other is None or (isinstance(other, (int, np.integer)) and other == -1):
            return True
        if isinstance(other, (int, float, np.number)):
            raise self.unknown(f"a number to compare with {other}")
        return NotImplemented

    def __hash__(self) -> int:
        return hash(-1)

    def __repr__(self) -> str:
        return "-1"

    def __format__(self, spec: str) -> str:
        return format(-1, spec)

    def __bool__(self) -> bool:
        raise self.unknown("a truth value")

    def _refused(self, *others: Any, **options: Any) -> NoReturn:
        raise self.unknown("a number")

    __int__ = __index__ = __float__ = __complex__ = _refused
    __array__ = _refused
    __lt__ = __le__ = __gt__ = __ge__ = _refused
    __neg__ = __pos__ = __abs__ = __invert__ = __round__ = __trunc__ = __floor__ = __ceil__ = _refused
    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __matmul__ = __rmatmul__ = _refused
    __truediv__ = __rtruediv__ = __floordiv__ = __rfloordiv__ = __mod__ = __rmod__ = __divmod__ = _refused
    __rdivmod__ = __pow__ = __rpow__ = __lshift__ = __rlshift__ = __rshift__ = __rrshift__ = _refused
    __and__ = __rand__ = __or__ = __ror__ = __xor__ = __rxor__ = _refused


def as_shape(value: Sequence[int | None] | int, subject: str = "shape") -> Shape:
    """Returns a shape as a tuple of sizes; -1, None and an `OpenSize` all mean one that is known only at run time.

    Raises:
        ShapeError: a dimension is neither a non-negative integer, -1 nor None.
    """
    dims: list[int | None] = []
    try:
        entries = (value,) if isinstance(value, (int, np.integer)) else tuple(value)
    except TypeError as error:
        raise ShapeError(f"{subject}: expected sizes, got {value!r}") from error
    for position, dim in enumerate(entries):
        if dim is None or isinstance(dim, OpenSize):
            dims.append(None)
            continue
        if isinstance(dim, (int, np.integer)) and not isinstance(dim, bool) and -1 <= dim < 2**63:
            dims.append(None if dim == -1 else int(dim))
            continue
        raise ShapeError(
            f"{subject}: dimension {position} expected a size ≥ 0, or None for any size, got {dim!r} in {value!r}"
        )
    return tuple(dims)


@dataclass(frozen=True, init=False, repr=False)
class TensorSpec:
    """The abstract value: a shape whose dims may be None, and a dtype.

    Args:
        shape: sizes; None (or -1) where a size is known only at run time.
        dtype: element type, by name or as `numpy.dtype`.
    """

    shape: Shape
    dtype: np.dtype[np.generic]

    def __init__(self, shape: Sequence[int | None] | int, dtype: DTypeLike = "float32") -> None:
        object.__setattr__(self, "shape", as_shape(shape))
        object.__setattr__(self, "dtype", as_dtype(dtype))

    @classmethod
    def of(cls, array: np.ndarray) -> TensorSpec:
        """Returns the spec of an existing array."""
        made = object.__new__(cls)
        object.__setattr__(made, "shape", tuple(array.shape))
        object.__setattr__(made, "dtype", as_dtype(array.dtype))
        return made

    @property
    def ndim(self) -> int:
        """Number of dimensions."""
        return len(self.shape)

    def admits(self, shape: Sequence[int]) -> bool:
        """Whether an array of this concrete shape fits the spec."""
        return len(shape) == len(self.shape) and all(
            want is None or want == got for want, got in zip(self.shape, shape, strict=True)
        )

    def __str__(self) -> str:
        return f"{self.dtype}{shape_text(self.shape)}"

    __repr__ = __str__


# Any, in these: sizes are compared with whatever a user writes.
class SizeList(list[int]):
    """The sizes of a tensor, a list as Paddle's are; equal to a tuple of the same sizes too, as a Variable's are."""

    __slots__ = ()

    def __eq__(self, other: object) -> Any:
        return list.__eq__(self, list(other) if isinstance(other, tuple) else other)

    def __ne__(self, other: object) -> Any:
        return list.__ne__(self, list(other) if isinstance(other, tuple) else other)

    def __getitem__(self, index: Any) -> Any:
        found = list.__getitem__(self, index)
        return SizeList(found) if isinstance(index, slice) else found


class SizeTuple(tuple[Any, ...]):
    """The sizes of a Variable, a tuple as Paddle's are; equal to a list of the same sizes too, as a tensor's are."""

    __slots__ = ()
    __hash__ = tuple.__hash__

    def __eq__(self, other: object) -> Any:
        return tuple.__eq__(self, tuple(other) if isinstance(other, list) else other)

    def __ne__(self, other: object) -> Any:
        return tuple.__ne__(self, tuple(other) if isinstance(other, list) else other)

    def __getitem__(self, index: Any) -> Any:
        found = tuple.__getitem__(self, index)
        return SizeTuple(found) if isinstance(index, slice) else found


def shown_shape(shape: Shape, owner: Any) -> SizeTuple:
    """Returns a shape as users see it: open sizes print as -1, and refuse to be taken for a number.

    Args:
        shape: with None for sizes that only a run can tell.
        owner: what has the shape; an open size only asks it for its name (any).
    """
    return SizeTuple(OpenSize(owner, axis) if dim is None else dim for axis, dim in enumerate(shape))


class HeldSpec(TensorSpec):
    """The spec of a value of a Program: an open size is an `OpenSize` of that value, which ops take, in place of None.

    Args:
        owner: the value (Any: floors above make it).
    """

    owner: Any

    def __init__(self, owner: Any) -> None:
        super().__init__(owner.spec.shape, owner.spec.dtype)
        object.__setattr__(self, "shape", shown_shape(self.shape, owner))
        object.__setattr__(self, "owner", owner)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, TensorSpec):
            return NotImplemented
        return (*self.shape, self.dtype) == (*other.shape, other.dtype)

    __hash__ = TensorSpec.__hash__


def shape_text(shape: Sequence[object]) -> str:
    """Returns a shape for a message; unknown sizes print as `?`."""
    return "(" + ", ".join("?" if dim is None else str(dim) for dim in shape) + ("," if len(shape) == 1 else "") + ")"
