"""Ops between one array and several: concat, stack, slicing and gather."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from opsdk.core.errors import ShapeError
from opsdk.core.spec import TensorSpec
from opsdk.define.decorators import op
from opsdk.define.infer import broadcast, normalize_axes

# Any, in the backwards of built-in ops: arrays, tensors or Program variables, whichever runtime calls.


@op("opsdk::concat(Tensor[] x, *, int axis=0) -> Tensor out")
def concat(x: Sequence[np.ndarray], *, axis: int = 0) -> np.ndarray:
    """The arrays one after another along an axis."""
    return np.concatenate(list(x), axis=axis)


@concat.infer
def _concat(x: list[TensorSpec], axis: int) -> TensorSpec:
    at = normalize_axes([axis], x[0].ndim, "concat")[0]
    for spec in x[1:]:
        pairs = zip(spec.shape, x[0].shape, strict=False)
        same = all(i == at or a == b or None in (a, b) for i, (a, b) in enumerate(pairs))
        if spec.ndim != x[0].ndim or not same:
            raise ShapeError(f"concat: expected shapes equal but for axis {at}, got {', '.join(map(str, x))}")
    sizes = [spec.shape[at] for spec in x]
    total = None if None in sizes else sum(size or 0 for size in sizes)
    return TensorSpec([total if i == at else dim for i, dim in enumerate(x[0].shape)], x[0].dtype)


@concat.backward
def concat_grad(x: Sequence[np.ndarray], dout: np.ndarray, axis: int) -> list[np.ndarray]:
    """The pieces of the cotangent."""
    ends = np.cumsum([part.shape[axis] for part in x])[:-1]
    return [piece.copy() for piece in np.split(dout, ends, axis=axis)]


@concat_grad.backward(composite=True, disconnected=("x",))
def concat_grad_grad(ddx: Any, axis: int) -> Any:
    """The pieces that enter, joined."""
    return None, concat(ddx, axis=axis)


@op("opsdk::getitem(Tensor x, *, str index) -> Tensor out")
def getitem(x: np.ndarray, *, index: str) -> np.ndarray:
    """x[index], where the index is basic: integers, slices, `...` and None; written as `encode_index` writes it."""
    return x[decode_index(index)].copy()


@getitem.infer
def _getitem(x: TensorSpec, index: str) -> TensorSpec:
    probe = np.broadcast_to(np.empty((), np.bool_), [1 if dim is None else dim for dim in x.shape])
    entries = decode_index(index)
    if None in x.shape:
        return TensorSpec(_open_dims(x, entries), x.dtype)
    return TensorSpec(probe[entries].shape, x.dtype)


def _open_dims(x: TensorSpec, entries: tuple[Any, ...]) -> list[int | None]:
    """Follows an index through a shape with unknown sizes: a full slice keeps them, another slice hides the size."""
    used = sum(1 for entry in entries if entry is not None and entry is not Ellipsis)
    full: list[Any] = []
    for entry in entries if Ellipsis in entries else (*entries, Ellipsis):
        full += [slice(None)] * (x.ndim - used) if entry is Ellipsis else [entry]
    dims: list[int | None] = []
    axis = 0
    for entry in full:
        if entry is None:
            dims.append(1)
            continue
        if isinstance(entry, slice):
            size = x.shape[axis]
            if entry != slice(None):
                size = None if size is None else len(range(*entry.indices(size)))
            dims.append(size)
        axis += 1
    return dims


@getitem.backward
def getitem_grad(x: np.ndarray, dout: np.ndarray, index: str) -> np.ndarray:
    """Zeros, with the cotangent where it was taken from."""
    dx = np.zeros_like(x)
    dx[decode_index(index)] = dout
    return dx


@getitem_grad.backward(composite=True, disconnected=("x",))
def getitem_grad_grad(ddx: Any, index: str) -> Any:
    """The same elements of what enters."""
    return None, getitem(ddx, index=index)


def encode_index(index: Any) -> str:
    """Returns a basic index as text, the form in which it is an attribute.

    Raises:
        ShapeError: the index is neither an integer, a slice, `...`, None nor a tuple of them.
    """
    entries = index if isinstance(index, tuple) else (index,)
    parts = []
    for entry in entries:
        if entry is Ellipsis:
            parts.append("...")
        elif entry is None:
            parts.append("None")
        elif isinstance(entry, (int, np.integer)) and not isinstance(entry, bool):
            parts.append(str(int(entry)))
        elif isinstance(entry, slice):
            parts.append(":".join("" if v is None else str(int(v)) for v in (entry.start, entry.stop, entry.step)))
        else:
            raise ShapeError(
                f"indexing: expected integers, slices, '...' or None, got {type(entry).__name__}; "
                "for a tensor of indices use opsdk.gather"
            )
    return ", ".join(parts)


def decode_index(text: str) -> tuple[Any, ...]:
    """Returns the index that `encode_index` wrote."""
    entries: list[Any] = []
    for part in filter(None, text.split(", ")):
        if part == "...":
            entries.append(Ellipsis)
        elif part == "None":
            entries.append(None)
        elif ":" in part:
            entries.append(slice(*(int(v) if v else None for v in part.split(":"))))
        else:
            entries.append(int(part))
    return tuple(entries)


@op("opsdk::gather(Tensor x, Tensor index, *, int axis=0) -> Tensor out", nondifferentiable=("index",))
def gather(x: np.ndarray, index: np.ndarray, *, axis: int = 0) -> np.ndarray:
    """Slices of x along an axis, at integer positions in [0, size)."""
    size = x.shape[axis]
    if index.size and (index.min() < 0 or index.max() >= size):
        raise ShapeError(f"gather: index expected in [0, {size}), got {index.min()} to {index.max()}")
    return np.take(x, index, axis=axis)


@gather.infer
def _gather(x: TensorSpec, index: TensorSpec, axis: int) -> TensorSpec:
    at = normalize_axes([axis], x.ndim, "gather")[0]
    return TensorSpec([*x.shape[:at], *index.shape, *x.shape[at + 1 :]], x.dtype)


@gather.backward
def gather_grad(x: np.ndarray, index: np.ndarray, dout: np.ndarray, axis: int) -> np.ndarray:
    """Zeros, with the cotangents added where they were taken from."""
    dx = np.zeros_like(x)
    at = axis % x.ndim
    rows = np.moveaxis(dout, range(at, at + index.ndim), range(index.ndim))
    np.add.at(np.moveaxis(dx, at, 0), index, rows)
    return dx


@gather_grad.backward(composite=True, disconnected=("x",))
def gather_grad_grad(index: Any, ddx: Any, axis: int) -> Any:
    """The same slices of what enters."""
    return None, gather(ddx, index, axis=axis)


@op("opsdk::stack(Tensor[] x, *, int axis=0) -> Tensor out")
def stack(x: Sequence[np.ndarray], *, axis: int = 0) -> np.ndarray:
    """The arrays side by side along a new axis."""
    return np.stack(list(x), axis=axis)


@stack.infer
def _stack(x: list[TensorSpec], axis: int) -> TensorSpec:
    at = normalize_axes([axis], x[0].ndim + 1, "stack")[0]
    for spec in x[1:]:
        if spec.ndim != x[0].ndim or not all(a == b or None in (a, b) for a, b in zip(spec.shape, x[0].shape)):  # noqa: B905
            raise ShapeError(f"stack: expected equal shapes, got {', '.join(map(str, x))}")
    return TensorSpec([*x[0].shape[:at], len(x), *x[0].shape[at:]], x[0].dtype)


@stack.backward(composite=True)
def stack_grad(x: Any, dout: Any, axis: int) -> Any:
    """The slices of the cotangent."""
    at = axis % len(dout.shape)
    front = ":, " * at
    return [getitem(dout, index=f"{front}{i}") for i in range(len(x))]


@op(
    "opsdk::where(Tensor condition, Tensor x, Tensor y) -> Tensor out",
    nondifferentiable=("condition",),
)
def where(condition: np.ndarray, x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """x where the condition holds, y elsewhere."""
    return np.where(condition, x, y)


class _WhereInfer:
    """The broadcast shape of all three, the dtype of the two values."""

    reduces_gradients = True

    def __call__(self, schema: Any, specs: Any, attrs: Any) -> Any:
        (spec,) = broadcast(schema, specs, attrs)
        return (TensorSpec(spec.shape, np.result_type(specs[1].dtype, specs[2].dtype)),)  # type: ignore[union-attr]


where.infer(_WhereInfer())


@where.backward(composite=True)
def where_grad(condition: Any, dout: Any) -> Any:
    """The cotangent, to whichever value was taken."""
    nothing = dout * 0.0
    return where(condition, dout, nothing), where(condition, nothing, dout)
