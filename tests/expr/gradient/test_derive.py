"""Derived gradients: their values at every order, what they save, what their ops are called."""

import mpmath
import numpy as np
import pytest

import opsdk
from opsdk import static, vmath
from opsdk.backends.call.plan import make_plan
from opsdk.core.errors import DefinitionError, NameClashError
from opsdk.core.names import name_guard
from opsdk.define.opdef import Source
from opsdk.expr import scalar

X = np.linspace(-1.5, 2.0, 12).reshape(3, 4)
POSITIVE = np.linspace(0.2, 2.0, 12).reshape(3, 4)


def leaf(array):
    return opsdk.to_tensor(array, stop_gradient=False)


def derivatives(op, array, order, **attrs):
    """Returns the derivatives of orders 1, 2, … of a function of one element."""
    x = leaf(array)
    value = op(x, **attrs)
    found = []
    for _ in range(order):
        (value,) = opsdk.grad(value.sum(), [x], create_graph=True)
        found.append(value.numpy())
    return found


def on_rows(op, *arrays, **attrs):
    """Returns what the reference and the compiled kernel of an op give."""
    attrs = {**{decl.name: decl.default for decl in op.opdef.schema.attrs}, **attrs}
    rows = {row.language: row for row in op.opdef.kernels if row.key.place == "cpu"}
    return [make_plan(op.opdef, arrays, attrs, row=rows[name]).launch(*arrays, **attrs) for name in ("numpy", "numba")]


# -- one variable ------------------------------------------------------------------------------------------------------


def sigmoid(x):
    return 1.0 / (1.0 + np.exp(-x))


@pytest.mark.parametrize(
    ("function", "at", "expected"),
    [
        (lambda x: x * x * x, X, [3 * X**2, 6 * X, 6 + 0 * X, 0 * X]),
        (lambda x: vmath.exp(2.0 * x), X, [2 * np.exp(2 * X), 4 * np.exp(2 * X), 8 * np.exp(2 * X)]),
        (lambda x: vmath.log(x), POSITIVE, [1 / POSITIVE, -1 / POSITIVE**2, 2 / POSITIVE**3]),
        (lambda x: vmath.sin(x), X, [np.cos(X), -np.sin(X), -np.cos(X)]),
        (lambda x: vmath.tanh(x), X, [1 - np.tanh(X) ** 2, -2 * np.tanh(X) * (1 - np.tanh(X) ** 2)]),
        (lambda x: vmath.sqrt(x), POSITIVE, [0.5 * POSITIVE**-0.5, -0.25 * POSITIVE**-1.5, 0.375 * POSITIVE**-2.5]),
        (lambda x: 1.0 / x, POSITIVE, [-(POSITIVE**-2.0), 2 * POSITIVE**-3.0, -6 * POSITIVE**-4.0]),
        (
            lambda x: vmath.softplus(x),
            X,
            [sigmoid(X), sigmoid(X) * (1 - sigmoid(X)), sigmoid(X) * (1 - sigmoid(X)) * (1 - 2 * sigmoid(X))],
        ),
    ],
)
def test_derivatives_of_orders_one_to_three_are_those_of_the_book(function, at, expected):
    op = opsdk.elementwise(name="f", namespace="tests")(function)
    for got, want in zip(derivatives(op, at, len(expected)), expected, strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-12, atol=1e-12)


def test_a_power_has_every_derivative_away_from_zero():
    @opsdk.elementwise
    def cube(x):
        return x**3

    for got, want in zip(
        derivatives(cube, POSITIVE, 4), [3 * POSITIVE**2, 6 * POSITIVE, 6 + 0 * X, 0 * X], strict=True
    ):
        np.testing.assert_allclose(got, want, rtol=1e-12, atol=1e-12)


def test_attributes_reach_every_order():
    @opsdk.elementwise
    def wave(x, *, w: float = 1.0, n: int = 2):
        return vmath.sin(w * x) * n

    first, second = derivatives(wave, X, 2, w=3.0, n=5)
    np.testing.assert_allclose(first, 15 * np.cos(3 * X), rtol=1e-12)
    np.testing.assert_allclose(second, -45 * np.sin(3 * X), rtol=1e-12, atol=1e-12)
    (plain,) = derivatives(wave, X, 1)
    np.testing.assert_allclose(plain, 2 * np.cos(X), rtol=1e-12)


