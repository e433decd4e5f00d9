"""The distinct elements of an array."""

import numpy as np

import opsdk


@opsdk.op(
    "contrib::unique(Tensor x) -> (Tensor values, Tensor<int> inverse, Tensor<int> counts)",
    nondifferentiable={"values": "where elements are equal, how many there are jumps"},
)
def unique(x):
    """values holds each element of x once, rising, nan last and once; `torch.unique`, `numpy.unique`.

    Args:
        x: real array of any shape.

    Returns values: of the dtype of x; inverse: int64 of the shape of x, with x = values[inverse]; counts: int64, how
    often each value occurs. How many values there are is known only after the call; in a Program it is open.

    Gradient: none, as of torch.unique. Where elements are equal, moving one of them makes another value, and how many
    there are jumps; where all are distinct the values are a gather, which has a gradient.
    """
    values, inverse, counts = np.unique(x, return_inverse=True, return_counts=True)
    return values, inverse.reshape(x.shape), counts


@unique.infer
def unique_infer(x):
    return opsdk.TensorSpec((None,), x.dtype), opsdk.TensorSpec(x.shape, "int64"), opsdk.TensorSpec((None,), "int64")


@unique.samples
def unique_samples(rng):
    yield opsdk.Sample(rng.integers(0, 9, (5, 7)).astype(float), reason="ties in a matrix")
    yield opsdk.Sample(rng.normal(size=67), reason="all distinct")
    yield opsdk.Sample(np.full((3, 4), 2.5), reason="all equal")
    yield opsdk.Sample(rng.integers(-3, 3, 20), reason="whole numbers")
    yield opsdk.Sample(np.array([np.nan, 1, -np.inf, np.nan, 1, np.inf]), reason="nan and infinities")
    yield opsdk.Sample(np.array(3.0), reason="a number")
    yield opsdk.Sample(np.array([0.5]), reason="one element")
    yield opsdk.Sample(np.zeros((0, 3)), reason="no elements")


@unique.bench
def unique_bench(rng, n):
    """Whole numbers, of which each occurs about 16 times."""
    return opsdk.Sample(rng.integers(0, max(1, n // 16), n).astype(float))


DTYPES = ("float32", "float64", "int64")
for language, source in (("numba", ".unique_numba:forward"), ("c", "unique.c")):
    unique.kernel("cpu", language=language, dtype=DTYPES, source=source, bound=lambda x: x.size, contiguous=True)
