"""Reductions of what an index sends to one place along an axis: scatter_mean and scatter_max."""

import numpy as np

import opsdk
from opsdk import errors


@opsdk.op(
    "contrib::scatter_mean(Tensor src, Tensor<int> index, int >= 0 size, int axis=-1) -> Tensor y, "
    "residuals (Tensor<int> counts)"
)
def scatter_mean(src, index, size, axis):
    """y[…, s, …] = mean of src[…, i, …] over the i along axis with index[…, i, …] = s; `torch_scatter.scatter_mean`.

    Args:
        src: array of floats or complex numbers, at least 1-d.
        index: integers in [0, size), in any order: of the shape of src, or of shape (src.shape[axis],), which counts
            for every line along axis.
        size: how many places there are; one that nothing is sent to has the mean 0.
        axis: of src; from the end where negative.

    Returns y of the dtype of src and its shape, with size places along axis. nan and inf stay in their place.

    Raises ValueError: shapes do not fit, axis lies outside, or an index does.

    Gradient: with respect to src, to any order; y is linear in it. How many elements each place has is kept for it.
    """
    cells, counts = cells_of(index, src.shape, axis), counts_of(index, size, axis)
    sums = opsdk.sum_at(wide(lines_of(src, axis)), cells, size * cells.shape[1]).reshape(size, cells.shape[1])
    return along_axis(sums / divisors(counts, axis), src.shape, size, axis).astype(src.dtype), counts


@scatter_mean.backward(complex=True)
def scatter_mean_grad(index, counts, dy, size, axis):
    cells = cells_of(index, source_shape(index, dy, axis), axis)
    shares = lines_of(wide(dy), axis) / divisors(counts, axis)
    return along_axis(shares.reshape(-1)[cells], dy.shape, len(cells), axis).astype(dy.dtype)


@scatter_mean_grad.backward(composite=True)
def scatter_mean_grad_grad(index, ddsrc, size, axis):
    return scatter_mean(ddsrc, index, size, axis)


@opsdk.op(
    "contrib::scatter_max(Tensor src, Tensor<int> index, int >= 0 size, int axis=-1) -> (Tensor y, Tensor<int> arg)"
)
def scatter_max(src, index, size, axis):
    """y[…, s, …] = max of src[…, i, …] over the i along axis with index[…, i, …] = s; `torch_scatter.scatter_max`.

    Args:
        src: array of real numbers, at least 1-d; minima are minus the maxima of -src.
        index: as in scatter_mean.
        size: as in scatter_mean.
        axis: as in scatter_mean.

    Returns y like scatter_mean, and arg, int64 of the shape of y: the i of the maximum, of equal ones the first. A
    place that nothing is sent to has y = 0 and arg = src.shape[axis]. nan counts as greater than any number.

    Raises ValueError: shapes do not fit, axis lies outside, or an index does.

    Gradient: with respect to src, order 2; it goes to the element at arg alone, also where several are equal.
    """
    cells, values = cells_of(index, src.shape, axis), lines_of(src, axis)
    count, width = values.shape
    greatest = np.full(size * width, np.iinfo(src.dtype).min if src.dtype.kind in "iu" else -np.inf, src.dtype)
    np.maximum.at(greatest, cells, values)
    arg = np.full(size * width, count)
    is_greatest = (values == greatest[cells]) | (values != values)
    np.minimum.at(arg, cells, np.where(is_greatest, np.arange(count)[:, None], count))
    y = taken(values, arg.reshape(size, width))
    return along_axis(y, src.shape, size, axis), along_axis(arg, src.shape, size, axis)


@scatter_max.backward
def scatter_max_grad(src_spec, arg, dy, axis):
    arg, dy, count = lines_of(arg, axis), lines_of(dy, axis), src_spec.shape[axis]
    dsrc = np.zeros((count + 1, dy.shape[1]), dy.dtype)  # the last is where empty places point to
    np.put_along_axis(dsrc, arg, dy, axis=0)
    return along_axis(dsrc[:-1], src_spec.shape, count, axis)