def test_static_attributes_choose_the_derivative():
    @opsdk.elementwise
    def power(x, *, low: float | None = 0.5, mode: str = "once", flip: bool = False):
        y = x if low is None else vmath.maximum(x, low)
        y = y * y if mode == "twice" else y
        return -y if flip else y

    one, zero = np.ones_like(X), np.zeros_like(X)
    cases = [
        ({}, np.where(X > 0.5, one, zero), zero),
        ({"low": None}, one, zero),
        ({"low": None, "mode": "twice"}, 2 * X, 2 * one),
        ({"low": 1.0, "mode": "twice", "flip": True}, np.where(X > 1, -2 * X, 0), np.where(X > 1, -2 * one, zero)),
        ({"low": None, "flip": True}, -one, zero),
    ]
    for attrs, first, second in cases:
        got = derivatives(power, X, 2, **attrs)
        np.testing.assert_allclose(got, [first, second], err_msg=str(attrs))


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_gradients_have_the_dtype_of_their_input(dtype):
    @opsdk.elementwise
    def f(x, *, a: float = 0.5):
        return vmath.where(x > 0, x * x, a * x)

    x = leaf(X.astype(dtype))
    f(x).sum().backward()
    assert x.grad.dtype == np.dtype(dtype)
    np.testing.assert_allclose(x.grad.numpy(), np.where(X > 0, 2 * X, 0.5), rtol=2e-3)


# -- kinks -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("function", "at_zero"),
    [
        (lambda x: vmath.maximum(x, 0), 0.0),
        (lambda x: vmath.maximum(0, x), 0.0),
        (lambda x: vmath.minimum(x, 0), 0.0),
        (lambda x: vmath.minimum(0, x), 0.0),
        (lambda x: abs(x), 0.0),
        (lambda x: vmath.where(x > 0, x, 0.1 * x), 0.1),
        (lambda x: vmath.where(x >= 0, x, 0.1 * x), 1.0),
        (lambda x: vmath.sign(x) + vmath.floor(x), 0.0),
    ],
)
def test_at_a_kink_the_derivative_is_what_the_rules_state(function, at_zero):
    op = opsdk.elementwise(name="f", namespace="tests")(function)
    x = leaf(np.zeros(3))
    op(x).sum().backward()
    assert x.grad.numpy().tolist() == [at_zero] * 3


# the greater one is greater by less than 16 bits can hold, so the saved output says that both are equal
@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
@pytest.mark.parametrize(
    ("function", "expected"),
    [
        (lambda x: vmath.maximum(1.0 + 1e-4 * x, 1.0), 1e-4),
        (lambda x: vmath.minimum(1.0 - 1e-4 * x, 1.0), -1e-4),
        (lambda x: vmath.maximum(1e-12 * x, 0.0), 1e-12),
        (lambda x: vmath.clip(1.0 + 1e-4 * x, 1.0, 2.0), 1e-4),
        (lambda x: vmath.where(1.0 + 1e-4 * x > 1.0, 1e-4 * x, 7.0 * x), 1e-4),
        (lambda x: abs(1e-12 * x), 1e-12),
    ],
)
def test_a_kink_is_decided_as_the_forward_decided_it(function, expected, dtype):
    op = opsdk.elementwise("tests::f(Tensor x) -> Tensor y")(function)
    x = opsdk.to_tensor(np.full(5, 1.0), dtype=dtype, stop_gradient=False)
    op(x).sum().backward()
    got = x.grad.numpy().astype("float64")
    want = np.float64(x.grad.numpy().dtype.type(expected))
    np.testing.assert_allclose(got, np.full(5, want), rtol=1e-2)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_a_branch_that_is_not_taken_reaches_no_derivative_of_any_order(dtype):
    op = opsdk.elementwise("tests::f(Tensor x) -> Tensor y")(lambda x: vmath.where(x > 0.0, x * x, vmath.expm1(x)))
    x = np.array([1000.0, 2000.0], dtype)  # eˣ is infinite there
    for got, want in zip(derivatives(op, x, 3), [2 * x, [2.0, 2.0], [0.0, 0.0]], strict=True):
        np.testing.assert_array_equal(got, want)


