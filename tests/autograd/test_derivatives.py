import re

import numpy as np
import pytest

import opsdk
from opsdk.core.errors import (
    ArityError,
    DerivativeOrderError,
    DTypeError,
    GradientMissingError,
    GraphError,
    ShapeError,
)


def leaf(values, dtype="float64"):
    return opsdk.to_tensor(np.array(values, dtype), stop_gradient=False)


# -- first order ------------------------------------------------------------------------------------------------------


def test_grad_returns_gradients_and_touches_no_attribute():
    x, y = leaf([2.0]), leaf([3.0])
    dx, dy = opsdk.grad(x * y * y, [x, y])
    assert (dx.tolist(), dy.tolist()) == ([9.0], [12.0])
    assert x.grad is None
    assert dx.stop_gradient


def test_grad_of_an_interior_tensor():
    x = leaf([2.0])
    w = x * 3.0
    (dw,) = opsdk.grad(w * w, w)
    assert dw.tolist() == [12.0]


def test_grad_of_a_tensor_with_respect_to_itself_is_ones():
    x = leaf([2.0])
    w = x * 3.0
    assert opsdk.grad(x, x)[0].tolist() == [1.0]
    assert opsdk.grad(w, w)[0].tolist() == [1.0]


def test_several_outputs_are_summed():
    x = leaf([2.0])
    (dx,) = opsdk.grad([x * 3.0, x * x], x, grad_outputs=[opsdk.to_tensor(np.array([10.0])), None])
    assert dx.tolist() == [34.0]


def test_a_bare_array_may_be_the_one_cotangent():
    x = leaf([2.0, 3.0])
    assert opsdk.grad(x * x, x, np.array([1.0, 10.0]))[0].tolist() == [4.0, 60.0]


def test_grad_goes_nowhere_that_nobody_asked_for():
    @opsdk.op
    def cube(x):
        return x * x * x  # no backward

    x, y = leaf([2.0]), leaf([3.0])
    w = cube(x)
    dw, dy = opsdk.grad(w * y, [w, y])
    assert (dw.tolist(), dy.tolist()) == ([3.0], [8.0])
    with pytest.raises(GradientMissingError):
        opsdk.grad(cube(x) * y, x)


def test_grad_frees_the_graph_unless_told_otherwise():
    x = leaf([2.0])
    y = x * x
    opsdk.grad(y, x, retain_graph=True)
    opsdk.grad(y, x)
    with pytest.raises(GraphError, match="freed by an earlier backward"):
        opsdk.grad(y, x)


@pytest.mark.parametrize("create_graph", [False, True])
def test_gradients_share_no_memory(create_graph):
    x, y = leaf([1.0]), leaf([1.0])
    start = opsdk.to_tensor(np.array([1.0]))
    dx, dy = opsdk.grad(x + y, [x, y], start, create_graph=create_graph)
    with opsdk.no_grad():
        dx.fill_(5.0)
    assert (dy.tolist(), start.tolist()) == ([1.0], [1.0])


@pytest.mark.parametrize("create_graph", [False, True])
def test_the_gradient_of_an_output_itself_shares_no_memory_with_the_cotangent(create_graph):
    x = leaf([1.0])
    start = opsdk.to_tensor(np.array([1.0]))
    (dx,) = opsdk.grad(x, x, start, create_graph=create_graph)
    with opsdk.no_grad():
        dx.fill_(5.0)
    assert start.tolist() == [1.0]


@pytest.mark.parametrize("create_graph", [False, True])
def test_one_interior_tensor_may_be_asked_for_twice(create_graph):
    x = leaf([2.0])
    w = x * 1.0
    first, second = opsdk.grad(w * w, [w, w], create_graph=create_graph)
    assert (first.tolist(), second.tolist()) == ([4.0], [4.0])
    with opsdk.no_grad():
        first.fill_(0.0)
    assert second.tolist() == [4.0]


