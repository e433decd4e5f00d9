"""CUDA kernels on a device, with CuPy's arrays. What these test is tested without a device in tests/cuda_sim."""

import numpy as np
import pytest

import opsdk
from opsdk.backends.cuda.compile import compile_cuda
from opsdk.backends.cuda.launch import BoundKernel
from opsdk.backends.cuda.math import functions
from opsdk.backends.memory.device import is_device_array, place_of
from opsdk.core.errors import AttributeValueError, CompileError, MixedRuntimeError, PlaceError
from opsdk.define.kernel.launch import Geometry
from opsdk.expr.decorators import elementwise
from opsdk.expr.node import BOOL
from opsdk.expr.primitives.table import PRIMITIVES
from opsdk.expr.symbol import apply

pytestmark = pytest.mark.gpu
GPU = opsdk.CUDAPlace(0)
X = np.array([[-1.0, 2.0, -0.5], [3.0, -4.0, 0.0]])


@pytest.fixture
def cp():
    return pytest.importorskip("cupy")


@pytest.fixture
def cuda():
    return pytest.importorskip("numba.cuda")


@pytest.fixture
def relu(cuda):
    """An op of which both rows are kernels; a reference that runs fails the test."""

    @opsdk.op(namespace="t")
    def relu(x):
        raise AssertionError("the reference ran")

    @relu.backward
    def relu_grad(y, dy):
        raise AssertionError("the reference of the gradient ran")

    @relu.kernel("cuda", language="numba", launch=opsdk.launch.elementwise("y"))
    def kernel(x, y):
        i = cuda.grid(1)
        if i < y.size:
            y[i] = max(x[i], 0)

    @relu.grad.kernel("cuda", language="numba", launch=opsdk.launch.elementwise("dx"))
    def grad_kernel(y, dy, dx):
        i = cuda.grid(1)
        if i < dx.size:
            dx[i] = dy[i] if y[i] > 0 else 0

    return relu


@pytest.fixture
def blend():
    @elementwise(namespace="t")
    def blend(x, w, *, beta: float = 1.0):
        return apply("where", x > w, x * apply("sigmoid", beta * x), w / x)

    return blend


def numpy_blend(x, w, beta=1.0):
    with np.errstate(all="ignore"):
        return np.where(x > w, x / (1 + np.exp(-(x.dtype.type(beta) * x))), w / x)


def test_an_array_of_cupy_is_at_a_cuda_place(cp):
    x = cp.asarray(X)
    assert (is_device_array(x), place_of(x)) == (True, GPU)


@pytest.mark.parametrize("dtype", ["float32", "float64", "int32"])
def test_a_users_kernel_runs_on_arrays_of_every_shape_and_layout(cp, relu, dtype):
    for x in (X, X.T, X[:, ::-1], X[::2], X[0, 0], X[:, :0], np.broadcast_to(X[0], (3, 3)), np.tile(X, (100, 100))):
        x = np.asarray(x, dtype)
        made = relu(cp.asarray(x))
        assert isinstance(made, cp.ndarray)
        np.testing.assert_array_equal(cp.asnumpy(made), np.maximum(x, 0))


def test_a_kernel_gets_the_memory_itself(cp, cuda):
    @opsdk.op("t::double_(Tensor(a!) x) -> Tensor(a!)")
    def double_(x):
        raise AssertionError("the reference ran")

    @double_.kernel("cuda", language="numba", launch=opsdk.launch.elementwise("x"))
    def kernel(x):
        i = cuda.grid(1)
        if i < x.size:
            x[i] *= 2

    for x in (cp.asarray(X), cp.asarray(X).T, cp.asarray(X)[:, 1]):
        before, pointer = cp.asnumpy(x), x.data.ptr
        assert double_(x) is x
        assert x.data.ptr == pointer
        np.testing.assert_array_equal(cp.asnumpy(x), 2 * before)