def test_a_decision_on_an_output_that_is_saved_is_made_of_the_inputs_where_16_bits_round_it():
    @opsdk.elementwise("tests::f(Tensor x) -> (Tensor y, Tensor z)")
    def f(x):
        y = vmath.exp(1e-4 * x)
        return y, vmath.where(y > 1.0, 5.0 * y, y)

    x = opsdk.to_tensor(np.full(3, 1.0), dtype="float16", stop_gradient=False)
    f(x)[1].sum().backward()
    np.testing.assert_allclose(x.grad.numpy().astype(float), np.full(3, 5e-4), rtol=1e-3)


def test_the_extreme_of_a_row_is_found_again_where_16_bits_round_it():
    op = opsdk.rowwise("tests::f(Tensor x) -> Tensor y")(lambda x: vmath.row_max(vmath.exp(x)))
    x = opsdk.to_tensor(np.array([[0.1, 1.3, 0.7]]), dtype="float16", stop_gradient=False)
    op(x).sum().backward()
    np.testing.assert_allclose(x.grad.numpy().astype(float), [[0.0, np.exp(1.3), 0.0]], rtol=2e-3)


@pytest.mark.parametrize("function", [vmath.maximum, vmath.minimum])
def test_where_two_inputs_are_equal_the_first_gets_the_whole_derivative(function):
    op = opsdk.elementwise("tests::f(Tensor a, Tensor b) -> Tensor y")(lambda a, b: function(a, b))
    a, b = leaf(np.ones(2)), leaf(np.ones(2))
    op(a, b).sum().backward()
    assert (a.grad.numpy().tolist(), b.grad.numpy().tolist()) == ([1.0, 1.0], [0.0, 0.0])


def test_a_choice_keeps_nan_of_the_other_branch_out():
    @opsdk.elementwise
    def safe(x):
        return vmath.where(x > 0, vmath.log(x), 0.0)

    first, second = derivatives(safe, np.array([-1.0, 0.0, 2.0]), 2)
    assert (first.tolist(), second.tolist()) == ([0.0, 0.0, 0.5], [0.0, 0.0, -0.25])


# -- several inputs, broadcast -----------------------------------------------------------------------------------------


@opsdk.elementwise(namespace="tests_derive")
def product(a, b, c):
    """Is a²·b³·c; its derivatives are easy to write down."""
    return a * a * b * b * b * c


SHAPES = [
    ((3, 4), (3, 4), (3, 4)),
    ((3, 4), (4,), (3, 1)),
    ((3, 1), (1, 4), ()),
    ((2, 1, 4), (3, 1), (4,)),
]


def filled(rng, shape):
    return rng.uniform(0.5, 1.5, shape)


def summed(value, like):
    """Returns a value of the broadcast shape, summed to the shape of an input."""
    lead = value.ndim - like.ndim
    value = value.sum(axis=tuple(range(lead)))
    axes = tuple(i for i, size in enumerate(like.shape) if size == 1 and value.shape[i] != 1)
    return value.sum(axis=axes, keepdims=True) if axes else value


@pytest.mark.parametrize("shapes", SHAPES)
def test_gradients_are_summed_where_an_input_was_broadcast(rng, shapes):
    a, b, c = (filled(rng, shape) for shape in shapes)
    tensors = [leaf(a), leaf(b), leaf(c)]
    product(*tensors).sum().backward()
    full = np.broadcast_shapes(*shapes)
    wanted = [2 * a * b**3 * c, 3 * a**2 * b**2 * c, a**2 * b**3 + 0 * c]
    for tensor, array, want in zip(tensors, (a, b, c), wanted, strict=True):
        assert tensor.grad.shape == list(array.shape) or tuple(tensor.grad.shape) == array.shape
        np.testing.assert_allclose(tensor.grad.numpy(), summed(np.broadcast_to(want, full), array), rtol=1e-12)


