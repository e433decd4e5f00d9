"""Indexing: elements of an array, by every kind of index that NumPy has; `index_put` puts them in."""

from __future__ import annotations

import itertools
import math
import operator
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from opsdk.core.errors import DTypeError, ShapeError
from opsdk.core.spec import TensorSpec
from opsdk.core.sums import sum_at
from opsdk.define.decorators import op
from opsdk.define.frontend import owner_of
from opsdk.define.sample import Sample

# Any, in the backwards of built-in ops: arrays, tensors or Program variables, whichever runtime calls.
Code = Sequence[int]


@op("opsdk::getitem(Tensor(a) x, *, int[] index) -> Tensor(a) out")
def getitem(x: np.ndarray, *, index: Code) -> np.ndarray:
    """x[index], where the index is basic: integers, slices, `...` and None; written as `encode_index` writes it."""
    return x[entries_of(index)]


@getitem.infer
def _getitem(x: TensorSpec, index: Code) -> TensorSpec:
    return TensorSpec(taken_of(x, (), index), x.dtype)


@getitem.backward(complex=True)
def getitem_grad(x_spec: Any, dout: np.ndarray, index: Code) -> np.ndarray:
    """Zeros, with the cotangent where it was taken from."""
    dx = np.zeros(x_spec.shape, x_spec.dtype, like=dout)
    dx[entries_of(index)] = dout
    return dx


@getitem_grad.backward(composite=True, complex=True)
def getitem_grad_grad(ddx: Any, index: Code) -> Any:
    """The same elements of what enters."""
    return getitem(ddx, index=index)


@op("opsdk::index(Tensor x, Tensor[] indices, *, int[] index) -> Tensor out", nondifferentiable=("indices",))
def index(x: np.ndarray, indices: Sequence[np.ndarray], *, index: Code) -> np.ndarray:
    """x[index], where the index has arrays of integers or bools, too: a copy.

    Gradient: with respect to x, to any order. What is taken several times gets the sum.

    Args:
        x: of any dtype.
        indices: the arrays of the index, in order.
        index: the index as `encode_index` writes it.

    Raises:
        IndexError: a position lies outside, or the arrays have no common shape.
    """
    return x[entries_of(index, indices)]


@index.infer
def _index(x: TensorSpec, indices: list[TensorSpec], index: Code) -> TensorSpec:
    return TensorSpec(taken_of(x, indices, index), x.dtype)


@index.backward(complex=True)
def index_grad(x_spec: Any, indices: Sequence[np.ndarray], dout: np.ndarray, index: Code) -> np.ndarray:
    """Zeros, with the cotangents added where they were taken from."""
    places = places_of(x_spec.shape, dout)
    taken = places[entries_of(index, indices)]
    return sum_at(dout.reshape(-1), taken.reshape(-1), places.size).reshape(x_spec.shape)


@index_grad.backward(composite=True, complex=True)
def index_grad_grad(indices: Any, ddx: Any, index: Code) -> Any:
    """The same elements of what enters."""
    return _op_index(ddx, indices, index=index)


_op_index = index  # which the attribute is called, too


def places_of(shape: Sequence[int], like: np.ndarray) -> np.ndarray:
    """Returns the number of each element of an array, in C order, where another array is."""
    return np.arange(math.prod(shape), like=like).reshape(shape)


# An index as integers, four for each entry: what it is, and start, stop and step of a slice or the position. Calls that
# differ in nothing but the numbers of an index are calls of one kind.
_POSITION, _ELLIPSIS, _NEW_AXIS, _ARRAY = -1, -2, -3, -4
_SLICE = -16  # of a slice, less one bit for each bound that is given


# Any: what a user writes between brackets; arrays, tensors or Variables.
def encode_index(index: Any) -> tuple[list[int], list[Any]]:
    """Returns an index as integers, the form in which it is an attribute, and the arrays that it has.

    Raises:
        ShapeError: the index has something that is neither an integer, a slice, `...`, None nor an array.
        DTypeError: an array has other elements than integers and bools.
        TypeError: a bound of a slice is no integer.
    """
    parts: list[int] = []
    arrays: list[Any] = []
    for entry in index if isinstance(index, tuple) else (index,):
        if isinstance(entry, slice):
            start, stop, step = entry.start, entry.stop, entry.step
            given = (start is not None) + 2 * (stop is not None) + 4 * (step is not None)
            parts += (_SLICE + given, *[0 if v is None else operator.index(v) for v in (start, stop, step)])
        elif entry is Ellipsis:
            parts += (_ELLIPSIS, 0, 0, 0)
        elif entry is None:
            parts += (_NEW_AXIS, 0, 0, 0)
        elif isinstance(entry, (int, np.integer)) and not isinstance(entry, bool):
            parts += (_POSITION, int(entry), 0, 0)
        elif isinstance(entry, (list, np.ndarray)) or owner_of(entry) is not None:
            parts += (_ARRAY, 0, 0, 0)
            arrays.append(_array_of(entry))
        else:
            raise ShapeError(
                f"indexing: expected integers, slices, '...', None, or arrays of integers or bools, got "
                f"{type(entry).__name__}"
            )
    return parts, arrays


