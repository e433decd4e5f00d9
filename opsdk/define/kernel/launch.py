"""Launches of CUDA kernels: how many threads run one, said by what they work on, and the memory that it works in.

    elementwise("y")        a thread for each element of `y`; every array comes as one dimension, in C order
    rows("x")               a block for each row of `x`, which comes as a matrix, its last axis being the row
    fixed(grid, block)      always the same blocks and threads; arrays come as they are

Anything else is a function of inputs, outputs and attributes by name, that returns `(grid, block)`, or
`(grid, block, stream)` or `(grid, block, stream, shared_bytes)`, as `kernel[...]` in Numba takes them.

A kernel on a device allocates nothing that is large, and a result that grows with the inputs may need more on its way
than what comes out, such as all states of a scan for its gradient: that is scratch, which its registration declares. It
holds what the memory held, or what a NumPy function of the inputs made there, such as sums up to each element.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from opsdk.core.errors import DefinitionError, LaunchError
from opsdk.core.spec import TensorSpec
from opsdk.core.suggest import alternatives
from opsdk.define.schema.binding import called_by_name, name_of, parameters_among
from opsdk.define.schema.schema import OpSchema

__all__ = ["elementwise", "fixed", "rows"]

DEVICE_OPTIONS = {"launch": "a launch shape", "scratch": "scratch"}  # options of CUDA kernels, and what they are
# What every device of compute capability 5.0 and above takes; a device may allow fewer threads for one kernel.
MAX_THREADS = 1024
MAX_BLOCK = (1024, 1024, 64)
MAX_GRID = (2**31 - 1, 65535, 65535)


class Geometry(NamedTuple):
    """One launch: blocks and threads by dimension, a stream (None is the current one), bytes of shared memory."""

    grid: tuple[int, ...]
    block: tuple[int, ...]
    stream: Any = None  # Any: a stream object of Numba or CuPy
    shared: int = 0


@dataclass(frozen=True)
class LaunchShape(ABC):
    """What the launch shapes of this module are to the rest of the house.

    Attributes:
        names: the tensors that it speaks of.
    """

    names: tuple[str, ...]

    @abstractmethod
    def geometry(self, values: Mapping[str, Any]) -> Geometry:
        """Returns the launch for arrays and attributes by name; a grid of no block where there is nothing to do."""

    def view_shape(self, name: str, shape: tuple[int, ...]) -> tuple[int, ...]:
        """Returns the shape in which the kernel sees an array: its own, unless a launch shape has another."""
        return shape


@dataclass(frozen=True)
class Elementwise(LaunchShape):
    """A thread for each element of one tensor."""

    threads: int

    def geometry(self, values: Mapping[str, Any]) -> Geometry:
        """Returns as many blocks as cover the elements."""
        return Geometry((-(-int(values[self.names[0]].size) // self.threads),), (self.threads,))

    def view_shape(self, name: str, shape: tuple[int, ...]) -> tuple[int, ...]:
        """Returns one dimension of all elements."""
        return (math.prod(shape),)


@dataclass(frozen=True)
class Rows(LaunchShape):
    """A block for each row of one tensor."""

    threads: int

    def geometry(self, values: Mapping[str, Any]) -> Geometry:
        """Returns as many blocks as there are rows."""
        return Geometry((math.prod(values[self.names[0]].shape[:-1]),), (self.threads,))

    def view_shape(self, name: str, shape: tuple[int, ...]) -> tuple[int, ...]:
        """Returns rows and their length for the tensors that were named; others come as they are."""
        if name not in self.names:
            return shape
        return math.prod(shape[:-1]), shape[-1] if shape else 1


@dataclass(frozen=True)
class Fixed(LaunchShape):
    """Always the same launch."""

    grid: tuple[int, ...]
    block: tuple[int, ...]

    def geometry(self, values: Mapping[str, Any]) -> Geometry:
        """Returns the launch."""
        return Geometry(self.grid, self.block)


@dataclass(frozen=True)
class Computed(LaunchShape):
    """What a user's function returns, held to what a device takes."""

    function: Callable[..., Any]  # Any: a function of arrays and attributes by name
    subject: str

    def geometry(self, values: Mapping[str, Any]) -> Geometry:
        """Returns the launch.

        Raises:
            LaunchError: the function returned no launch, or one that no device takes.
        """
        made = called_by_name(self.function)(values)
        if not isinstance(made, Sequence) or isinstance(made, str) or not 2 <= len(made) <= 4:
            raise LaunchError(
                f"{self.subject}: expected (grid, block), or (grid, block, stream, shared_bytes), from "
                f"{name_of(self.function)}, got {made!r}"
            )
        shared = made[3] if len(made) == 4 else 0
        if not _is_whole(shared) or shared < 0:
            raise LaunchError(f"{self.subject}: shared memory expected a number of bytes ≥ 0, got {shared!r}")
        stream = made[2] if len(made) > 2 and made[2] != 0 else None
        grid = _sizes(made[0], f"{self.subject}, grid", MAX_GRID, LaunchError, least=0)
        return Geometry(grid, _block(made[1], self.subject, LaunchError), stream, int(shared))