@pytest.mark.parametrize("shapes", SHAPES)
def test_second_and_third_derivatives_of_broadcast_inputs_are_right(rng, shapes):
    a, b, c = (filled(rng, shape) for shape in shapes)
    full = np.broadcast_shapes(*shapes)
    tensors = [leaf(a), leaf(b), leaf(c)]
    _, first, _ = opsdk.grad(product(*tensors).sum(), tensors, create_graph=True)
    second = opsdk.grad(first.sum(), tensors, create_graph=True)
    wanted = [6 * a * b**2 * c, 6 * a**2 * b * c, 3 * a**2 * b**2 + 0 * c]
    for got, array, want in zip(second, (a, b, c), wanted, strict=True):
        np.testing.assert_allclose(got.numpy(), summed(np.broadcast_to(want, full), array), rtol=1e-12)
    third = opsdk.grad(second[1].sum(), tensors, create_graph=True)
    wanted = [12 * a * b * c, 6 * a**2 * c + 0 * b, 6 * a**2 * b + 0 * c]
    for got, array, want in zip(third, (a, b, c), wanted, strict=True):
        np.testing.assert_allclose(got.numpy(), summed(np.broadcast_to(want, full), array), rtol=1e-12)


@pytest.mark.parametrize("wanted", [(0,), (1,), (2,), (0, 2), (1, 2)])
def test_only_the_gradients_that_are_asked_for_are_made(rng, wanted):
    a, b, c = (filled(rng, shape) for shape in ((3, 4), (4,), (3, 1)))
    tensors = [opsdk.to_tensor(array, stop_gradient=i not in wanted) for i, array in enumerate((a, b, c))]
    firsts = opsdk.grad(product(*tensors).sum(), [tensors[i] for i in wanted], create_graph=True)
    expected = [2 * a * b**3 * c, 3 * a**2 * b**2 * c, a**2 * b**3 + 0 * c]
    for i, got in zip(wanted, firsts, strict=True):
        np.testing.assert_allclose(got.numpy(), summed(expected[i], (a, b, c)[i]), rtol=1e-12)
    i = wanted[-1]
    seconds = [2 * b**3 * c + 0 * a, 6 * a**2 * b * c, 0 * (a + b + c)]
    (second,) = opsdk.grad(firsts[-1].sum(), [tensors[i]], create_graph=True)
    np.testing.assert_allclose(second.numpy(), summed(seconds[i], (a, b, c)[i]), rtol=1e-12, atol=1e-12)


def test_the_gradient_op_itself_takes_the_mask(rng):
    a, b, c, d = (filled(rng, 5) for _ in range(4))
    every = product.grad(a, b, c, d)
    np.testing.assert_allclose(every[1], 3 * a**2 * b**2 * c * d, rtol=1e-12)
    for mask in ((True, False, False), [True, False, False]):
        for found in on_rows(product.grad, a, b, c, d, needs_input_grad=tuple(mask)):
            np.testing.assert_allclose(found[0], 2 * a * b**3 * c * d, rtol=1e-12)
            assert found[1:] == (None, None)


def test_inputs_that_were_declared_to_have_no_gradient_get_none():
    @opsdk.elementwise(nondifferentiable=["k"])
    def scale(x, k):
        return x * x * k

    x, k = leaf(X), leaf(np.full_like(X, 3.0))
    (first,) = opsdk.grad(scale(x, k).sum(), [x], create_graph=True)
    (second,) = opsdk.grad(first.sum(), [x])
    np.testing.assert_allclose([first.numpy(), second.numpy()], [6 * X, np.full_like(X, 6.0)])
    scale(x, k).sum().backward()
    assert k.grad is None


def test_whole_numbers_beside_a_float_get_no_gradient():
    @opsdk.elementwise
    def times(x, n):
        return x * n

    x = leaf(X.astype("float32"))
    times(x, opsdk.to_tensor(np.full((3, 1), 4))).sum().backward()
    assert (x.grad.dtype, x.grad.numpy().tolist()) == (np.float32, [[4.0] * 4] * 3)


