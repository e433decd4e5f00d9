"""sum_to: the sum that undoes broadcasting, as a function of arrays and as an op."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from opsdk.core.dtype import as_native, computed_in
from opsdk.core.errors import ArityError, ShapeError
from opsdk.core.spec import TensorSpec
from opsdk.core.sums import total
from opsdk.define.decorators import op
from opsdk.define.infer import like
from opsdk.define.sample import Sample


def sum_to(array: np.ndarray, shape: Sequence[int]) -> np.ndarray:
    """Sums an array over the axes along which `shape` was broadcast to it.

    Args:
        array: array of any dtype and of a shape that `shape` broadcasts to.
        shape: the shape wanted, sizes ≥ 0.

    Returns:
        An array of that shape and of the array's dtype; the array itself where the shapes agree already. float16 and
        bfloat16 are added in float32; all sums are taken in blocks and rounded once.

    Raises:
        ShapeError: `shape` does not broadcast to the array's shape.

    Gradient:
        With respect to the array: the cotangent, broadcast back. The shape is not differentiable.

    Example:
        >>> sum_to(np.ones((2, 3)), (3,))
        array([2., 2., 2.])
    """
    wanted = tuple(shape)
    if array.shape == wanted:
        return array
    lead = array.ndim - len(wanted)
    pairs = zip(array.shape[max(lead, 0) :], wanted, strict=False)
    if lead < 0 or any(have != want and want != 1 for have, want in pairs):
        raise ShapeError(f"sum_to: expected a shape that broadcasts to {array.shape}, got {wanted}")
    stretched = tuple(lead + i for i, want in enumerate(wanted) if want == 1 and array.shape[lead + i] != 1)
    return total(as_native(array), (*range(lead), *stretched), True).reshape(wanted)


@op("opsdk::sum_to_like(Tensor x, Tensor like) -> Tensor out", infer=like("like"), nondifferentiable=("like",))
def sum_to_like(x: np.ndarray, like: np.ndarray) -> np.ndarray:
    """Sums x over the axes along which `like` was broadcast to it; only the shape of `like` matters."""
    summed = sum_to(x, like.shape)
    return summed.copy() if summed is x else summed


@op("opsdk::expand_as(Tensor x, Tensor like) -> Tensor out", nondifferentiable=("like",))
def expand_as(x: np.ndarray, like: np.ndarray) -> np.ndarray:
    """Broadcasts x to the shape of `like`; the values of `like` do not matter."""
    return np.broadcast_to(x, like.shape).copy()


@expand_as.infer
@sum_to_like.infer
def _in_shape(x: TensorSpec, like: TensorSpec) -> TensorSpec:
    return TensorSpec(like.shape, x.dtype)


# Any, in the backwards of built-in ops: arrays, tensors or Program variables, whichever runtime calls.
@sum_to_like.backward(composite=True, complex=True)
def sum_to_like_grad(x: Any, dout: Any) -> Any:
    """The cotangent, broadcast back."""
    return expand_as(dout, x)


@expand_as.backward(composite=True, complex=True)
def expand_as_grad(x: Any, dout: Any) -> Any:
    """The cotangent, summed back."""
    return sum_to_like(dout, x)


@op("opsdk::sum(Tensor[] x) -> Tensor out")
def sum(x: Sequence[np.ndarray]) -> np.ndarray:
    """The sum of arrays of one shape, added from the first to the last; float16 and bfloat16 in float32."""
    dtype = x[0].dtype
    made = x[0].astype(computed_in(dtype))
    for array in x[1:]:
        if array.shape != made.shape:  # NumPy would broadcast
            raise _of_two_shapes(x)
        made = np.add(made, array)
    with np.errstate(over="ignore"):
        return np.asarray(made, dtype, like=x[0])


@sum.infer
def _sum(x: list[TensorSpec]) -> TensorSpec:
    if not x:
        raise ArityError("sum: expected at least one tensor, got none")
    first = x[0]
    for spec in x[1:]:
        pairs = zip(spec.shape, first.shape, strict=False)
        if spec.dtype != first.dtype or spec.ndim != first.ndim or any(None not in (a, b) and a != b for a, b in pairs):
            raise _of_two_shapes(x)
    return first


def _of_two_shapes(x: Sequence[Any]) -> ShapeError:
    got = ", ".join(str(TensorSpec.of(item)) for item in x)
    return ShapeError(f"sum: expected tensors of one shape and dtype, got {got}")


@sum.backward(composite=True, complex=True)
def sum_grad(x: Any, dout: Any) -> Any:
    """The cotangent, for each."""
    return [dout for _ in x]


@sum_to_like.samples
def _sums_to(rng: np.random.Generator) -> Iterator[Sample]:
    yield Sample(rng.normal(size=(2, 3, 4)), np.zeros((3, 1)), reason="a leading axis, and one of size 1")
    yield Sample(rng.normal(size=(3, 4)), np.zeros((3, 4)), reason="nothing to sum")
    yield Sample(rng.normal(size=(3, 4)), np.zeros(()), reason="to 0-d")
    yield Sample(np.zeros((0, 4)), np.zeros((4,)), reason="a sum of nothing")
    yield Sample(np.zeros((2, 0)), np.zeros((2, 1)), reason="a sum of nothing, kept")


@expand_as.samples
def _expands(rng: np.random.Generator) -> Iterator[Sample]:
    yield Sample(rng.normal(size=(3, 1)), np.zeros((2, 3, 4)), reason="a leading axis, and one of size 1")
    yield Sample(rng.normal(size=(3, 4)), np.zeros((3, 4)), reason="the shape that it has")
    yield Sample(np.array(2.0), np.zeros((3, 4)), reason="from 0-d")
    yield Sample(rng.normal(size=(4,)), np.zeros((0, 4)), reason="to nothing")
