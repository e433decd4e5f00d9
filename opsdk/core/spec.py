"""TensorSpec: the shape and dtype of a value that need not exist yet."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from opsdk.core.dtype import DTypeLike, as_dtype
from opsdk.core.errors import ShapeError

Shape = tuple["int | None", ...]


def as_shape(value: Sequence[int | None] | int, subject: str = "shape") -> Shape:
    """Returns a shape as a tuple; -1 and None both mean a dimension that is known only at run time.

    Raises:
        ShapeError: a dimension is neither a non-negative integer, -1 nor None.
    """
    dims: list[int | None] = []
    entries = (value,) if isinstance(value, (int, np.integer)) else tuple(value)
    for position, dim in enumerate(entries):
        if dim is None or (isinstance(dim, (int, np.integer)) and not isinstance(dim, bool) and dim >= -1):
            dims.append(None if dim is None or dim == -1 else int(dim))
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
        return cls(array.shape, array.dtype)

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


def shape_text(shape: Sequence[int | None]) -> str:
    """Returns a shape for a message; unknown sizes print as `?`."""
    return "(" + ", ".join("?" if dim is None else str(dim) for dim in shape) + ("," if len(shape) == 1 else "") + ")"
