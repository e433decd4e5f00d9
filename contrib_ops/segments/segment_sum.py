"""Sums of the rows that belong to one segment."""

import numpy as np

import opsdk
from opsdk import errors


@opsdk.op("contrib::segment_sum(Tensor data, Tensor<int> segment_ids, int >= 0 num_segments) -> Tensor y")
def segment_sum(data, segment_ids, num_segments):
    """y[s] = Σ data[i] over the rows i with segment_ids[i] = s; `jax.ops.segment_sum`, `torch_scatter.scatter_sum`.

    Args:
        data: array of numbers of shape (N, ...).
        segment_ids: integers in [0, num_segments), of shape (N,), in any order.
        num_segments: how many segments there are; one that no row belongs to has the sum 0.

    Returns y of shape (num_segments, ...) and the dtype of data; float16 is summed in float32. A sum of integers may
    overflow, as NumPy's does. nan and inf stay in their segment.

    Raises ValueError: shapes do not fit, or an id lies outside.

    Gradient: with respect to data, to any order; y is linear in it.
    """
    return opsdk.sum_at(data, segment_ids, num_segments)


# The gradient of each is the other: a row of data gets the cotangent of its segment.


@segment_sum.backward
def segment_sum_grad(segment_ids, dy, num_segments):
    return np.take(dy, segment_ids, axis=0)


@segment_sum_grad.infer
def segment_sum_grad_infer(segment_ids, dy):
    return opsdk.TensorSpec((*segment_ids.shape, *dy.shape[1:]), dy.dtype)


@segment_sum_grad.backward(composite=True)
def segment_sum_grad_grad(segment_ids, dddata, num_segments):
    return segment_sum(dddata, segment_ids, num_segments)


@segment_sum.infer
def segment_sum_infer(data, segment_ids, num_segments):
    if data.dtype.kind not in "iufc":
        raise errors.DTypeError(f"op 'contrib::segment_sum': data expected numbers, got {data.dtype}; cast it")
    check_ids("op 'contrib::segment_sum'", data, segment_ids)
    return opsdk.TensorSpec((num_segments, *data.shape[1:]), data.dtype)


def check_ids(subject, data, segment_ids):
    """Holds ids, arrays or specs, to one per row of data."""
    rows, ids = data.shape[:1], segment_ids.shape
    if not rows or len(ids) != 1 or (None not in (*rows, *ids) and rows != ids):
        raise errors.ShapeError(
            f"{subject}: expected data of shape (N, ...) and segment_ids of shape (N,), got {data.shape} and {ids}"
        )


def ids_outside(segment_ids, num_segments):
    """Returns what is wrong with ids, if anything."""
    if segment_ids.size and not 0 <= segment_ids.min() <= segment_ids.max() < num_segments:
        return (
            f"segment_ids expected in [0, {num_segments}), got {int(segment_ids.min())} to {int(segment_ids.max())}; "
            "drop those rows, or take more segments"
        )
    return None


@segment_sum.check
def segment_sum_check(data, segment_ids, num_segments):
    check_ids("op 'contrib::segment_sum'", data, segment_ids)
    return ids_outside(segment_ids, num_segments)


@segment_sum_grad.check
def segment_sum_grad_check(segment_ids, dy, num_segments):
    if dy.shape[:1] != (num_segments,):
        return f"dy expected a row per segment, {num_segments} of them, got shape {dy.shape}"
    return ids_outside(segment_ids, num_segments)


@segment_sum.samples
def segment_sum_samples(rng):
    ids = np.array([2, 0, 2, 2, 4, 0])
    yield opsdk.Sample(rng.normal(size=(6, 3)), ids, num_segments=5, reason="unsorted, two segments are empty")
    yield opsdk.Sample(rng.normal(size=6), ids.astype(np.int32), num_segments=5, reason="one number per row, int32 ids")
    yield opsdk.Sample(rng.normal(size=(6, 2, 2)), np.zeros(6, np.int64), num_segments=1, reason="one segment, 3-d")
    yield opsdk.Sample(rng.normal(size=(67, 5)), rng.integers(0, 9, 67), num_segments=9, reason="ragged")
    yield opsdk.Sample(rng.integers(-9, 9, (6, 3)), ids, num_segments=5, reason="whole numbers")
    yield opsdk.Sample(np.zeros((0, 3)), ids[:0], num_segments=2, reason="no rows")
    yield opsdk.Sample(np.zeros((0, 3)), ids[:0], num_segments=0, reason="no segments")
    yield opsdk.Sample(np.zeros((6, 0)), ids, num_segments=5, reason="rows of nothing")


@segment_sum.bench
def segment_sum_bench(rng, n):
    """Rows of 64 in sorted segments of about 16."""
    count = max(1, n // 64)
    segments = max(1, count // 16)
    ids = np.sort(rng.integers(0, segments, count))
    return opsdk.Sample(rng.normal(size=(count, 64)), ids, num_segments=segments)


def segment_sum_numba(data, segment_ids, y):
    width = y.size // max(y.shape[0], 1)
    rows, sums = data.reshape(segment_ids.size, width), y.reshape(y.shape[0], width)
    sums[:] = 0
    for i in range(segment_ids.size):
        total, row = sums[segment_ids[i]], rows[i]
        for j in range(width):
            total[j] += row[j]


def segment_sum_float32_numba(data, segment_ids, y):
    width = y.size // max(y.shape[0], 1)
    rows, made = data.reshape(segment_ids.size, width), y.reshape(y.shape[0], width)
    sums = np.zeros((y.shape[0], width))  # in float64: after 2²⁴ ones float32 would stand still
    for i in range(segment_ids.size):
        total, row = sums[segment_ids[i]], rows[i]
        for j in range(width):
            total[j] += row[j]
    made[:] = sums


segment_sum.kernel("cpu", segment_sum_float32_numba, language="numba", dtype="float32", contiguous=True)
segment_sum.kernel("cpu", segment_sum_numba, language="numba", dtype=("float64", "int32", "int64"), contiguous=True)


def sums_of_segments(data, num_segments):
    dtype = np.result_type(data.dtype, np.float64) if data.dtype.kind in "fc" else data.dtype
    return opsdk.TensorSpec((num_segments * int(np.prod(data.shape[1:])),), dtype)


segment_sum.kernel(
    "cuda",
    language="numba",
    source=".segment_sum_cuda:forward",
    launch=opsdk.launch.elementwise("y"),
    scratch={"sums": sums_of_segments},
)