def test_gradients_of_promoted_inputs_are_cast_back():
    @opsdk.elementwise
    def times(x, y):
        return x * y

    x, y = leaf(np.full(3, 2.0, "float32")), leaf(np.full(3, 3.0, "float64"))
    times(x, y).sum().backward()
    assert [(t.grad.dtype.name, t.grad.numpy().tolist()) for t in (x, y)] == [
        ("float32", [3.0] * 3),
        ("float64", [2.0] * 3),
    ]


def test_the_same_tensor_in_two_places_gets_both_gradients():
    x = leaf(POSITIVE)
    product(x, x, x).sum().backward()
    np.testing.assert_allclose(x.grad.numpy(), 6 * POSITIVE**5, rtol=1e-12)


# -- several outputs ---------------------------------------------------------------------------------------------------


@opsdk.elementwise("tests_derive::pair(Tensor a, Tensor b) -> (Tensor s, Tensor p)")
def pair(a, b):
    """Is the sum of squares and the product."""
    return a * a + b * b, a * b


def test_the_gradients_of_several_outputs_are_added(rng):
    a, b = filled(rng, (3, 4)), filled(rng, (4,))
    left, right = leaf(a), leaf(b)
    s, p = pair(left, right)
    (s * 2.0 + p * 3.0).sum().backward()
    np.testing.assert_allclose(left.grad.numpy(), 4 * a + 3 * b, rtol=1e-12)
    np.testing.assert_allclose(right.grad.numpy(), (4 * b + 3 * a).sum(0), rtol=1e-12)


@pytest.mark.parametrize("used", [0, 1])
def test_an_output_that_nobody_uses_sends_nothing(rng, used):
    a, b = filled(rng, 4), filled(rng, 4)
    left, right = leaf(a), leaf(b)
    first = opsdk.grad(pair(left, right)[used].sum(), [left, right], create_graph=True)
    np.testing.assert_allclose([g.numpy() for g in first], [[2 * a, 2 * b], [b, a]][used], rtol=1e-12)
    second = opsdk.grad(first[0].sum(), [left, right], create_graph=True, allow_unused=True)
    expected = [[2 + 0 * a, None], [None, 1 + 0 * b]][used]
    for got, want in zip(second, expected, strict=True):
        if want is None:
            assert got is None or not got.numpy().any()
        else:
            np.testing.assert_allclose(got.numpy(), want, rtol=1e-12)


def test_an_output_without_a_gradient_is_not_saved_for_its_value():
    @opsdk.elementwise("tests::f(Tensor x) -> (Tensor y, Tensor e)", nondifferentiable=["e"])
    def f(x):
        e = vmath.exp(x)
        return e * e, e

    first, second = derivatives(lambda x: f(x)[0], X, 2)
    np.testing.assert_allclose(first, 2 * np.exp(2 * X), rtol=1e-12)
    np.testing.assert_allclose(second, 4 * np.exp(2 * X), rtol=1e-12)


def test_two_outputs_of_one_expression_have_both_cotangents():
    @opsdk.elementwise("tests::f(Tensor x) -> (Tensor y, Tensor z)")
    def f(x):
        return vmath.exp(x), vmath.exp(x)

    x = leaf(X)
    y, z = f(x)
    (y * 2.0 + z * 3.0).sum().backward()
    np.testing.assert_allclose(x.grad.numpy(), 5 * np.exp(X), rtol=1e-12)


# -- what is saved -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("function", "saved"),
    [
        (lambda x: vmath.exp(x), [Source("output", 0)]),
        (lambda x: vmath.tanh(x), [Source("output", 0)]),
        (lambda x: vmath.sigmoid(x), [Source("output", 0)]),
        (lambda x: x * x, [Source("input", 0)]),
        (lambda x: 3.0 * x + 1.0, []),
    ],
)
def test_the_backward_reads_what_is_cheapest(function, saved):
    op = opsdk.elementwise(name="f", namespace="tests")(function)
    assert list(op.opdef.grad.sources) == [*saved, Source("cotangent", 0)]