def test_a_gradient_that_a_hook_replaced_shares_no_memory_with_what_it_gave():
    x, kept = leaf([2.0]), opsdk.to_tensor(np.array([3.0]))
    w = x * 1.0
    w.register_hook(lambda gradient: kept)
    for create_graph in (False, True):
        (dw,) = opsdk.grad(w * w, [w], create_graph=create_graph, retain_graph=True)
        with opsdk.no_grad():
            dw.fill_(0.0)
        assert kept.tolist() == [3.0]


@pytest.mark.parametrize("create_graph", [None, False, True])
def test_what_a_hook_keeps_shares_no_memory_with_the_cotangent(create_graph):
    x, start, kept = leaf([2.0]), opsdk.to_tensor(np.array([1.0])), []
    y = x + x
    z = y.reshape([1, 1]) + 0.0
    for tensor in (y, z):
        tensor.register_hook(kept.append)
    for root, cotangent in ((y, start), (z, start.reshape([1, 1]))):
        if create_graph is None:
            root.backward(cotangent, retain_graph=True)
        else:
            opsdk.grad(root, x, cotangent, create_graph=create_graph, retain_graph=True)
    assert len(kept) == 3
    with opsdk.no_grad():
        for gradient in kept:
            gradient.fill_(7.0)
    assert start.tolist() == [1.0]


def test_gradients_that_were_made_apart_lead_on_to_what_they_were_computed_from():
    x, y = leaf([2.0]), leaf([3.0])
    total = x + y
    dx, dy = opsdk.grad((total * total * total).sum(), [x, y], create_graph=True)  # 3 (x + y)²
    assert [opsdk.grad(dx + dy, one, retain_graph=True)[0].tolist() for one in (x, y)] == [[60.0], [60.0]]


# -- constants and unused inputs --------------------------------------------------------------------------------------


def test_an_unused_input_is_an_error_unless_allowed():
    x, y = leaf([2.0]), leaf([1.0, 2.0])
    with pytest.raises(
        GraphError, match=r"grad: input 1 of shape \(2,\) does not appear in the graph of the outputs, .*allow_unused"
    ):
        opsdk.grad(x * x, [x, y])
    dx, dy = opsdk.grad(x * x, [x, y], allow_unused=True)
    assert dx.tolist() == [4.0]
    assert dy is None


def test_an_error_about_an_unused_input_leaves_the_graph():
    x, y = leaf([2.0]), leaf([1.0])
    square = x * x
    with pytest.raises(GraphError):
        opsdk.grad(square, y)
    square.backward()
    assert x.grad.tolist() == [4.0]


def test_no_grad_vars_are_constants():
    x = leaf([2.0])
    w = x * 3.0
    assert opsdk.grad(w * x, x, no_grad_vars=[w], retain_graph=True)[0].tolist() == [6.0]
    assert opsdk.grad(w * x, x)[0].tolist() == [12.0]


def test_a_leaf_may_be_a_constant():
    x, y = leaf([2.0]), leaf([3.0])
    dx, dy = opsdk.grad(x * y, [x, y], no_grad_vars=[y], allow_unused=True)
    assert dx.tolist() == [3.0]
    assert dy is None


def test_an_output_needs_a_graph():
    with pytest.raises(GraphError, match=r"grad: expected a tensor that was computed from one with stop_gradient=Fal"):
        opsdk.grad(opsdk.to_tensor([1.0]), leaf([1.0]))


def test_only_inputs_cannot_be_switched_off():
    x = leaf([1.0])
    with pytest.raises(GraphError, match=r"grad: only_inputs=False expected backward\(\), which gives every leaf"):
        opsdk.grad(x * x, x, only_inputs=False)


def test_each_output_has_its_cotangent():
    x = leaf([1.0])
    with pytest.raises(ArityError, match="grad: expected one grad_outputs per output, 2, got 1"):
        opsdk.grad([x * 1.0, x * 2.0], x, grad_outputs=[None])
    with pytest.raises(ArityError, match="backward: expected one grad_tensors per tensor, 1, got 2"):
        opsdk.autograd.backward(x * 1.0, [None, None])


