"""Selection of the k largest, through which gradients pass as if nothing had been dropped."""

import numpy as np

import opsdk


@opsdk.op(
    "contrib::topk_straight_through(Tensor x, *, int k) -> Tensor y",
    surrogate=lambda x, k: x.copy(),
)
def topk_straight_through(x, *, k):
    """y = x where x is among the k largest of its row, else 0; dx = dy, straight through (Bengio et al. 2013).

    Args:
        x: array of shape (…, n); rows lie along the last axis.
        k: how many entries of each row are kept, 0 ≤ k ≤ n.

    Returns y of the shape and dtype of x. Of equal entries the earlier ones are kept, so that always k are. nan counts
    as greater than any number, as in `torch.topk`, and so is kept first.

    Raises ValueError: k lies outside of [0, n], or x has no axis.

    Gradient: declared surrogate, that of the identity, also for what was dropped: the derivative of the selection
    itself would teach an entry that is 0 nothing. The second derivative is 0.
    """
    # A stable sort of the reversed row has the earlier of equal entries later, and nan last.
    best = x.shape[-1] - 1 - np.argsort(x[..., ::-1], axis=-1, kind="stable")[..., x.shape[-1] - k :]
    y = np.zeros_like(x, order="C")
    np.put_along_axis(y, best, np.take_along_axis(x, best, axis=-1), axis=-1)
    return y


@topk_straight_through.check
def topk_straight_through_check(x, k):  # for every kernel: what it refuses, none has to expect
    if not x.ndim:
        return "x expected at least one axis, got shape (); reshape it to (1,)"
    if not 0 <= k <= x.shape[-1]:
        return f"k expected in [0, {x.shape[-1]}], where the end is the length of a row, got {k}"
    return None


@topk_straight_through.backward(composite=True)
def topk_straight_through_grad(dy):
    return dy * 1.0


@topk_straight_through.samples
def topk_straight_through_samples(rng):
    yield opsdk.Sample(rng.normal(size=(3, 5)), k=2, reason="rows")
    yield opsdk.Sample(rng.normal(size=(2, 3, 4)), k=1, reason="rows of rows, the largest")
    yield opsdk.Sample(np.array([1.0, 2.0, 2.0, -1.0, 2.0]), k=2, reason="ties: the first two 2 stay")
    yield opsdk.Sample(np.array([1.0, 2, 1, 3, 1, 1, 0]), k=4, reason="ties: two are greater, two of four 1 stay")
    yield opsdk.Sample(np.array([1.0, np.nan, 3, np.nan, 0.5]), k=3, reason="nan is the greatest")
    yield opsdk.Sample(rng.normal(size=7), k=0, reason="nothing is kept")
    yield opsdk.Sample(rng.normal(size=7), k=7, reason="everything is kept")
    yield opsdk.Sample(-rng.uniform(1, 2, (2, 20)), k=9, reason="long rows, all below the 0 of what is dropped")
    yield opsdk.Sample(np.zeros((0, 4)), k=2, reason="no rows")
    yield opsdk.Sample(np.zeros((3, 0)), k=0, reason="rows of nothing")


@topk_straight_through.bench
def topk_straight_through_bench(rng, n):
    """32 of each 1024."""
    return opsdk.Sample(rng.normal(size=(max(1, n // 1024), 1024)), k=32)


topk_straight_through.kernel(
    "cpu", language="numba", source=".topk_numba:forward", dtype=("float32", "float64"), parallel=True
)
topk_straight_through.kernel("cuda", language="numba", source=".topk_cuda:forward", launch=opsdk.launch.rows("x", "y"))