def elementwise(name: str, threads: int = 256) -> Elementwise:
    """Returns the launch of one thread for each element of a tensor.

    The kernel gets every array as one dimension, in C order, whatever its shape; one that is not contiguous is copied.

    Args:
        name: an input or output of the op.
        threads: per block, 1 to 1024.

    Raises:
        DefinitionError: `name` is no name, or there are too few or too many threads.
    """
    return Elementwise(*_checked("elementwise", (name,), threads))


def rows(name: str, *others: str, threads: int = 128) -> Rows:
    """Returns the launch of one block for each row of a tensor.

    Args:
        name: the input or output whose rows are counted; all axes but the last are taken together.
        others: further tensors that the kernel gets as matrices of rows; what is not named comes as it is.
        threads: per block, 1 to 1024.

    Raises:
        DefinitionError: a name is no name, or there are too few or too many threads.
    """
    return Rows(*_checked("rows", (name, *others), threads))


def fixed(grid: int | Sequence[int], block: int | Sequence[int]) -> Fixed:
    """Returns a launch of always the same shape; the kernel gets its arrays as they are.

    Args:
        grid: blocks, in up to three dimensions.
        block: threads per block, in up to three dimensions, 1024 together at most.

    Raises:
        DefinitionError: a size is no whole number, below 1 or above what a device takes, or there are too many.
    """
    threads = _block(block, "launch.fixed", DefinitionError)
    return Fixed((), _sizes(grid, "launch.fixed, grid", MAX_GRID, DefinitionError), threads)


# Any: a user may pass anything as `launch`, and what is none is refused.
def as_launch(value: Any, tensors: Sequence[str], attrs: Sequence[str], subject: str) -> LaunchShape:
    """Returns a launch shape as a kernel carries it.

    Args:
        value: what was passed as `launch`.
        tensors: names of the op's inputs and outputs.
        attrs: names of its attributes.
        subject: the kernel, for messages.

    Raises:
        DefinitionError: there is no launch shape, or it speaks of a tensor that the op does not have.
        BindingError: a function asks for something that the op does not have.
    """
    if isinstance(value, LaunchShape):
        for name in value.names:
            if name not in tensors:
                raise DefinitionError(
                    f"{subject}, launch: nothing is called {name!r}; there are {alternatives(name, tensors)}"
                )
        return value
    if not callable(value):
        raise DefinitionError(
            f"{subject}: expected a launch shape, got {value!r}; pass "
            f"launch=opsdk.launch.elementwise({tensors[-1]!r}), opsdk.launch.rows, opsdk.launch.fixed, "
            "or a function that returns (grid, block)"
        )
    parameters_among(value, (*tensors, *attrs), f"{subject}, launch")
    return Computed((), value, f"{subject}, launch")


