"""Inputs of a Program: `data` declares one, `InputSpec` describes one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from opsdk.core.dtype import DTypeLike
from opsdk.core.errors import ProgramError, ShapeError
from opsdk.core.fit import as_bool
from opsdk.core.spec import TensorSpec, shown_shape
from opsdk.static.ir.program import default_main_program
from opsdk.static.ir.variable import Variable


def data(name: str, shape: Sequence[int | None], dtype: DTypeLike | None = None, lod_level: int = 0) -> Variable:
    """Declares an input of the default main Program, which `feed` must give at every run.

    Args:
        name: the key in `feed`.
        shape: sizes; None or -1 for any size, as in `[None, 784]`.
        dtype: element type; float32 unless given.
        lod_level: accepted for programs written for Paddle; 0 is all there is.

    Returns:
        The Variable, with stop_gradient=True.

    Raises:
        ProgramError: the shape is no sequence, or the name is taken by a variable of another shape or dtype.
    """
    if not isinstance(shape, (list, tuple)):
        raise ProgramError(f"data {name!r}: shape expected a list or tuple, got {shape!r}")
    if lod_level:
        raise ProgramError(f"data {name!r}: lod_level expected 0, got {lod_level}; pad or pass lengths instead")
    block = default_main_program().global_block()
    if not isinstance(name, str):
        raise ProgramError(f"data: name expected a text, the key in feed, got {type(name).__name__}")
    return block.create_var(name, shape, "float32" if dtype is None else dtype, stop_gradient=True, is_data=True)


class InputSpec:
    """Shape, dtype and name of an input that need not exist yet.

    Args:
        shape: sizes; None or -1 for any size.
        dtype: element type.
        name: the name in the Program.
        stop_gradient: whether gradients of the input are unneeded.
    """

    def __init__(
        self,
        shape: Sequence[int | None],
        dtype: DTypeLike = "float32",
        name: str | None = None,
        stop_gradient: bool = False,
    ) -> None:
        self.spec = TensorSpec(shape, dtype)
        self.name = name
        self.stop_gradient = as_bool(stop_gradient, "InputSpec: stop_gradient")

    @classmethod
    def from_tensor(cls, tensor: Any, name: str | None = None) -> InputSpec:
        """Returns the spec of a tensor or Variable (Any: of either runtime)."""
        return cls(tensor.shape, tensor.dtype, name)

    @classmethod
    def from_numpy(cls, array: np.ndarray, name: str | None = None) -> InputSpec:
        """Returns the spec of an array."""
        return cls(array.shape, array.dtype, name)

    @property
    def shape(self) -> tuple[Any, ...]:
        """Sizes; one that may be any prints as -1, equals -1, and refuses to be computed with."""
        return shown_shape(self.spec.shape, self)

    @property
    def dtype(self) -> np.dtype[Any]:
        """Element type."""
        return self.spec.dtype

    def batch(self, size: int) -> InputSpec:
        """Returns the spec with one more dimension in front."""
        return InputSpec((size, *self.spec.shape), self.dtype, self.name, self.stop_gradient)

    def unbatch(self) -> InputSpec:
        """Returns the spec without its first dimension.

        Raises:
            ShapeError: there is none.
        """
        if not self.spec.shape:
            raise ShapeError("InputSpec.unbatch: expected at least one dimension, got shape ()")
        return InputSpec(self.spec.shape[1:], self.dtype, self.name, self.stop_gradient)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, InputSpec) and (self.spec, self.name) == (other.spec, other.name)

    def __hash__(self) -> int:
        return hash(self.spec)

    def __repr__(self) -> str:
        return (
            f"InputSpec(shape={self.shape}, dtype={self.dtype}, name={self.name}, stop_gradient={self.stop_gradient})"
        )
