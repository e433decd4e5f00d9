"""User-written CUDA kernels, launched in the simulator."""

import math

import numpy as np
import pytest
from numba import cuda, float64

import opsdk
from opsdk.backends.cuda.launch import BoundKernel
from opsdk.backends.memory.simulated import SimulatedArray
from opsdk.core.errors import BindingError, InputValueError, LaunchError, ShapeError
from opsdk.define.kernel.launch import Geometry
from opsdk.verify.kernels.launch import launch as run_row

X = np.array([[-1.0, 2.0, -0.5], [3.0, -4.0, 0.0]])


def device(array):
    return SimulatedArray(np.array(array))


def refuses(*arrays, **attrs):
    raise AssertionError("the reference ran")


@pytest.fixture
def op():
    return opsdk.op("t::f(Tensor x, *, float slope=0.5) -> Tensor y")(lambda x, slope: refuses(x))


def test_an_elementwise_kernel_serves_every_shape_and_layout(op):
    @op.kernel("cuda", language="numba", launch=opsdk.launch.elementwise("y", threads=4))
    def leaky(x, slope, y):
        i = cuda.grid(1)
        if i < y.size:
            y[i] = x[i] if x[i] > 0 else slope * x[i]

    for x in (X, X.T, X[:, ::-1], X[::2], X[0, 0], X[:, :0], X[:1], np.broadcast_to(X[0], (3, 3))):
        made = op(device(x), slope=0.25)
        assert isinstance(made, SimulatedArray)
        assert made.get().tolist() == np.where(x > 0, x, 0.25 * x).tolist()


def test_no_kernel_runs_on_values_that_the_check_refuses(op):
    op.kernel("cuda", cuda.jit(lambda x, y: fill(x, y)), language="numba", launch=opsdk.launch.elementwise("y"))
    op.check(lambda x: f"x expected from 0, got {float(x.min())}; clip it" if x.min() < 0 else None)
    assert op(device([1.0, 2.0])).tolist() == [2.0, 4.0]
    with pytest.raises(InputValueError, match=r"op 't::f': x expected from 0, got -4\.0; clip it"):
        op(device(X))


def test_a_kernel_that_is_compiled_already_is_taken_as_it_is(op):
    compiled = cuda.jit(lambda x, y: fill(x, y))
    op.kernel("cuda", compiled, language="numba", launch=opsdk.launch.elementwise("y", threads=4))
    assert op(device([1.0, 2.0])).tolist() == [2.0, 4.0]


@cuda.jit(device=True)
def fill(x, y):
    i = cuda.grid(1)
    if i < y.size:
        y[i] = 2 * x[i]


def test_a_kernel_may_call_a_device_function(op):
    @op.kernel("cuda", language="numba", launch=opsdk.launch.elementwise("y", threads=4))
    def kernel(x, y):
        fill(x, y)

    assert op(device([1.0, 2.0])).tolist() == [2.0, 4.0]


def test_a_kernel_of_rows_has_a_block_for_each_and_shared_memory():
    @opsdk.op("t::softmax(Tensor x) -> Tensor y")
    def softmax(x):
        return refuses(x)

    @softmax.kernel("cuda", language="numba", launch=opsdk.launch.rows("x", "y", threads=4))
    def kernel(x, y):
        part = cuda.shared.array(4, "float64")
        row, lane = cuda.blockIdx.x, cuda.threadIdx.x
        total = 0.0
        for j in range(lane, x.shape[1], cuda.blockDim.x):
            total += math.exp(x[row, j])
        part[lane] = total
        cuda.syncthreads()
        total = part[0] + part[1] + part[2] + part[3]
        for j in range(lane, x.shape[1], cuda.blockDim.x):
            y[row, j] = math.exp(x[row, j]) / total

    for shape in ((2, 6), (2, 1, 3), (5,), (), (0, 3)):
        x = np.random.default_rng(1).standard_normal(shape)
        wanted = np.exp(x) / np.exp(x).sum(-1, keepdims=True) if shape else np.ones(())
        np.testing.assert_allclose(softmax(device(x)).get(), wanted, rtol=1e-14)


