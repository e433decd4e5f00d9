"""Expressions on the simulated device: every primitive, and elementwise ops over shapes, strides and dtypes."""

import numpy as np
import pytest

import opsdk
from opsdk.backends.cuda.elementwise import geometry_for
from opsdk.backends.cuda.math import compute_dtype, functions
from opsdk.backends.memory.simulated import SimulatedArray
from opsdk.core.errors import DTypeError, ShapeError
from opsdk.expr.decorators import elementwise
from opsdk.expr.node import BOOL
from opsdk.expr.primitives.table import PRIMITIVES
from opsdk.expr.symbol import apply

SPECIAL = [0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 1.5, 2.5, -2.5, 0.3, -7.25, 40.0, -40.0, 1e3, -1e3, np.inf, -np.inf, np.nan]


@pytest.mark.parametrize("precision", ["float32", "float64"])
def test_there_is_a_function_for_every_primitive(precision):
    assert set(PRIMITIVES) <= set(functions(precision))


@pytest.mark.parametrize("precision", ["float32", "float64"])
@pytest.mark.parametrize("name", PRIMITIVES)
def test_a_primitive_has_numpys_values_special_ones_included(name, precision):
    known, function = PRIMITIVES[name], functions(precision)[name]
    number = np.dtype(precision).type
    grids = [np.array([False, True]) if kind == BOOL else np.array(SPECIAL, precision) for kind in known.takes]
    operands = [grid.ravel() for grid in np.meshgrid(*grids)]
    with np.errstate(all="ignore"):
        wanted = known.meaning(np, *operands)
        rows = list(zip(*operands, strict=True))
        made = [function(*(bool(v) if v.dtype == bool else number(v) for v in values)) for values in rows]
    if known.gives == BOOL:
        assert [bool(value) for value in made] == wanted.tolist()
        return
    assert {np.asarray(value).dtype for value in made} == {np.dtype(precision)}
    eps = np.finfo(precision).eps
    np.testing.assert_allclose(np.array(made), wanted, rtol=8 * eps, atol=0)  # erf by another way, the rest is equal


@pytest.mark.parametrize(
    ("name", "value", "bits"),
    [("round", -0.4, True), ("ceil", -0.5, True), ("floor", -0.0, True), ("sqrt", -0.0, True), ("sign", -0.0, False)],
)
def test_signs_of_zeros_are_numpys(name, value, bits):
    assert bool(np.signbit(functions("float64")[name](np.float64(value)))) is bits


@elementwise(namespace="t")
def blend(x, w, *, beta: float = 1.0):
    return apply("where", x > w, x * apply("sigmoid", beta * x), w / x)


def numpy_blend(x, w, beta=1.0):
    with np.errstate(all="ignore"):
        return np.where(x > w, x / (1 + np.exp(-(x.dtype.type(beta) * x))), w / x)


SHAPES = [((7,), (7,)), ((3, 4), (4,)), ((3, 1), (1, 4)), ((), (2, 2)), ((0, 3), (3,)), ((2, 3, 2), (3, 1)), ((), ())]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(("left", "right"), SHAPES)
def test_an_expression_broadcasts_as_numpy_does(left, right, dtype, rng):
    x, w = rng.standard_normal(left).astype(dtype), rng.standard_normal(right).astype(dtype)
    made = blend(SimulatedArray(x), SimulatedArray(w), beta=0.5)
    wanted = numpy_blend(x, w, 0.5)
    assert (made.shape, made.dtype) == (wanted.shape, wanted.dtype)
    np.testing.assert_allclose(made.get(), wanted, rtol=4 * np.finfo(dtype).eps)


def test_strides_of_every_kind_are_walked(rng):
    whole = rng.standard_normal((4, 6, 3))
    views = [whole.T, whole[::2], whole[:, ::-1, 1:], whole.transpose(1, 0, 2), whole[..., 0], whole[:, :, None, 0]]
    for x in views:
        w = np.ones(x.shape[-1:])
        np.testing.assert_allclose(blend(SimulatedArray(x), SimulatedArray(w)).get(), numpy_blend(x, w), rtol=1e-15)


def test_float16_is_computed_in_float32_and_rounded_once():
    @elementwise(namespace="t")
    def product(x, w):
        return x * w * 0.125

    x, w = np.array([1000.0, 300.5], "float16"), np.array([100.0, 300.5], "float16")  # 10⁵ is no float16
    made = product(SimulatedArray(x), SimulatedArray(w))
    assert made.dtype == np.float16
    wanted = x.astype("float32") * w.astype("float32") * np.float32(0.125)
    assert made.tolist() == wanted.astype("float16").tolist()


def test_dtypes_beside_one_another_are_promoted():
    x, w = np.array([2.0, -3.0], "float32"), np.array([1, 2])
    made = blend(SimulatedArray(x), SimulatedArray(w))
    assert made.dtype == np.float32
    np.testing.assert_allclose(made.get(), numpy_blend(x.astype("float64"), w), rtol=3e-7)


def test_a_number_that_overflows_gives_infinity_without_a_warning():
    square = elementwise(lambda x: apply("exp", x * x), name="sq", namespace="t")
    assert square(SimulatedArray(np.array([30.0, -0.0]))).tolist() == [np.inf, 1.0]


@pytest.mark.parametrize("name", ["scalar", "real", "store", "cuda", "quiet"])
def test_an_op_may_be_called_as_something_that_its_kernel_calls(name):
    doubled = elementwise(lambda x: x + x, name=name, namespace="t")
    assert doubled(SimulatedArray(np.array([1.5, 2.0]))).tolist() == [3.0, 4.0]