def test_a_cotangent_fits_its_output():
    x = leaf([1.0])
    with pytest.raises(ShapeError, match=r"cotangent expected shape \(1,\) like the tensor, got \(2,\)"):
        opsdk.grad(x * x, x, grad_outputs=opsdk.to_tensor(np.ones(2)))
    with pytest.raises(DTypeError, match="cotangent expected dtype float64 like the tensor, got float32"):
        opsdk.grad(x * x, x, grad_outputs=opsdk.to_tensor([1.0]))


# -- higher orders ----------------------------------------------------------------------------------------------------


def orders(function, at, count):
    """The first `count` derivatives of a function of one variable."""
    x = leaf([at])
    value, found = function(x), []
    for _ in range(count):
        (value,) = opsdk.grad(value, x, create_graph=True)
        found.append(value.item())
    return found


@pytest.mark.parametrize(
    ("function", "expected"),
    [
        (lambda x: x * x * x * x, [4 * 1.5**3, 12 * 1.5**2, 24 * 1.5]),
        (lambda x: x.exp(), [np.exp(1.5)] * 3),
        (lambda x: x.log(), [1 / 1.5, -1 / 1.5**2, 2 / 1.5**3]),
        (lambda x: 1.0 / x, [-1 / 1.5**2, 2 / 1.5**3, -6 / 1.5**4]),
        (lambda x: x**3.5, [3.5 * 1.5**2.5, 3.5 * 2.5 * 1.5**1.5, 3.5 * 2.5 * 1.5 * 1.5**0.5]),
        (lambda x: x.sqrt(), [0.5 * 1.5**-0.5, -0.25 * 1.5**-1.5, 0.375 * 1.5**-2.5]),
        (
            lambda x: x.tanh(),
            [
                1 - np.tanh(1.5) ** 2,
                -2 * np.tanh(1.5) * (1 - np.tanh(1.5) ** 2),
                (1 - np.tanh(1.5) ** 2) * (6 * np.tanh(1.5) ** 2 - 2),
            ],
        ),
        (lambda x: (x * 2.0 - 1.0).square() - x, [8 * 1.5 - 5, 8.0]),
        (lambda x: x.reshape([1, 1]).matmul(x.reshape([1, 1])).sum(), [3.0, 2.0]),
        (lambda x: (x * x).mean() + (x * x).clone().sum(), [6.0, 4.0]),
    ],
)
def test_derivatives_of_higher_order_follow_the_hand_formulas(function, expected):
    assert orders(function, 1.5, len(expected)) == pytest.approx(expected, rel=1e-12)


def test_a_mixed_second_derivative():
    x, y = leaf([2.0]), leaf([3.0])
    (dx,) = opsdk.grad(x * x * y * y * y, x, create_graph=True)  # 2 x y³
    (dxy,) = opsdk.grad(dx, y, retain_graph=True)  # 6 x y²
    assert dxy.tolist() == [108.0]
    assert opsdk.grad(dx, x)[0].tolist() == [54.0]


def test_the_gradient_of_a_gradient_penalty():
    x, w = leaf([1.0, 2.0]), leaf([3.0, 4.0])
    (dx,) = opsdk.grad((w * x * x).sum(), x, create_graph=True)  # 2 w x
    (dx * dx).sum().backward()  # 4 w² x²
    assert w.grad.tolist() == [8 * 3.0, 8 * 4.0 * 4.0]
    assert x.grad.tolist() == [8 * 9.0, 8 * 16.0 * 2.0]


def test_the_derivative_with_respect_to_the_cotangent():
    x, v = leaf([2.0]), leaf([5.0])
    (dx,) = opsdk.grad(x * x, x, grad_outputs=v, create_graph=True)  # 2 x v
    assert dx.tolist() == [20.0]
    assert opsdk.grad(dx, v)[0].tolist() == [4.0]


