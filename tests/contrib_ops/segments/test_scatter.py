"""scatter_mean and scatter_max: beside plain loops, and PyTorch's scatter_reduce for gradients."""

import numpy as np
import pytest

import opsdk
from contrib_ops import scatter_max, scatter_mean
from opsdk.core.errors import AttributeValueError, DTypeError, InputValueError, ShapeError
from opsdk.verify.kernels.launch import launch

# Compiles eight kernels; test_embedding_bag and test_segment_sum stand for the family in make test.
pytestmark = pytest.mark.slow

IDS = np.array([2, 0, 2, 2, 4, 0])


def by_loops(src, index, size, axis):
    """Returns means, maxima and where they are, an element at a time."""
    shape = list(src.shape)
    shape[axis] = size
    means, greatest, at = np.zeros(shape), np.zeros(shape), np.full(shape, src.shape[axis])
    for place in np.ndindex(*shape):
        line = tuple(slice(None) if a == axis % src.ndim else k for a, k in enumerate(place))
        sent = index[line] if index.ndim == src.ndim else index
        members = [i for i in range(src.shape[axis]) if sent[i] == place[axis]]
        if members:
            values = [src[line][i] for i in members]
            means[place], greatest[place] = sum(values) / len(values), max(values)
            at[place] = members[values.index(max(values))]
    return means, greatest, at


CASES = [((3, 6), (6,), -1), ((6, 3), (6,), 0), ((2, 6, 3), (2, 6, 3), 1), ((2, 6, 3), (6,), -2), ((6,), (6,), 0)]


@pytest.mark.parametrize(("shape", "of_index", "axis"), CASES)
@pytest.mark.parametrize("dtype", [pytest.param("float32", marks=pytest.mark.slow), "float64"])  # a compilation each
def test_every_kernel_reduces_as_plain_loops_do(shape, of_index, axis, dtype, rng):
    src, index = rng.integers(-9, 9, shape).astype(dtype), rng.integers(0, 5, of_index)
    means, greatest, at = by_loops(src, index, 5, axis)
    for op, wanted in ((scatter_mean, [means]), (scatter_max, [greatest, at])):
        kernels = [k for k in op.opdef.kernels if k.key.serves("cpu", np.dtype(dtype), (np.dtype(dtype),))]
        assert len(kernels) == 2
        for kernel in kernels:
            made = launch(op.opdef, kernel, [src, index], {"size": 5, "axis": axis})
            for got, want in zip(made, wanted, strict=True):
                np.testing.assert_allclose(got, want, rtol=1e-6 if dtype == "float32" else 1e-15)


@pytest.mark.parametrize(("op", "reduction"), [(scatter_mean, "mean"), (scatter_max, "amax")])
@pytest.mark.parametrize("axis", [0, 1])
def test_values_and_two_gradients_are_those_of_torch(op, reduction, axis, rng):
    torch = pytest.importorskip("torch")
    src, index, weights = rng.normal(size=(6, 4)), rng.integers(0, 5, (6, 4)), rng.normal(size=(6, 4))
    shape = tuple(5 if a == axis else n for a, n in enumerate(src.shape))
    tx = torch.tensor(src, requires_grad=True)
    ty = torch.zeros(shape, dtype=torch.float64)
    ty = ty.scatter_reduce(axis, torch.tensor(index), tx, reduction, include_self=False)
    (wanted,) = torch.autograd.grad(torch.sin(ty).sum(), tx, create_graph=True)
    (again,) = torch.autograd.grad((wanted * torch.tensor(weights)).sum(), tx)
    x = opsdk.to_tensor(src, stop_gradient=False)
    y = op(x, index, 5, axis)
    y = y if op is scatter_mean else y[0]
    (dx,) = opsdk.grad(opsdk.sin(y).sum(), x, create_graph=True)
    (ddx,) = opsdk.grad((dx * weights).sum(), x)
    for got, want in ((y, ty), (dx, wanted), (ddx, again)):
        np.testing.assert_allclose(got.numpy(), want.detach().numpy(), rtol=1e-12, atol=1e-14)


def test_of_equal_maxima_the_first_gets_the_gradient():
    x = opsdk.to_tensor([1.0, 3.0, 3.0, 2.0], stop_gradient=False)
    y, arg = scatter_max(x, np.array([0, 1, 1, 0]), 3)
    assert (y.numpy().tolist(), arg.numpy().tolist()) == ([2.0, 3.0, 0.0], [3, 1, 4])
    (y * np.array([10.0, 20.0, 40.0])).sum().backward()
    assert x.grad.numpy().tolist() == [0.0, 20.0, 0.0, 10.0]


def test_nan_is_the_greatest_and_stays_in_its_place():
    src = np.array([np.inf, np.nan, np.nan, -np.inf])
    y, arg = scatter_max(src, np.array([0, 0, 0, 1]), 2)
    np.testing.assert_array_equal(y, [np.nan, -np.inf])
    assert arg.tolist() == [1, 3]
    np.testing.assert_array_equal(scatter_mean(src, np.array([0, 1, 1, 0]), 2), [np.nan, np.nan])
    assert scatter_mean(np.array([np.nan, 1.0, 2.0]), np.array([0, 1, 1]), 2)[1] == 1.5


