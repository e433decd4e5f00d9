"""The angle of a complex number, with its gradient of any order."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from opsdk.core.dtype import as_floating, computed_in
from opsdk.core.spec import TensorSpec
from opsdk.define.decorators import op
from opsdk.define.sample import Sample
from opsdk.ops.complex import conj, imag, real_dtype
from opsdk.ops.creation import fill_any_like
from opsdk.ops.elementwise import elementwise_div, elementwise_mul
from opsdk.ops.joining import where
from opsdk.ops.logical import equal

# Any, in this file: arrays, tensors or Program variables, whichever runtime calls.


def _dtype(dtype: np.dtype[Any]) -> np.dtype[Any]:
    return as_floating(real_dtype(dtype))


@op("opsdk::angle(Tensor x) -> Tensor out")
def angle(x: np.ndarray) -> np.ndarray:
    """The angle of a complex number in (-π, π], 0 of 0; π of negative real numbers, and 0 of positive ones."""
    return np.angle(x.astype(computed_in(x.dtype))).astype(_dtype(x.dtype))


@angle.infer
def _angle(x: TensorSpec) -> TensorSpec:
    return TensorSpec(x.shape, _dtype(x.dtype))


@angle.backward(composite=True, complex=True)
def angle_grad(x: Any, dout: Any) -> Any:
    """i x/|x|² times the cotangent, 0 at 0; of real numbers 0."""
    if x.dtype.kind != "c":
        return imag(dout)
    is_zero = equal(x, 0.0)
    turned = elementwise_div(elementwise_mul(dout, 1j), conj(where(is_zero, fill_any_like(x, value=1.0), x)))
    return where(is_zero, fill_any_like(turned), turned)


@angle.samples
def _angles(rng: np.random.Generator) -> Iterator[Sample]:
    yield Sample(rng.normal(size=(3, 5)) + 1j * rng.normal(size=(3, 5)), reason="complex numbers")
    yield Sample(rng.normal(size=(3, 5)), reason="real numbers")
    yield Sample(np.array([1 + 1j, 0j, -1 + 0j, 2.0]), reason="0, and along the axis")
    yield Sample(np.array([2, -1, 0]), reason="integers")
    yield Sample(np.array(1.0 + 2.0j), reason="0-d")
    yield Sample(np.zeros((0, 4), np.complex128), reason="empty")
