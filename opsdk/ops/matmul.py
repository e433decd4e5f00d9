"""Matrix products: `matmul` as NumPy has it, and `mul`, Paddle's product of flattened operands."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from opsdk.core.dtype import computed_in, promote_types
from opsdk.core.errors import ShapeError
from opsdk.core.spec import TensorSpec, shape_text
from opsdk.define.decorators import op
from opsdk.define.infer import Attrs, Inferred, Specs, broadcast_dims
from opsdk.define.sample import Sample
from opsdk.define.schema.schema import OpSchema
from opsdk.expr.exact import check_mixed
from opsdk.ops.complex import conjugated
from opsdk.ops.shape import flatten, reshape_like, squeeze, transpose, unsqueeze

# Any, in the backwards of built-in ops: arrays, tensors or Program variables, whichever runtime calls.


class _MatmulInfer:
    """Batch dimensions broadcast; a vector on the left is a row, on the right a column, and is dropped again."""

    reduces_gradients = True

    def __call__(self, schema: OpSchema, specs: Specs, attrs: Attrs) -> Inferred:
        x, y = specs
        assert isinstance(x, TensorSpec)
        assert isinstance(y, TensorSpec)
        left, right = _oriented(x.shape, attrs["transpose_x"]), _oriented(y.shape, attrs["transpose_y"])
        inner = (left[-1] if left else None, right[-2 if len(right) > 1 else -1] if right else None)
        if not left or not right or (None not in inner and inner[0] != inner[1]):
            raise ShapeError(
                f"op {schema.qualified_name!r}: expected matrices whose inner sizes agree, "
                f"got {shape_text(x.shape)} and {shape_text(y.shape)}"
            )
        batch = broadcast_dims(left[:-2], right[:-2], schema)
        rows = left[-2:-1]
        columns = right[-1:] if len(right) > 1 else ()
        return (TensorSpec((*batch, *rows, *columns), promote_types(x.dtype, y.dtype)),)


def _oriented(shape: Sequence[int | None], flip: bool) -> tuple[int | None, ...]:
    return (*shape[:-2], shape[-1], shape[-2]) if flip and len(shape) > 1 else tuple(shape)


@op(
    "opsdk::matmul(Tensor x, Tensor y, *, bool transpose_x=False, bool transpose_y=False) -> Tensor out",
    infer=_MatmulInfer(),
)
def matmul(x: np.ndarray, y: np.ndarray, *, transpose_x: bool = False, transpose_y: bool = False) -> np.ndarray:
    """Matrix product of the last two axes; either operand may be taken transposed."""
    check_mixed("xy", (x, y), "op 'opsdk::matmul'")
    left = x.swapaxes(-1, -2) if transpose_x and x.ndim > 1 else x
    right = y.swapaxes(-1, -2) if transpose_y and y.ndim > 1 else y
    return _product(left, right, promote_types(x.dtype, y.dtype))


def _product(left: np.ndarray, right: np.ndarray, dtype: np.dtype[Any]) -> np.ndarray:
    """Returns the product in a dtype: float16 and bfloat16 are multiplied and added in float32, and rounded once."""
    wide = computed_in(left.dtype)
    if left.dtype != right.dtype:
        wide = promote_types(wide, computed_in(right.dtype))
    made = np.matmul(left.astype(wide, copy=False), right.astype(wide, copy=False))
    if made.dtype == dtype:
        return made
    with np.errstate(over="ignore"):
        return made.astype(dtype)


@matmul.backward(composite=True, complex=True)
def matmul_grad(
    x: Any, y: Any, dout: Any, transpose_x: bool, transpose_y: bool, needs_input_grad: tuple[bool, ...]
) -> Any:
    """dout · yᴴ and xᴴ · dout, with the transpositions of the forward undone."""
    left, right = len(x.shape) == 1, len(y.shape) == 1
    a = conjugated(unsqueeze(x, axis=[0]) if left else x)
    b = conjugated(unsqueeze(y, axis=[1]) if right else y)
    flip_a, flip_b = transpose_x and not left, transpose_y and not right
    d = dout
    if right:
        d = unsqueeze(d, axis=[-1])
    if left:
        d = unsqueeze(d, axis=[-2])
    dx = dy = None
    if needs_input_grad[0]:
        dx = matmul(b, d, transpose_x=flip_b, transpose_y=True) if flip_a else matmul(d, b, transpose_y=not flip_b)
        dx = squeeze(dx, axis=[-2]) if left else dx
    if needs_input_grad[1]:
        if len(a.shape) > 2 and len(b.shape) == 2 and not flip_a:
            a, d = flatten(a, stop_axis=-2), flatten(d, stop_axis=-2)  # the rows of a batch are those of one matrix
        dy = matmul(d, a, transpose_x=True, transpose_y=flip_a) if flip_b else matmul(a, d, transpose_x=not flip_a)
        dy = squeeze(dy, axis=[-1]) if right else dy
    return dx, dy


@matmul.samples
def _products(rng: np.random.Generator) -> Iterator[Sample]:
    yield Sample(rng.normal(size=(3, 4)), rng.normal(size=(4, 2)), reason="matrices")
    yield Sample(rng.normal(size=(4, 3)), rng.normal(size=(4, 2)), transpose_x=True, reason="left transposed")
    yield Sample(rng.normal(size=(3, 4)), rng.normal(size=(2, 4)), transpose_y=True, reason="right transposed")
    yield Sample(
        rng.normal(size=(4, 3)), rng.normal(size=(2, 4)), transpose_x=True, transpose_y=True, reason="both transposed"
    )
    yield Sample(rng.normal(size=(3,)), rng.normal(size=(3,)), reason="two vectors, 0-d result")
    yield Sample(rng.normal(size=(3,)), rng.normal(size=(3, 2)), reason="row vector")
    yield Sample(rng.normal(size=(2, 3)), rng.normal(size=(3,)), reason="column vector")
    yield Sample(rng.normal(size=(2, 3, 4)), rng.normal(size=(4,)), reason="batch and vector")
    yield Sample(rng.normal(size=(3,)), rng.normal(size=(2, 3, 2)), reason="vector and batch")
    yield Sample(rng.normal(size=(2, 1, 2, 3)), rng.normal(size=(3, 3, 2)), reason="batches broadcast")
    yield Sample(
        rng.normal(size=(2, 4, 3)), rng.normal(size=(4, 2)), transpose_x=True, reason="batch transposed, shared right"
    )
    yield Sample(rng.normal(size=(2, 4, 3)), rng.normal(size=(4,)), transpose_x=True, reason="transposed, vector")
    yield Sample(np.zeros((2, 0)), np.zeros((0, 3)), reason="inner size 0")
    yield Sample(np.zeros((0, 2)), rng.normal(size=(2, 3)), reason="no rows")


@op("opsdk::mul(Tensor x, Tensor y, *, int x_num_col_dims=1, int y_num_col_dims=1) -> Tensor out")
def mul(x: np.ndarray, y: np.ndarray, *, x_num_col_dims: int = 1, y_num_col_dims: int = 1) -> np.ndarray:
    """Matrix product after flattening: the first `num_col_dims` axes are rows, the others columns."""
    check_mixed("xy", (x, y), "op 'opsdk::mul'")
    _check_columns(x.shape, x_num_col_dims, "x")
    _check_columns(y.shape, y_num_col_dims, "y")
    rows, columns = x.shape[:x_num_col_dims], y.shape[y_num_col_dims:]
    product = _product(_matrix(x, x_num_col_dims), _matrix(y, y_num_col_dims), promote_types(x.dtype, y.dtype))
    return product if product.shape == rows + columns else product.reshape(rows + columns).copy()


def _matrix(x: np.ndarray, rows: int) -> np.ndarray:
    return x if x.ndim == 2 and rows == 1 else x.reshape(math.prod(x.shape[:rows]), math.prod(x.shape[rows:]))


def _check_columns(shape: Sequence[int | None], rows: int, name: str) -> None:
    if not 0 < rows < len(shape):
        raise ShapeError(
            f"op 'opsdk::mul': {name}_num_col_dims expected in [1, {len(shape)}) for {name} of shape "
            f"{shape_text(shape)}, got {rows}"
        )


@mul.infer
def _mul(x: TensorSpec, y: TensorSpec, x_num_col_dims: int, y_num_col_dims: int) -> TensorSpec:
    _check_columns(x.shape, x_num_col_dims, "x")
    _check_columns(y.shape, y_num_col_dims, "y")
    inner_x, inner_y = x.shape[x_num_col_dims:], y.shape[:y_num_col_dims]
    if None not in inner_x and None not in inner_y and math.prod(inner_x) != math.prod(inner_y):  # type: ignore[arg-type]
        raise ShapeError(
            f"op 'opsdk::mul': expected as many columns in x as rows in y, got {shape_text(x.shape)} flattened after "
            f"axis {x_num_col_dims} and {shape_text(y.shape)} after axis {y_num_col_dims}"
        )
    return TensorSpec((*x.shape[:x_num_col_dims], *y.shape[y_num_col_dims:]), promote_types(x.dtype, y.dtype))


@mul.backward(complex=True)
def mul_grad(
    x: np.ndarray,
    y: np.ndarray,
    dout: np.ndarray,
    x_num_col_dims: int,
    y_num_col_dims: int,
    needs_input_grad: tuple[bool, ...],
) -> Any:
    """dout · yᴴ and xᴴ · dout, flattened as the forward flattens."""
    left, right = _matrix(x, x_num_col_dims), _matrix(y, y_num_col_dims)
    d = dout.reshape(left.shape[0], right.shape[1])
    dx = _product(d, right.conj().T, _dtype_of(x, d)).reshape(x.shape) if needs_input_grad[0] else None
    dy = _product(left.conj().T, d, _dtype_of(y, d)).reshape(y.shape) if needs_input_grad[1] else None
    return dx, dy


def _dtype_of(x: np.ndarray, cotangent: np.ndarray) -> np.dtype[Any]:
    """Returns the dtype of a gradient: that of its input, or complex where a real part is taken of it."""
    return cotangent.dtype if cotangent.dtype.kind == "c" and x.dtype.kind != "c" else x.dtype


@mul_grad.backward(composite=True, complex=True)
def mul_grad_grad(x: Any, y: Any, dout: Any, ddx: Any, ddy: Any, x_num_col_dims: int, y_num_col_dims: int) -> Any:
    """Derivatives of the two products; each is itself a flattened product."""
    sizes = {"x_num_col_dims": x_num_col_dims, "y_num_col_dims": y_num_col_dims}
    right = {**sizes, "y_num_col_dims": len(ddy.shape) - y_num_col_dims}
    left = {"x_num_col_dims": len(ddx.shape) - x_num_col_dims, "y_num_col_dims": x_num_col_dims}
    dx = reshape_like(mul(dout, _turned(ddy, y_num_col_dims), **right), x)
    dy = reshape_like(mul(_turned(ddx, x_num_col_dims), dout, **left), y)
    return dx, dy, mul(ddx, y, **sizes) + mul(x, ddy, **sizes)


def _turned(value: Any, rows: int) -> Any:
    """Returns the conjugate transpose of what is a matrix once flattened behind its first axes, `rows` of them."""
    return conjugated(transpose(value, perm=[*range(rows, len(value.shape)), *range(rows)]))


@mul.samples
def _flattened(rng: np.random.Generator) -> Iterator[Sample]:
    yield Sample(rng.normal(size=(3, 4)), rng.normal(size=(4, 2)), reason="matrices")
    yield Sample(rng.normal(size=(3, 2, 2)), rng.normal(size=(4, 2)), reason="images flattened to rows")
    yield Sample(rng.normal(size=(2, 2, 3)), rng.normal(size=(3, 2)), x_num_col_dims=2, reason="two leading axes")
    yield Sample(rng.normal(size=(2, 6)), rng.normal(size=(2, 3, 2)), y_num_col_dims=2, reason="y flattened too")
    yield Sample(rng.normal(size=(0, 4)), rng.normal(size=(4, 2)), reason="no rows")
    yield Sample(np.zeros((2, 0)), np.zeros((0, 3)), reason="inner size 0")