def test_the_derivative_of_a_gate_keeps_its_digits_far_out_unless_only_the_gate_was_saved():
    far = np.array([-40.0, 40.0])
    exact = [float(mpmath.exp(-40) / (1 + mpmath.exp(-40)) ** 2)] * 2

    @opsdk.elementwise
    def soft(x):
        return vmath.softplus(x)

    x = leaf(far)
    (slope,) = opsdk.grad(soft(x).sum(), x, create_graph=True)
    np.testing.assert_allclose(opsdk.grad(slope.sum(), x)[0].numpy(), exact, rtol=1e-15)
    np.testing.assert_allclose(opsdk.sigmoid.grad(opsdk.sigmoid(far), np.ones(2)), [exact[0], 0.0], rtol=1e-15)


def test_a_linear_op_saves_nothing_of_several_inputs():
    @opsdk.elementwise
    def mix(a, b):
        return 2.0 * a - b

    assert [source.kind for source in mix.opdef.grad.sources] == ["cotangent"]
    a, b = leaf(np.ones((2, 3))), leaf(np.ones(3))
    mix(a, b).sum().backward()
    assert (a.grad.numpy().tolist(), b.grad.numpy().tolist()) == ([[2.0] * 3] * 2, [-2.0] * 3)


def test_what_has_no_derivative_gives_zeros():
    @opsdk.elementwise
    def constant(x):
        return 0.0 * vmath.floor(x) + 3.0

    x = leaf(X)
    constant(x).sum().backward()
    assert not x.grad.numpy().any()


# -- names -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "names", [("x", "dx", "y"), ("x", "dy", "ddx"), ("dout", "z", "y"), ("x", "x_grad", "dx_grad"), ("dy", "ddy", "x")]
)
def test_inputs_may_have_the_names_of_gradients(names):
    a, b, c = names
    text = f"def f({a}, {b}, {c}, *, dz=2.0):\n    return {a} * {a} * {b} * {c} * dz\n"
    space = {}
    exec(text, space)
    op = opsdk.elementwise(namespace="tests")(space["f"])
    arrays = [POSITIVE, POSITIVE + 1, POSITIVE + 2]
    tensors = [leaf(array) for array in arrays]
    first = opsdk.grad(op(*tensors).sum(), tensors, create_graph=True)
    p, q, r = arrays
    for got, want in zip(first, [4 * p * q * r, 2 * p * p * r, 2 * p * p * q], strict=True):
        np.testing.assert_allclose(got.numpy(), want, rtol=1e-12)
    second = opsdk.grad(first[0].sum(), tensors, create_graph=True)
    for got, want in zip(second, [4 * q * r, 4 * p * r, 4 * p * q], strict=True):
        np.testing.assert_allclose(got.numpy(), want, rtol=1e-12)
    (third,) = opsdk.grad(second[1].sum(), [tensors[2]], create_graph=True)
    np.testing.assert_allclose(third.numpy(), 4 * p, rtol=1e-12)
    for opdef in (op.opdef, op.grad.opdef, op.grad.grad.opdef, op.grad.grad.grad.opdef):
        every = [*opdef.schema.input_names, *opdef.schema.attr_names, *opdef.schema.output_names]
        assert len(set(every)) == len(every)


def test_an_attribute_may_have_the_name_of_a_gradient():
    @opsdk.elementwise
    def f(x, *, dx: float = 2.0, dy: float = 3.0):
        return x * x * dx * dy

    (first,) = derivatives(f, X, 1, dx=5.0)
    np.testing.assert_allclose(first, 30 * X)


def test_the_gradient_op_is_registered_and_says_whose_it_is():
    @opsdk.elementwise
    def f(x):
        return x * x

    assert opsdk.find_op("tests::f_grad") is f.grad
    assert f.grad.opdef.gradient_of == "tests::f"
    assert str(f.grad.opdef.schema) == "tests::f_grad@1(Tensor x, Tensor dy) -> Tensor dx"
    assert f.grad.opdef.doc == "The gradient of tests::f, derived from its expression."


