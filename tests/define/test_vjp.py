import numpy as np
import pytest

import opsdk
from opsdk import static
from opsdk.core.errors import (
    ArityError,
    AttributeValueError,
    DerivativeOrderError,
    DTypeError,
    MixedRuntimeError,
    ShapeError,
)
from opsdk.define.frontend import register_frontend

X, W, V = np.array([0.3, 0.5]), np.array([2.0, 3.0]), np.array([1.0, 10.0])
SLOPE = 1 - np.tanh(X * W) ** 2
DX, DW = V * SLOPE * W, V * SLOPE * X  # of tanh(x w), by hand
DXX = V * -2 * np.tanh(X * W) * SLOPE * W**2


def product(x, w):
    return opsdk.tanh(x * w)


def test_arrays_give_arrays():
    y, (dx, dw) = opsdk.vjp(product, [X, W], V)
    assert [type(value) for value in (y, dx, dw)] == [np.ndarray] * 3
    np.testing.assert_allclose(y, np.tanh(X * W), rtol=1e-15)
    np.testing.assert_allclose([dx, dw], [DX, DW], rtol=1e-12)


def test_tensors_give_tensors_that_are_recorded_where_calls_are():
    x, w = opsdk.to_tensor(X, stop_gradient=False), opsdk.to_tensor(W)
    y, (dx, dw) = opsdk.vjp(product, (x, w), V)
    np.testing.assert_allclose([dx.numpy(), dw.numpy()], [DX, DW], rtol=1e-12)
    np.testing.assert_allclose(opsdk.grad(dx.sum(), x, retain_graph=True)[0].numpy(), DXX, rtol=1e-12)
    np.testing.assert_allclose(opsdk.grad(y.sum(), x)[0].numpy(), SLOPE * W, rtol=1e-12)
    with opsdk.no_grad():
        y, (dx, dw) = opsdk.vjp(product, (x, w), V)
    assert (y.stop_gradient, dx.stop_gradient, dw.stop_gradient) == (True, True, True)


def test_nothing_is_recorded_that_nobody_needs_unless_it_is_asked_for():
    x, held = opsdk.to_tensor(X), opsdk.to_tensor(W, stop_gradient=False)
    assert opsdk.vjp(lambda t: t * held, x, V)[1].stop_gradient
    assert opsdk.vjp(lambda t: t * t, opsdk.to_tensor(X, stop_gradient=False), V, create_graph=False)[1].stop_gradient
    dx = opsdk.vjp(lambda t: t * held, x, V, create_graph=True)[1]
    np.testing.assert_array_equal(opsdk.grad(dx.sum(), held)[0].numpy(), V)


def test_cotangents_are_in_the_graph_too():
    v = opsdk.to_tensor(V, stop_gradient=False)
    dx = opsdk.vjp(lambda t: t * W, opsdk.to_tensor(X), v)[1]
    np.testing.assert_array_equal(opsdk.grad(dx.sum(), v)[0].numpy(), W)


def test_gradients_of_the_values_themselves_stay_as_they_are():
    x = opsdk.to_tensor(X, stop_gradient=False)
    opsdk.vjp(product, (x, W), V)
    assert x.grad is None


def test_variables_give_variables_that_can_be_differentiated():
    with static.program_guard(static.Program()):
        x, w = static.data("x", [None], "float64"), static.data("w", [2], "float64")
        y, (dx, dw) = opsdk.vjp(product, (x, w), V)
        (dxx,) = static.gradients([dx], [x])
        assert static.gradients([y], [w])[0] is not None
        found = static.Executor().run(feed={"x": X, "w": W}, fetch_list=[y, dx, dw, dxx])
    for got, wanted in zip(found, (np.tanh(X * W), DX, DW, DXX), strict=True):
        np.testing.assert_allclose(got, wanted, rtol=1e-12)


def test_inputs_that_depend_on_one_another_are_inputs_each():
    x = opsdk.to_tensor(X, stop_gradient=False)
    _, (first, second) = opsdk.vjp(lambda a, b: a * b, [x, x * 2.0], V)
    np.testing.assert_allclose([first.numpy(), second.numpy()], [V * 2 * X, V * X])
    _, (first, second) = opsdk.vjp(lambda a, b: a * b * b, [x, x], V)
    np.testing.assert_allclose([first.numpy(), second.numpy()], [V * X * X, V * 2 * X * X])
    with static.program_guard(static.Program()):
        v = static.data("v", [2], "float64")
        _, gradients = opsdk.vjp(lambda a, b: a * b, [v, v * 2.0], V)
        found = static.Executor().run(feed={"v": X}, fetch_list=list(gradients))
    np.testing.assert_allclose(found, [V * 2 * X, V * X])