def test_infinity_and_nan_may_be_constants():
    capped = elementwise(lambda x: apply("where", x == float("inf"), float("nan"), x), name="capped", namespace="t")
    np.testing.assert_array_equal(capped(SimulatedArray(np.array([1.0, np.inf]))).get(), [1.0, np.nan])


def test_a_size_of_more_threads_than_one_block_is_covered():
    double = elementwise(lambda x: x + x, name="double", namespace="t")
    x = np.arange(300.0)
    assert double(SimulatedArray(x)).tolist() == (2 * x).tolist()


def test_the_launch_of_a_loop_has_whole_warps_and_no_more_blocks_than_run_at_once():
    assert [geometry_for(size)[:2] for size in (1, 32, 33, 256, 257)] == [
        ((1,), (32,)), ((1,), (32,)), ((1,), (64,)), ((1,), (256,)), ((2,), (256,)),
    ]  # fmt: skip
    assert geometry_for(10**9)[:2] == ((4096,), (256,))


def test_a_loop_with_fewer_threads_than_elements_takes_several_each(monkeypatch):
    monkeypatch.setattr("opsdk.backends.cuda.elementwise._THREADS", 32)
    monkeypatch.setattr("opsdk.backends.cuda.elementwise._MOST_BLOCKS", 2)
    double = elementwise(lambda x: x + x, name="double", namespace="t")
    for x in (np.arange(150.0), np.arange(150.0).reshape(15, 10).T):
        assert double(SimulatedArray(x)).tolist() == (2 * x).tolist()


def test_gradients_of_every_order_run_on_the_device():
    cube = elementwise(lambda x: x * x * x, name="cube", namespace="t")
    values = np.array([-2.0, 0.5, 3.0])
    x = opsdk.to_tensor(values, place=opsdk.CUDAPlace(0), stop_gradient=False)
    (first,) = opsdk.grad(opsdk.sum(cube(x)), x, create_graph=True)
    (second,) = opsdk.grad(opsdk.sum(first), x)
    assert (first.place, second.place) == (x.place, x.place)
    np.testing.assert_allclose(first.numpy(), 3 * values**2)
    np.testing.assert_allclose(second.numpy(), 6 * values)
    assert "numba (cuda, floating)" in map(str, cube.grad.opdef.kernels)


def test_a_gradient_that_nobody_wants_is_not_computed(rng):
    x, w = (opsdk.to_tensor(rng.standard_normal(3), place=opsdk.CUDAPlace(0)) for _ in range(2))
    w.stop_gradient = False
    opsdk.sum(blend(x, w)).backward()
    assert x.grad is None
    np.testing.assert_allclose(w.grad.numpy(), np.where(x.numpy() > w.numpy(), 0, 1 / x.numpy()))


def test_which_gradients_are_wanted_chooses_the_kernel(rng):
    values = rng.standard_normal((2, 3))
    chosen = values[0] > values[1]
    for wanted in (0, 1, 0):
        tensors = [opsdk.to_tensor(value, place=opsdk.CUDAPlace(0)) for value in values]
        tensors[wanted].stop_gradient = False
        opsdk.sum(blend(*tensors, beta=0.0)).backward()
        x, w = values
        gradient = np.where(chosen, 0.5, -w / x**2) if wanted == 0 else np.where(chosen, 0, 1 / x)
        np.testing.assert_allclose(tensors[wanted].grad.numpy(), gradient)


def test_two_results_come_from_one_kernel():
    @elementwise("t::polar(Tensor x, Tensor w) -> (Tensor r, Tensor phi)")
    def polar(x, w):
        return apply("sqrt", x * x + w * w), apply("arctan2", w, x)

    x, w = np.array([3.0, -1.0]), np.array([4.0, 0.0])
    r, phi = polar(SimulatedArray(x), SimulatedArray(w))
    assert r.tolist() == [5.0, 1.0]
    assert phi.tolist() == np.arctan2(w, x).tolist()


def test_an_attribute_that_is_no_number_chooses_the_expression():
    @elementwise("t::act(Tensor x, *, str kind='abs', int times=2) -> Tensor y")
    def act(x, kind, times):
        return times * (abs(x) if kind == "abs" else -x)

    x = SimulatedArray(np.array([-1.0, 2.0]))
    assert act(x).tolist() == [2.0, 4.0]
    assert act(x, kind="neg", times=3).tolist() == [3.0, -6.0]


def test_inputs_that_do_not_broadcast_are_refused():
    with pytest.raises(ShapeError, match=r"op 't::blend'"):
        blend(SimulatedArray(np.ones(2)), SimulatedArray(np.ones(3)))
    from opsdk.backends.cuda.elementwise import CudaElementwise

    row = CudaElementwise(blend.opdef, blend.opdef.kernels.reference().source, blend.opdef.origin)
    with pytest.raises(ShapeError) as caught:
        row.launch(np.ones(2), np.ones(3), beta=1.0)
    assert str(caught.value) == "op 't::blend': expected shapes that broadcast, got (2,) and (3,)"


def test_a_dtype_that_no_device_computes_with_is_refused():
    assert compute_dtype(np.dtype("float16")) == np.float32
    with pytest.raises(DTypeError, match="CUDA expression: expected float16, float32 or float64, got complex64"):
        compute_dtype(np.dtype("complex64"))
