"""Where an array is not zero."""

import numpy as np

import opsdk


@opsdk.op("contrib::nonzero(Tensor x) -> Tensor<int> index", nondifferentiable=("x",))
def nonzero(x):
    """index[k] is the position of the k-th element of x that is not zero, in C order; nan is not zero. `torch.nonzero`.

    Args:
        x: array of any shape and dtype.

    Returns index: int64 of shape (how many there are, x.ndim). Its length is known only after the call; in a Program it
    is open.

    Gradient: none; positions have no derivative.
    """
    return np.argwhere(x)


@nonzero.infer
def nonzero_infer(x):
    return opsdk.TensorSpec((None, len(x.shape)), "int64")


@nonzero.samples
def nonzero_samples(rng):
    some = rng.normal(size=(5, 7)) * rng.integers(0, 2, (5, 7))
    yield opsdk.Sample(some, reason="some of a matrix")
    yield opsdk.Sample((some > 0.5)[None], reason="truth values, 3-d")
    yield opsdk.Sample(rng.integers(-1, 2, 67), reason="whole numbers")
    yield opsdk.Sample(np.zeros((4, 3)), reason="nothing selected")
    yield opsdk.Sample(rng.uniform(1, 2, (4, 3)), reason="all selected")
    yield opsdk.Sample(np.array([-0.0, np.nan, np.inf, 0.0]), reason="minus zero, nan and infinity")
    yield opsdk.Sample(np.array(3.0), reason="a number")
    yield opsdk.Sample(np.array([0.5]), reason="one element")
    yield opsdk.Sample(np.zeros((0, 3)), reason="no elements")


@nonzero.bench
def nonzero_bench(rng, n):
    """A vector of which half is zero."""
    return opsdk.Sample(rng.normal(size=n) * rng.integers(0, 2, n))


DTYPES = ("float32", "float64", "int64", "bool")


@nonzero.kernel("cpu", language="numba", dtype=DTYPES, sizes=lambda x: np.count_nonzero(x), contiguous=True)
def nonzero_numba(x, index):
    filled = 0
    for at, value in np.ndenumerate(x):
        if value != 0:
            for axis in range(x.ndim):
                index[filled, axis] = at[axis]
            filled += 1
    return filled


nonzero.kernel("cpu", language="c", dtype=DTYPES, source="nonzero.c", sizes="nonzero_count", contiguous=True)