@pytest.mark.parametrize("dtype", ["int64", "uint8", "float16"])
def test_maxima_keep_the_dtype_without_a_kernel_of_it(dtype):
    y, arg = scatter_max(np.array([7, 2, 200], dtype), np.array([1, 1, 0]), 2)
    assert (y.dtype, y.tolist(), arg.tolist()) == (dtype, [200, 7], [2, 0])


def test_a_mean_of_float16_does_not_overflow_on_its_way():
    assert scatter_mean(np.full(100_000, 1.0, np.float16), np.zeros(100_000, int), 1).tolist() == [1.0]


def test_arrays_that_are_not_contiguous_are_reduced_alike(rng):
    src, index = rng.normal(size=(4, 6)).T, rng.integers(0, 3, (6, 8))[:, ::2]
    for op in (scatter_mean, scatter_max):
        for got, want in zip(op(src, index, 3, 0), op(src.copy(), index.copy(), 3, 0), strict=True):
            np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize("op", [scatter_mean, scatter_max])
@pytest.mark.parametrize(
    ("index", "size", "text"),
    [
        ([0, 5], 5, "index expected in [0, 5), got 0 to 5; drop what is outside"),
        ([-1, 0], 5, "index expected in [0, 5), got -1 to 0; drop what is outside"),
    ],
)
def test_an_index_outside_is_refused_by_every_kernel(op, index, size, text):
    for kernel in op.opdef.kernels:
        if "float32" not in str(kernel.key):
            launch(op.opdef, kernel, [np.ones(2), np.array([0, 1])], {"size": 2, "axis": 0})
            with pytest.raises(InputValueError) as caught:
                launch(op.opdef, kernel, [np.ones(2), np.array(index)], {"size": size, "axis": 0})
            assert str(caught.value) == f"op 'contrib::{op.__name__}': {text}"


def test_means_are_of_floats_and_complex_numbers_and_maxima_of_numbers_that_have_an_order():
    with pytest.raises(DTypeError, match="scatter_mean: src expected floats or complex numbers, got int64; cast it"):
        scatter_mean(np.arange(6), IDS, 5, 0)
    with pytest.raises(DTypeError, match="scatter_max: src expected real numbers, got complex128; cast it"):
        scatter_max(1j * np.ones(6), IDS, 5, 0)


@pytest.mark.parametrize("op", [scatter_mean, scatter_max])
@pytest.mark.parametrize(
    ("src", "index", "axis", "error", "text"),
    [
        (np.ones((6, 2)), IDS, 1, ShapeError, r"index expected shape \(6, 2\) or \(2,\), got \(6,\)"),
        (np.ones((6, 2)), IDS[:, None], 0, ShapeError, r"index expected shape \(6, 2\) or \(6,\), got \(6, 1\)"),
        (np.ones(6), IDS, 1, ShapeError, r"axis expected to be one of src, shape \(6,\), got 1"),
        (np.array(1.0), IDS, -1, ShapeError, r"axis expected to be one of src, shape \(\), got -1"),
        (np.ones(6), IDS / 1, 0, DTypeError, "index expected integers, got float64; cast it to int64"),
        (np.ones(6, bool), IDS, 0, DTypeError, "src expected .* numbers, got bool; cast it"),
    ],
)
def test_shapes_and_dtypes_that_do_not_fit_are_refused(op, src, index, axis, error, text):
    with pytest.raises(error, match=text):
        op(src, index, 5, axis)


@pytest.mark.parametrize("op", [scatter_mean, scatter_max])
def test_a_size_below_zero_is_refused(op):
    with pytest.raises(AttributeValueError, match="attribute 'size' expected int >= 0, got -1"):
        op(np.ones(6), IDS, -1)


def test_no_gradient_keeps_src_for_its_shape():
    assert scatter_max.grad.opdef.schema.input_names == ("arg", "dy")
    assert scatter_mean.grad.opdef.schema.input_names == ("index", "counts", "dy")


def test_counts_of_one_index_for_all_lines_are_kept_once(rng):
    src = opsdk.to_tensor(rng.normal(size=(7, 6)), stop_gradient=False)
    kept = scatter_mean(src, IDS, 5)._edge[0].saved[::3]
    assert [(array.shape, array.tolist()) for array in kept][1] == ((5,), np.bincount(IDS, minlength=5).tolist())


def test_a_gradient_with_a_cotangent_that_does_not_fit_is_refused():
    with pytest.raises(InputValueError, match=r"dy expected shape \(5,\) to fit index, got \(4,\)"):
        scatter_mean.grad(IDS, np.ones(5, int), np.ones(4), size=5)
    with pytest.raises(InputValueError, match=r"counts expected shape \(5,\) to fit index, got \(4,\)"):
        scatter_mean.grad(IDS, np.ones(4, int), np.ones(5), size=5)
    with pytest.raises(InputValueError, match=r"index expected in \[0, 3\), got 0 to 4"):
        scatter_mean.grad(IDS, np.ones(3, int), np.ones(3), size=3)
    with pytest.raises(InputValueError, match=r"arg expected in \[0, 7\), got 7 to 7"):
        scatter_max.grad(np.array([7]), np.ones(1), src_spec=opsdk.TensorSpec((6,), "float64"))
    with pytest.raises(InputValueError, match=r"dy expected the shape of arg, \(1,\), that of src \(6,\) but for axis"):
        scatter_max.grad(np.array([7]), np.ones(2), src_spec=opsdk.TensorSpec((6,), "float64"))
