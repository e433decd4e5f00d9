"""CUDA kernels that fill outputs whose sizes data decide, in the simulator."""

import numpy as np
import pytest
from numba import cuda

import opsdk
from opsdk.backends.memory.simulated import SimulatedArray
from opsdk.core.errors import LaunchError, ShapeError, SizeError
from opsdk.verify.kernels.launch import launch

EACH = opsdk.launch.elementwise("x", threads=8)


def device(array):
    return SimulatedArray(np.array(array))


def counting(x, least, values, places, sizes):
    """Takes places as they come: the simulator's threads of a block come in turn."""
    i = cuda.grid(1)
    if i < x.size and x[i] > least:
        k = cuda.atomic.add(sizes, 0, 1)
        cuda.atomic.add(sizes, 1, 1)
        values[k] = x[i]
        places[k] = i


def scanned(x, least, ends, values, places, sizes):
    i = cuda.grid(1)
    if i < x.size and x[i] > least:
        values[ends[i] - 1] = x[i]
        places[ends[i] - 1] = i
    if i == x.size - 1:
        sizes[0] = sizes[1] = ends[i]


ENDS = {"ends": lambda x, least: np.cumsum(x > least)}


def op(kernel=counting, shape=EACH, **options):
    """Gives an op whose reference must not run."""

    def rule(x):
        return opsdk.TensorSpec((None,), x.dtype), opsdk.TensorSpec((None,), "int64")

    def refuse(x, least):
        raise AssertionError("the reference ran")

    schema = "t::above(Tensor x, *, float least=0.0) -> (Tensor values, Tensor<int> places)"
    made = opsdk.op(schema, infer=rule)(refuse)
    made.kernel("cuda", kernel, language="numba", launch=shape, **options)
    return made


FORMS = {
    "a bound": {"bound": lambda x: x.size},
    "a count": {"sizes": lambda x, least: np.count_nonzero(x > least)},
    "a sum on the device": {"sizes": lambda x, least: (x > least).sum()},
    "sums on the device": {"sizes": lambda x, least: [(x > least).sum(), np.count_nonzero(x > least)]},
    "a scan": {"kernel": scanned, "scratch": ENDS, "bound": lambda x: x.size},
    "the end of a scan": {"kernel": scanned, "scratch": ENDS, "sizes": lambda x, ends: ends[-1] if x.size else 0},
}


@pytest.mark.parametrize("form", FORMS)
def test_a_kernel_fills_what_numpy_selects(form):
    made = op(**FORMS[form])
    for x in ([1.0, -1, 2, 0, 3], [-1.0, -2], [4.0, 5], [7.0], [], np.arange(-20.0, 20)[::-3]):
        x = np.asarray(x)
        values, places = made(device(x), least=0.5)
        assert isinstance(values, SimulatedArray)
        assert sorted(values.tolist()) == sorted(x[x > 0.5].tolist())
        assert [x[k] for k in places.tolist()] == values.tolist()
        assert (values.dtype, places.dtype) == (np.float64, np.int64)
        if "scan" in form:
            assert places.tolist() == np.flatnonzero(x > 0.5).tolist()


def test_host_arrays_are_served_as_well():
    made = op(**FORMS["a scan"])
    for x in (np.array([1.0, -1, 2]), np.zeros(0)):
        values, places = launch(made.opdef, list(made.opdef.kernels)[-1], [x], {"least": 0.0})
        assert (values.tolist(), places.tolist()) == (x[x > 0].tolist(), np.flatnonzero(x > 0).tolist())
        assert type(values) is np.ndarray


def unchecked(array, at, value):
    """Writes where a device would, and the simulator raises."""
    np.lib.stride_tricks.as_strided(array._item._ary, (at + 1,))[at] = value


def overflowing(x, values, places, sizes):
    i = cuda.grid(1)
    if i < x.size and x[i] > 0:
        k = cuda.atomic.add(sizes, 0, 1)
        cuda.atomic.add(sizes, 1, 1)
        unchecked(values, k, x[i])
        unchecked(places, k, i)


def test_a_size_function_that_counts_too_few_is_an_error_in_every_call():
    few = op(overflowing, sizes=lambda x: x.size - 2)
    for _ in range(3):
        with pytest.raises(
            SizeError, match=r"expected it to stay inside output 'values', of shape \(9,\) as sizes=<lambda> has it"
        ):
            few(device(np.arange(1.0, 12)))
    assert few(device([1.0, -1, 0]))[0].tolist() == [1]  # where it is right it serves


def test_a_size_function_that_counts_too_many_leaves_nothing_as_the_memory_was():
    with pytest.raises(SizeError, match=r"expected 3 for values.shape\[0\], which sizes=<lambda> gave, got 2 filled"):
        op(sizes=lambda x: x.size)(device([1.0, -1, 2]))


def test_a_bound_that_is_none_is_an_error():
    with pytest.raises(SizeError, match="bound= counts too few, or the kernel writes too many"):
        op(overflowing, bound=lambda x: 1)(device([1.0, 2]))