def test_broadcasting_is_differentiated_twice():
    x, b = leaf([[1.0, 2.0], [3.0, 4.0]]), leaf([10.0, 20.0])
    (db,) = opsdk.grad(x * b * b, b, create_graph=True)  # 2 b Σ x
    assert db.tolist() == [80.0, 240.0]
    (dx,) = opsdk.grad(db, x)
    assert dx.tolist() == [[20.0, 40.0], [20.0, 40.0]]


def test_a_composite_backward_is_differentiated_twice():
    @opsdk.op("order::cube(Tensor x) -> Tensor y")
    def cube(x):
        return x**3

    @cube.backward(composite=True)
    def cube_grad(x, dy):
        return dy * 3.0 * x * x

    assert orders(cube, 1.5, 3) == pytest.approx([6.75, 9.0, 6.0])


def test_a_backward_with_a_backward_of_its_own_reaches_order_two():
    @opsdk.op("order::square(Tensor x) -> Tensor y")
    def square(x):
        return x * x

    @square.backward
    def square_grad(x, dy):
        return 2 * x * dy

    @square_grad.backward
    def square_grad_grad(x, dy, ddx):
        return 2 * dy * ddx, 2 * x * ddx

    x = leaf([1.5])
    (dx,) = opsdk.grad(square(x), x, create_graph=True)
    assert opsdk.grad(dx, x, retain_graph=True)[0].tolist() == [2.0]
    with pytest.raises(DerivativeOrderError, match="op 'order::square_grad_grad': a derivative of it was asked for"):
        opsdk.grad(dx, x, create_graph=True)


def opaque():
    @opsdk.op("order::opaque(Tensor x) -> Tensor y")
    def op(x):
        return x * x

    @op.backward
    def opaque_grad(x, dy):
        return 2 * x * dy

    return op


def test_an_opaque_backward_is_refused_when_its_derivative_is_built():
    x = leaf([1.0])
    y = opaque()(x)
    with pytest.raises(
        DerivativeOrderError,
        match="op 'order::opaque_grad': a derivative of it was asked for, but it is NumPy code that opsdk cannot see",
    ) as caught:
        opsdk.grad(y, x, create_graph=True)
    assert any("@opaque.backward(composite=True)" in note for note in caught.value.__notes__)
    y.backward()
    assert x.grad.tolist() == [2.0]


def test_an_opaque_backward_of_something_constant_is_no_matter():
    x, constant = leaf([1.0]), opsdk.to_tensor(np.array([3.0]), stop_gradient=False)
    y = opaque()(constant)
    (dx,) = opsdk.grad(x * x * y, x, create_graph=True)
    assert dx.tolist() == [18.0]
    assert opsdk.grad(dx, x)[0].tolist() == [18.0]


def test_create_graph_keeps_the_graph():
    x = leaf([2.0])
    y = x * x
    opsdk.grad(y, x, create_graph=True)
    y.backward()
    assert x.grad.tolist() == [4.0]


def test_create_graph_works_inside_no_grad():
    x = leaf([2.0])
    y = x * x * x
    with opsdk.no_grad():
        (dx,) = opsdk.grad(y, x, create_graph=True)
    assert opsdk.grad(dx, x)[0].tolist() == [12.0]


def test_a_gradient_without_create_graph_is_a_constant():
    x = leaf([2.0])
    (dx,) = opsdk.grad(x * x, x)
    assert dx.stop_gradient


def test_a_list_of_outputs_is_differentiated_twice():
    @opsdk.op("order::squares(Tensor x, Tensor z) -> Tensor[] parts", infer=lambda x, z: ([x, z],))
    def squares(x, z):
        return [x * x, z * z * z]

    @squares.backward(composite=True)
    def squares_grad(x, z, dparts):
        return dparts[0] * x * 2.0, dparts[1] * z * z * 3.0

    x, z = leaf([2.0]), leaf([3.0])
    first, second = squares(x, z)
    dx, dz = opsdk.grad(first + second, [x, z], create_graph=True)
    assert (dx.tolist(), dz.tolist()) == ([4.0], [27.0])
    assert opsdk.grad(dz, z)[0].tolist() == [18.0]