@scatter_max_grad.backward
def scatter_max_grad_grad(arg, ddsrc, axis):
    return along_axis(taken(lines_of(ddsrc, axis), lines_of(arg, axis)), ddsrc.shape, arg.shape[axis], axis)


def taken(values, arg):
    """Returns values at arg, and 0 where arg is their number."""
    return np.take_along_axis(np.pad(values, [(0, 1), (0, 0)]), arg, axis=0)


# The axis comes first and all others are one: (i, j) goes to the cell index[i, j] * width + j.


def lines_of(array, axis):
    moved = np.moveaxis(array, axis, 0)
    return moved.reshape(len(moved), int(np.prod(moved.shape[1:])))


def along_axis(cells, shape, size, axis):
    """Returns cells in a shape, but with `size` of them along axis."""
    others = [n for a, n in enumerate(shape) if a != axis % len(shape)]
    return np.ascontiguousarray(np.moveaxis(cells.reshape(size, *others), 0, axis))


def cells_of(index, shape, axis):
    ndim = len(shape)
    lines = index if index.ndim == ndim else np.expand_dims(index, [a for a in range(ndim) if a != axis % ndim])
    places = lines_of(np.broadcast_to(lines, shape).astype(np.int64), axis)
    return places * places.shape[1] + np.arange(places.shape[1])


def counts_of(index, size, axis):
    """Returns how many elements each place has, in the shape of index but for `size` places along axis."""
    axis = axis if index.ndim > 1 else 0
    cells = cells_of(index, index.shape, axis)
    return along_axis(np.bincount(cells.reshape(-1), minlength=size * cells.shape[1]), index.shape, size, axis)


def divisors(counts, axis):
    """Returns counts in lines, and 1 for none."""
    return np.maximum(lines_of(counts, axis if counts.ndim > 1 else 0), 1)


def wide(array):
    """Returns floats as they are added: float16 as float32, which does not stop at 2048."""
    return array.astype(np.result_type(array.dtype, np.float32), copy=False)


def source_shape(index, dy, axis):
    return index.shape if len(index.shape) == len(dy.shape) else resized(dy.shape, axis, index.shape[0])


def counts_shape(index, size, axis):
    return resized(index.shape, axis if len(index.shape) > 1 else 0, size)


def resized(shape, axis, size):
    return tuple(size if a == axis % len(shape) else n for a, n in enumerate(shape))


@scatter_mean.infer
def scatter_mean_infer(src, index, size, axis):
    if src.dtype.kind not in "fc":
        raise errors.DTypeError(f"scatter_mean: src expected floats or complex numbers, got {src.dtype}; cast it")
    y = opsdk.TensorSpec(result_shape("scatter_mean", src, index, size, axis), src.dtype)
    return y, opsdk.TensorSpec(counts_shape(index, size, axis), "int64")


@scatter_max.infer
def scatter_max_infer(src, index, size, axis):
    if src.dtype.kind not in "iuf":
        raise errors.DTypeError(f"scatter_max: src expected real numbers, got {src.dtype}; cast it")
    shape = result_shape("scatter_max", src, index, size, axis)
    return opsdk.TensorSpec(shape, src.dtype), opsdk.TensorSpec(shape, "int64")


@scatter_mean_grad.infer
def scatter_mean_grad_infer(index, dy, axis):
    return opsdk.TensorSpec(source_shape(index, dy, axis), dy.dtype)


def result_shape(name, src, index, size, axis):
    """Returns the shape of a reduction; src and index are arrays or specs."""
    shape = src.shape
    if not -len(shape) <= axis < len(shape):
        raise errors.ShapeError(f"{name}: axis expected to be one of src, shape {shape}, got {axis}")
    wanted = shape if len(index.shape) == len(shape) else (shape[axis],)
    pairs = zip(index.shape, wanted, strict=False)
    if len(index.shape) != len(wanted) or any(i != n and None not in (i, n) for i, n in pairs):
        raise errors.ShapeError(f"{name}: index expected shape {shape} or ({shape[axis]},), got {index.shape}")
    return resized(shape, axis, size)