def test_a_kernel_that_says_more_than_there_is_or_less_than_nothing_is_an_error():
    def says(x, values, places, sizes):
        sizes[0] = sizes[1] = x[0]

    made = op(says, opsdk.launch.fixed(1, 1), bound=lambda x: x.size)
    with pytest.raises(SizeError, match=r"expected at most 2 for values.shape\[0\], which bound=<lambda> gave, got 3"):
        made(device([3.0, 0]))
    with pytest.raises(SizeError, match=r"what the kernel says it filled expected whole numbers .* got \[-1, -1\]"):
        made(device([-1.0, 0]))


def test_what_is_asked_is_asked_before_anything_runs():
    def never(x, values, places, sizes):
        raise AssertionError(f"the kernel ran, {sizes}")

    for given in (-1, 1.5, device(2.0), device([1, 2, 3]), [device(1), -1]):
        with pytest.raises(SizeError, match="sizes=<lambda> expected"):
            op(never, sizes=lambda: given)(device([1.0]))  # noqa: B023 - called at once


def test_what_was_changed_in_place_is_put_back():
    rule = lambda x: (x, opsdk.TensorSpec((None,), x.dtype))  # noqa: E731
    halved = opsdk.op("t::halved(Tensor(a!) x) -> (Tensor(a!), Tensor y)", infer=rule)(lambda x: None)

    @halved.kernel("cuda", language="numba", launch=EACH, sizes=lambda x: 1)
    def kernel(x, y, sizes):
        i = cuda.grid(1)
        if i < x.size:
            x[i] /= 2
            unchecked(y, cuda.atomic.add(sizes, 0, 1), x[i])

    x = device([2.0])
    assert halved(x)[1].tolist() == x.tolist() == [1]
    x = device([2.0, 4, 6])
    with pytest.raises(SizeError):
        halved(x)
    assert x.tolist() == [2, 4, 6]


def test_scratch_that_is_made_elsewhere_is_refused():
    made = op(scanned, scratch={"ends": lambda x: np.zeros(x.size, "int64")}, bound=lambda x: x.size)
    with pytest.raises(LaunchError, match=r"scratch 'ends': expected opsdk.TensorSpec.*, or an array where the inputs"):
        made(device([1.0]))


def test_a_stream_of_its_own_is_refused_where_sizes_are_read_after_the_kernel():
    made = op(shape=lambda x: (1, 8, "a stream"), bound=lambda x: x.size)
    with pytest.raises(LaunchError) as caught:
        made(device([1.0]))
    assert str(caught.value) == (
        "op 't::above', numba kernel, launch: expected no stream beside bound=<lambda>, since what the kernel filled "
        "is read on the current one, got 'a stream'; call the op inside of `with stream:`"
    )


def test_an_infer_rule_without_an_open_size_is_refused():
    made = opsdk.op("t::same(Tensor x) -> Tensor y")(lambda x: x)
    made.kernel("cuda", lambda x, y, sizes: sizes, language="numba", launch=EACH, bound=lambda x: x.size)
    with pytest.raises(ShapeError, match="expected a size that the infer rule leaves open"):
        made(device([1.0]))


def test_an_op_that_has_sizes_itself_counts_under_another_name():
    @opsdk.op("t::kept(Tensor x, Tensor<int> sizes) -> Tensor y", infer=lambda x: opsdk.TensorSpec((None,), x.dtype))
    def kept(x, sizes):
        raise AssertionError("the reference ran")

    @kept.kernel("cuda", language="numba", launch=opsdk.launch.fixed(1, 1), bound=lambda x: x.size)
    def kernel(x, sizes, y, sizes_):
        for i in range(sizes[0]):
            y[i] = x[i]
        sizes_[0] = sizes[0]

    assert kept(device([1.0, 2, 3]), device([2])).tolist() == [1, 2]


def test_verify_finds_a_kernel_whose_order_is_another_and_one_that_forgets_to_say():
    @opsdk.op("t::positive(Tensor x) -> Tensor<int> y", infer=lambda x: opsdk.TensorSpec((None,), "int64"))
    def positive(x):
        return np.flatnonzero(x > 0)

    def right(x, ends, y, sizes):
        i = cuda.grid(1)
        if i < x.size and x[i] > 0:
            y[ends[i] - 1] = i
            cuda.atomic.add(sizes, 0, 1)

    def backwards(x, ends, y, sizes):
        i = cuda.grid(1)
        if i < x.size and x[i] > 0:
            y[ends[x.size - 1] - ends[i]] = i
            cuda.atomic.add(sizes, 0, 1)

    def silent(x, ends, y, sizes):
        i = cuda.grid(1)
        if i < x.size and x[i] > 0:
            y[ends[i] - 1] = i
            if x.size < 0:
                sizes[0] = x.size

    samples = [opsdk.Sample(np.array([1.0, -2, 3, 0, 5])), opsdk.Sample(np.zeros(0))]
    for kernel, verdict in ((right, "pass"), (backwards, "fail"), (silent, "fail")):
        scratch = {"ends": lambda x: np.cumsum(x > 0)}
        positive.kernel("cuda", kernel, language="numba", launch=EACH, bound=lambda x: x.size, scratch=scratch)
        report = opsdk.verify(positive, rows="cuda,*,numba", samples=samples)
        assert (report.verdict, kernel.__name__) == (verdict, kernel.__name__)