def _array_of(entry: Any) -> Any:
    """Returns an array, tensor or Variable of an index; a list as an array."""
    value = np.asarray(entry) if isinstance(entry, list) else entry
    if isinstance(entry, list) and not value.size:
        return value.astype(np.int64)
    if value.dtype.kind == "b" and not value.ndim:
        raise ShapeError("indexing: a mask expected at least one axis, got a 0-d array; write x[None] or x[:0]")
    if value.dtype.kind not in "iub":
        raise DTypeError(f"indexing: an array expected integers or bools, got {value.dtype}; cast it")
    return value


def decode_index(parts: Code, arrays: Sequence[Any] = ()) -> tuple[Any, ...]:
    """Returns the index that `encode_index` wrote.

    Raises:
        ShapeError: it did not write this.
    """
    entries: list[Any] = []
    left = iter(arrays)
    for at in range(0, len(parts), 4):
        kind, *bounds = parts[at : at + 4]
        is_known = _SLICE <= kind < _SLICE + 8 or _NEW_AXIS <= kind <= _POSITION or kind == _ARRAY
        array = next(left, None) if kind == _ARRAY else ()
        if len(bounds) < 3 or not is_known or array is None:
            raise ShapeError(
                "op 'opsdk::getitem': index expected four integers for each entry, as x[...] writes them, and as many "
                f"arrays as it tells of, got {list(parts)} and {len(arrays)} arrays; write x[...]"
            )
        if kind == _ARRAY:
            entries.append(array)
        elif kind < _ARRAY:
            given = kind - _SLICE
            entries.append(slice(*[bound if given & 1 << i else None for i, bound in enumerate(bounds)]))
        else:
            entries.append({_POSITION: bounds[0], _ELLIPSIS: Ellipsis, _NEW_AXIS: None}[kind])
    return tuple(entries)


def entries_of(parts: Code, arrays: Sequence[Any] = ()) -> tuple[Any, ...]:
    """Returns an index for NumPy that gives an array where one element is left, too."""
    entries = decode_index(parts, arrays)
    return entries if any(entry is Ellipsis for entry in entries) else (*entries, ...)


def taken_of(x: TensorSpec, arrays: Sequence[TensorSpec], parts: Code) -> list[int | None]:
    """Returns the sizes of x[index], None for those that depend on what is not known: open sizes, and masks.

    Raises:
        IndexError: whatever these are, there is no such element, or the arrays have no common shape.
    """
    if None not in x.shape and not arrays:
        return list(np.broadcast_to(np.empty((), np.bool_), x.shape)[entries_of(parts)].shape)  # type: ignore[arg-type]
    found: list[tuple[int, ...]] = []
    refused = IndexError()
    for size, held in itertools.product((50, 49, 7, 1, 0) if None in x.shape else (0,), (2, 1, 0)):
        shape = [size if dim is None else dim for dim in x.shape]
        entries = [one for entry in entries_of(parts, arrays) for one in _stand_in(entry, held)]
        try:
            found.append(np.broadcast_to(np.empty((), np.bool_), shape)[tuple(entries)].shape)
        except IndexError as error:
            refused = error
    if not found:
        raise refused
    return [sizes[0] if len(set(sizes)) == 1 else None for sizes in zip(*found, strict=True)]


def _stand_in(entry: Any, held: int) -> list[Any]:
    """Returns what stands for an entry of an index: for an array one of zeros, for a mask one an axis that it takes."""
    if not isinstance(entry, TensorSpec):
        return [entry]
    if entry.dtype.kind == "b":
        return [np.zeros(held, np.intp)] * entry.ndim
    return [np.zeros([held if dim is None else dim for dim in entry.shape], np.intp)]


@getitem.samples
def _getitem_samples(rng: np.random.Generator) -> Iterator[Sample]:
    x = rng.normal(size=(3, 4, 2))
    yield sample_of(x, 1, reason="an integer drops its axis")
    yield sample_of(x, (-1, ..., 0), reason="from the end, with an ellipsis")
    yield sample_of(x, (slice(None, None, -2), slice(1, 3)), reason="negative step")
    yield sample_of(x, (None, slice(None), 2), reason="a new axis")
    yield sample_of(x, slice(2, 1), reason="an empty slice")
    yield sample_of(x, (), reason="everything")
    yield sample_of(x, (0, 1, 1), reason="one element, 0-d")
    yield sample_of(np.zeros((0, 4)), slice(1, None), reason="empty")


def sample_of(x: np.ndarray, index: Any, *more: np.ndarray, reason: str) -> Sample:
    code, arrays = encode_index(index)
    return Sample(x, *([arrays] if arrays else []), *more, index=code, reason=reason)


INDICES: list[tuple[Any, str]] = [
    (np.array([2, 0, 2, -1]), "repeated positions, whose gradients add up, and one from the end"),
    ((slice(None), np.array([[1, 0], [3, 3]])), "a matrix of positions, inner axis"),
    ((np.array([0, 2]), slice(1, 3), np.array([[1], [0]])), "two arrays around a slice, broadcast"),
    ((np.array([0, 2]), np.array([1, 1]), ...), "two arrays side by side"),
    (np.array([True, False, True]), "a mask"),
    ((slice(None), np.arange(8).reshape(4, 2) % 3 == 0), "a mask of two axes"),
    ((None, np.array(1), 0), "a 0-d position, an integer and a new axis"),
    (np.zeros(0, np.int64), "no positions"),
]


@index.samples
def _index_samples(rng: np.random.Generator) -> Iterator[Sample]:
    for at, reason in INDICES:
        yield sample_of(rng.normal(size=(3, 4, 2)), at, reason=reason)