def test_a_kernel_of_rows_uses_shared_memory(cp, cuda):
    from numba import float64

    @opsdk.op("t::row_sums(Tensor x) -> Tensor y", infer=opsdk.infer.like("x"))
    def row_sums(x):
        raise AssertionError("the reference ran")

    @row_sums.kernel("cuda", language="numba", launch=opsdk.launch.rows("x", "y", threads=64))
    def kernel(x, y):
        part = cuda.shared.array(64, float64)
        row, lane = cuda.blockIdx.x, cuda.threadIdx.x
        total = 0.0
        for j in range(lane, x.shape[1], 64):
            total += x[row, j]
        part[lane] = total
        cuda.syncthreads()
        step = 32
        while step:
            if lane < step:
                part[lane] += part[lane + step]
            cuda.syncthreads()
            step //= 2
        for j in range(lane, x.shape[1], 64):
            y[row, j] = part[0]

    x = np.random.default_rng(0).standard_normal((5, 4, 300))
    made = cp.asnumpy(row_sums(cp.asarray(x)))
    np.testing.assert_allclose(made, np.broadcast_to(x.sum(-1, keepdims=True), x.shape), rtol=1e-12)


def test_without_a_row_the_reference_runs_on_the_device(cp):
    seen = []

    @opsdk.op(namespace="t")
    def clipped(x):
        seen.append(type(x))
        return np.clip(x, -1, 1)

    assert cp.asnumpy(clipped(cp.asarray(X))).tolist() == np.clip(X, -1, 1).tolist()
    assert set(seen) == {cp.ndarray}


def test_forward_and_backward_of_tensors_run_the_rows(relu):
    x = opsdk.to_tensor(X, place=GPU, stop_gradient=False)
    for count in (1, 2):
        y = relu(x)
        opsdk.sum(y * 3.0).backward()
        assert (y.place, y.numpy().tolist()) == (GPU, np.maximum(X, 0).tolist())
        assert (x.grad.place, x.grad.numpy().tolist()) == (GPU, (3.0 * count * (X > 0)).tolist())


def test_gradients_through_built_in_ops_are_those_of_the_host():
    def gradients(x):
        y = opsdk.sum(opsdk.matmul(opsdk.exp(x * 0.5), opsdk.transpose(x, [1, 0])), axis=0)
        opsdk.mean(opsdk.square(y) / 3.0).backward()
        (second,) = opsdk.grad(opsdk.sum(opsdk.grad(opsdk.sum(x * x * x), x, create_graph=True)[0]), x)
        return y.numpy(), x.grad.numpy(), second.numpy()

    there = gradients(opsdk.to_tensor(X, place=GPU, stop_gradient=False))
    here = gradients(opsdk.to_tensor(X, stop_gradient=False))
    for a, b in zip(there, here, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-13)


def test_tensors_move_and_do_not_mix(cp):
    x = opsdk.to_tensor(X, place=GPU)
    assert opsdk.to_tensor(x, place=opsdk.CPUPlace()).numpy().tolist() == X.tolist()
    assert opsdk.to_tensor(cp.asarray(X)).place == GPU
    assert np.asarray(x).tolist() == X.tolist()
    assert (x + 1.0).numpy().tolist() == (X + 1).tolist()
    assert (x + np.ones(3)).numpy().tolist() == (X + 1).tolist()
    for left, right in ((x, opsdk.to_tensor(X)), (opsdk.to_tensor(X), x), (cp.asarray(X), X)):
        with pytest.raises(PlaceError, match="move it"):
            opsdk.add(left, right)
    with pytest.raises(MixedRuntimeError):
        opsdk.add(opsdk.to_tensor(X), cp.asarray(X))


