"""Cholesky factors of a batch of matrices, with first and second derivatives."""

import numpy as np

import opsdk
from opsdk import errors


def cholesky_infer(A):
    if A.ndim < 2 or A.shape[-1] != A.shape[-2]:
        raise errors.ShapeError(f"op 'contrib::cholesky': A expected shape (…, n, n), got {A.shape}")
    return A


@opsdk.op("contrib::cholesky(Tensor A) -> Tensor L", infer=cholesky_infer, domain={"A": opsdk.domain.positive_definite})
def cholesky(A):
    """The lower triangular L with positive diagonal and L Lᵀ = A.

    Args:
        A: float array (…, n, n), symmetric and positive definite; the lower triangle alone is looked at, as in
            `torch.linalg.cholesky`.

    Returns L of the shape and dtype of A.

    Raises ValueError: A is no square matrix. Raises an error that names the matrix, as A[2], where one is not positive
    definite or not finite; of leading axes the batch counts as one, in C order.

    Gradient: with respect to A, to order 2. It is symmetric, as PyTorch's: L⁻ᵀ Φ(Lᵀ dL) L⁻¹ made symmetric, where Φ
    takes the lower triangle and half of the diagonal (Murray 2016, Differentiation of the Cholesky decomposition,
    eq. 10). Who sums over a triangle of A alone has to count elements off the diagonal twice. The strict upper triangle
    of dL has no influence, as that of L is 0.
    """
    try:
        return np.linalg.cholesky(A)
    except np.linalg.LinAlgError:
        raise errors.InputValueError(f"op 'contrib::cholesky': {unfactored(A)}") from None


def unfactored(A):
    """Returns the message about the first matrix without a factor."""
    for b, matrix in enumerate(A.reshape(-1, *A.shape[-2:])):
        try:
            np.linalg.cholesky(matrix)
        except np.linalg.LinAlgError:
            return f"A[{b}] expected positive definite, got a matrix that is not; add to its diagonal"
    raise AssertionError("no matrix fails alone")


@cholesky.check
def cholesky_check(A):
    if A.ndim < 2 or A.shape[-1] != A.shape[-2]:
        return f"A expected shape (…, n, n), got {A.shape}"
    if A.dtype.name not in ("float32", "float64"):
        return f"A expected float32 or float64, got {A.dtype}; cast it"
    return None


@cholesky.backward
def cholesky_grad(L, dL):
    L = np.tril(L)
    inverse = np.linalg.inv(L)
    return symmetric(turned(inverse) @ half_lower(turned(L) @ dL) @ inverse)


@cholesky_grad.check
def cholesky_grad_check(L, dL):
    return None if L.shape == dL.shape else f"dL expected shape {L.shape} like L, got {dL.shape}"


@cholesky_grad.backward
def cholesky_grad_grad(L, dL, ddA):
    """With M = L⁻¹, P = Φ(Lᵀ dL) and K = M ddA Mᵀ: M changes by -M dL M, which gives the first term."""
    L = np.tril(L)
    inverse = np.linalg.inv(L)
    inner = inverse @ symmetric(ddA) @ turned(inverse)
    product = half_lower(turned(L) @ dL)
    through_inverse = -turned(inverse) @ (product + turned(product)) @ inner
    return np.tril(through_inverse + dL @ turned(half_lower(inner))), L @ half_lower(inner)


@cholesky_grad_grad.check
def cholesky_grad_grad_check(L, dL, ddA):
    return None if ddA.shape == L.shape else f"ddA expected shape {L.shape} like L, got {ddA.shape}"


def turned(x):
    return np.swapaxes(x, -1, -2)


def symmetric(x):
    return (x + turned(x)) / 2


def half_lower(x):
    """Returns Φ: the lower triangle with half of the diagonal."""
    return np.tril(x) - np.eye(x.shape[-1], dtype=x.dtype) * x / 2


@cholesky.samples
def cholesky_samples(rng):
    def sample(*shape, reason):
        x = rng.normal(size=shape)
        return opsdk.Sample(x @ turned(x) + np.eye(shape[-1]), reason=reason)

    yield sample(2, 3, 3, reason="a batch")
    yield sample(2, 1, 2, 2, reason="two leading axes")
    yield sample(1, 1, reason="one number")
    yield sample(7, 7, reason="odd, more than a tile")
    yield opsdk.Sample(np.zeros((0, 3, 3)), reason="no matrices")
    yield opsdk.Sample(np.zeros((2, 0, 0)), reason="matrices of no elements")


@cholesky.bench
def cholesky_bench(rng, n):
    """Matrices 64 × 64."""
    x = rng.normal(size=(max(1, n // 4096), 64, 64))
    return opsdk.Sample(x @ turned(x) / 64 + np.eye(64))


# C, in cholesky.c. A product and a sum may be one instruction there, which ISO C alone does not allow.

FLOATS, FLAGS = ("float32", "float64"), ("-ffp-contract=fast",)
for op in (cholesky, cholesky_grad):
    op.kernel("cpu", language="c", dtype=FLOATS, source="cholesky.c", openmp=True, contiguous=True, flags=FLAGS)
