"""Inverses, solutions and determinants of square matrices, with derivatives of every order."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from opsdk.core.dtype import as_floating
from opsdk.core.errors import InputValueError, ShapeError
from opsdk.core.spec import TensorSpec, shape_text
from opsdk.core.written import entry, written
from opsdk.define.decorators import op
from opsdk.define.op import Op
from opsdk.define.sample import Sample
from opsdk.ops.elementwise import elementwise_mul, scale
from opsdk.ops.matmul import matmul
from opsdk.ops.shape import transpose, unsqueeze

# Any, in the backwards of built-in ops: arrays, tensors or Program variables, whichever runtime calls.


def check_square(x: TensorSpec | np.ndarray, subject: str) -> None:
    """Checks that matrices have as many rows as columns.

    Raises:
        ShapeError: they have not, or it is a vector.
    """
    sizes = x.shape[-2:]
    if len(sizes) < 2 or (None not in sizes and sizes[0] != sizes[1]):
        raise ShapeError(f"op 'opsdk::{subject}': x expected square matrices, got shape {shape_text(tuple(x.shape))}")


def widened(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """Returns what LAPACK computes a dtype in: 16-bit floats in float32, whole numbers in float64."""
    if dtype.kind in "biu":
        return np.dtype("float64")
    return np.dtype("float32") if dtype.itemsize == 2 else dtype


def _solved(compute: Callable[..., np.ndarray], *arrays: np.ndarray, subject: str) -> np.ndarray:
    """Returns what NumPy computes, in the dtype of the last array: 16-bit floats in float32, whole numbers in float64.

    Raises:
        ShapeError: the matrices are not square.
        InputValueError: a matrix has no inverse.
    """
    check_square(arrays[0], subject)
    dtype = arrays[-1].dtype
    wide = widened(dtype)
    try:
        return compute(*[array.astype(wide, copy=False) for array in arrays]).astype(as_floating(dtype), copy=False)
    except np.linalg.LinAlgError as error:
        raise InputValueError(
            f"op 'opsdk::{subject}': x expected matrices with an inverse, got a singular one"
        ) from error


@op("opsdk::inverse(Tensor x) -> Tensor out")
def inverse(x: np.ndarray) -> np.ndarray:
    """The inverses of square matrices."""
    return _solved(np.linalg.inv, x, subject="inverse")


@inverse.infer
def _inverse(x: TensorSpec) -> TensorSpec:
    check_square(x, "inverse")
    return TensorSpec(x.shape, as_floating(x.dtype))


@inverse.backward(composite=True)
def inverse_grad(out: Any, dout: Any) -> Any:
    """Minus the cotangent between the transposed inverses."""
    return scale(matmul(matmul(out, dout, transpose_x=True), out, transpose_y=True), scale=-1.0)


@op("opsdk::solve(Tensor x, Tensor y) -> Tensor out")
def solve(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """The matrices with x @ out = y; leading axes are equal."""
    return _solved(np.linalg.solve, x, y, subject="solve")


@solve.infer
def _solve(x: TensorSpec, y: TensorSpec) -> TensorSpec:
    check_square(x, "solve")
    pairs = zip(x.shape[:-1], y.shape[:-1], strict=False)
    if x.ndim != y.ndim or any(None not in (a, b) and a != b for a, b in pairs) or x.dtype != y.dtype:
        raise ShapeError(
            f"op 'opsdk::solve': y expected matrices of as many rows as x, and its dtype, got {y} beside {x}"
        )
    return TensorSpec(y.shape, as_floating(y.dtype))


@solve.backward(composite=True)
def solve_grad(x: Any, out: Any, dout: Any) -> Any:
    """The solution for the transposed matrix, and minus its product with the solution."""
    dy = solve(turned(x), dout)
    return scale(matmul(dy, out, transpose_y=True), scale=-1.0), dy


def turned(x: Any) -> Any:
    """Returns matrices with their rows as columns."""
    from_front = list(range(len(x.shape) - 2))
    return transpose(x, perm=[*from_front, -1, -2])


# Any: a function of NumPy's.
def _determinant(name: str, function: Any, doc: str) -> Op:
    def told(x: np.ndarray) -> np.ndarray:
        return np.asarray(_solved(function, x, subject=name), like=x)

    def infer(x: TensorSpec) -> TensorSpec:
        check_square(x, name)
        return TensorSpec(x.shape[:-2], as_floating(x.dtype))

    types = {"x": "np.ndarray", "return": "np.ndarray"}
    made = written(told, name, types, module=__name__, doc=doc, origin=entry())
    silent = ("x", "out") if name == "det_sign" else ()
    return op(f"opsdk::{name}(Tensor x) -> Tensor out", infer=infer, nondifferentiable=silent)(made)


det = _determinant("det", np.linalg.det, "The determinants of square matrices; the derivative needs their inverses.")
log_abs_det = _determinant(
    "log_abs_det", lambda x: np.linalg.slogdet(x)[1], "The logarithms of the magnitudes of determinants."
)
det_sign = _determinant("det_sign", lambda x: np.linalg.slogdet(x)[0], "The signs of determinants: -1, 0 or 1.")


@det.backward(composite=True)
def det_grad(x: Any, out: Any, dout: Any) -> Any:
    """The cotangent times the determinant times the transposed inverse."""
    return _spread(elementwise_mul(dout, out), x)


@log_abs_det.backward(composite=True)
def log_abs_det_grad(x: Any, dout: Any) -> Any:
    """The cotangent times the transposed inverse."""
    return _spread(dout, x)


def _spread(factor: Any, x: Any) -> Any:
    return elementwise_mul(unsqueeze(factor, axis=[-1, -2]), turned(inverse(x)))


def _regular(rng: np.random.Generator) -> Iterator[np.ndarray]:
    for shape in ((3, 3), (2, 4, 4), (1, 1), (2, 1, 2, 2), (0, 3, 3)):
        yield rng.normal(size=shape) + 3 * np.eye(shape[-1])


@inverse.samples
@det.samples
@log_abs_det.samples
@det_sign.samples
def _matrices(rng: np.random.Generator) -> Iterator[Sample]:
    for x in _regular(rng):
        yield Sample(x, reason=f"shape {x.shape}")


@solve.samples
def _systems(rng: np.random.Generator) -> Iterator[Sample]:
    for x in _regular(rng):
        yield Sample(x, rng.normal(size=(*x.shape[:-1], 2)), reason=f"shape {x.shape}")


for _each in (det, log_abs_det):
    _each.expect("vjp.raises", reason="the derivative needs the inverse, and a singular matrix is refused by name")
