"""Rows of several lengths: padded to one width, or one behind the other."""

import numpy as np

import opsdk
from opsdk import errors


@opsdk.op("contrib::ragged_from_padded(Tensor x, Tensor<int> lengths) -> (Tensor values, Tensor<int> offsets)")
def ragged_from_padded(x, lengths):
    """values holds the first lengths[i] of each x[i], one row behind the other; as in `torch.nested` with its offsets.

    Args:
        x: array of shape (N, L, ...).
        lengths: integers in [0, L], of shape (N,).

    Returns values: of the dtype of x and shape (sum of lengths, ...), which is known only after the call; offsets:
    int64 of shape (N + 1,), row i is values[offsets[i]:offsets[i + 1]].

    Raises ValueError: shapes do not fit, or a length lies outside.

    Gradient: with respect to x, to any order; values are linear in it. What is padding gets zero.
    """
    return x[is_inside(lengths, x.shape[1])], np.append(0, np.cumsum(lengths)).astype(np.int64)


@opsdk.op("contrib::padded_from_ragged(Tensor values, Tensor<int> lengths, *, int >= 0 width) -> Tensor x")
def padded_from_ragged(values, lengths, width):
    """x[i] begins with the next lengths[i] of values, then come zeros; `torch.nested.to_padded_tensor`.

    Args:
        values: array of shape (sum of lengths, ...).
        lengths: integers in [0, width], of shape (N,).
        width: how long each row is made.

    Returns x: of the dtype of values and shape (N, width, ...).

    Raises ValueError: shapes do not fit, or a length lies outside.

    Gradient: with respect to values, to any order; x is linear in them.
    """
    x = np.zeros((len(lengths), width, *values.shape[1:]), values.dtype)
    x[is_inside(lengths, width)] = values
    return x


def is_inside(lengths, width):
    return np.arange(width) < np.asarray(lengths)[:, None]


# The gradient of each is the other.


@ragged_from_padded.backward(composite=True)
def ragged_from_padded_grad(x_spec, lengths, dvalues):
    return padded_from_ragged(dvalues, lengths, width=x_spec.shape[1])


@padded_from_ragged.backward(composite=True)
def padded_from_ragged_grad(lengths, dx):
    return ragged_from_padded(dx, lengths)[0]


@ragged_from_padded.infer
def ragged_from_padded_infer(x, lengths):
    rows = {*x.shape[:1], *lengths.shape} - {None}
    if len(x.shape) < 2 or len(lengths.shape) != 1 or len(rows) > 1:
        raise errors.ShapeError(
            "op 'contrib::ragged_from_padded': expected x of shape (N, L, ...) and lengths of shape (N,), got "
            f"{x.shape} and {lengths.shape}"
        )
    offsets = None if lengths.shape[0] is None else lengths.shape[0] + 1
    return opsdk.TensorSpec((None, *x.shape[2:]), x.dtype), opsdk.TensorSpec((offsets,), "int64")


@padded_from_ragged.infer
def padded_from_ragged_infer(values, lengths, width):
    if len(values.shape) < 1 or len(lengths.shape) != 1:
        raise errors.ShapeError(
            "op 'contrib::padded_from_ragged': expected values of shape (sum of lengths, ...) and lengths of shape "
            f"(N,), got {values.shape} and {lengths.shape}"
        )
    return opsdk.TensorSpec((lengths.shape[0], width, *values.shape[1:]), values.dtype)


@ragged_from_padded.check
def ragged_from_padded_check(x, lengths):
    return lengths_outside(lengths, x.shape[1])


@padded_from_ragged.check
def padded_from_ragged_check(values, lengths, width):
    if len(values) != lengths.sum():
        return f"lengths expected to sum to {len(values)}, as many as there are values, got {lengths.sum()}"
    return lengths_outside(lengths, width)


def lengths_outside(lengths, width):
    if lengths.size and not 0 <= lengths.min() <= lengths.max() <= width:
        return f"lengths expected in [0, {width}], got {lengths.min()} to {lengths.max()}; cut what is longer"
    return None


LENGTHS: tuple[tuple[list[int], str], ...] = (
    ([3, 0, 5, 1], "several lengths, one of them 0"),
    ([5, 5, 5, 5], "no padding"),
    ([0, 0], "padding alone"),
    ([4], "one row"),
    ([], "no rows"),
)


@ragged_from_padded.samples
def ragged_from_padded_samples(rng):
    for lengths, reason in LENGTHS:
        yield opsdk.Sample(rng.normal(size=(len(lengths), 5)), np.array(lengths, int), reason=reason)
    yield opsdk.Sample(rng.normal(size=(4, 5, 3)), np.array([3, 0, 5, 1], "int32"), reason="rows of vectors, int32")
    yield opsdk.Sample(rng.integers(-9, 9, (2, 3)), np.array([1, 3]), reason="whole numbers")


@padded_from_ragged.samples
def padded_from_ragged_samples(rng):
    for lengths, reason in LENGTHS:
        yield opsdk.Sample(rng.normal(size=sum(lengths)), np.array(lengths, int), width=5, reason=reason)
    yield opsdk.Sample(rng.normal(size=(9, 3)), np.array([3, 0, 5, 1], "int32"), width=6, reason="vectors, int32")
    yield opsdk.Sample(rng.integers(-9, 9, 4), np.array([1, 3]), width=3, reason="whole numbers")


@ragged_from_padded.bench
def ragged_from_padded_bench(rng, n):
    """Rows of up to 64 vectors of 16."""
    rows = max(1, n // 1024)
    return opsdk.Sample(rng.normal(size=(rows, 64, 16)), rng.integers(0, 65, rows))


@padded_from_ragged.bench
def padded_from_ragged_bench(rng, n):
    """Rows of up to 64 vectors of 16."""
    lengths = rng.integers(0, 65, max(1, n // 1024))
    return opsdk.Sample(rng.normal(size=(lengths.sum(), 16)), lengths, width=64)


def ragged_from_padded_numba(x, lengths, values, offsets):
    filled = 0
    for i in range(lengths.size):
        offsets[i] = filled
        for j in range(lengths[i]):
            values[filled] = x[i, j]
            filled += 1
    offsets[lengths.size] = filled
    return filled


def padded_from_ragged_numba(values, lengths, x):
    x[:] = 0
    left = 0
    for i in range(lengths.size):
        for j in range(lengths[i]):
            x[i, j] = values[left]
            left += 1


ragged_from_padded.kernel(
    "cpu", ragged_from_padded_numba, language="numba", sizes=lambda lengths: lengths.sum(), contiguous=True
)
padded_from_ragged.kernel("cpu", padded_from_ragged_numba, language="numba", contiguous=True)
FLOATS = ("float16", "bfloat16", "float32", "float64")
ragged_from_padded.kernel(
    "cpu", language="c", dtype=FLOATS, source="ragged.c", bound=lambda x: x.shape[0] * x.shape[1], contiguous=True
)
padded_from_ragged.kernel("cpu", language="c", dtype=FLOATS, source="ragged.c", contiguous=True)