@dataclass(frozen=True)
class Scratch:
    """One array of a kernel.

    Attributes:
        function: of inputs and attributes by name; returns a TensorSpec, or an array where the inputs are (Any: arrays
            of a device, attribute values).
        subject: the kernel and the array, for messages.
    """

    function: Callable[..., Any]
    subject: str

    def made(self, values: Mapping[str, Any], is_there: Callable[[Any], bool]) -> Any:
        """Returns the spec of the array for a call, or the array.

        Args:
            values: inputs and attributes by name.
            is_there: whether a value is an array where the inputs are.

        Raises:
            LaunchError: the function gave neither, or a spec with a dimension that is not known.
        """
        made = called_by_name(self.function)(values)
        if not (None not in made.shape if isinstance(made, TensorSpec) else is_there(made)):
            raise LaunchError(
                f"{self.subject}: expected opsdk.TensorSpec(shape, dtype) of known sizes, or an array where the inputs "
                f"are, got {made!r}"
            )
        return made


# Any: a user may pass anything, and what is none is refused.
def as_scratch(value: Any, schema: OpSchema, subject: str) -> dict[str, Scratch]:
    """Returns the arrays that a kernel works in, by the names of the kernel's parameters.

    Raises:
        DefinitionError: it is no dict from new names to functions.
        BindingError: a function asks for something that is no input or attribute.
    """
    named = (*schema.input_names, *schema.output_names, *schema.attr_names)
    if not isinstance(value, Mapping) or not all(isinstance(name, str) for name in value):
        raise DefinitionError(
            f"{subject}: scratch expected a dict from names to functions, got {value!r}; write "
            "scratch={'states': lambda x: opsdk.TensorSpec(x.shape, 'float64')}"
        )
    for name, function in value.items():
        if name in named or not callable(function):
            got = "the name of an input, output or attribute" if name in named else f"{function!r} for it"
            raise DefinitionError(f"{subject}: scratch {name!r} expected a name of its own and a function, got {got}")
        known = (*schema.input_names, *schema.attr_names)
        parameters_among(function, known, f"{subject}, scratch {name!r}")
    return {name: Scratch(function, f"{subject}, scratch {name!r}") for name, function in value.items()}


def _checked(shape: str, names: tuple[Any, ...], threads: Any) -> tuple[tuple[str, ...], int]:
    for name in names:
        if not isinstance(name, str):
            raise DefinitionError(f"launch.{shape}: expected the name of an input or output, got {name!r}")
    if not _is_whole(threads) or not 1 <= threads <= MAX_THREADS:
        raise DefinitionError(
            f"launch.{shape}: threads expected a whole number from 1 to {MAX_THREADS}, got {threads!r}"
        )
    return names, int(threads)


def _is_whole(value: Any) -> bool:
    return isinstance(value, (int, np.integer)) and not isinstance(value, bool)


def _sizes(
    value: Any,
    subject: str,
    most: tuple[int, ...],
    error: type[DefinitionError] | type[LaunchError],
    least: int = 1,
) -> tuple[int, ...]:
    sizes = (value,) if _is_whole(value) else value
    if not isinstance(sizes, Sequence) or isinstance(sizes, str) or not all(map(_is_whole, sizes)):
        raise error(f"{subject}: expected whole numbers, got {value!r}")
    if not 1 <= len(sizes) <= 3:
        raise error(f"{subject}: expected 1 to 3 dimensions, got {len(sizes)} in {value!r}")
    for size, limit in zip(sizes, most, strict=False):
        if not least <= size <= limit:
            raise error(f"{subject}: expected sizes from {least} to {limit}, got {size} in {value!r}")
    return tuple(int(size) for size in sizes)


def _block(value: Any, subject: str, error: type[DefinitionError] | type[LaunchError]) -> tuple[int, ...]:
    block = _sizes(value, f"{subject}, block", MAX_BLOCK, error)
    if math.prod(block) > MAX_THREADS:
        raise error(
            f"{subject}: block expected {MAX_THREADS} threads at most, got {math.prod(block)} in {block}; "
            "use more blocks of fewer threads"
        )
    return block