def test_a_name_that_another_op_has_is_not_taken():
    @opsdk.op(namespace="tests")
    def f_grad(x):
        return x + 1

    with pytest.raises(NameClashError, match="expected the name free for the gradient derived of 'tests::f'"):

        @opsdk.elementwise
        def f(x):
            return x * x

    assert f_grad(np.zeros(1)).tolist() == [1.0]


# -- backwards of one's own --------------------------------------------------------------------------------------------


def test_a_backward_of_ones_own_replaces_the_derived_one():
    @opsdk.elementwise
    def step(x):
        return vmath.sign(x)

    @step.backward
    def step_grad(x, dy):
        return dy * (abs(x) < 1)

    x = leaf(X)
    step(x).sum().backward()
    assert step.grad is step_grad
    np.testing.assert_array_equal(x.grad.numpy(), abs(X) < 1)


def test_a_backward_from_another_file_needs_replace():
    @opsdk.elementwise
    def f(x):
        return x * x

    text = "@f.backward{}\ndef f_grad(x, dy):\n    return 7.0 * dy\n"
    with pytest.raises(DefinitionError, match="pass replace=True to replace it"):
        exec(compile(text.format(""), "/elsewhere.py", "exec"), {"f": f, "__name__": "other"})
    exec(compile(text.format("(replace=True)"), "/elsewhere.py", "exec"), {"f": f, "__name__": "other"})
    x = leaf(X)
    f(x).sum().backward()
    assert set(x.grad.numpy().ravel()) == {7.0}


def test_a_row_of_ones_own_serves_the_derived_gradient():
    @opsdk.elementwise
    def f(x):
        return x * x * x

    @f.grad.kernel("cpu", language="numba", dtype="float32")
    def f_grad_row(x, dy):
        return 3 * x * x * dy + 100

    x = leaf(np.ones(2, "float32"))
    f(x).sum().backward()
    assert x.grad.numpy().tolist() == [103.0, 103.0]


# -- Programs ----------------------------------------------------------------------------------------------------------


def in_a_program(op, arrays, order, **attrs):
    """Returns the value and the gradients of an op, run in a Program."""
    program, startup = static.Program(), static.Program()
    with name_guard(), static.program_guard(program, startup), static.scope_guard(static.Scope()):
        variables = [static.data(f"v{i}", list(array.shape), array.dtype.name) for i, array in enumerate(arrays)]
        for variable in variables:
            variable.stop_gradient = False
        value = op(*variables, **attrs)
        fetched = [value]
        for _ in range(order):
            (value,) = static.gradients([value.sum()], [variables[0]])
            fetched.append(value)
        feed = {variable.name: array for variable, array in zip(variables, arrays, strict=True)}
        return static.Executor().run(program, feed=feed, fetch_list=fetched)


@pytest.mark.parametrize("shapes", [((3, 4), (3, 4), (3, 4)), ((4,), (3, 4), (3, 1)), ((1, 1), (4,), (3, 1))])
def test_a_program_gives_the_same_bits_as_the_tape(rng, shapes):
    arrays = [filled(rng, shape).astype("float32") for shape in shapes]
    got = in_a_program(product, arrays, 2)
    tensors = [leaf(array) for array in arrays]
    value = product(*tensors)
    expected = [value.numpy()]
    for _ in range(2):
        (value,) = opsdk.grad(value.sum(), [tensors[0]], create_graph=True)
        expected.append(value.numpy())
    for a, b in zip(got, expected, strict=True):
        assert (a.dtype, a.shape, a.tobytes()) == (b.dtype, b.shape, b.tobytes())


