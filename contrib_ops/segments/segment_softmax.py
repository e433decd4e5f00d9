"""Softmax over the rows that belong to one segment, the attention of graph networks."""

import numpy as np

import opsdk
from contrib_ops.segments.segment_sum import check_ids, ids_outside, segment_sum, segment_sum_bench, segment_sum_grad
from opsdk import errors


@opsdk.op("contrib::segment_softmax(Tensor data, Tensor<int> segment_ids, int >= 0 num_segments) -> Tensor y")
def segment_softmax(data, segment_ids, num_segments):
    """y[i] = exp(data[i]) / Σ exp(data[k]) over the rows k of the segment of i; `torch_scatter.scatter_softmax`.

    That is the attention coefficient of Veličković et al. 2018, Graph Attention Networks, eq. 2, with the target of an
    edge as its segment. The maximum of each segment is taken off first, so that nothing overflows.

    Args:
        data: float array of shape (N, ...); each column is for itself.
        segment_ids: integers in [0, num_segments), of shape (N,), in any order.
        num_segments: how many segments there are, from 0; one that no row belongs to has no entry in y.

    Returns y of the shape and dtype of data. Beside larger ones -inf gives 0; inf or nan, and nothing but -inf, make
    their column nan within the segment.

    Raises ValueError: shapes do not fit, or an id lies outside.

    Gradient: with respect to data, to any order.
    """
    peak = np.full((num_segments, *data.shape[1:]), -np.inf, data.dtype)
    with np.errstate(invalid="ignore"):  # inf - inf, which is to give nan
        np.maximum.at(peak, segment_ids, data)
        powers = np.exp((data - peak[segment_ids]).astype(np.result_type(data.dtype, np.float32), copy=False))
        made = powers / opsdk.sum_at(powers, segment_ids, num_segments)[segment_ids]  # float16 ends at 65,504 of them
    return made.astype(data.dtype, copy=False)


@segment_softmax.backward(composite=True)
def segment_softmax_grad(y, segment_ids, dy, num_segments):
    sums = segment_sum(y * dy, segment_ids, num_segments)
    return y * (dy - segment_sum_grad(segment_ids, sums, num_segments=num_segments))


@segment_softmax.infer
def segment_softmax_infer(data, segment_ids):
    if data.dtype.kind != "f":
        raise errors.DTypeError(f"op 'contrib::segment_softmax': data expected floats, got {data.dtype}; cast it")
    check_ids("op 'contrib::segment_softmax'", data, segment_ids)
    return data


@segment_softmax.check
def segment_softmax_check(data, segment_ids, num_segments):
    check_ids("op 'contrib::segment_softmax'", data, segment_ids)
    return ids_outside(segment_ids, num_segments)


@segment_softmax_grad.check
def segment_softmax_grad_check(y, segment_ids, dy, num_segments):
    check_ids("op 'contrib::segment_softmax_grad'", y, segment_ids)
    if dy.shape != y.shape:
        return f"dy expected the shape of y, {y.shape}, got {dy.shape}"
    return ids_outside(segment_ids, num_segments)


@segment_softmax.samples
def segment_softmax_samples(rng):
    ids = np.array([2, 0, 2, 2, 4, 0])
    yield opsdk.Sample(rng.normal(size=(6, 3)), ids, num_segments=5, reason="unsorted, two segments are empty")
    yield opsdk.Sample(rng.normal(size=6), ids.astype(np.int32), num_segments=5, reason="one number per row, int32 ids")
    yield opsdk.Sample(rng.normal(size=(6, 2, 2)), np.zeros(6, np.int64), num_segments=1, reason="one segment, 3-d")
    yield opsdk.Sample(rng.normal(size=(37, 2)), rng.integers(0, 9, 37), num_segments=9, reason="ragged")
    yield opsdk.Sample(np.array([1000.0, 999.0, -1000.0, 0.0]), np.zeros(4, int), num_segments=1, reason="far out")
    yield opsdk.Sample(rng.normal(size=(1, 3)), ids[:1], num_segments=3, reason="one row")
    yield opsdk.Sample(np.zeros((0, 3)), ids[:0], num_segments=2, reason="no rows")
    yield opsdk.Sample(np.zeros((6, 0)), ids, num_segments=5, reason="rows of nothing")


segment_softmax.bench(segment_sum_bench)


def segment_softmax_numba(data, segment_ids, num_segments, y):
    count = segment_ids.size
    width = data.size // max(count, 1)
    rows, made = data.reshape(count, width), y.reshape(count, width)
    peak = np.full((num_segments, width), -np.inf, data.dtype)
    total = np.zeros((num_segments, width), np.float64)  # many small terms
    for i in range(count):
        highest, row = peak[segment_ids[i]], rows[i]
        for j in range(width):
            if row[j] > highest[j]:  # a nan comes into the sum by itself
                highest[j] = row[j]
    for i in range(count):
        s = segment_ids[i]
        for j in range(width):
            made[i, j] = np.exp(rows[i, j] - peak[s, j])
            total[s, j] += made[i, j]
    for i in range(count):
        divisor, row = total[segment_ids[i]], made[i]
        for j in range(width):
            row[j] /= divisor[j]


def segment_softmax_grad_numba(y, segment_ids, dy, num_segments, ddata):
    count = segment_ids.size
    width = y.size // max(count, 1)
    made, arriving = y.reshape(count, width), dy.reshape(count, width)
    leaving = ddata.reshape(count, width)
    sums = np.zeros((num_segments, width), np.float64)
    for i in range(count):
        total, row, entering = sums[segment_ids[i]], made[i], arriving[i]
        for j in range(width):
            total[j] += row[j] * entering[j]
    rounded = sums.astype(y.dtype)
    for i in range(count):
        total, row, entering = rounded[segment_ids[i]], made[i], arriving[i]
        for j in range(width):
            leaving[i, j] = row[j] * (entering[j] - total[j])


FLOATS = ("float32", "float64")
segment_softmax.kernel("cpu", segment_softmax_numba, language="numba", dtype=FLOATS, contiguous=True)
segment_softmax_grad.kernel("cpu", segment_softmax_grad_numba, language="numba", dtype=FLOATS, contiguous=True)