def test_in_a_program_what_the_function_makes_of_nothing_belongs_to_it():
    with static.program_guard(static.Program()):
        x = static.data("x", [2], "float64")
        _, dx = opsdk.vjp(lambda t: t * opsdk.full([2], 3.0, "float64"), x, V)
        assert static.Executor().run(feed={"x": X}, fetch_list=[dx])[0].tolist() == [3.0, 30.0]


def test_a_program_stays_as_it_was_where_the_function_fails():
    with static.program_guard(static.Program()):
        x = static.data("x", [2], "float64")
        with pytest.raises(ShapeError):
            opsdk.vjp(lambda t: opsdk.exp(t).reshape([3]), x, V)
        assert static.default_main_program().global_block().ops == []


@pytest.mark.parametrize("make", [np.asarray, opsdk.to_tensor], ids=["arrays", "tensors"])
def test_what_the_outputs_do_not_depend_on_gets_zeros_and_whole_numbers_nothing(make):
    _, (dx, dw, di) = opsdk.vjp(lambda x, w, i: x * 2.0, [make(X), make(W), make(np.array([1, 2]))], make(V))
    assert [np.asarray(dx).tolist(), np.asarray(dw).tolist(), di] == [[2.0, 20.0], [0.0, 0.0], None]
    same, ones = opsdk.vjp(lambda x: x, make(X))
    assert (np.asarray(same).tolist(), np.asarray(ones).tolist()) == (X.tolist(), [1.0, 1.0])
    assert np.asarray(opsdk.vjp(lambda x: opsdk.ones([2], "float64"), make(X), make(V))[1]).tolist() == [0.0, 0.0]


def test_in_a_program_too():
    with static.program_guard(static.Program()):
        x, w, i = static.data("x", [2], "float64"), static.data("w", [2], "float64"), static.data("i", [2], "int64")
        _, (dx, dw, di) = opsdk.vjp(lambda x, w, i: x * 2.0, [x, w, i], V)
        same, ones = opsdk.vjp(lambda x: x, x)
        found = static.Executor().run(feed={"x": X, "w": W, "i": [1, 2]}, fetch_list=[dx, dw, same, ones])
    assert di is None
    assert [value.tolist() for value in found] == [[2.0, 20.0], [0.0, 0.0], X.tolist(), [1.0, 1.0]]


def test_several_outputs_have_a_cotangent_each():
    (a, b), dx = opsdk.vjp(lambda x: (x * 2.0, x * x), X, [V, np.ones(2)])
    np.testing.assert_allclose([a, b, dx], [2 * X, X * X, 2 * V + 2 * X])
    with pytest.raises(ArityError, match="vjp: expected a cotangent for each of the 2 outputs of <lambda>, got 1"):
        opsdk.vjp(lambda x: (x, x), X, V)


def test_of_a_function_that_numba_compiled_the_python_function_is_taken():
    numba = pytest.importorskip("numba")
    y, dx = opsdk.vjp(numba.njit(lambda x: x * x), X, V)
    np.testing.assert_allclose([y, dx], [X * X, 2 * X * V])


def test_what_is_none_of_it_is_refused():
    with pytest.raises(AttributeValueError, match="vjp: func expected a callable, got float"):
        opsdk.vjp(3.0, X)
    with pytest.raises(ShapeError, match="expected shape"):
        opsdk.vjp(opsdk.exp, X, np.ones(3))
    with pytest.raises(DTypeError, match="expected"):
        opsdk.vjp(opsdk.exp, X, np.ones(2, "float32"))
    with static.program_guard(static.Program()):
        x = static.data("x", [2], "float64")
        with pytest.raises(MixedRuntimeError, match="vjp: expected values of one runtime with derivatives, got Pro"):
            opsdk.vjp(product, [x, opsdk.to_tensor(W)], V)


def test_a_runtime_without_derivatives_is_refused(monkeypatch):
    class Value:
        pass

    class Runtime:
        name = "test values"

        def accepts(self, value):
            return isinstance(value, Value)

        def apply(self, opdef, inputs, attrs):
            return None

    monkeypatch.setattr("opsdk.define.frontend._FRONTENDS", [])
    register_frontend(Runtime(), Value)
    with pytest.raises(MixedRuntimeError, match="vjp: expected values of one runtime with derivatives, got test"):
        opsdk.vjp(product, Value())


def test_a_second_derivative_of_numpy_code_is_refused():
    @opsdk.op("test_vjp::cube(Tensor x) -> Tensor y")
    def cube(x):
        return x**3

    cube.backward(lambda x, dy: 3 * x**2 * dy)
    np.testing.assert_allclose(opsdk.vjp(cube, X, V)[1], 3 * X**2 * V)
    with pytest.raises(DerivativeOrderError):
        opsdk.vjp(cube, opsdk.to_tensor(X, stop_gradient=False), V)
