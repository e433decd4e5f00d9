"""Numba kernels that fill outputs whose sizes data decide: a size function and the fill, a bound and the trim."""

from concurrent.futures import ThreadPoolExecutor
from functools import cache

import numpy as np
import pytest

import opsdk
from opsdk.backends.numba.cpu import launch_of
from opsdk.backends.numba.text import run_text
from opsdk.core.errors import BindingError, KernelNotFoundError, SizeError

numba = pytest.importorskip("numba")


def above(x, least, values, places):
    filled = 0
    for i in range(x.size):
        if x[i] > least:
            values[filled] = x[i]
            places[filled] = i
            filled += 1
    return filled


def op(kernel=above, **options):
    """Gives an op whose reference must not run."""

    def rule(x):
        return opsdk.TensorSpec((None,), x.dtype), opsdk.TensorSpec((None,), "int64")

    def refuse(x, least):
        raise AssertionError("the reference ran")

    schema = "t::above(Tensor x, *, float least=0.0) -> (Tensor values, Tensor<int> places)"
    made = opsdk.op(schema, infer=rule)(refuse)
    made.kernel("cpu", kernel, language="numba", **options)
    return made


@cache
def counted():
    return op(sizes=lambda x, least: np.count_nonzero(x > least))


@cache
def bounded():
    return op(bound=lambda x: x.size)


@pytest.mark.parametrize("made", [counted, bounded])
@pytest.mark.parametrize(
    "x", [[1.0, -1, 2, 0, 3], [-1.0, -2], [4.0, 5], [7.0], []], ids=["some", "none", "all", "one", "empty"]
)
def test_a_kernel_fills_what_numpy_selects(made, x):
    x = np.array(x)
    values, places = made()(x)
    assert values.tolist() == x[x > 0].tolist()
    assert places.tolist() == np.nonzero(x > 0)[0].tolist()
    assert (values.dtype, places.dtype) == (np.float64, np.int64)


@pytest.mark.parametrize("made", [counted, bounded])
def test_strides_and_attributes_are_those_of_the_call(made):
    x = np.arange(-6.0, 6)[::-2]
    assert made()(x, least=1.5)[0].tolist() == [5, 3]
    assert made()(x, least=-3.5)[0].tolist() == [5, 3, 1, -1, -3]


def test_a_compiled_function_may_count():
    @numba.njit
    def many(x, least):
        return (x > least).sum()

    assert op(sizes=many)(np.array([1.0, -1, 2]))[1].tolist() == [0, 2]


def test_a_size_function_that_counts_too_few_is_an_error_in_every_call():
    few = op(sizes=lambda x: x.size - 2)
    x = np.arange(1.0, 1000)
    for _ in range(5):
        with pytest.raises(
            SizeError, match=r"numba kernel: expected it to stay inside output 'values', of shape \(997,\)"
        ):
            few(x)
    assert few(np.array([1.0, -1, 0]))[0].tolist() == [1]  # where it is right it serves


def test_a_size_function_that_counts_too_many_leaves_nothing_as_the_memory_was():
    with pytest.raises(SizeError, match=r"expected 3 for values.shape\[0\], which sizes=<lambda> gave, got 2 filled"):
        op(sizes=lambda x: x.size)(np.array([1.0, -1, 2]))


def test_a_bound_that_is_none_is_an_error():
    with pytest.raises(SizeError, match="bound= counts too few, or the kernel writes too many"):
        op(bound=lambda x: 1)(np.array([1.0, 2]))


def test_what_is_asked_is_asked_before_anything_runs():
    def never(x, values, places):
        raise AssertionError("the kernel ran")

    with pytest.raises(SizeError, match="expected whole numbers from 0 on"):
        op(never, sizes=lambda x: -1)(np.ones(2))
    with pytest.raises(ZeroDivisionError):
        op(never, sizes=lambda x: 1 // 0)(np.ones(2))


def test_the_python_text_is_tried_in_the_same_buffers():
    kernel = list(bounded().opdef.kernels)[-1]
    tried = run_text(bounded().opdef, kernel, [np.array([1.0, -1, 2])], {"least": 0.0}, 1)
    assert [item.tolist() for item in tried] == [[1, 2], [0, 2]]
    few = op(sizes=lambda x: 1)
    with pytest.raises(IndexError):
        run_text(few.opdef, list(few.opdef.kernels)[-1], [np.ones(2)], {"least": 0.0}, 1)


def test_a_list_of_open_sizes_is_for_another_language():
    made = opsdk.op("t::parts(Tensor x) -> Tensor[] ys")(lambda x: [x])
    made.kernel("cpu", lambda x, ys: 0, language="numba", bound=lambda x: x.size)
    with pytest.raises(BindingError, match="bound=<lambda> expected outputs that are single tensors, got a list"):
        launch_of(made.opdef, list(made.opdef.kernels)[-1])


def test_the_native_entry_of_such_a_kernel_is_refused_by_name():
    with pytest.raises(KernelNotFoundError, match="sizes that follow from those of its inputs, got one with bound="):
        opsdk.native(bounded(), np.ones(3))


def test_threads_have_buffers_of_their_own():
    def run(size):
        x = np.random.default_rng(size).normal(size=size)
        return all(np.array_equal(bounded()(x)[0], x[x > 0]) for _ in range(20))

    with ThreadPoolExecutor(4) as pool:
        assert all(pool.map(run, range(0, 4000, 200)))


@pytest.mark.slow  # a second compiler pass; the same launch with serial loops is tried above
def test_a_parallel_kernel_counts_too():
    def doubled(x, values, places):
        for i in numba.prange(x.size):
            values[i] = 2 * x[i]
            places[i] = i
        return x.size

    made = op(doubled, bound=lambda x: x.size + 3, parallel=True)
    assert made(np.arange(1000.0))[0].tolist() == list(range(0, 2000, 2))
    assert made(np.zeros(0))[1].tolist() == []


@pytest.mark.slow  # three proofs; what a wrong count raises, and the trial of the text, are tried above
def test_verify_finds_a_function_that_counts_wrong():
    @opsdk.op("t::positive(Tensor x) -> Tensor<int> y", infer=lambda x: opsdk.TensorSpec((None,), "int64"))
    def positive(x):
        return np.nonzero(x.ravel() > 0)[0]

    def filled(x, y):
        n = 0
        for i, value in enumerate(x.flat):
            if value > 0:
                y[n] = i
                n += 1
        return n

    def verdict(count):
        positive.kernel("cpu", filled, language="numba", sizes=count)
        report = opsdk.verify(positive)
        return [finding.check for finding in report.findings]

    assert verdict(lambda x: np.count_nonzero(x > 0)) == []
    assert "bounds" in verdict(lambda x: np.count_nonzero(x > 0) // 2)
    assert "runs" in verdict(lambda x: np.count_nonzero(x >= 0))  # the default samples have an exact 0
