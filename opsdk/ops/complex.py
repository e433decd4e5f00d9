"""Complex numbers: conj, real, imag. Gradients are ∂L/∂Re + i ∂L/∂Im throughout, as in PyTorch and Paddle."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from opsdk.core.spec import TensorSpec
from opsdk.define.decorators import op
from opsdk.define.infer import like
from opsdk.define.sample import Sample

# Any, in this file: arrays, tensors or Program variables, whichever runtime calls.


def real_dtype(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """Returns the dtype of the parts of complex numbers of a dtype; other dtypes are their own."""
    return np.empty(0, dtype).real.dtype if dtype.kind == "c" else dtype


@op("opsdk::conj(Tensor x) -> Tensor out", infer=like())
def conj(x: np.ndarray) -> np.ndarray:
    """The complex conjugate; real numbers are their own."""
    return x.conj().copy()


@conj.backward(composite=True, complex=True)
def conj_grad(dout: Any) -> Any:
    """The cotangent, conjugated."""
    return conj(dout)


def _part(x: TensorSpec) -> TensorSpec:
    return TensorSpec(x.shape, real_dtype(x.dtype))


@op("opsdk::real(Tensor x) -> Tensor out", infer=_part)
def real(x: np.ndarray) -> np.ndarray:
    """The real part; real numbers are their own."""
    return x.real.copy()


@real.backward(complex=True)
def real_grad(x: np.ndarray, dout: np.ndarray) -> np.ndarray:
    """The cotangent, in the dtype of x."""
    return dout.astype(x.dtype)


@real_grad.backward(composite=True, disconnected=("x",), complex=True)
def real_grad_grad(ddx: Any) -> Any:
    """The real part of what enters."""
    return None, real(ddx)


@op("opsdk::imag(Tensor x) -> Tensor out", infer=_part)
def imag(x: np.ndarray) -> np.ndarray:
    """The imaginary part, 0 of real numbers."""
    return x.imag.copy() if x.dtype.kind == "c" else np.zeros_like(x)


@imag.backward(complex=True)
def imag_grad(x: np.ndarray, dout: np.ndarray) -> np.ndarray:
    """i times the cotangent; 0 where x is real."""
    return np.multiply(1j, dout, dtype=x.dtype) if x.dtype.kind == "c" else np.zeros_like(x)


@imag_grad.backward(composite=True, disconnected=("x",), complex=True)
def imag_grad_grad(ddx: Any) -> Any:
    """The imaginary part of what enters."""
    return None, imag(ddx)


def conjugated(value: Any) -> Any:
    """Returns the complex conjugate, and the value itself where it is real: for factors in composite backwards."""
    return conj(value) if value.dtype.kind == "c" else value


def real_part(value: Any) -> Any:
    """Returns the real part, and the value itself where it is real already."""
    return real(value) if value.dtype.kind == "c" else value


@conj.samples
@real.samples
@imag.samples
def _complex_numbers(rng: np.random.Generator) -> Iterator[Sample]:
    yield Sample(rng.normal(size=(3, 5)), reason="real numbers")
    yield Sample(rng.normal(size=(3, 5)) + 1j * rng.normal(size=(3, 5)), reason="complex numbers")
    yield Sample((rng.normal(size=7) + 1j * rng.normal(size=7)).astype(np.complex64), reason="complex64")
    yield Sample(np.array(1.0 + 2.0j), reason="0-d")
    yield Sample(np.zeros((0, 4), np.complex128), reason="empty")