def test_a_device_that_does_not_exist_is_refused():
    with pytest.raises(PlaceError, match=r"expected one of \d+ CUDA devices, counted from 0, got Place\(cuda:99\)"):
        opsdk.to_tensor(X, place=opsdk.CUDAPlace(99))


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_an_expression_is_numpys_over_shapes_strides_and_dtypes(cp, blend, dtype):
    rng = np.random.default_rng(0)
    big = rng.standard_normal((64, 100)).astype(dtype)
    pairs = [(big, big[0]), (big.T, big[:, 0]), (big[::2, ::-1], big[:1, ::-1]), (big[0, 0], big)]
    pairs.append((big[:, :0], big[0, :0]))
    for x, w in pairs:
        made = blend(cp.asarray(x), cp.asarray(w), beta=0.5)
        wanted = numpy_blend(x.astype("float64"), w.astype("float64"), 0.5)
        assert (made.shape, made.dtype) == (wanted.shape, np.dtype(dtype))
        np.testing.assert_allclose(cp.asnumpy(made), wanted, rtol=8 * np.finfo(dtype).eps, atol=np.finfo(dtype).tiny)


def test_gradients_of_an_expression_run_on_the_device(blend):
    def gradients(place):
        x, w = (opsdk.to_tensor(v, place=place, stop_gradient=False) for v in (X + 0.25, X[::-1].copy()))
        opsdk.sum(blend(x, w, beta=0.5)).backward()
        return x.grad.numpy(), w.grad.numpy()

    for a, b in zip(gradients(GPU), gradients(opsdk.CPUPlace()), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-12)


SPECIAL = [0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 1.5, 2.5, -2.5, 0.3, -7.25, 40.0, -40.0, 1e3, -1e3, np.inf, -np.inf, np.nan]