def test_append_backward_knows_derived_gradients():
    program, startup = static.Program(), static.Program()
    with name_guard(), static.program_guard(program, startup), static.scope_guard(static.Scope()):
        x = static.data("x", [None, 3], "float64")
        init = opsdk.nn.initializer.Assign(np.array([0.5, 1.0, 2.0]))
        w = static.create_parameter([3], "float64", name="w", default_initializer=init)
        ((_, grad),) = static.append_backward(product(w, x, x).sum())
        exe = static.Executor()
        exe.run(startup)
        rows = np.array([[1.0, 2.0, 3.0], [1.0, 1.0, 1.0]])
        (got,) = exe.run(program, feed={"x": rows}, fetch_list=[grad])
    np.testing.assert_allclose(got, (2 * np.array([0.5, 1.0, 2.0]) * rows**4).sum(0), rtol=1e-12)


def test_attributes_and_masks_reach_a_program(rng):
    @opsdk.elementwise
    def f(x, y, *, a: float = 1.0, square: bool = False):
        return vmath.exp(a * x) * (y * y if square else y)

    x, y = filled(rng, (2, 3)), filled(rng, 3)
    _, first, second = in_a_program(f, [x, y], 2, a=2.0, square=True)
    np.testing.assert_allclose(first, 2 * np.exp(2 * x) * y**2, rtol=1e-12)
    np.testing.assert_allclose(second, 4 * np.exp(2 * x) * y**2, rtol=1e-12)


# -- what deriving costs -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("of_rows", [False, True])
def test_each_order_sweeps_one_expression_once(monkeypatch, of_rows):
    sweeps = []
    reverse = scalar.reverse
    monkeypatch.setattr(scalar, "reverse", lambda *args: sweeps.append(args) or reverse(*args))
    define = opsdk.rowwise if of_rows else opsdk.elementwise

    @define
    def f(x, y):
        return vmath.tanh(x) * vmath.where(x > 0.5, y, x * x)

    op = f
    for _ in range(3):
        op = op.grad
        assert op.opdef.kernels.reference().source.expression(mask_of(op)).wanted
    assert len(sweeps) == 4  # that of the next order, which tells what has no derivative there


def mask_of(op):
    """Returns the static attributes of a call of a gradient op that asks for all gradients."""
    return tuple((name, (True,) * 8) for name in op.opdef.schema.attr_names)


# -- rows agree --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_the_rows_of_a_derived_gradient_agree(rng, dtype):
    @opsdk.elementwise
    def f(x, y, *, a: float = 0.7):
        return vmath.tanh(a * x) * vmath.sigmoid(y) + vmath.maximum(x, y)

    x, y, d = (rng.standard_normal(257).astype(dtype) for _ in range(3))
    for got, want in zip(*on_rows(f.grad, x, y, d), strict=True):
        assert got.dtype == want.dtype == np.dtype(dtype)
        np.testing.assert_allclose(got, want, rtol=20 * np.finfo(dtype).eps, atol=4 * np.finfo(dtype).eps)


@pytest.mark.parametrize("wanted", [(0,), (1,), (0, 1)])
@pytest.mark.parametrize("decorator", [opsdk.elementwise, opsdk.rowwise])
def test_a_gradient_may_read_an_output_of_which_no_cotangent_enters(decorator, wanted):
    with opsdk.REGISTRY.scoped():
        op = decorator("t::both(Tensor x) -> (Tensor y, Tensor s)")(lambda x: (vmath.exp(x) * 2, vmath.exp(x)))
        x = opsdk.to_tensor(np.array([0.5, -1.0]), stop_gradient=False)
        made = op(x)
        sum(made[i].sum() for i in wanted).backward()
        np.testing.assert_allclose(x.grad.numpy(), sum((2, 1)[i] for i in wanted) * np.exp([0.5, -1.0]), rtol=1e-14)


@pytest.mark.parametrize(
    "declared", [opsdk.Range(0.5, None), opsdk.domain.interval(0.5, 9), opsdk.domain.shape("N", 4), lambda x: abs(x)]
)
def test_a_domain_that_is_no_pair_bounds_the_numbers_that_a_gradient_is_proved_at(declared):
    op = opsdk.elementwise(name="root", namespace="t", replace=True, domain={"x": declared})(lambda x: vmath.sqrt(x))
    assert np.allclose(derivatives(op, POSITIVE, 1)[0], 0.5 / np.sqrt(POSITIVE))