def test_saved_outputs_of_a_list_carry_gradients():
    @opsdk.op("order::powers(Tensor x) -> Tensor[] parts", infer=lambda x: ([x, x],))
    def powers(x):
        return [x * x, x * x * x]

    @powers.backward(composite=True)
    def powers_grad(x, parts, dparts):
        return dparts[0] * 2.0 * x + dparts[1] * 3.0 * parts[0]

    x = leaf([2.0])
    (dx,) = opsdk.grad(powers(x)[1], x, create_graph=True)
    assert dx.tolist() == [12.0]
    assert opsdk.grad(dx, x)[0].tolist() == [12.0]


# -- a gradient op that is told more after it was used ----------------------------------------------------------------


@pytest.fixture
def square():
    with opsdk.REGISTRY.scoped():
        made = opsdk.op(lambda x: x * x, name="square", namespace="t")
        made.backward(lambda x, dy: 2 * x * dy)
        yield made


def used(op, **options):
    x = opsdk.to_tensor(np.array([3.0]), stop_gradient=False)
    return x, opsdk.grad(op(x).sum(), x, **options)[0]


@pytest.mark.parametrize("asked", [False, True], ids=["used", "asked for a second derivative"])
def test_a_backward_of_a_gradient_op_is_seen_by_calls_of_a_kind_that_came_before_it(square, asked):
    x, first = used(square)
    assert first.tolist() == [6.0]
    graph = square(x)
    if asked:
        with pytest.raises(DerivativeOrderError, match="op 't::square_grad': a derivative of it was asked for"):
            used(square, create_graph=True)
    square.grad.backward(lambda x, dy, ddx: (2 * dy * ddx, 2 * x * ddx))
    later, first = used(square, create_graph=True)
    assert opsdk.grad(first.sum(), later)[0].tolist() == [2.0]
    (first,) = opsdk.grad(graph.sum(), x, create_graph=True)  # the gradient op is called now, and recorded now
    assert opsdk.grad(first.sum(), x)[0].tolist() == [2.0]


def test_calls_of_a_kind_that_came_before_record_the_gradient_op_as_it_is_now(square):
    x, _ = used(square)
    square.grad.infer(lambda x, dy: x)
    assert square(x)._edge[0].plan.gradient is square.grad.opdef


def test_what_a_gradient_op_is_told_reaches_no_other_ops_plans(square):
    with opsdk.REGISTRY.scoped():
        other = opsdk.op(lambda x: x + x, name="other", namespace="t")
        other.backward(lambda dy: 2 * dy)
        used(other)
        used(square)
        square.grad.infer(lambda x, dy: x)
        assert (len(other.opdef.plans), len(square.opdef.plans)) == (1, 0)


@pytest.mark.parametrize("value", [None, 3, np.ones(2), [np.ones(2)], "a"])
def test_gradients_are_of_tensors(value):
    x = opsdk.to_tensor([1.0], stop_gradient=False)
    with pytest.raises(GraphError, match="grad: outputs expected tensors, got"):
        opsdk.grad(value, x)
    with pytest.raises(GraphError, match="grad: inputs expected tensors, got"):
        opsdk.grad(x * 2.0, value)


def test_gradients_of_any_iterable_of_inputs():
    x = opsdk.to_tensor([1.0], stop_gradient=False)
    assert [g.tolist() for g in opsdk.grad(x * 2.0, iter([x]))] == [[2.0]]


