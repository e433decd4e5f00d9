"""Ops between one array and several: concat, split, stack and gather."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import accumulate
from typing import Any

import numpy as np

from opsdk.core.dtype import promote_types
from opsdk.core.errors import ArityError, ShapeError
from opsdk.core.spec import TensorSpec
from opsdk.core.sums import sum_at
from opsdk.define.decorators import op
from opsdk.define.infer import broadcast, normalize_axes
from opsdk.define.sample import Sample
from opsdk.expr.exact import check_mixed
from opsdk.ops.complex import real_part
from opsdk.ops.creation import fill_any_like
from opsdk.ops.elements.indexing import encode_index, getitem
from opsdk.ops.shape import cast

# Any, in the backwards of built-in ops: arrays, tensors or Program variables, whichever runtime calls.


def _in_one_dtype(arrays: Sequence[np.ndarray]) -> list[np.ndarray]:
    dtype = promote_types(*[array.dtype for array in arrays])
    with np.errstate(over="ignore"):  # what a number becomes in the dtype that was promoted to
        return [array.astype(dtype, copy=False) for array in arrays]


@op("opsdk::concat(Tensor[] x, *, int axis=0) -> Tensor out")
def concat(x: Sequence[np.ndarray], *, axis: int = 0) -> np.ndarray:
    """The arrays one after another along an axis."""
    check_mixed("x" * len(x), x, "op 'opsdk::concat'")
    return np.concatenate(_in_one_dtype(x), axis=axis)


@concat.infer
def _concat(x: list[TensorSpec], axis: int) -> TensorSpec:
    if not x:
        raise ArityError("concat: expected at least one tensor, got none")
    at = normalize_axes([axis], x[0].ndim, "concat")[0]
    for spec in x[1:]:
        pairs = zip(spec.shape, x[0].shape, strict=False)
        same = all(i == at or a == b or None in (a, b) for i, (a, b) in enumerate(pairs))
        if spec.ndim != x[0].ndim or not same:
            raise ShapeError(f"concat: expected shapes equal but for axis {at}, got {', '.join(map(str, x))}")
    sizes = [spec.shape[at] for spec in x]
    total = None if None in sizes else sum(size or 0 for size in sizes)
    dims = [total if i == at else dim for i, dim in enumerate(x[0].shape)]
    return TensorSpec(dims, promote_types(*(spec.dtype for spec in x)))


@concat.backward(complex=True)
def concat_grad(x: Sequence[np.ndarray], dout: np.ndarray, axis: int) -> list[np.ndarray]:
    """The pieces of the cotangent, each in the dtype of what it is the gradient of."""
    ends = np.cumsum([part.shape[axis] for part in x])[:-1].tolist()
    pieces = zip(np.split(dout, ends, axis=axis), x, strict=True)
    return [(real_part(piece) if part.dtype.kind != "c" else piece).astype(part.dtype) for piece, part in pieces]


@concat_grad.backward(composite=True, disconnected=("x",), complex=True)
def concat_grad_grad(ddx: Any, axis: int) -> Any:
    """The pieces that enter, joined."""
    return None, concat(ddx, axis=axis)


@concat.samples
def _concat_samples(rng: np.random.Generator) -> Iterator[Sample]:
    yield Sample([rng.normal(size=(2, 3)), rng.normal(size=(4, 3))], reason="different sizes along the axis")
    yield Sample([rng.normal(size=(2, 1)), rng.normal(size=(2, 3)), np.zeros((2, 0))], axis=1, reason="one is empty")
    yield Sample([rng.normal(size=(2, 3)), rng.normal(size=(2, 2))], axis=-1, reason="axis counted from the end")
    yield Sample([rng.normal(size=(3,))], reason="a single array")
    yield Sample([np.ones(2, np.float32), rng.normal(size=(2,))], reason="float32 beside float64")


@op("opsdk::split(Tensor x, *, int[] sections=[], int num=0, int axis=0) -> Tensor[] out")
def split(x: np.ndarray, *, sections: Sequence[int], num: int, axis: int) -> list[np.ndarray]:
    """Pieces of x along an axis, of the sizes listed, of which one may be -1; without sizes `num` equal ones."""
    sizes = _pieces(x.shape[axis], sections, num)
    ends = list(accumulate(size or 0 for size in sizes))[:-1]
    return [piece.copy() for piece in np.split(x, ends, axis=axis)]


def _pieces(size: int | None, sections: Sequence[int], num: int) -> list[int | None]:
    """Returns the sizes of the pieces of an axis, None for those that only a run can tell."""
    rest = list(sections).count(-1)
    known = sum(section for section in sections if section != -1)
    if any(section < -1 for section in sections) or rest > 1 or (num < 1 and not sections):
        got = list(sections) or num
        raise ShapeError(f"split: expected a number of pieces > 0, or sizes ≥ 0 and -1 once, got {got}")
    if not sections:
        if size is not None and size % num:
            raise ShapeError(f"split: expected a size that {num} pieces share, got {size}; list the sizes")
        return [None if size is None else size // num] * num
    if size is not None and (known > size or (not rest and known != size)):
        raise ShapeError(f"split: expected sizes that add up to {size}, got {list(sections)}")
    return [section if section != -1 else None if size is None else size - known for section in sections]


@split.infer
def _split(x: TensorSpec, sections: Sequence[int], num: int, axis: int) -> list[TensorSpec]:
    at = normalize_axes([axis], x.ndim, "split")[0]
    pieces = _pieces(x.shape[at], sections, num)
    return [TensorSpec([*x.shape[:at], size, *x.shape[at + 1 :]], x.dtype) for size in pieces]


@split.backward(composite=True, complex=True)
def split_grad(dout: Any, axis: int) -> Any:
    """The cotangents of the pieces, joined."""
    return concat(dout, axis=axis)


@split.samples
def _splits(rng: np.random.Generator) -> Iterator[Sample]:
    x = rng.normal(size=(4, 3))
    yield Sample(x, num=2, reason="two of one size")
    yield Sample(x, sections=[1, -1], axis=-1, reason="one that is what is left, axis counted from the end")
    yield Sample(x, sections=[1, 0, 3], reason="one is empty")
    yield Sample(x[0], sections=[3], reason="one piece")


@op("opsdk::gather(Tensor x, Tensor<int> index, *, int axis=0) -> Tensor out")
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


@gather.backward(complex=True)
def gather_grad(x: np.ndarray, index: np.ndarray, dout: np.ndarray, axis: int) -> np.ndarray:
    """Zeros, with the cotangents added where they were taken from."""
    at = axis % x.ndim
    rows = np.moveaxis(dout, range(at, at + index.ndim), range(index.ndim))
    dx = sum_at(rows, index, x.shape[at])
    return np.moveaxis(dx, 0, at).copy(order="C") if at else dx


@gather_grad.backward(composite=True, disconnected=("x",), complex=True)
def gather_grad_grad(index: Any, ddx: Any, axis: int) -> Any:
    """The same slices of what enters."""
    return None, gather(ddx, index, axis=axis)


@gather.samples
def _gather_samples(rng: np.random.Generator) -> Iterator[Sample]:
    x = rng.normal(size=(4, 3))
    yield Sample(x, np.array([0, 2, 2, 0, 0]), reason="repeated positions, whose gradients add up")
    yield Sample(x, np.array([[2, 0], [1, 1]]), axis=1, reason="matrix of positions, inner axis")
    yield Sample(x, np.array(3), axis=0, reason="a 0-d position drops the axis")
    yield Sample(rng.normal(size=(2, 3, 2)), np.array([[2, 0, 1]]), axis=-2, reason="axis counted from the end")
    yield Sample(x, np.array([], dtype=np.int64), reason="no positions")
    yield Sample(x, np.array([1, 3], dtype=np.int32), reason="int32 positions")


@op("opsdk::stack(Tensor[] x, *, int axis=0) -> Tensor out")
def stack(x: Sequence[np.ndarray], *, axis: int = 0) -> np.ndarray:
    """The arrays side by side along a new axis."""
    check_mixed("x" * len(x), x, "op 'opsdk::stack'")
    return np.stack(_in_one_dtype(x), axis=axis)


@stack.infer
def _stack(x: list[TensorSpec], axis: int) -> TensorSpec:
    if not x:
        raise ArityError("stack: expected at least one tensor, got none")
    at = normalize_axes([axis], x[0].ndim + 1, "stack")[0]
    for spec in x[1:]:
        if spec.ndim != x[0].ndim or not all(a == b or None in (a, b) for a, b in zip(spec.shape, x[0].shape)):  # noqa: B905
            raise ShapeError(f"stack: expected equal shapes, got {', '.join(map(str, x))}")
    return TensorSpec([*x[0].shape[:at], len(x), *x[0].shape[at:]], promote_types(*(spec.dtype for spec in x)))


@stack.backward(composite=True, complex=True)
def stack_grad(x: Any, dout: Any, axis: int) -> Any:
    """The slices of the cotangent."""
    front = (slice(None),) * (axis % len(dout.shape))
    slices = [getitem(dout, index=encode_index((*front, i))[0]) for i in range(len(x))]
    return [
        cast(real_part(piece) if part.dtype.kind != "c" else piece, dtype=part.dtype)
        for piece, part in zip(slices, x, strict=True)
    ]


@stack.samples
def _stack_samples(rng: np.random.Generator) -> Iterator[Sample]:
    yield Sample([rng.normal(size=(2, 3)), rng.normal(size=(2, 3))], reason="new first axis")
    yield Sample([rng.normal(size=(2, 3))] * 3, axis=1, reason="the same array three times, inner axis")
    yield Sample([rng.normal(size=(2,)), rng.normal(size=(2,))], axis=-1, reason="new last axis")
    yield Sample([np.array(1.0), np.array(2.0)], reason="0-d")
    yield Sample([np.zeros((0, 2))], axis=-2, reason="a single empty array")
    yield Sample([np.ones(2, np.float32), rng.normal(size=(2,))], reason="float32 beside float64")


@op(
    "opsdk::where(Tensor condition, Tensor x, Tensor y) -> Tensor out",
    nondifferentiable=("condition",),
)
def where(condition: np.ndarray, x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """x where the condition holds, y elsewhere.

    Gradient: with respect to x and y, 0 where the value was not taken. What computed that value meets this 0: times an
    infinite derivative, as that of `log` at 0 in `where(x > 0, log(x), y)`, it is nan, as in PyTorch and JAX. Keep what
    is not taken finite, `log(where(x > 0, x, 1.0))`, or write the choice and the logarithm as one expression with
    `vmath.where`, where the branch not taken reaches no derivative.
    """
    check_mixed("xy", (x, y), "op 'opsdk::where'")
    return np.where(condition, *_in_one_dtype((x, y)))


class _WhereInfer:
    """The broadcast shape of all three, the dtype of the two values."""

    reduces_gradients = True

    def __call__(self, schema: Any, specs: Any, attrs: Any) -> Any:
        (spec,) = broadcast(schema, specs, attrs)
        return (TensorSpec(spec.shape, promote_types(specs[1].dtype, specs[2].dtype)),)  # type: ignore[union-attr]


where.infer(_WhereInfer())


@where.backward(composite=True, complex=True)
def where_grad(condition: Any, dout: Any) -> Any:
    """The cotangent, to whichever value was taken."""
    nothing = fill_any_like(dout)  # and not 0 · dout, which may be infinite
    return where(condition, dout, nothing), where(condition, nothing, dout)


@where.samples
def _where_samples(rng: np.random.Generator) -> Iterator[Sample]:
    x, y = rng.normal(size=(3, 5)), rng.normal(size=(3, 5))
    yield Sample(x > 0, x, y, reason="matrix")
    yield Sample(x > 0, x[0], y[:, :1], reason="both values broadcast")
    yield Sample(np.array([True, False, True]), rng.normal(size=(2, 3)), np.array(1.0), reason="broadcast condition")
    yield Sample(np.array(False), np.array(1.0), np.array(2.0), reason="0-d")
    yield Sample(np.zeros((0, 4), bool), np.zeros((0, 4)), np.zeros((4,)), reason="empty")
