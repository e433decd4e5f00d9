"""Elements at positions along some axes, and all along the others."""

import numpy as np

import opsdk
from opsdk import errors


@opsdk.op("contrib::advanced_index(Tensor x, Tensor<int>?[] indices) -> Tensor y")
def advanced_index(x, indices):
    """y = x[i, :, j, …]: positions along some axes, None for all of an axis; `torch.ops.aten.index`, NumPy's advanced
    indexing.

    Args:
        x: array of any dtype.
        indices: per axis of x integers in [-size, size), the same or not, which are broadcast to one shape, or None;
            axes behind the last are whole.

    Returns y of the dtype of x. The axes of the broadcast positions stand where the first axis with positions was, or
    first of all where a whole axis lies between two with positions.

    Raises ValueError: more indices than axes, shapes that do not broadcast, a position outside.

    Gradient: with respect to x, to any order; y is linear in it. What is taken several times gets the sum.
    """
    return x[places(indices)].copy()


@advanced_index.backward(complex=True)
def advanced_index_grad(x_spec, indices, dy):
    taken = np.arange(np.prod(x_spec.shape, dtype=int)).reshape(x_spec.shape)[places(indices)]
    return opsdk.sum_at(dy.reshape(-1), taken.reshape(-1), np.prod(x_spec.shape, dtype=int)).reshape(x_spec.shape)


@advanced_index_grad.backward(composite=True)
def advanced_index_grad_grad(indices, ddx):
    return advanced_index(ddx, indices)


def places(indices):
    return tuple(slice(None) if index is None else index for index in indices)


@advanced_index.infer
def advanced_index_infer(x, indices):
    if len(indices) > len(x.shape):
        raise errors.ShapeError(
            f"advanced_index: indices expected at most {len(x.shape)}, one per axis of x, got {len(indices)}"
        )
    return opsdk.TensorSpec(shape_of(x.shape, indices), x.dtype)


def shape_of(shape, indices):
    """Returns the shape of y; a size may be open."""
    at = [axis for axis, index in enumerate(indices) if index is not None]
    whole = [size for axis, size in enumerate(shape) if axis not in at]
    start = at[0] if at and at[-1] - at[0] < len(at) else 0
    return (*whole[:start], *broadcast([indices[axis].shape for axis in at]), *whole[start:])


def broadcast(shapes):
    width = max(map(len, shapes), default=0)
    columns = zip(*[(1,) * (width - len(shape)) + tuple(shape) for shape in shapes], strict=True)
    sizes = [sorted({size for size in column if size != 1}, key=lambda size: size is None) for column in columns]
    if any(len(column) > 1 and column[1] is not None for column in sizes):
        raise errors.ShapeError(
            f"advanced_index: indices expected shapes that broadcast, got {' and '.join(map(str, shapes))}"
        )
    return [column[0] if column else 1 for column in sizes]


@advanced_index.check
def advanced_index_check(x, indices):
    return outside(x.shape, indices)


@advanced_index_grad.check
def advanced_index_grad_check(x_spec, indices, dy):
    wanted = shape_of(x_spec.shape, indices)
    return outside(x_spec.shape, indices) if dy.shape == wanted else f"dy expected shape {wanted}, got {dy.shape}"


def outside(shape, indices):
    for axis, (index, size) in enumerate(zip(indices, shape, strict=False)):
        if index is not None and index.size and not -size <= index.min() <= index.max() < size:
            return f"indices[{axis}] expected in [{-size}, {size}), got {index.min()} to {index.max()}"
    return None


@advanced_index.samples
def advanced_index_samples(rng):
    x, rows = rng.normal(size=(3, 4, 5)), np.array([2, 0, 2, 1])
    yield opsdk.Sample(x, [rows], reason="of one axis, one row twice")
    yield opsdk.Sample(x, [None, rows], reason="behind a whole axis")
    yield opsdk.Sample(x, [None, rows, np.array([[0], [4]])], reason="of two axes, broadcast")
    yield opsdk.Sample(x, [rng.integers(-3, 3, (2, 3)), rows[:3]], reason="of two axes, positions in rows")
    yield opsdk.Sample(x, [rows, None, rows.astype("int32")], reason="a whole axis between, int32")
    yield opsdk.Sample(x, [rows[:3], rows[:3], np.array(-1)], reason="of all axes, from the end")
    yield opsdk.Sample(x[:, :2, 0], [rows], reason="blocks of two")
    yield opsdk.Sample(x, [None, None], reason="no positions")
    yield opsdk.Sample(x, [], reason="no indices")
    yield opsdk.Sample(rng.normal(size=(2, 0)), [rows[:2] // 2, rows[:0].reshape(0, 1)], reason="nothing taken")
    yield opsdk.Sample(rng.normal(size=(1, 67)), [None, rng.integers(-67, 67, 150)], reason="more than there are")
    yield opsdk.Sample(np.arange(12).reshape(3, 4), [rows, None], reason="whole numbers")


@advanced_index.bench
def advanced_index_bench(rng, n):
    """As many rows of 64, in any order."""
    count = max(1, n // 64)
    return opsdk.Sample(rng.normal(size=(count, 64)), [rng.integers(0, count, count), None])


FLOATS = ("float32", "float64")
advanced_index.kernel("cpu", language="c", source="advanced_index.c", dtype=FLOATS, contiguous=True)
advanced_index_grad.kernel("cpu", language="c", source="advanced_index_grad.c", dtype=FLOATS, contiguous=True)