def test_a_fixed_launch_gives_the_arrays_as_they_are(op):
    @op.kernel("cuda", language="numba", launch=opsdk.launch.fixed((1, 2), (3, 1)))
    def kernel(x, y):
        j, i = cuda.grid(2)
        y[i, j] = x[i, j] + 10 * i + j

    assert op(device(X)).tolist() == (X + np.array([[0, 1, 2], [10, 11, 12]])).tolist()


def test_a_launch_may_be_computed_from_shapes_and_attributes():
    @opsdk.op("t::f(Tensor x, *, int per_block=2) -> Tensor y")
    def op(x, per_block):
        return refuses(x)

    @op.kernel("cuda", language="numba", launch=lambda x, per_block: (-(-x.size // per_block), per_block, 0, 64))
    def kernel(x, y, per_block):
        room = cuda.shared.array(0, float64)
        i = cuda.grid(1)
        if i < x.size:
            room[cuda.threadIdx.x] = x[i]
            y[i] = room[cuda.threadIdx.x] + cuda.blockIdx.x + 100 * per_block

    assert op(device([1.0, 2.0, 3.0])).tolist() == [201.0, 202.0, 204.0]
    assert op(device([1.0, 2.0, 3.0]), per_block=3).tolist() == [301.0, 302.0, 303.0]


def test_no_block_with_something_to_write_is_an_error_and_with_nothing_is_right(op):
    op.kernel("cuda", lambda x, y: None, language="numba", launch=lambda x: (x.shape[0] // 2, 2))
    with pytest.raises(LaunchError) as caught:
        op(device([1.0]))
    assert str(caught.value) == (
        "op 't::f', CUDA kernel, launch: grid expected sizes from 1, got (0,) with elements to write; "
        "round up: -(-size // threads)"
    )
    assert op(device(np.empty(0))).shape == (0,)


def test_what_a_launch_function_returns_is_refused_when_no_device_takes_it(op):
    op.kernel("cuda", lambda x, y: None, language="numba", launch=lambda x: (1, 2048))
    with pytest.raises(LaunchError, match="op 't::f', numba kernel, launch, block: expected sizes from 1 to 1024"):
        op(device([1.0]))


def test_a_row_without_a_launch_is_refused_with_a_remedy(op):
    op.kernel("cuda", lambda x, y: None, language="numba")
    with pytest.raises(LaunchError, match=r"expected a launch shape, got none; pass launch=opsdk.launch.elementwise"):
        op(device([1.0]))


def test_a_kernel_that_does_not_take_its_output_is_refused(op):
    op.kernel("cuda", lambda x: x, language="numba", launch=opsdk.launch.elementwise("x"))
    with pytest.raises(LaunchError, match="expected a parameter for every output, got none for 'y'; a CUDA kernel ret"):
        op(device([1.0]))


def test_a_kernel_may_fill_two_outputs_of_other_dtypes_and_shapes():
    @opsdk.op("t::parts(Tensor x) -> (Tensor low, Tensor count)")
    def parts(x):
        return refuses(x)

    @parts.infer
    def _(x):
        return x, opsdk.TensorSpec((1,), "int32")

    @parts.kernel("cuda", language="numba", launch=opsdk.launch.fixed(1, 1))
    def kernel(count, x, low):
        count[0] = x.shape[0]
        for i in range(x.shape[0]):
            low[i] = x[i] - 1

    low, count = parts(device(np.array([1, 2], "float32")))
    assert (low.tolist(), low.dtype, count.tolist(), count.dtype) == ([0.0, 1.0], np.float32, [2], np.int32)


def test_a_kernel_that_changes_its_input_changes_the_callers():
    @opsdk.op("t::double_(Tensor(a!) x) -> Tensor(a!)")
    def double_(x):
        return refuses(x)

    @double_.kernel("cuda", language="numba", launch=opsdk.launch.elementwise("x", threads=4))
    def kernel(x):
        i = cuda.grid(1)
        if i < x.size:
            x[i] *= 2

    for memory in (X.copy(), X.T.copy().T, np.array([[1.0, 2.0], [3.0, 4.0]])[:, 1]):
        before = memory.copy()
        array = SimulatedArray(memory)
        assert double_(array) is array
        assert memory.tolist() == (2 * before).tolist()


def test_a_kernel_takes_lists_of_arrays_and_absent_ones():
    @opsdk.op("t::total(Tensor[] xs, Tensor? bias) -> Tensor y")
    def total(xs, bias):
        return refuses(xs)

    @total.infer
    def _(xs, bias):
        return xs[0]

    @total.kernel("cuda", language="numba", launch=opsdk.launch.elementwise("y", threads=4))
    def kernel(xs, bias, y):
        i = cuda.grid(1)
        if i < y.size:
            y[i] = 0 if bias is None else bias[i]
            for x in xs:
                y[i] += x[i]

    a, b = device([[1.0, 2.0]]), device([[10.0, 20.0]])
    assert total([a, b], None).tolist() == [[11.0, 22.0]]
    assert total([a, b], b).tolist() == [[21.0, 42.0]]


def test_a_row_serves_its_dtype_only_and_the_reference_the_others_on_the_device_itself():
    @opsdk.op(namespace="t")
    def twice(x):
        assert isinstance(x, SimulatedArray)
        return np.add(x, x)

    @twice.kernel("cuda", language="numba", dtype="float32", launch=opsdk.launch.elementwise("y", threads=4))
    def kernel(x, y):
        i = cuda.grid(1)
        if i < y.size:
            y[i] = -x[i]

    assert twice(device(np.ones(2, "float32"))).tolist() == [-1.0, -1.0]
    assert twice(device(np.ones(2))).tolist() == [2.0, 2.0]


def test_an_input_that_a_kernel_changes_without_saying_so_is_found(op):
    @op.kernel("cuda", language="numba", launch=opsdk.launch.fixed(1, 1))
    def kernel(x, y):
        y[0] = x[0]
        x[0] = 7

    x = device([1.0])
    with pytest.raises(opsdk.core.errors.MutationError, match="input 'x' was changed in place, expected it untouched"):
        op(x)
    assert x.tolist() == [1.0]


def test_host_arrays_run_a_row_that_is_asked_for_by_itself(op):
    op.kernel("cuda", lambda x, y: fill(x, y), language="numba", launch=opsdk.launch.elementwise("y", threads=4))
    row = op.opdef.kernels.select("cuda", X.dtype)
    (made,) = run_row(op.opdef, row, [X], {})
    assert type(made) is np.ndarray
    assert made.tolist() == (2 * X).tolist()


def test_verify_judges_a_cuda_row_like_any_other():
    @opsdk.op(namespace="t")
    def relu(x):
        return np.maximum(x, 0)

    @relu.backward
    def relu_grad(y, dy):
        return dy * (y > 0)

    def right(x, y):
        i = cuda.grid(1)
        if i < y.size:
            y[i] = x[i] if not x[i] <= 0 else 0

    def wrong(x, y):
        i = cuda.grid(1)
        if i < y.size:
            y[i] = abs(x[i])

    shape = opsdk.launch.elementwise("y", threads=32)
    samples = [opsdk.Sample(X), opsdk.Sample(np.array([-1.0]))]
    relu.kernel("cuda", right, language="numba", launch=shape)
    report = opsdk.verify(relu, samples=samples)
    assert report.verdict == "pass"
    assert {"cuda,float64,numba"} <= {row.row for row in report.rows if row.verdict == "pass"}

    relu.kernel("cuda", wrong, language="numba", launch=shape)
    report = opsdk.verify(relu, samples=samples)
    assert "t::relu[cuda,float64,numba]::value.y" in [finding.id for finding in report.findings]


def left(x, y):
    i = cuda.grid(1)
    if i < y.size and x[i] > 0:
        y[i] = x[i]


def left_in_scratch(x, y, room):
    i = cuda.grid(1)
    if i < y.size:
        y[i] = max(x[i], 0) + room[0]


def beyond(x, y):
    i = cuda.grid(1)
    if i <= y.size:
        y[i] = max(x[i], 0)


@pytest.mark.parametrize(
    ("kernel", "options", "said"),
    [
        (left, {}, "this kernel leaves it as the memory was, expected a value"),
        (left_in_scratch, {"scratch": {"room": lambda x: opsdk.TensorSpec((1,), x.dtype)}}, "leaves it as the memory"),
        (beyond, {}, "expected it to stay inside its arrays"),
    ],
)
def test_verify_finds_a_kernel_that_leaves_memory_as_it_was_and_one_that_leaves_its_arrays(kernel, options, said):
    relu = opsdk.op(lambda x: np.maximum(x, 0), name="relu", namespace="t")
    relu.kernel("cuda", kernel, language="numba", launch=opsdk.launch.elementwise("y", threads=8), **options)
    report = opsdk.verify(relu, rows="cuda,*,numba", samples=[opsdk.Sample(np.array([-1.0, 2, -3, 0]))])
    assert any(said in finding.message for finding in report.findings), report.findings


def test_a_bound_kernel_launches_at_any_geometry():
    y = np.zeros(6)
    run = BoundKernel(lambda y: y.__setitem__(cuda.grid(1), cuda.gridDim.x))
    run(Geometry((2,), (3,)), [y])
    assert y.tolist() == [2.0] * 6
    run(Geometry((1,), (4,)), [SimulatedArray(y)])
    assert y.tolist() == [1.0] * 4 + [2.0] * 2


def test_a_kernel_works_in_memory_that_its_row_declares(op):
    @op.kernel(
        "cuda",
        language="numba",
        launch=opsdk.launch.fixed(1, 1),
        scratch={"sums": lambda x: opsdk.TensorSpec((x.shape[0] + 1,), "float64")},
    )
    def running(x, slope, y, sums):
        sums[0] = 0.0
        for i in range(x.size):
            sums[i + 1] = sums[i] + x[i]
            y[i] = slope * sums[i + 1]

    x = np.array([1.0, 2.0, 3.5])
    assert op(device(x), slope=2.0).tolist() == (2 * x.cumsum()).tolist()
    with pytest.raises(BindingError, match="nothing is called 'room'"):
        op.kernel("cuda", lambda x, room, y: None, language="numba", launch=opsdk.launch.fixed(1, 1))


def total(infer=None):
    made = opsdk.op("t::total(Tensor[] xs) -> Tensor y", infer=infer)(lambda xs: refuses(*xs))

    @made.kernel("cuda", language="numba", launch=opsdk.launch.elementwise("y", threads=4))
    def total(xs, y):
        i = cuda.grid(1)
        if i < y.size:
            y[i] = 0
            for x in xs:
                y[i] += x[i]

    return made


def test_the_tensors_of_a_list_are_of_one_shape_or_are_broadcast():
    assert total()([device(X), device(X.T.copy().T)]).tolist() == (2 * X).tolist()
    with pytest.raises(ShapeError, match=r"expected inputs of one shape, .* got xs\[0\] \(2, 3\), xs\[1\] \(1, 3\)"):
        total()([device(X), device(X[:1])])
    for xs in ([X, X[:1]], [X[0], X], [X, np.array(2.0), X[:, :1]]):
        made = total(opsdk.infer.broadcast)([device(x) for x in xs])
        assert made.tolist() == sum(np.broadcast_arrays(*xs)).tolist()


def test_a_list_is_changed_in_place():
    schema = "t::twice_(Tensor(a!)[] xs) -> Tensor(a!)[] ys"
    op = opsdk.op(schema, infer=opsdk.infer.like("xs"))(lambda xs: refuses(*xs))

    @op.kernel("cuda", language="numba", launch=opsdk.launch.fixed(1, 8))
    def twice_(xs):
        i = cuda.grid(1)
        for x in xs:
            if i < x.size:
                x[i // x.shape[1], i % x.shape[1]] *= 2

    arrays = device(X), device(X.T)
    op(list(arrays))
    assert [a.tolist() for a in arrays] == [(2 * X).tolist(), (2 * X.T).tolist()]
