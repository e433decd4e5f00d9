"""Eigenvalues and eigenvectors of a batch of symmetric matrices, to any order of derivative."""

import numpy as np

import opsdk
from opsdk import errors


def eigh_infer(A):
    if A.ndim < 2 or A.shape[-1] != A.shape[-2]:
        raise errors.ShapeError(f"op 'contrib::eigh': A expected shape (…, n, n), got {A.shape}")
    return opsdk.TensorSpec(A.shape[:-1], A.dtype), A


@opsdk.op(
    "contrib::eigh(Tensor A) -> (Tensor values, Tensor vectors)",
    infer=eigh_infer,
    domain={"A": opsdk.domain.symmetric},
)
def eigh(A):
    """The eigenvalues of A in ascending order, and its eigenvectors: A = V diag(w) Vᵀ.

    Args:
        A: float array (…, n, n), symmetric; the lower triangle alone is looked at, as in `torch.linalg.eigh`.

    Returns values w (…, n) and vectors V (…, n, n), a vector each column. Of the two signs of a vector it is the one
    whose first element of more than half the greatest magnitude is positive.

    Raises ValueError: A is no square matrix, its numbers are not float32 or float64, or one of the lower triangle is
    nan or inf.

    Gradient: with respect to A, symmetric, to any order: V (diag(dw) + K / (wⱼ - wᵢ)) Vᵀ, where K is the part of Vᵀ dV
    that changes its sign when it is transposed (Magnus 1985, On differentiating eigenvalues and eigenvectors,
    theorem 1). Where two eigenvalues are equal vectors have no derivative: the gradient is not finite there, but for
    cotangents that do not ask for it.
    """
    values, vectors = np.linalg.eigh(A)
    size = np.abs(vectors)
    if not size.size:
        return values, vectors
    first = np.argmax(size > size.max(axis=-2, keepdims=True) / 2, axis=-2, keepdims=True)
    return values, vectors * np.sign(np.take_along_axis(vectors, first, axis=-2))


@eigh.check
def eigh_check(A):
    if A.ndim < 2 or A.shape[-1] != A.shape[-2]:
        return f"A expected shape (…, n, n), got {A.shape}"
    if A.dtype.name not in ("float32", "float64"):
        return f"A expected float32 or float64, got {A.dtype}; cast it"
    is_finite = np.isfinite(np.tril(A)).all()
    return None if is_finite else "A expected finite numbers, got nan or inf; mask such matrices"


@eigh.backward(composite=True)
def eigh_grad(values, vectors, dvalues, dvectors):
    turns = opsdk.matmul(vectors, dvectors, transpose_x=True) - opsdk.matmul(dvectors, vectors, transpose_x=True)
    gaps = opsdk.unsqueeze(values, -2) - opsdk.unsqueeze(values, -1)
    is_asked = opsdk.abs(gaps) + opsdk.abs(turns) > 0.0  # 0 / 0 is what nobody asks for, the diagonal too
    turns = turns / (2.0 * opsdk.where(is_asked, gaps, opsdk.ones_like(gaps)))
    inner = vectors * opsdk.unsqueeze(dvalues, -2) + opsdk.matmul(vectors, turns)
    return opsdk.matmul(inner, vectors, transpose_y=True)


@eigh.samples
def eigh_samples(rng):
    def sample(*shape, reason):
        x = rng.normal(size=shape)
        return opsdk.Sample(x + np.swapaxes(x, -1, -2) + np.diag(4.0 * np.arange(shape[-1])), reason=reason)

    yield sample(2, 3, 3, reason="a batch")
    yield sample(2, 1, 2, 2, reason="two leading axes")
    yield sample(1, 1, reason="one number")
    yield sample(7, 7, reason="odd, more than a tile")
    falling = sample(5, 5, reason="").inputs[0]
    yield opsdk.Sample(falling[::-1, ::-1], reason="eigenvalues fall along the diagonal")
    yield opsdk.Sample(np.array([[2.0, 1.0], [1.0, 2.0]]), reason="a vector whose elements are of one size")
    yield opsdk.Sample(falling * 2.0**-110, reason="small numbers, beside which no other is")
    yield opsdk.Sample(np.zeros((0, 3, 3)), reason="no matrices")
    yield opsdk.Sample(np.zeros((2, 0, 0)), reason="matrices of no elements")


@eigh.bench
def eigh_bench(rng, n):
    """Matrices 16 × 16."""
    x = rng.normal(size=(max(1, n // 256), 16, 16))
    return opsdk.Sample(x + np.swapaxes(x, -1, -2))


# Of many small matrices: threads share them, which LAPACK does not.
FLOATS = ("float32", "float64")
eigh.kernel("cpu", language="c", dtype=FLOATS, source="eigh.c", openmp=True, contiguous=True, checks=True)
