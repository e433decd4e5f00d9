"""From positions to an axis of a size, which may be that of another value: sums by position, and one-hot vectors."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from opsdk.core import sums
from opsdk.core.errors import ShapeError
from opsdk.core.spec import OpenSize, TensorSpec, shape_text
from opsdk.define.decorators import op
from opsdk.define.frontend import owner_of
from opsdk.define.infer import normalize_axes
from opsdk.define.sample import Sample
from opsdk.ops.elements.indexing import encode_index
from opsdk.ops.elements.indexing import index as index_by

# Any, in the backwards of built-in ops: arrays, tensors or Program variables, whichever runtime calls.
_FIRST = encode_index(np.zeros(1, int))[0]  # of x[index]: the index as an attribute


@op(
    "opsdk::sum_at(Tensor values, Tensor<int> index, Tensor[] like, *, int size=0, int axis=0) -> Tensor out",
    nondifferentiable=("like",),
)
def sum_at(values: np.ndarray, index: np.ndarray, like: Sequence[np.ndarray], *, size: int, axis: int) -> np.ndarray:
    """Sums of values by their positions: element `i` is the sum of the values whose index is `i`.

    Gradient: with respect to the values, to any order.

    Args:
        values: numeric, of shape (*index.shape, *rest).
        index: positions in [0, size).
        like: nothing, or a value that gives the size; nothing else of it matters.
        size: length of the first axis of the result, where no value gives it.
        axis: of `like` which of its sizes.

    Sums of float16 and bfloat16 are taken in float32; all are taken in blocks and rounded once.

    Raises:
        ShapeError: the shape of the values does not begin with that of the index.
        InputValueError: a position lies outside.
    """
    return sums.sum_at(values, index, like[0].shape[axis] if like else size)


@sum_at.infer
def _sum_at(values: TensorSpec, index: TensorSpec, like: list[TensorSpec], size: int, axis: int) -> TensorSpec:
    lead = values.shape[: index.ndim]
    pairs = zip(lead, index.shape, strict=False)
    if values.ndim < index.ndim or any(None not in (a, b) and a != b for a, b in pairs):
        wanted, got = shape_text((*index.shape, "…")), shape_text(values.shape)
        raise ShapeError(f"op 'opsdk::sum_at': values expected shape {wanted} like index, got {got}")
    return TensorSpec([_size(like, size, axis, "op 'opsdk::sum_at'"), *values.shape[index.ndim :]], values.dtype)


@sum_at.backward(composite=True, complex=True)
def sum_at_grad(index: Any, dout: Any) -> Any:
    """To each value the cotangent of its sum."""
    return index_by(dout, [index], index=_FIRST)


@op(
    "opsdk::one_hot(Tensor<int|bool> x, Tensor[] like, *, int num_classes=0, int axis=0, dtype dtype=float32) "
    "-> Tensor out",
    nondifferentiable=("like", "out"),
)
def one_hot(
    x: np.ndarray, like: Sequence[np.ndarray], *, num_classes: int, axis: int, dtype: np.dtype[Any]
) -> np.ndarray:
    """1 where the last axis, a new one, equals the class, else 0.

    Args:
        x: classes in [0, num_classes).
        like: nothing, or a value that gives their number; nothing else of it matters.
        num_classes: length of the new axis, where no value gives it.
        axis: of `like` which of its sizes.
        dtype: of the result.

    Raises:
        ShapeError: a class lies outside.
    """
    count = like[0].shape[axis] if like else num_classes
    if x.size and (x.min() < 0 or x.max() >= count):
        raise ShapeError(f"op 'opsdk::one_hot': x expected in [0, {count}), got {x.min()} to {x.max()}")
    return np.equal(x[..., None], np.arange(count, like=x)).astype(dtype)


@one_hot.infer
def _one_hot(x: TensorSpec, like: list[TensorSpec], num_classes: int, axis: int, dtype: np.dtype[Any]) -> TensorSpec:
    return TensorSpec([*x.shape, _size(like, num_classes, axis, "op 'opsdk::one_hot'")], dtype)


def _size(like: Sequence[TensorSpec], size: int, axis: int, subject: str) -> int | None:
    if len(like) > 1 or size < 0:
        raise ShapeError(f"{subject}: expected a size ≥ 0, or one value that gives it, got {size}, {len(like)} values")
    return like[0].shape[normalize_axes([axis], like[0].ndim, subject)[0]] if like else size


@op("opsdk::shape(Tensor x) -> Tensor<int> out", nondifferentiable=("x",))
def shape(x: np.ndarray) -> np.ndarray:
    """The sizes of x, int64, as values to compute with: of a Variable also those that only a run can tell."""
    return np.asarray(x.shape, np.int64, like=x)


@shape.infer
def _shape(x: TensorSpec) -> TensorSpec:
    return TensorSpec([x.ndim], "int64")


# Any: what a user writes for a size.
def size_of(size: Any, subject: str, name: str = "size") -> tuple[list[Any], dict[str, int]]:
    """Returns a size as these ops take it: the value that gives it, if a run has to tell it, and the attributes.

    Args:
        size: a whole number, or the size of a Variable.
        subject: who asks, for the message.
        name: what the attribute is called.

    Raises:
        ShapeError: it is no size.
    """
    if isinstance(size, OpenSize):
        if owner_of(size.owner) is None:
            raise size.unknown(f"a number for {subject}")
        return [size.owner], {"axis": size.axis}
    if isinstance(size, bool) or not isinstance(size, (int, np.integer)) or size < 0:
        raise ShapeError(f"{subject}: {name} expected a whole number ≥ 0, got {size!r}")
    return [], {name: int(size)}


@sum_at.samples
def _sum_samples(rng: np.random.Generator) -> Iterator[Sample]:
    yield Sample(rng.normal(size=5), np.array([3, 0, 0, 1, 3]), [], size=4, reason="repeated positions")
    yield Sample(rng.normal(size=(3, 2)), np.array([1, 1, 0], np.int32), [], size=2, reason="rows, int32")
    yield Sample(rng.normal(size=(2, 2, 3)), np.array([[0, 2], [2, 2]]), [], size=3, reason="a matrix of positions")
    yield Sample(rng.normal(size=3), np.array([1, 0, 1]), [np.zeros((4, 2))], axis=1, reason="a size of another value")
    yield Sample(rng.normal(size=40), np.arange(40) % 2, [], size=2, reason="more than one block")
    yield Sample(np.zeros((0, 2)), np.zeros(0, np.int64), [], size=2, reason="no values")


@one_hot.samples
def _classes(rng: np.random.Generator) -> Iterator[Sample]:
    yield Sample(np.array([0, 2, 1]), [], num_classes=3, reason="vector")
    yield Sample(np.array([[1], [0]]), [], num_classes=2, dtype=np.dtype("float64"), reason="column")
    yield Sample(np.array(1), [], num_classes=4, reason="0-d")
    yield Sample(np.array([1, 0], np.int32), [np.zeros((3, 2))], axis=-1, reason="as many as another value has")
    yield Sample(np.zeros((0,), np.int64), [], num_classes=3, reason="empty")
