import numpy as np
import pytest

import opsdk
from opsdk import static
from opsdk.core.errors import InPlaceError

Assign = opsdk.nn.initializer.Assign

X = np.array([[0.5, -1.0, 2.0], [1.5, 0.25, -0.75]])
B = np.array([0.3, -0.6, 0.9])


@pytest.fixture
def x():
    return static.data("x", [None, 3], "float64")


@pytest.fixture
def b():
    return static.create_parameter([3], "float64", name="b", default_initializer=Assign(B))


def close(result, expected):
    np.testing.assert_allclose(result, expected, rtol=1e-12, atol=1e-12)


def orders(target, source, count):
    """The first derivatives, each of the one before."""
    found = []
    for _ in range(count):
        (target,) = static.gradients(target, source)
        found.append(target)
    return found


def cube(x):
    return x * x * x


TANH = np.tanh(X)


@pytest.mark.parametrize(
    ("function", "derivatives"),
    [
        (cube, [3 * X**2, 6 * X, np.full_like(X, 6)]),
        (opsdk.exp, [np.exp(X)] * 3),
        (lambda x: opsdk.log(x * x), [2 / X, -2 / X**2, 4 / X**3]),
        (lambda x: 1.0 / x, [-1 / X**2, 2 / X**3, -6 / X**4]),
        (lambda x: x.reshape([-1]).exp(), [np.exp(X)] * 3),
        (lambda x: cube(opsdk.concat([x, x * 2.0])), [27 * X**2, 54 * X, np.full_like(X, 54)]),
        (opsdk.tanh, [1 - TANH**2, -2 * TANH * (1 - TANH**2), (6 * TANH**2 - 2) * (1 - TANH**2)]),
    ],
    ids=["cube", "exp", "log", "reciprocal", "reshape", "concat", "tanh"],
)
def test_elementwise_derivatives_are_right_to_third_order(fetch, x, function, derivatives):
    for result, expected in zip(fetch(orders(function(x).sum(), x, 3), x=X), derivatives, strict=True):
        np.testing.assert_allclose(result, expected, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("rows", [None, 2])
def test_derivatives_of_a_broadcast_input_are_right_to_third_order(fetch, b, rows):
    x = static.data("rows", [rows, 3], "float64")
    found = fetch(orders(opsdk.exp(x * b).sum(), b, 3), rows=X)
    for order, result in enumerate(found, start=1):
        close(result, (X**order * np.exp(X * B)).sum(axis=0))


@pytest.mark.parametrize("rows", [None, 2])
def test_mixed_derivatives_of_a_broadcast_product_are_right(fetch, b, rows):
    x = static.data("rows", [rows, 3], "float64")
    (of_b,) = static.gradients((x * x * b * b).sum(), b)
    (of_x,) = static.gradients(of_b, x)
    (again,) = static.gradients(of_x, b)
    result = fetch([of_b, of_x, again], rows=X)
    close(result[0], (2 * B * X**2).sum(axis=0))
    close(result[1], 4 * X * B)
    close(result[2], (4 * X).sum(axis=0))


def test_a_second_derivative_by_the_cotangent_sees_the_hidden_sum(fetch, b):
    x = static.data("rows", [2, 3], "float64")
    v = static.data("v", [2, 3], "float64")
    (of_b,) = static.gradients(x + b, b, target_gradients=v)
    (of_v,) = static.gradients((of_b * of_b).sum(), v)
    close(fetch(of_v, rows=X, v=X), np.broadcast_to(2 * X.sum(axis=0), X.shape))


def test_sizes_that_turn_out_to_be_broadcast_are_summed_in_the_second_derivative(fetch, x):
    y = static.data("y", [None, 3], "float64")
    v = static.data("v", [None, 3], "float64")
    (of_y,) = static.gradients(x + y, y, target_gradients=v)
    (of_v,) = static.gradients(of_y * of_y, v)
    found = fetch([of_y, of_v], x=X, y=X[:1], v=X)
    close(found[0], X.sum(axis=0, keepdims=True))
    close(found[1], np.broadcast_to(2 * X.sum(axis=0), X.shape))


def test_the_gradient_of_a_gradient_penalty_is_right(fetch, x):
    weight = static.create_parameter([3, 2], "float64", default_initializer=Assign(np.stack([B, B - 1], axis=1)))
    w = np.stack([B, B - 1], axis=1)
    h = x.block.create_var("h", [None, 2], "float64")
    x.block.append_op("mul", {"x": x, "y": weight}, {"out": h})
    (slope,) = static.gradients(opsdk.tanh(h).sum(), x)
    ((_, grad),) = static.append_backward((slope * slope).sum())
    t = np.tanh(X @ w)
    s = 1 - t**2
    g = s @ w.T
    close(fetch(grad, x=X), 2 * g.T @ s + X.T @ (2 * (g @ w) * (-2 * t * s)))


def test_a_derivative_of_a_mean_is_right_to_second_order(fetch, x):
    result = fetch(orders(opsdk.mean(cube(x)), x, 2), x=X)
    close(result[0], 3 * X**2 / 6)
    close(result[1], 6 * X / 6)


W = np.array([[0.2, -0.4], [0.7, 0.1], [-0.3, 0.9]])
FUNCTIONS = {
    "matmul": lambda x: x @ W,
    "matmul of itself": lambda x: x.matmul(x, transpose_x=True),
    "batched matmul": lambda x: opsdk.matmul(opsdk.stack([x, x * 2.0]), W),
    "vector product": lambda x: opsdk.matmul(x, W[:, 0]),
    "softmax": opsdk.softmax,
    "softmax down": lambda x: opsdk.softmax(x, axis=0),
    "log_softmax": opsdk.nn.functional.log_softmax,
    "sigmoid": opsdk.sigmoid,
    "square root": lambda x: opsdk.sqrt(x * x + 1.0),
    "power": lambda x: (x * x + 1.0) ** 1.5,
    "quotient": lambda x: x / (x * x + 2.0),
    "mean of rows": lambda x: x.mean(axis=1, keepdim=True) * x,
    "sum of columns": lambda x: x.sum(axis=0) * x,
    "greatest": lambda x: cube(x).max(axis=1),
    "least": lambda x: cube(x).min(axis=0),
    "greater": lambda x: opsdk.maximum(cube(x), x - 0.1),
    "where": lambda x: opsdk.where(x > 0.3, cube(x), x * x),
    "clipped": lambda x: opsdk.clip(cube(x), -0.9, 4.0),
    "stack": lambda x: opsdk.stack([x, cube(x)], axis=1),
    "joined columns": lambda x: opsdk.concat([x, cube(x), x], axis=1),
    "slice": lambda x: cube(x)[:, 1:],
    "gather": lambda x: opsdk.gather(cube(x), np.array([1, 0, 1])),
    "transpose": lambda x: x.transpose([1, 0]) @ x,
    "axes in and out": lambda x: cube(x).unsqueeze(1).squeeze(1),
    "flatten": lambda x: cube(x).flatten(),
    "cast there and back": lambda x: cube(x).astype("float64"),
    "two layers": lambda x: opsdk.tanh(opsdk.tanh(x @ W) @ W.T),
}


V = np.array([[0.6, -0.2, 0.3], [-0.7, 0.5, 0.1]])  # a direction


def slope(function, step=1e-5):
    """The central difference of a function of one array along V."""
    return (function(X + step * V) - function(X - step * V)) / (2 * step)


@pytest.mark.parametrize("rows", [None, 2], ids=["any rows", "two rows"])
@pytest.mark.parametrize("function", FUNCTIONS.values(), ids=FUNCTIONS)
def test_two_orders_agree_with_differences(exe, function, rows):
    x = static.data("x", [rows, 3], "float64")
    target = (function(x) * function(x)).sum()
    (first,) = static.gradients(target, x)
    (second,) = static.gradients((first * V).sum(), x)

    def value(variable):
        return lambda at: exe.run(feed={"x": at}, fetch_list=[variable])[0]

    np.testing.assert_allclose((value(first)(X) * V).sum(), slope(value(target)), rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(value(second)(X), slope(value(first)), rtol=1e-6, atol=1e-6)


# -- what nobody wants ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("exponent", [4, 4.0, "data", "trained"])
def test_derivatives_of_a_power_are_right_for_negative_bases_to_fourth_order(fetch, x, exponent):
    n, feed = exponent, {}
    if exponent in ("data", "trained"):
        n, feed = static.data("n", [None, 3], "float64"), {"n": np.full_like(X, 4.0)}
        n.stop_gradient = exponent == "data"
    found = fetch(orders(x**n, x, 4), x=X, **feed)
    np.testing.assert_allclose(found, [4 * X**3, 12 * X**2, 24 * X, np.full_like(X, 24.0)], rtol=1e-12)


def test_one_of_two_first_derivatives_is_differentiated_alone(fetch, x):
    n = static.data("n", [None, 3], "float64")
    n.stop_gradient = False
    first, _ = static.gradients(x**n, [x, n])
    (second,) = static.gradients(first, x)
    np.testing.assert_allclose(fetch(second, x=X, n=np.full_like(X, 4.0)), 12 * X**2, rtol=1e-12)


def test_an_output_that_nobody_used_adds_nothing_to_the_gradient(fetch):
    @opsdk.elementwise("tests::twice_and_log(Tensor x, Tensor z) -> (Tensor a, Tensor b)")
    def twice_and_log(x, z):
        return 2.0 * x, opsdk.vmath.log(x) * z

    x, w = static.data("x", [2], "float64"), static.data("w", [2], "float64")
    x.stop_gradient = w.stop_gradient = False
    dx, dw = static.gradients(twice_and_log(x, opsdk.log(w))[0], [x, w])
    assert fetch(dx, x=[0.0, 1.0], w=[0.0, 1.0]).tolist() == [2.0, 2.0]
    assert dw is None  # nothing that was asked for depends on it


def test_gradients_of_higher_order_that_lead_nowhere_are_not_appended(main, x):
    orders(x**4, x, 3)
    third = main.global_block().ops[-1]
    assert third.type == "elementwise_pow_grad_grad_grad"
    assert [len(third.output(slot)) for slot in third.opdef.schema.output_names if any(third.output(slot))] == [1]


@pytest.mark.parametrize("materialize", [True, False])
def test_a_second_backward_may_name_the_cotangent_of_an_input_that_is_absent(fetch, x, materialize):
    seen = []

    @opsdk.op("tests::affine(Tensor x, Tensor w, Tensor? b) -> Tensor y")
    def affine(x, w, b):
        return x * w if b is None else x * w + b

    @affine.backward
    def affine_grad(x, w, b, dy):
        return dy * w, dy * x, None if b is None else dy

    @affine_grad.backward(materialize=materialize)
    def affine_grad_grad(x, w, b, dy, ddx, ddw, ddb):
        seen.append(None if ddb is None else ddb.tolist())
        ddw = np.zeros_like(w) if ddw is None else ddw
        return dy * ddw, dy * ddx, None if b is None else 0 * dy, ddx * w + ddw * x + (0 if ddb is None else ddb)

    w = static.data("w", [None, 3], "float64")
    w.stop_gradient = False
    (first,) = static.gradients(affine(x, w) ** 2, x)
    (second,) = static.gradients(first, x)
    close(fetch(second, x=X, w=X + 1.0), 2 * (X + 1.0) ** 2)
    in_program = list(seen)
    u, v = opsdk.to_tensor(X, stop_gradient=False), opsdk.to_tensor(X + 1.0, stop_gradient=False)
    (first,) = opsdk.grad((affine(u, v) ** 2).sum(), u, create_graph=True)
    close(opsdk.grad(first.sum(), u)[0].numpy(), 2 * (X + 1.0) ** 2)
    assert in_program == seen[len(in_program) :]
    assert in_program[0] == (np.zeros_like(X).tolist() if materialize else None)


def test_a_constant_beside_variables_is_not_changed_in_a_copy(main, state, x):
    add = opsdk.op("tests::add_(Tensor(a!) x, Tensor y) -> ()")(lambda x, y: x.__iadd__(y) and None)
    before = state(main)
    with pytest.raises(InPlaceError, match="expected one of the Program variables, since the op changes it in place"):
        add(X, x)
    assert state(main) == before
