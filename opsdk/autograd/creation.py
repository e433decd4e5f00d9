"""Tensors out of data, constants and random numbers."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from opsdk.autograd.device_tensor import as_asked, tensor_of
from opsdk.autograd.tensor import Tensor, needs_float
from opsdk.backends.call.constant import as_constant, numbers_in
from opsdk.backends.memory import arena
from opsdk.backends.memory.device import memory_at, memory_of, place_of
from opsdk.core.dtype import DTypeLike, as_dtype
from opsdk.core.errors import AttributeValueError, DTypeError, GraphError, ShapeError
from opsdk.core.fit import as_bool, as_numbers, fitted, misfit, one_number
from opsdk.core.modes import is_grad_enabled
from opsdk.core.place import Place
from opsdk.core.random import next_seed
from opsdk.core.spec import OpenSize, as_shape
from opsdk.core.spellings import spell
from opsdk.define.frontend import MAKER, at_once, owner_of
from opsdk.ops import creation as ops
from opsdk.ops import resizing
from opsdk.ops import shape as shape_ops
from opsdk.ops.elements.index_put import index_put_
from opsdk.ops.elements.indexing import encode_index

_MOST_STEPS = 2.0**48


# Any: whatever a constant can be made of.
def to_tensor(
    data: Any, dtype: DTypeLike | None = None, place: Place | None = None, stop_gradient: bool = True
) -> Tensor:
    """Returns a tensor that holds a copy of `data`, contiguous; where it is not small, aligned for vector loads.

    Args:
        data: array, number, or nested lists of numbers; Python floats become float32, NumPy arrays keep their dtype,
            and get this machine's byte order.
        dtype: converts to this dtype.
        place: where the copy lives: `CPUPlace()`, or `CUDAPlace(0)`; where `data` lives unless given.
        stop_gradient: False asks for gradients; the dtype must then be a float.

    Raises:
        DTypeError: the data is not numeric, or has whole numbers that an integer `dtype` does not hold.
        AttributeValueError: a gradient is asked for an integer dtype, or `stop_gradient` is not a bool.
        PlaceError: there is no such device here.
        MissingDependencyError: the place is a device, and CuPy is not installed.
    """
    stop_gradient = as_bool(stop_gradient, "to_tensor: stop_gradient")
    here = place_of(data._array if isinstance(data, Tensor) else data)
    there = here if place is None else place
    is_host = here.kind == there.kind == "cpu"
    if not is_host:
        array = _moved(data, dtype, there)
    elif isinstance(data, Tensor):
        array = data._array
    elif isinstance(data, (list, tuple)) and any(isinstance(item, Tensor) for item in data):
        array = np.stack([_plain(item) for item in data])
    elif dtype is None:
        array = as_constant(data, None, "to_tensor")
    else:
        array = numbers_in(data, "to_tensor")  # in no default dtype on the way
    if is_host:
        held = arena.empty(
            array.shape, as_dtype(array.dtype if dtype is None else dtype)
        )  # in this machine's byte order
        array = fitted(array, held.dtype, "to_tensor", truncates=True, into=held)
    made = tensor_of(array, stop_gradient)
    if not stop_gradient:
        needs_float(made, "to_tensor")
    return made


def _moved(data: Any, dtype: DTypeLike | None, place: Place) -> Any:
    """Returns a copy of `data` at a place, where it or the place is not in host memory."""
    memory = memory_at(place, "to_tensor")
    array = data._array if isinstance(data, Tensor) else data
    if place_of(array) == place:
        held = array.dtype if dtype is None else as_dtype(dtype)
        if wrong := misfit(array, held, truncates=True):
            raise DTypeError(f"to_tensor: {wrong}")
        return array.astype(held, copy=True)
    host = data if place_of(array).kind == "cpu" else memory_of(array).to_host(array)
    return memory.from_host(to_tensor(host, dtype)._array)


@as_asked
def full(shape: Sequence[Any] | int, fill_value: float | complex, dtype: DTypeLike = "float32") -> Any:
    """Returns a tensor of one value; a Variable in a composite that a Program is built of, or with a size of one.

    Args:
        shape: sizes; of a Variable also those that only a run can tell.
        fill_value: a number; integer dtypes drop its fraction.
        dtype: element type.

    Raises:
        DTypeError: the dtype does not hold the value, or it is no number.
        ShapeError: a size is no whole number ≥ 0, or the value is several.
    """
    is_open = isinstance(shape, (tuple, list)) and any(isinstance(size, OpenSize) for size in shape)
    op, attrs = ops.constant(fill_value, dtype, "full", [] if is_open else _sizes(shape, "full"), "fill_value")
    return resizing.expanded(op(**attrs), shape) if is_open else _here(op(**attrs))


def _here(made: Any) -> Any:
    """Returns what was made of nothing as a value of the runtime that the body of a composite is run for: a tensor.

    In a Program that is being built it is a Variable.
    """
    if made.__class__ is not np.ndarray:
        return made
    maker = MAKER.get()
    return Tensor(made) if maker is None else maker.constant(made)


def _asked(given: tuple[Any, ...], shape: Any, dtype: DTypeLike | None, subject: str) -> tuple[Any, Any]:
    """Returns the shape and the dtype of a new tensor: `([4, 4], "float64")` as Paddle has it, `(4, 4)` as PyTorch.

    Raises:
        ShapeError: no shape is given, or two.
        DTypeError: the dtype is given twice.
    """
    sizes = tuple(itertools.takewhile(lambda size: isinstance(size, (int, np.integer)), given))
    rest = given[len(sizes) :]
    if not sizes and shape is None:
        shape, rest = (given[0], given[1:]) if given else (None, ())
    if (shape is None) == (not sizes):
        raise ShapeError(
            f"{subject}: expected one shape, got {list(sizes)} and shape={shape!r}; write {subject}([2, 3])"
        )
    if len(rest) > 1 or (rest and dtype is not None):
        shown = ", ".join(map(repr, given))
        raise DTypeError(
            f"{subject}: expected a shape and one dtype, got {shown} and dtype={dtype!r}; write dtype once"
        )
    kind = rest[0] if rest else dtype
    return sizes or shape, "float32" if kind is None else kind


@as_asked
def zeros(*sizes: Any, shape: Any = None, dtype: DTypeLike | None = None) -> Any:
    """Returns a tensor of zeros, float32 unless given: `zeros([2, 3], "float64")` and `zeros(2, 3)`."""
    wanted, kind = _asked(sizes, shape, dtype, "zeros")
    return full(wanted, 0.0, kind)


@as_asked
def ones(*sizes: Any, shape: Any = None, dtype: DTypeLike | None = None) -> Any:
    """Returns a tensor of ones, float32 unless given: `ones([2, 3], "float64")` and `ones(2, 3)`."""
    wanted, kind = _asked(sizes, shape, dtype, "ones")
    return full(wanted, 1.0, kind)


@as_asked
def empty(*sizes: Any, shape: Any = None, dtype: DTypeLike | None = None) -> Any:
    """Returns a tensor to be written to: zeros, so that nothing depends on what memory held."""
    wanted, kind = _asked(sizes, shape, dtype, "empty")
    return full(wanted, 0.0, kind)


@as_asked
def empty_like(x: Any, dtype: DTypeLike | None = None) -> Any:
    """Returns a tensor to be written to, with the shape of `x`, and its dtype unless given: zeros."""
    return _like(x, 0.0, dtype, "empty_like")


@as_asked
def eye(num_rows: int, num_columns: int | None = None, dtype: DTypeLike = "float32") -> Any:
    """Returns a matrix with ones on its diagonal, square unless the columns are given."""
    rows, columns = _sizes([num_rows, num_rows if num_columns is None else num_columns], "eye")
    return _here(np.eye(rows, columns, dtype=as_dtype(dtype, "eye")))


@as_asked
def linspace(start: float, stop: float, num: int, dtype: DTypeLike = "float32") -> Any:
    """Returns `num` evenly spaced numbers from `start` to `stop`, both included.

    Raises:
        DTypeError: the dtype does not hold the numbers.
    """
    low, high = (one_number(value, f"linspace, {name}").item() for name, value in (("start", start), ("stop", stop)))
    (count,) = _sizes(num, "linspace")
    return _here(fitted(np.linspace(low, high, count), as_dtype(dtype, "linspace"), "linspace", truncates=True))


@as_asked
def zeros_like(x: Any, dtype: DTypeLike | None = None) -> Any:
    """Returns a tensor of zeros with the shape of `x`, and its dtype unless given, as a variable where it is one."""
    return _like(x, 0.0, dtype, "zeros_like")


@as_asked
def ones_like(x: Any, dtype: DTypeLike | None = None) -> Any:
    """Returns a tensor of ones with the shape of `x`, and its dtype unless given, as a variable where it is one."""
    return _like(x, 1.0, dtype, "ones_like")


@as_asked
def full_like(x: Any, fill_value: float, dtype: DTypeLike | None = None) -> Any:
    """Returns a tensor of one value with the shape of `x`, and its dtype unless given; a variable where it is one."""
    return _like(x, fill_value, dtype, "full_like")


def _is_of_a_program(value: Any) -> bool:
    return not isinstance(value, Tensor) and owner_of(value) is not None


# Any: a tensor, or an array of any library.
def _like(x: Any, value: float, dtype: DTypeLike | None, subject: str) -> Any:
    if _is_of_a_program(x):
        if dtype is None:
            return ops.fill_any_like(x, value=value)
        op, attrs = ops.constant(value, dtype, subject, [], "fill_value")
        return resizing.expand(op(**attrs), [x] * x.ndim, shape=[-2] * x.ndim, axis=list(range(x.ndim)))
    if not hasattr(x, "shape") or not hasattr(x, "dtype"):
        raise DTypeError(f"{subject}: expected a tensor or array, got {type(x).__name__}")
    kind = x.dtype if dtype is None else dtype
    # Beside a tensor it is one, where that is.
    return at_once(full, x.shape, value, kind).to(x.place) if isinstance(x, Tensor) else full(x.shape, value, kind)


@as_asked
def arange(start: Any, end: Any = None, step: float = 1, dtype: DTypeLike | None = None) -> Any:
    """Returns evenly spaced numbers in [start, end); int64 for integer arguments, else float32, unless given.

    The end may be a size of a Variable that only a run can tell, `arange(x.shape[0])`: then it is a Variable.

    Raises:
        AttributeValueError: an argument is no finite number, or `step` is 0.
        DTypeError: the dtype does not hold the numbers.
    """
    given = {"start": 0 if end is None else start, "end": start if end is None else end, "step": step}
    if isinstance(given["end"], OpenSize):
        return _to_size(given["end"], given["start"], step, dtype)
    low, high, by = (one_number(value, f"arange, {name}").item() for name, value in given.items())
    if not all(isinstance(value, (int, float)) and abs(value) < 2.0**1000 for value in (low, high, by)) or not by:
        shown = ", ".join(f"{name}={value}" for name, value in given.items())
        raise AttributeValueError(f"arange: expected finite real numbers and step ≠ 0, got {shown}")
    if not -_MOST_STEPS < (high - low) / by < _MOST_STEPS:
        raise AttributeValueError(f"arange: expected fewer than 2**48 numbers, got start={low}, end={high}, step={by}")
    whole = all(isinstance(value, int) for value in (low, high, by))
    kind = as_dtype(dtype or ("int64" if whole else "float32"), "arange")
    beyond = whole and max(abs(low), abs(high), abs(by)) >= 2**62
    numbers = np.array(range(low, high, by), object) if beyond else np.arange(low, high, by)
    return _here(fitted(numbers, kind, "arange", truncates=True))


def _to_size(end: OpenSize, start: float, step: float, dtype: DTypeLike | None) -> Any:
    """Returns the numbers up to a size that only a run can tell."""
    if owner_of(end.owner) is None:
        raise end.unknown("a number for arange")
    low, by = (one_number(value, f"arange, {name}").item() for name, value in (("start", start), ("step", step)))
    whole = isinstance(low, int) and isinstance(by, int)
    kind = as_dtype(dtype or ("int64" if whole else "float32"), "arange")
    return ops.arange(end.owner, axis=end.axis, start=low, step=by, dtype=kind)


@as_asked
def uniform(
    shape: Sequence[int] | int, dtype: DTypeLike = "float32", min: float = -1.0, max: float = 1.0, seed: int = 0
) -> Tensor:
    """Returns numbers drawn uniformly from [min, max); seed 0 draws the seed from the global one.

    Raises:
        InputValueError: the dtype is no float one, or the bounds are not finite, or the wrong way round.
    """
    sizes = _sizes(shape, "uniform")
    return _here(ops.uniform_random(shape=sizes, min=min, max=max, seed=seed or next_seed(), dtype=as_dtype(dtype)))


@as_asked
def rand(*sizes: Any, shape: Any = None, dtype: DTypeLike | None = None, seed: int = 0) -> Tensor:
    """Returns numbers drawn uniformly from [0, 1), float32 unless given: `rand([4, 4])` and `rand(4, 4)`."""
    wanted, kind = _asked(sizes, shape, dtype, "rand")
    return uniform(wanted, kind, 0.0, 1.0, seed)


@as_asked
def randn(*sizes: Any, shape: Any = None, dtype: DTypeLike | None = None, seed: int = 0) -> Tensor:
    """Returns numbers from the standard normal distribution, float32 unless given; seed 0 draws from the global one."""
    wanted, kind = _asked(sizes, shape, dtype, "randn")
    key = seed or next_seed()
    return _here(ops.gaussian_random(shape=_sizes(wanted, "randn"), seed=key, dtype=as_dtype(kind, "randn")))


@as_asked
def normal(
    mean: float = 0.0,
    std: float = 1.0,
    shape: Sequence[int] | int = (1,),
    dtype: DTypeLike = "float32",
    seed: int = 0,
) -> Tensor:
    """Returns numbers from a normal distribution; seed 0 draws the seed from the global one.

    Raises:
        InputValueError: the dtype is no float one, or a parameter is not finite, or `std` is below 0.
    """
    key = seed or next_seed()
    sizes, kind = _sizes(shape, "normal"), as_dtype(dtype, "normal")
    return _here(ops.gaussian_random(shape=sizes, mean=mean, std=std, seed=key, dtype=kind))


@as_asked
def randint(
    low: int, high: Any = None, shape: Sequence[int] | int = (1,), dtype: DTypeLike = "int64", seed: int = 0
) -> Tensor:
    """Returns whole numbers drawn uniformly from [low, high): `randint(0, 5, [2, 3])`, `randint(5, (2,))`.

    Args:
        low: the least; where `high` is not given, 0 is, and this is `high`.
        high: one more than the greatest.
        shape: sizes.
        dtype: of the result.
        seed: 0 draws it from the global one.

    Raises:
        AttributeValueError: no number is in [low, high).
        DTypeError: the dtype does not hold them.
    """
    if isinstance(high, (list, tuple)):
        high, shape = None, high
    least, end = (0, low) if high is None else (low, high)
    if not least < end:
        raise AttributeValueError(f"randint: expected low < high, got [{least}, {end}); no number is there")
    sizes, kind, key = _sizes(shape, "randint"), as_dtype(dtype, "randint"), seed or next_seed()
    return _here(ops.random_integers(shape=sizes, low=least, high=end, seed=key, dtype=kind))


@as_asked
def randperm(n: int, dtype: DTypeLike = "int64", seed: int = 0) -> Tensor:
    """Returns the whole numbers from 0 to n - 1 in an order that is drawn; seed 0 draws it from the global one."""
    (count,) = _sizes(n, "randperm")
    return _here(ops.random_order(n=count, seed=seed or next_seed(), dtype=as_dtype(dtype, "randperm")))


def assign(x: Any, output: Tensor | None = None) -> Any:
    """Returns a copy of a tensor, array or Program variable that gradients flow through, or copies it into `output`.

    A Program variable is copied into a buffer of a layer whenever the Program runs.

    Raises:
        ShapeError: `output` has another shape.
        AttributeValueError: it is no tensor.
    """
    if _is_of_a_program(x) and (output is None or getattr(output, "_is_state", False)):
        every = encode_index(...)[0]
        return shape_ops.assign(x) if output is None else index_put_(output, [], shape_ops.detach(x), index=every)
    source = x if isinstance(x, Tensor) else to_tensor(x)
    if output is None:
        return source.clone() if source is x else _here(source._array)
    if not isinstance(output, Tensor):
        raise AttributeValueError(f"assign: output expected a tensor or None, got {type(output).__name__}")
    output.set_value(source)
    return output


# Any: a tensor, or what NumPy makes an array of.
def _plain(value: Any) -> np.ndarray:
    """Returns the values of a part that a new tensor is made of.

    Raises:
        GraphError: it needs a gradient, which would end here.
    """
    if isinstance(value, Tensor) and not value.stop_gradient and is_grad_enabled():
        raise GraphError(
            f"to_tensor: expected values in a list, got a tensor of shape {tuple(value.shape)} that needs a gradient, "
            "which would end here; join such tensors with opsdk.stack, or pass x.detach()"
        )
    return value.numpy() if isinstance(value, Tensor) else as_numbers(value, "to_tensor")


def _sizes(shape: Sequence[int] | int, subject: str) -> list[int]:
    """Returns the sizes of a new tensor.

    Raises:
        ShapeError: one is no whole number ≥ 0, or together they are more than an array has.
    """
    entries: Any = shape.tolist() if isinstance(shape, (Tensor, np.ndarray)) else shape
    listed = [entries] if isinstance(entries, (int, np.integer)) else entries
    if not isinstance(listed, (list, tuple)):
        raise ShapeError(f"{subject}: shape expected sizes, got {shape!r}")
    for size in listed:
        if isinstance(size, OpenSize):
            raise size.unknown(f"a number for {subject}")
    sizes = as_shape(listed, f"{subject}: shape")
    if None in sizes or math.prod(size or 1 for size in sizes) >= 2**60:
        raise ShapeError(f"{subject}: shape expected known sizes of an array that memory holds, got {shape!r}")
    return [size for size in sizes if size is not None]


spell(globals())
