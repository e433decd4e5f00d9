"""Selection of the k largest, through which gradients pass as if nothing had been dropped."""

import numba
import numpy as np
from numba import cuda

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
def topk_straight_through_check(x, k):  # for every row: what it refuses, none has to expect
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
    yield opsdk.Sample(rng.normal(size=7), k=0, reason="nothing is kept")
    yield opsdk.Sample(rng.normal(size=7), k=7, reason="everything is kept")
    yield opsdk.Sample(-rng.uniform(1, 2, (2, 20)), k=9, reason="long rows, all below the 0 of what is dropped")
    yield opsdk.Sample(np.zeros((0, 4)), k=2, reason="no rows")
    yield opsdk.Sample(np.zeros((3, 0)), k=0, reason="rows of nothing")


# Numba on the CPU. The k-th largest is found without sorting; what is greater stays, and as many equals as are left.


@topk_straight_through.kernel("cpu", language="numba", dtype="float32")
@topk_straight_through.kernel("cpu", language="numba", dtype="float64")
def topk_straight_through_numba(x, k, y):
    n = x.shape[-1]
    y[...] = 0
    if k == 0 or x.size == 0:
        return
    rows, out = np.ascontiguousarray(x).reshape(-1, n), y.reshape(-1, n)
    moved = np.empty(n, x.dtype)
    for i in range(rows.shape[0]):
        moved[:] = rows[i]
        least = selected(moved, k - 1)
        left = k
        for j in range(n):
            left -= above(rows[i, j], least)
        for j in range(n):
            if above(rows[i, j], least):
                out[i, j] = rows[i, j]
            elif left > 0 and not above(least, rows[i, j]):
                out[i, j] = rows[i, j]
                left -= 1


@numba.njit
def selected(values, position):
    """Returns what stands at a position where the greatest comes first (Hoare 1961, Find); moves the values."""
    low, high = 0, values.size - 1
    while low < high:
        pivot, i, j = values[(low + high) // 2], low, high
        while i <= j:
            while above(values[i], pivot):
                i += 1
            while above(pivot, values[j]):
                j -= 1
            if i <= j:
                values[i], values[j] = values[j], values[i]
                i, j = i + 1, j - 1
        if j < position < i:
            break
        low, high = (low, j) if position <= j else (i, high)
    return values[position]


@numba.njit
def above(a, b):
    """Whether a is greater, where nan is greater than any number."""
    return a > b or (a != a and b == b)


# Numba on CUDA. A thread per entry counts what stands before it in its row: n comparisons, no sorting, no waiting.


@topk_straight_through.kernel("cuda", language="numba", launch=opsdk.launch.rows("x", "y"))
def topk_straight_through_cuda(x, k, y):
    row, n = cuda.blockIdx.x, x.shape[1]
    for j in range(cuda.threadIdx.x, n, cuda.blockDim.x):
        value, before = x[row, j], 0
        for other in range(n):
            rival = x[row, other]
            is_greater = rival > value or (rival != rival and value == value)
            is_equal = rival == value or (rival != rival and value != value)
            before += is_greater or (is_equal and other < j)
        y[row, j] = value if before < k else 0
