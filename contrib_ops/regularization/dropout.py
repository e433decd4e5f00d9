"""Dropout with a generator: one mask in every language, drawn again by the backward and never kept."""

import numpy as np

import opsdk


@opsdk.op(
    "contrib::dropout(Tensor x, *, 0 <= float < 1 p=0.5, Generator rng) -> Tensor y",
    infer=opsdk.infer.like("x"),
    linear=True,
)
def dropout(x, *, p, rng):
    """x / (1 - p) where a random number is not below p, else 0 (Srivastava et al. 2014, as PyTorch scales it).

    The number of an element is `opsdk.vmath.uniform(key, i)`, i its place in C order and the key that of the call's
    draw, in NumPy, Numba and C: Philox4x32-10 (Salmon et al. 2011, Parallel random numbers).

    Args:
        x: float array.
        p: share that is dropped, 0 ≤ p < 1.
        rng: generator of which each call takes the next draw; the global one unless given.

    Returns y of the shape and dtype of x.

    Gradient: with respect to x, to any order: the same, with the same mask, of the cotangent; nothing is saved.
    """
    return np.where(rng.random(x.shape) >= p, x * x.dtype.type(1 / (1 - p)), x.dtype.type(0))


@dropout.backward(composite=True)
def dropout_grad(dy, p, rng):
    return dropout(dy, p=p, rng=rng)


@dropout.kernel("cpu", language="numba")
def dropout_numba(x, p, rng, y):
    line, out, scale = x.ravel(), y.ravel(), x.dtype.type(1 / (1 - p))
    for i in range(line.size):
        out[i] = line[i] * scale if opsdk.vmath.uniform(rng, i) >= p else 0


dropout.kernel("cpu", language="c", dtype=("float32", "float64"), source="dropout.c", contiguous=True)


@dropout.samples
def dropout_samples(rng):
    yield opsdk.Sample(rng.normal(size=(3, 7)), reason="half is dropped")
    yield opsdk.Sample(rng.normal(size=300), p=0.1, reason="little is dropped, several vectors of numbers")
    yield opsdk.Sample(rng.normal(size=()), p=0.0, reason="0-d, nothing is dropped")
    yield opsdk.Sample(np.zeros((0, 4)), reason="empty")


@dropout.bench
def dropout_bench(rng, n):
    return opsdk.Sample(rng.normal(size=n))