@pytest.mark.parametrize("precision", ["float32", "float64"])
@pytest.mark.parametrize("name", PRIMITIVES)
def test_a_primitive_has_numpys_values_special_ones_included(cp, cuda, name, precision):
    known = PRIMITIVES[name]
    function = functions(precision)[name]
    grids = [np.array([False, True]) if kind == BOOL else np.array(SPECIAL, precision) for kind in known.takes]
    operands = [np.ascontiguousarray(grid.ravel()) for grid in np.meshgrid(*grids)]
    source = ", ".join(f"x{k}[i]" for k in range(known.arity))
    names = ", ".join(f"x{k}" for k in range(known.arity))
    space = {"cuda": cuda, "f": function}
    exec(f"def kernel({names}, y):\n    i = cuda.grid(1)\n    if i < y.size:\n        y[i] = f({source})\n", space)
    made = cp.empty(operands[0].shape, "bool" if known.gives == BOOL else precision)
    BoundKernel(space["kernel"])(Geometry((-(-made.size // 256),), (256,)), [*map(cp.asarray, operands), made])
    with np.errstate(all="ignore"):
        wanted = known.meaning(np, *operands)
    np.testing.assert_allclose(cp.asnumpy(made), wanted, rtol=16 * np.finfo(precision).eps)


ROWS = [(1, 1), (3, 5), (2, 3, 129), (70, 33), (300, 1024), (5, 70001), (0, 4), (3, 0)]


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16"])
@pytest.mark.parametrize("name", ["softmax", "layer_norm"])
def test_a_row_expression_and_its_gradient_give_on_the_device_what_numpy_gives(cp, name, dtype):
    rng, op = np.random.default_rng(0), opsdk.find_op(name)
    tolerance = {"float64": 1e-11, "float32": 1e-4, "float16": 5e-3}[dtype]
    attrs = {decl.name: decl.default for decl in op.opdef.schema.attrs}
    for shape in ROWS:
        x, dy = (rng.standard_normal(shape).astype(dtype) for _ in range(2))
        weights = [rng.standard_normal(shape[-1]).astype(dtype) for _ in range(2)]
        given = [x, *weights] if name == "layer_norm" else [x]
        tensors = [opsdk.to_tensor(array, place=GPU, stop_gradient=False) for array in given]
        y = op(*tensors)
        y.backward(opsdk.to_tensor(dy, place=GPU))
        wanted = op.opdef.kernels.reference().source(*given, **attrs)
        parts = {"input": given, "output": [wanted], "cotangent": [dy]}
        rule = op.opdef.grad
        entering = [parts[source.kind][source.position] for source in rule.sources]
        grads = rule.op.opdef.kernels.reference().source(*entering, **attrs)
        for got, want in zip(
            [y, *(t.grad for t in tensors)], [wanted, *(grads if isinstance(grads, tuple) else (grads,))], strict=True
        ):
            size = max(1.0, float(np.abs(want).astype(float).max(initial=0)))
            assert got.place == GPU
            np.testing.assert_allclose(
                got.numpy().astype(float), want.astype(float), rtol=tolerance, atol=tolerance * size
            )


def test_rows_lie_along_any_axis_of_any_layout_on_the_device(cp):
    x = np.random.default_rng(0).standard_normal((4, 5, 6))
    for axis in (0, 1, 2):
        for array in (x, x.transpose(2, 0, 1), x[::-1, ::2]):
            there = cp.asarray(x).transpose(2, 0, 1) if array.shape == (6, 4, 5) else cp.asarray(array)
            made = opsdk.find_op("softmax")(there, axis=axis)
            exps = np.exp(array)
            np.testing.assert_allclose(cp.asnumpy(made), exps / exps.sum(axis, keepdims=True), rtol=1e-11)


def test_sums_over_rows_have_the_same_bits_each_time(cp):
    rng = np.random.default_rng(0)
    x, w, dy = (cp.asarray(rng.standard_normal(s).astype("float32")) for s in ((5000, 257), (257,), (5000, 257)))
    gradient = opsdk.find_op("layer_norm").grad
    runs = [[cp.asnumpy(made) for made in gradient(x, w, dy)] for _ in range(5)]
    for run in runs[1:]:
        for got, want in zip(run, runs[0], strict=True):
            np.testing.assert_array_equal(got, want)


def test_a_position_outside_of_a_row_is_refused_on_the_device(cp):
    op = opsdk.find_op("cross_entropy_with_logits")
    with pytest.raises(AttributeValueError, match=r"row_take: position expected in \[0, 3\), got 7"):
        op(cp.ones((2, 3)), cp.asarray([0, 7]))
    assert op(cp.ones((2, 3)), cp.asarray([0, -100])).get()[1, 0] == 0


def test_compiled_rows_are_launched_by_another(cp, tmp_path):
    capability = tuple(map(int, divmod(int(cp.cuda.Device().compute_capability), 10)))
    code = compile_cuda(opsdk.find_op("softmax"), "float32", capability)
    file = tmp_path / "softmax.cubin"
    file.write_bytes(code.cubin())
    kernel = cp.RawModule(path=str(file)).get_function(code.name)
    x = np.random.default_rng(1).standard_normal((50, 300)).astype("float32")
    y = cp.empty(x.shape, "float32")
    kernel((8,), (64,), (y, cp.asarray(x), np.int64(50), np.int64(300)))
    exps = np.exp(x)
    np.testing.assert_allclose(cp.asnumpy(y), exps / exps.sum(1, keepdims=True), rtol=1e-5)


def test_kernels_run_on_cupys_current_stream(cp, blend):
    x = cp.asarray(np.random.default_rng(0).standard_normal(1 << 20))
    stream = cp.cuda.Stream(non_blocking=True)
    cp.cuda.Device().synchronize()
    with stream:
        for _ in range(20):
            x = blend(x * 1.0, x - 1.0)  # each reads what the one before it wrote on this stream
    stream.synchronize()
    y = np.random.default_rng(0).standard_normal(1 << 20)
    for _ in range(20):
        y = numpy_blend(y, y - 1.0)
    np.testing.assert_allclose(cp.asnumpy(x), y, rtol=1e-9)


def test_a_launch_may_name_a_stream(cp, cuda):
    stream = cp.cuda.Stream(non_blocking=True)

    @opsdk.op("t::twice(Tensor x) -> Tensor y")
    def twice(x):
        raise AssertionError("the reference ran")

    @twice.kernel("cuda", language="numba", launch=lambda x: (x.size, 1, stream, 0))
    def kernel(x, y):
        i = cuda.grid(1)
        y[i] = 2 * x[i]

    x = cp.asarray(X[0].copy())
    cp.cuda.Device().synchronize()
    made = twice(x)
    stream.synchronize()
    assert cp.asnumpy(made).tolist() == (2 * X[0]).tolist()


def test_a_kernel_that_numba_cannot_compile_is_refused(cp):
    wrong = opsdk.op(lambda x: x, name="wrong", namespace="t")
    wrong.kernel("cuda", lambda x, y: x.nothing, language="numba", launch=opsdk.launch.elementwise("y"))
    with pytest.raises(CompileError, match="op 't::wrong', CUDA kernel: does not compile"):
        wrong(cp.asarray(X))


def test_verify_judges_the_row_on_the_device(cuda):
    @opsdk.op(namespace="t")
    def relu(x):
        return np.maximum(x, 0)

    @relu.backward
    def relu_grad(y, dy):
        return dy * (y > 0)

    @relu.kernel("cuda", language="numba", launch=opsdk.launch.elementwise("y"))
    def kernel(x, y):
        i = cuda.grid(1)
        if i < y.size:
            y[i] = x[i] if not x[i] <= 0 else 0

    report = opsdk.verify(relu)
    assert report.verdict == "pass"
    assert {row.verdict for row in report.rows if row.row.startswith("cuda")} == {"pass"}


def test_compiled_code_is_launched_by_another(cp, blend, tmp_path):
    capability = tuple(map(int, divmod(int(cp.cuda.Device().compute_capability), 10)))
    code = compile_cuda(blend, "float32", capability)
    file = tmp_path / "blend.cubin"
    file.write_bytes(code.cubin())
    kernel = cp.RawModule(path=str(file)).get_function(code.name)
    x, w = (np.random.default_rng(seed).standard_normal(1000).astype("float32") for seed in (1, 2))
    y = cp.empty(1000, "float32")
    kernel((4,), (64,), (y, cp.asarray(x), cp.asarray(w), np.float64(0.5), np.int64(1000)))
    np.testing.assert_allclose(cp.asnumpy(y), numpy_blend(x, w, 0.5), rtol=1e-5)


def test_random_numbers_are_the_hosts(cp, cuda):
    def draws(x, rng, bits, u, uf, z, zf):
        i = cuda.grid(1)
        if i < x.size:
            bits[i] = opsdk.vmath.random_bits(rng, i)
            u[i] = opsdk.vmath.uniform(rng, i)
            uf[i] = opsdk.vmath.uniform(rng, i, np.float32)
            z[i] = opsdk.vmath.normal(rng, i)
            zf[i] = opsdk.vmath.normal(rng, i, zf.dtype)

    kinds = ("uint64", "float64", "float32", "float64", "float32")
    outputs = "(Tensor bits, Tensor u, Tensor uf, Tensor z, Tensor zf)"
    schema = f"t::draws(Tensor x, *, Generator rng) -> {outputs}"
    op = opsdk.op(schema, infer=lambda x: tuple(opsdk.TensorSpec(x.shape, kind) for kind in kinds))(lambda x, rng: None)
    op.kernel("cuda", language="numba", launch=opsdk.launch.elementwise("u"))(draws)
    key, i = 2**45 + 3, np.arange(5000)
    made = op(opsdk.to_tensor(np.zeros(i.size), place=GPU), rng=opsdk.Generator(key))
    bits, u, uf, z, zf = (each.numpy() for each in made)
    np.testing.assert_array_equal(bits, opsdk.vmath.random_bits(key, i))
    np.testing.assert_array_equal(u, opsdk.vmath.uniform(key, i))
    np.testing.assert_array_equal(uf, opsdk.vmath.uniform(key, i, np.float32))
    np.testing.assert_allclose(z, opsdk.vmath.normal(key, i), rtol=0, atol=4e-15)
    np.testing.assert_allclose(zf, opsdk.vmath.normal(key, i, np.float32), rtol=0, atol=2e-6)
