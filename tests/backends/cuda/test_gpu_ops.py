"""Built-in ops on a device, and kernels that fill what data decide, with CuPy's arrays."""

import numpy as np
import pytest

import opsdk
from contrib_ops import masked_select
from opsdk.core.errors import DTypeError, SizeError

pytestmark = pytest.mark.gpu
GPU = opsdk.CUDAPlace(0)
X = np.array([[-1.0, 2.0, -0.5], [3.0, -4.0, 0.0]])


@pytest.fixture
def cp():
    return pytest.importorskip("cupy")


@pytest.mark.parametrize("mode", ["constant", "reflect", "replicate", "circular"])
def test_padding_running_sums_and_their_gradients_are_those_of_the_host(mode):
    def padded(place):
        x = opsdk.to_tensor(np.random.default_rng(0).standard_normal((3, 70)), place=place, stop_gradient=False)
        widths = [(4, 5), (1, 200)] if mode == "circular" else [(1, 2), (5, 64)]
        y = opsdk.cumsum(opsdk.pad(x, widths, mode, 2.5), axis=1)
        (first,) = opsdk.grad(opsdk.sum(y * y * y), x, create_graph=True)
        (second,) = opsdk.grad(opsdk.sum(first * first), x)
        assert y.place == first.place == second.place == place
        return y.numpy(), first.numpy(), second.numpy()

    for there, here in zip(padded(GPU), padded(opsdk.CPUPlace()), strict=True):
        np.testing.assert_allclose(there, here, rtol=1e-10, atol=1e-10 * np.abs(here).max())


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "complex64", "int32", "bool"])
def test_running_sums_on_the_device_are_as_good_as_the_hosts(cp, dtype, reverse):
    x = np.random.default_rng(0).uniform(0, 2, (3, 5000, 2)).astype(dtype)
    for axis in (0, 1, -1):
        made = opsdk.find_op("opsdk::cumsum")(cp.asarray(x), axis=axis, reverse=reverse)
        here = opsdk.find_op("opsdk::cumsum")(x, axis=axis, reverse=reverse)
        assert (made.dtype, made.flags.c_contiguous) == (here.dtype, True)
        eps = 0 if here.dtype.kind in "iu" else np.finfo(here.dtype).eps
        wide = np.complex128 if dtype == "complex64" else "float64"
        np.testing.assert_allclose(cp.asnumpy(made).astype(wide), here.astype(wide), rtol=16 * eps)


def test_a_range_and_a_number_to_fill_with_are_made_on_the_device(cp):
    ranges, halves = opsdk.find_op("opsdk::arange"), np.dtype("float32")
    assert ranges(cp.zeros((2, 3)), axis=-1, start=1, step=0.5, dtype=halves).tolist() == [1, 1.5, 2, 2.5]
    with pytest.raises(DTypeError, match=r"expected whole numbers that int8 holds, from -128 to 127, got 128\.0"):
        ranges(cp.zeros(129), dtype=np.dtype("int8"))
    assert opsdk.full_like(opsdk.to_tensor(X, place=GPU), -1.5).tolist() == np.full_like(X, -1.5).tolist()


def above(kernel, **options):
    """Gives an op that selects, of which the reference must not run."""

    def refuse(x, least):
        raise AssertionError("the reference ran")

    schema = "t::above(Tensor x, *, float least=0.0) -> (Tensor values, Tensor<int> places)"
    made = opsdk.op(schema, infer=lambda x: (opsdk.TensorSpec((None,), x.dtype), opsdk.TensorSpec((None,), "int64")))
    op = made(refuse)
    op.kernel("cuda", kernel, language="numba", launch=opsdk.launch.elementwise("x"), **options)
    return op


@pytest.fixture
def counting():
    cuda = pytest.importorskip("numba.cuda")

    def counting(x, least, values, places, sizes):
        i = cuda.grid(1)
        if i < x.size and x[i] > least:
            k = cuda.atomic.add(sizes, 0, 1)
            cuda.atomic.add(sizes, 1, 1)
            values[k] = x[i]
            places[k] = i

    return counting


COUNTS = {
    "a bound": {"bound": lambda x: x.size},
    "a count": {"sizes": lambda x, least: np.count_nonzero(x > least)},
    "sums": {"sizes": lambda x, least: [(x > least).sum(), np.count_nonzero(x > least)]},
}


@pytest.mark.parametrize("form", COUNTS)
def test_a_kernel_fills_what_numpy_selects(cp, counting, form):
    op, normal = above(counting, **COUNTS[form]), np.random.default_rng(0).standard_normal(300_001)
    for x in (X[0], normal, -np.ones(5), np.zeros(0), np.arange(-50.0, 50)[::-3]):
        values, places = op(cp.asarray(x), least=0.5)
        assert isinstance(values, cp.ndarray)
        order = np.argsort(cp.asnumpy(places))
        np.testing.assert_array_equal(cp.asnumpy(places)[order], np.flatnonzero(x > 0.5))
        np.testing.assert_array_equal(cp.asnumpy(values)[order], x[x > 0.5])


def test_who_counts_wrong_on_a_device_is_found_in_every_call(cp, counting):
    options = {"sizes": lambda x: x.size - 2}, {"sizes": lambda x: x.size}, {"bound": lambda: 1}
    few, more, none = [above(counting, **given) for given in options]
    for _ in range(3):
        with pytest.raises(SizeError, match=r"expected it to stay inside output 'values', of shape \(999,\) as sizes="):
            few(cp.ones(1001))
        with pytest.raises(
            SizeError, match=r"expected 3 for values.shape\[0\], which sizes=<lambda> gave, got 2 filled"
        ):
            more(cp.asarray([1.0, -1.0, 2.0]))
        with pytest.raises(SizeError, match="bound= counts too few, or the kernel writes too many"):
            none(cp.ones(2))
    assert few(cp.asarray([1.0, -1.0, 0.0]))[0].tolist() == [1.0]


@pytest.mark.parametrize("shape", [(5, 7), (200, 1001), (), (0, 3)], ids=str)
def test_masked_select_takes_elements_in_order_and_its_gradient_puts_them_back(cp, shape):
    rng = np.random.default_rng(0)
    x, mask = rng.standard_normal(shape), np.asarray(rng.uniform(size=shape) < 0.4)
    tensor = opsdk.to_tensor(x, place=GPU, stop_gradient=False)
    y = masked_select(tensor, opsdk.to_tensor(mask, place=GPU))
    np.testing.assert_array_equal(y.numpy(), x[mask])
    (y * y).sum().backward()
    np.testing.assert_array_equal(tensor.grad.numpy(), 2 * x * mask)


def test_what_was_filled_is_read_on_the_stream_that_the_kernel_ran_on(cp):
    x = cp.asarray(np.random.default_rng(0).standard_normal(1 << 20))
    with cp.cuda.Stream(non_blocking=True) as stream:
        for _ in range(20):
            x = masked_select(x * 1.0, x > -3.0)
            np.testing.assert_equal(x.size, int((x > -3.0).sum()))
    stream.synchronize()