@scatter_mean.check
def scatter_mean_check(src, index, size, axis):
    result_shape("scatter_mean", src, index, size, axis)
    return outside("index", index, size)


@scatter_max.check
def scatter_max_check(src, index, size, axis):
    result_shape("scatter_max", src, index, size, axis)
    return outside("index", index, size)


@scatter_mean_grad.check
def scatter_mean_grad_check(index, counts, dy, size, axis):
    wanted = resized(source_shape(index, dy, axis), axis, size)
    for name, array, shape in (("dy", dy, wanted), ("counts", counts, counts_shape(index, size, axis))):
        if array.shape != shape:
            return f"{name} expected shape {shape} to fit index, got {array.shape}"
    return outside("index", index, size)


@scatter_max_grad.check
def scatter_max_grad_check(src_spec, arg, dy, axis):
    shape = src_spec.shape
    if dy.shape != arg.shape or resized(dy.shape, axis, shape[axis]) != shape:
        return f"dy expected the shape of arg, {arg.shape}, that of src {shape} but for axis {axis}, got {dy.shape}"
    return outside("arg", arg, shape[axis] + 1)


def outside(name, index, size):
    if index.size and not 0 <= index.min() <= index.max() < size:
        return f"{name} expected in [0, {size}), got {index.min()} to {index.max()}; drop what is outside"
    return None


@scatter_mean.samples
def scatter_mean_samples(rng):
    ids = np.array([2, 0, 2, 2, 4, 0])
    yield opsdk.Sample(rng.normal(size=(3, 6)), ids, size=5, reason="an index for every line, two places are empty")
    yield opsdk.Sample(rng.normal(size=(6, 3)), ((ids + 1) % 5).astype(np.int32), size=5, axis=0, reason="rows, int32")
    yield opsdk.Sample(rng.normal(size=(2, 4, 3)), rng.integers(0, 3, (2, 4, 3)), size=3, axis=1, reason="each its own")
    yield opsdk.Sample(rng.normal(size=6), ids, size=7, reason="one line, more places than elements")
    yield opsdk.Sample(rng.normal(size=(1, 67)), rng.integers(0, 3, 67), size=3, axis=-1, reason="long sums")
    yield opsdk.Sample(np.zeros((3, 0)), ids[:0], size=2, reason="no elements")
    yield opsdk.Sample(np.zeros((3, 0)), ids[:0], size=0, reason="no places")
    yield opsdk.Sample(np.zeros((0, 6)), ids, size=5, reason="no lines")


@scatter_max.samples
def scatter_max_samples(rng):
    yield from scatter_mean_samples(rng)
    yield opsdk.Sample(np.array([[-2.0, -1, -2, -1]]), np.array([0, 0, 1, 1]), size=3, reason="below the 0 of nothing")
    yield opsdk.Sample(np.array([[3.0, 1, 3, 3]]), np.array([0, 1, 0, 0]), size=2, reason="ties: the first")
    yield opsdk.Sample(rng.integers(-9, 9, (2, 6)), np.array([2, 0, 2, 2, 4, 0]), size=5, reason="whole numbers")


@scatter_mean.bench
@scatter_max.bench
def scatter_bench(rng, n):
    """Rows of 64 for a sixteenth as many places, in any order."""
    count = max(1, n // 64)
    return opsdk.Sample(rng.normal(size=(count, 64)), rng.integers(0, -(-count // 16), count), -(-count // 16), axis=0)


for op, name in (
    (scatter_mean, "mean"),
    (scatter_mean_grad, "mean_backward"),
    (scatter_max, "maximum"),
    (scatter_max_grad, "maximum_backward"),
):
    op.kernel("cpu", language="numba", source=f".scatter_numba:{name}", dtype=("float32", "float64"), contiguous=True)