# -- sums of 16 bits ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("create_graph", [True, False])
@pytest.mark.parametrize("is_leaf", [True, False])
@pytest.mark.parametrize(("dtype", "expected"), [("bfloat16", [1200.0, 2400.0]), ("float16", [1200.0, 2400.0])])
def test_contributions_of_sixteen_bits_are_added_in_float32_and_rounded_once(dtype, expected, is_leaf, create_graph):
    x = opsdk.to_tensor(np.array([1.0, 2.0], np.float32)).astype(dtype)
    x.stop_gradient = False
    base = x if is_leaf else x * 1.0
    squares = opsdk.stack([(base * base).astype("float32") for _ in range(600)])
    (first,) = opsdk.grad(squares.sum(), base, create_graph=create_graph)
    assert first.dtype == dtype
    np.testing.assert_allclose(first.numpy().astype(np.float32), expected, rtol=2**-8 if dtype == "bfloat16" else 0)
    if create_graph:
        (second,) = opsdk.grad(first.astype("float32").sum(), base)
        np.testing.assert_allclose(second.numpy().astype(np.float32), [1200.0, 1200.0], rtol=2**-8)
        assert second.dtype == dtype


def test_a_sum_of_contributions_that_cancel_in_float32_is_what_is_left():
    x = opsdk.to_tensor(np.array([1.0], np.float16), stop_gradient=False)
    terms = [x * 4096.0, x * 1.0, x * -4096.0]  # in float16, 4096 + 1 is 4096
    (first,) = opsdk.grad(opsdk.stack(terms).sum(), x, create_graph=True)
    assert first.tolist() == [1.0]


@pytest.mark.parametrize(("option", "declared"), [("constant", "constant"), ("nondifferentiable", "nondifferentiable")])
def test_an_input_that_an_op_declares_to_carry_no_gradient_is_named_where_one_is_asked_for(option, declared):
    op = opsdk.op("f(Tensor[] xs, Tensor w) -> Tensor y", namespace="t", **{option: ["w"]})(lambda xs, w: xs[0] * w)
    op.backward(lambda w, dy: [dy * w, 0 * dy])
    x, w = (opsdk.to_tensor([2.0, 3.0], stop_gradient=False) for _ in range(2))
    for leaf in (w, 2 * w):
        message = (
            f"grad: input 0 of shape (2,) has no gradient, as op 't::f' takes it as 'w', which is declared {declared}; "
            "take that out and return its gradient from the backward, or pass allow_unused=True for None"
        )
        with pytest.raises(GraphError, match=re.escape(message)):
            opsdk.grad(op([x, x], leaf), leaf)
        assert opsdk.grad(op([x, x], leaf), leaf, allow_unused=True) == [None]


def test_constants_are_one_tensor_or_any_collection_of_them():
    x, y = (opsdk.to_tensor([value], stop_gradient=False) for value in (2.0, 3.0))
    a, b = x * y, x * x
    for given in (a, [a], (a,), {a}):
        (dx,) = opsdk.grad(a + b, x, no_grad_vars=given, retain_graph=True)
        assert dx.tolist() == [4.0]
    with pytest.raises(GraphError, match="grad: no_grad_vars expected tensors, got int"):
        opsdk.grad(a + b, x, no_grad_vars=3)
    assert opsdk.grad(a + b, x, no_grad_vars=[])[0].tolist() == [7.0]


def test_an_unused_input_is_also_the_error_that_paddle_raises():
    x, y = (opsdk.to_tensor([value], stop_gradient=False) for value in (2.0, 3.0))
    with pytest.raises(ValueError, match="does not appear in the graph of the outputs"):
        opsdk.grad(x * x, y)


@pytest.mark.parametrize("wrong", [3, [3], [None]])
def test_backward_of_what_is_no_tensor_is_an_error(wrong):
    with pytest.raises(GraphError, match=r"backward: tensors expected tensors, got (int|NoneType)"):
        opsdk.autograd.backward(wrong)


def test_backward_of_nothing_is_an_error():
    with pytest.raises(GraphError, match="backward: tensors expected at least one tensor, got none"):
        opsdk.autograd.backward([])
