"""The elements that a mask selects."""

import numpy as np

import opsdk
from opsdk import errors


@opsdk.op("contrib::masked_select(Tensor x, Tensor<bool> mask) -> Tensor y")
def masked_select(x, mask):
    """y holds the elements of x where mask is true, in C order; `torch.masked_select`.

    Args:
        x: array of any shape and dtype.
        mask: bools of the shape of x.

    Returns y: of the dtype of x and shape (how many are selected,), which is known only after the call; in a Program it
    is open.

    Raises ShapeError: mask is not of the shape of x.

    Gradient: with respect to x, to any order; y is linear in it. What is not selected gets zero.
    """
    return x[mask]


# The gradient of each is the other: what was selected goes back to where it was.


@masked_select.backward
def masked_select_grad(mask, dy):
    dx = np.zeros(mask.shape, dy.dtype, like=dy)
    dx[mask] = dy
    return dx


@masked_select_grad.backward(composite=True)
def masked_select_grad_grad(mask, ddx):
    return masked_select(ddx, mask)


@masked_select.infer
def masked_select_infer(x, mask):
    sizes = zip(x.shape, mask.shape, strict=False)
    if len(x.shape) != len(mask.shape) or any(a != b and None not in (a, b) for a, b in sizes):
        raise errors.ShapeError(
            f"op 'contrib::masked_select': mask expected the shape of x, {x.shape}, got {mask.shape}; broadcast it"
        )
    return opsdk.TensorSpec((None,), x.dtype)


@masked_select_grad.infer
def masked_select_grad_infer(mask, dy):
    return opsdk.TensorSpec(mask.shape, dy.dtype)


@masked_select_grad.check
def masked_select_grad_check(mask, dy):
    selected = np.count_nonzero(mask)
    return None if dy.shape == (selected,) else f"dy expected shape ({selected},) as mask selects, got {dy.shape}"


@masked_select.samples
def masked_select_samples(rng):
    yield opsdk.Sample(rng.normal(size=(5, 7)), rng.uniform(size=(5, 7)) < 0.5, reason="some of a matrix")
    yield opsdk.Sample(rng.normal(size=(2, 3, 4)), rng.uniform(size=(2, 3, 4)) < 0.2, reason="few, 3-d")
    yield opsdk.Sample(rng.normal(size=67), np.zeros(67, bool), reason="nothing selected")
    yield opsdk.Sample(rng.normal(size=(4, 3)), np.ones((4, 3), bool), reason="all selected")
    yield opsdk.Sample(rng.integers(-9, 9, 8), np.arange(8) % 3 == 0, reason="whole numbers")
    yield opsdk.Sample(rng.normal(size=()), np.array(True), reason="a number")
    yield opsdk.Sample(rng.normal(size=1), np.array([True]), reason="one element")
    yield opsdk.Sample(np.zeros((0, 3)), np.zeros((0, 3), bool), reason="no elements")


@masked_select.bench
def masked_select_bench(rng, n):
    """Half of a vector."""
    return opsdk.Sample(rng.normal(size=n), rng.uniform(size=n) < 0.5)


NUMBERS, FLOATS = ("float32", "float64", "int64"), ("float32", "float64")


@masked_select.kernel(
    "cpu", language="numba", dtype=NUMBERS, sizes=lambda mask: np.count_nonzero(mask), contiguous=True
)
def masked_select_numba(x, mask, y):
    filled = 0
    elements, is_selected = x.reshape(x.size), mask.reshape(mask.size)
    for i in range(elements.size):
        if is_selected[i]:
            y[filled] = elements[i]
            filled += 1
    return filled


@masked_select_grad.kernel("cpu", language="numba", dtype=FLOATS, contiguous=True)
def masked_select_grad_numba(mask, dy, dx):
    left = 0
    out, is_selected = dx.reshape(dx.size), mask.reshape(mask.size)
    for i in range(out.size):
        if is_selected[i]:
            out[i] = dy[left]
            left += 1
        else:
            out[i] = 0


MASK = {"mask": "bool"}
masked_select.kernel(
    "cpu", language="c", dtype=NUMBERS, dtypes=MASK, source="masked_select.c", bound=lambda x: x.size, contiguous=True
)
masked_select_grad.kernel(
    "cpu", language="c", dtype=FLOATS, dtypes=MASK, source="masked_select_grad.c", contiguous=True
)

scan = {"place": lambda mask: np.cumsum(mask)}  # NumPy's, on the device
masked_select.kernel(
    "cuda",
    language="numba",
    source=".masked_select_cuda:forward",
    launch=opsdk.launch.elementwise("x"),
    bound=lambda x: x.size,
    scratch=scan,
)
masked_select_grad.kernel(
    "cuda",
    language="numba",
    source=".masked_select_cuda:backward",
    launch=opsdk.launch.elementwise("dx"),
    scratch=scan,
)
