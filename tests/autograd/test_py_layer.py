import gc
import weakref

import numpy as np
import pytest

import opsdk
from opsdk.autograd import Function, PyLayer, once_differentiable
from opsdk.core.errors import (
    DerivativeOrderError,
    DTypeError,
    GradientMissingError,
    GraphError,
    InPlaceError,
    PyLayerError,
    ShapeError,
    VersionError,
)


def leaf(values, dtype="float32"):
    return opsdk.to_tensor(np.array(values, dtype), stop_gradient=False)


def layer(forward, backward=None):
    """A PyLayer of two functions."""
    given = {"forward": forward} if backward is None else {"forward": forward, "backward": backward}
    return type("Made", (PyLayer,), {name: staticmethod(function) for name, function in given.items()})


class Square(PyLayer):
    @staticmethod
    def forward(ctx, x):
        assert not opsdk.is_grad_enabled()
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, dy):
        (x,) = ctx.saved_tensor()
        return dy * x * 2.0


def twice(ctx, x):
    return x * 2.0


def test_apply_gives_the_gradient_that_the_backward_returns():
    x = leaf([3.0, 4.0])
    y = Square.apply(x)
    assert not y.stop_gradient
    y.backward(opsdk.to_tensor([1.0, 10.0]))
    assert x.grad.tolist() == [6.0, 80.0]


def test_it_goes_on_from_what_was_computed_and_on_to_what_is():
    x = leaf([3.0])
    (Square.apply(x * 2.0) * 5.0).backward()
    assert x.grad.tolist() == [120.0]  # 5 (2x)² = 20 x²


def test_a_backward_of_ops_has_derivatives_of_every_order():
    x = leaf([3.0])
    (dx,) = opsdk.grad(Square.apply(x) * x, x, create_graph=True)  # 3x²
    (ddx,) = opsdk.grad(dx, x, create_graph=True)
    (dddx,) = opsdk.grad(ddx, x)
    assert (dx.item(), ddx.item(), dddx.item()) == (27.0, 18.0, 6.0)


def test_a_saved_output_leads_to_the_call_in_a_second_derivative():
    def forward(ctx, x):
        y = opsdk.tanh(x)
        ctx.save_for_backward(y)
        return y

    def backward(ctx, dy):
        (y,) = ctx.saved_tensors
        return dy * (1.0 - y * y)

    x = leaf([0.5], "float64")
    (dx,) = opsdk.grad(layer(forward, backward).apply(x), x, create_graph=True)
    (ddx,) = opsdk.grad(dx, x)
    t = np.tanh(0.5)
    np.testing.assert_allclose(ddx.item(), -2 * t * (1 - t * t), rtol=1e-12)


def test_recording_is_off_in_the_backward_unless_it_is_to_be_differentiated():
    seen = []
    made = layer(twice, lambda ctx, dy: seen.append(opsdk.is_grad_enabled()) or dy * 2.0)
    x = leaf([1.0])
    made.apply(x).backward()
    opsdk.grad(made.apply(x), x, create_graph=True)
    assert seen == [False, True]


def test_a_retained_graph_goes_back_twice_and_one_that_was_freed_says_so():
    x = leaf([3.0])
    y = Square.apply(x)
    y.backward(retain_graph=True)
    y.backward()
    assert x.grad.tolist() == [12.0]
    with pytest.raises(GraphError, match="that of PyLayer 'Square' was freed by an earlier backward"):
        y.backward()


def test_arguments_are_of_any_kind_and_by_name_too():
    def forward(ctx, x, power, *, scale=1.0, label=None):
        ctx.power, ctx.scale = power, scale
        ctx.save_for_backward(x, None, label)
        return x**power * scale

    def backward(ctx, dy):
        x, nothing, label = ctx.saved_tensor()
        assert nothing is None
        assert label == "cube"
        return dy * x ** (ctx.power - 1) * float(ctx.power * ctx.scale)

    x = leaf([2.0])
    layer(forward, backward).apply(x, 3, scale=10.0, label="cube").backward()
    assert x.grad.tolist() == [120.0]


def test_a_plain_function_serves_as_forward_and_backward():
    class Plain(PyLayer):
        def forward(ctx, x):
            return x * 2.0

        def backward(ctx, dy):
            return dy * 2.0

    x = leaf([1.0])
    Plain.apply(x).backward()
    assert x.grad.tolist() == [2.0]


def test_setup_context_stands_beside_a_forward_without_context():
    class Cube(Function):
        @staticmethod
        def forward(x, n):
            return x**n

        @staticmethod
        def setup_context(ctx, inputs, output):
            x, ctx.n = inputs
            ctx.save_for_backward(x)

        @staticmethod
        def backward(ctx, dy):
            return dy * 3.0 * ctx.saved_tensors[0] ** 2, None  # one for each argument, as in PyTorch

    x = leaf([2.0])
    Cube.apply(x, 3).backward()
    assert x.grad.tolist() == [12.0]


def test_a_list_of_tensors_takes_a_list_of_gradients():
    def forward(ctx, xs, y):
        return xs[0] * xs[1] * y

    def backward(ctx, d):
        return [d * 10.0, d * 20.0], d * 30.0

    a, b, y = leaf([1.0]), leaf([2.0]), leaf([3.0])
    layer(forward, backward).apply([a, b], y).backward()
    assert [t.grad.item() for t in (a, b, y)] == [10.0, 20.0, 30.0]


@pytest.mark.parametrize("wrap", [lambda pair: pair, lambda pair: (pair,)])
def test_a_lone_list_takes_one_list(wrap):
    a, b = leaf([1.0]), leaf([2.0])
    layer(lambda ctx, xs: xs[0] + xs[1], lambda ctx, d: wrap([d, d * 2.0])).apply([a, b]).backward()
    assert (a.grad.item(), b.grad.item()) == (1.0, 2.0)


def test_a_tuple_for_a_lone_list_is_an_error():
    a, b = leaf([1.0]), leaf([2.0])
    y = layer(lambda ctx, xs: xs[0] + xs[1], lambda ctx, d: (d, d)).apply([a, b])
    with pytest.raises(PyLayerError, match="for each of the 1 arguments of forward that hold tensors, got 2; a list"):
        y.backward()


def test_a_list_of_another_length_is_an_error():
    a, b = leaf([1.0]), leaf([2.0])
    y = layer(lambda ctx, xs: xs[0] + xs[1], lambda ctx, d: [d]).apply([a, b])
    with pytest.raises(PyLayerError, match="expected a list of 2 gradients for argument 0, a list, got 1"):
        y.backward()


@pytest.mark.parametrize("hold", [lambda x: {"x": x}, lambda x: [[x]], lambda x: [{"x": x}]])
def test_a_tensor_that_would_get_no_gradient_where_it_stands_is_an_error(hold):
    with pytest.raises(PyLayerError, match="argument 0 expected a tensor or a list of tensors where a gradient is"):
        layer(lambda ctx, held: opsdk.ones([1])).apply(hold(leaf([1.0])))
    made = layer(lambda ctx, held: opsdk.ones([1])).apply(hold(opsdk.ones([1])))
    assert made.stop_gradient


def test_a_variable_of_a_program_is_an_error_by_name():
    with opsdk.static.program_guard(opsdk.static.Program()):
        x = opsdk.static.data("x", [2], "float32")
        with pytest.raises(PyLayerError, match="argument 0 expected a tensor, got one of the Program variables; a"):
            Square.apply(x)


def test_outputs_come_in_nested_lists_beside_other_values():
    def forward(ctx, x):
        return [x * 2.0, ("text", (x * 3.0, 7))], 5

    made = layer(forward, lambda ctx, a, b: a * 2.0 + b * 3.0).apply(x := leaf([1.0]))
    (first, (text, (second, seven))), five = made
    assert (text, seven, five) == ("text", 7, 5)
    (first + second * 10.0).backward()
    assert x.grad.tolist() == [32.0]


@pytest.mark.parametrize("made", [None, 3.0, np.ones(2), {"y": opsdk.ones([1])}, (1, np.ones(1))])
def test_a_forward_without_a_tensor_is_an_error(made):
    with pytest.raises(PyLayerError, match="forward: expected at least one tensor, alone or in a list or tuple, got"):
        layer(lambda ctx, x: made).apply(leaf([1.0]))


def test_what_was_not_written_is_an_error():
    with pytest.raises(PyLayerError, match=r"expected a static method forward\(ctx, ...\) that returns tensors"):
        type("Nothing", (PyLayer,), {}).apply(leaf([1.0]))
    with pytest.raises(GradientMissingError, match=r"expected a static method backward\(ctx, ...\) that returns"):
        layer(twice).apply(leaf([1.0])).backward()


def test_gradients_are_zeros_or_none_for_an_output_that_nobody_used():
    def forward(ctx, x, materialize):
        ctx.set_materialize_grads(materialize)
        return x * 2.0, x * 3.0

    seen = []
    made = layer(forward, lambda ctx, a, b: seen.append(b if b is None else b.tolist()) or a * 2.0)
    for materialize in (True, False):
        made.apply(leaf([1.0, 2.0]), materialize)[0].sum().backward()
    assert seen == [[0.0, 0.0], None]


def test_an_output_marked_non_differentiable_carries_no_gradient_and_has_zeros_in_the_backward():
    def forward(ctx, x):
        order = x * 10.0
        ctx.mark_non_differentiable(order)
        return x * 2.0, order

    seen = []
    x = leaf([1.5])
    y, order = layer(forward, lambda ctx, dy, d: seen.append(d.tolist()) or dy * 2.0).apply(x)
    assert order.stop_gradient
    (y * order).backward()
    assert x.grad.tolist() == [30.0]
    assert seen == [[0.0]]


def test_an_integer_output_carries_no_gradient():
    y, index = layer(lambda ctx, x: (x * 1.0, x.astype("int64")), lambda ctx, dy, d: dy).apply(leaf([1.0]))
    assert index.stop_gradient
    assert not y.stop_gradient


def test_without_a_gradient_to_give_nothing_is_recorded():
    y = Square.apply(opsdk.ones([1]))
    assert y.stop_gradient
    with opsdk.no_grad():
        assert Square.apply(leaf([1.0])).stop_gradient


def test_none_leaves_an_input_without_a_gradient():
    a, b = leaf([1.0]), leaf([2.0])
    layer(lambda ctx, a, b: a + b, lambda ctx, d: (d, None)).apply(a, b).backward()
    assert a.grad.item() == 1.0
    assert b.grad is None


def test_the_gradient_of_the_one_input_that_needs_one_is_enough():
    a = leaf([1.0])
    layer(lambda ctx, a, b: a + b, lambda ctx, d: d * 3.0).apply(a, opsdk.ones([1])).backward()
    assert a.grad.item() == 3.0


def test_the_context_tells_which_arguments_need_a_gradient():
    seen = []

    def backward(ctx, d):
        seen.append(ctx.needs_input_grad)
        return d, None, None

    layer(lambda ctx, a, b, n: a + b, backward).apply(leaf([1.0]), opsdk.ones([1]), 3).backward()
    assert seen == [(True, False, False)]


@pytest.mark.parametrize(
    ("returned", "error", "text"),
    [
        (
            lambda d: (d, d),
            PyLayerError,
            "a gradient, or None, for each of the 1 arguments of forward that hold",
        ),
        (lambda d: (), PyLayerError, "for each of the 1 arguments of forward that hold tensors, got 0"),
        (lambda d: d.numpy(), PyLayerError, "gradient 0 expected a Tensor or None, got ndarray"),
        (lambda d: 3, PyLayerError, "gradient 0 expected a Tensor or None, got int"),
        (lambda d: d.sum(), ShapeError, r"gradient 0 expected shape \(2,\) like its tensor, got \(\)"),
        (lambda d: d.astype("float64"), DTypeError, "gradient 0 expected float32 like its tensor, got float64"),
        (lambda d: d.fill_(3.0), PyLayerError, "expected its gradients untouched, it changed one in place"),
    ],
)
def test_what_a_backward_may_not_return_is_an_error_and_changes_nothing(returned, error, text):
    x = leaf([1.0, 2.0])
    y = layer(twice, lambda ctx, d: returned(d)).apply(x)
    with pytest.raises(error, match=text):
        y.backward(opsdk.ones([2]))
    assert x.grad is None


def test_a_gradient_for_what_needs_none_is_an_error():
    y = layer(lambda ctx, a, b: a + b, lambda ctx, d: (d, d)).apply(leaf([1.0]), opsdk.ones([1]))
    with pytest.raises(PyLayerError, match="gradient 1 expected None, since its tensor has stop_gradient=True"):
        y.backward()


def test_a_value_for_an_argument_that_is_no_tensor_is_an_error():
    y = layer(lambda ctx, a, n: a * 2.0, lambda ctx, d: (d, d)).apply(leaf([1.0]), 3)
    with pytest.raises(PyLayerError, match="expected None for argument 1, which holds no tensor"):
        y.backward()


def test_exceptions_keep_their_type_and_say_whose_they_are():
    def fails(*args):
        raise ZeroDivisionError("by hand")

    with pytest.raises(ZeroDivisionError, match="by hand"):
        layer(fails).apply(leaf([1.0]))
    with pytest.raises(ZeroDivisionError, match="by hand") as raised:
        layer(twice, fails).apply(leaf([1.0])).backward()
    assert "the backward of PyLayer 'Made', " in raised.value.__notes__[0]


def test_a_later_save_replaces_the_earlier_one():
    def forward(ctx, x):
        ctx.save_for_backward(x)
        ctx.save_for_backward(x * 5.0)
        assert ctx.saved_tensor()[0].item() == 5.0
        return x * 1.0

    x = leaf([1.0])
    layer(forward, lambda ctx, d: d * ctx.saved_tensor()[0]).apply(x).backward()
    assert x.grad.tolist() == [5.0]


def test_a_saved_tensor_that_changed_is_an_error():
    x = leaf([3.0])
    y = x * 1.0
    z = Square.apply(y)
    with opsdk.no_grad():
        y.fill_(30.0)
    with pytest.raises(VersionError, match="backward needs saved tensor 0 as it was at version 0, it was changed"):
        z.backward()


def test_an_interior_tensor_that_is_returned_counts_as_changed_in_place():
    def forward(ctx, x):
        x.multiply_(opsdk.to_tensor(10.0))
        return x

    x = leaf([1.0])
    a = x * 2.0
    b = layer(forward, lambda ctx, d: d * 10.0).apply(a)
    assert b is a
    assert b.tolist() == [20.0]
    (b * 3.0).backward()
    assert x.grad.tolist() == [60.0]


def test_a_leaf_that_is_returned_is_an_error():
    with pytest.raises(InPlaceError, match="expected outputs of its own, got an argument, which counts as changed"):
        layer(lambda ctx, x: x, lambda ctx, d: d).apply(leaf([1.0]))


@pytest.mark.parametrize("needs", [True, False])
def test_mark_not_inplace_gives_a_result_of_its_own_with_its_gradient(needs):
    def forward(ctx, x):
        ctx.mark_not_inplace(x)
        return x

    x = opsdk.to_tensor([1.0], stop_gradient=not needs)
    y = layer(forward, lambda ctx, d: d * 7.0).apply(x)
    assert y is not x
    if needs:
        y.backward()
        assert x.grad.tolist() == [7.0]
    with opsdk.no_grad():
        y.fill_(5.0)
    assert x.tolist() == [1.0]


def test_an_output_that_shares_memory_is_a_copy_with_the_gradient_of_the_layer():
    x = leaf([[1.0, 2.0]])
    y = layer(lambda ctx, x: x[0], lambda ctx, d: opsdk.stack([d * 3.0])).apply(x)
    y.add_(opsdk.ones([2]))
    y.sum().backward()
    assert x.tolist() == [[1.0, 2.0]]
    assert x.grad.tolist() == [[3.0, 3.0]]


def test_an_output_given_twice_is_two_tensors():
    def forward(ctx, x):
        y = x * 2.0
        return y, y

    x = leaf([1.0])
    a, b = layer(forward, lambda ctx, da, db: da * 10.0 + db).apply(x)
    (a + b * 3.0).backward()
    assert x.grad.tolist() == [13.0]


def test_once_differentiable_refuses_a_second_derivative_by_name():
    @once_differentiable
    def backward(ctx, d):
        return opsdk.to_tensor(ctx.saved_tensor()[0].numpy() * 2.0) * d

    class Numpy(Square):
        pass

    Numpy.backward = staticmethod(backward)
    x = leaf([3.0])
    (dx,) = opsdk.grad(Numpy.apply(x), x, create_graph=True)
    assert dx.tolist() == [6.0]
    with pytest.raises(DerivativeOrderError, match="declared once_differentiable, or did not compute with ops"):
        opsdk.grad(dx, x)


def test_a_backward_in_numpy_is_not_taken_for_a_constant():
    x, seed = leaf([3.0]), leaf([1.0])
    y = layer(twice, lambda ctx, d: opsdk.to_tensor(d.numpy() * 2.0)).apply(x)
    (dx,) = opsdk.grad(y, x, seed, create_graph=True)
    with pytest.raises(DerivativeOrderError, match="did not compute with ops what it returned"):
        opsdk.grad(dx, seed)


def test_a_saved_value_between_input_and_output_is_not_taken_for_a_constant():
    def forward(ctx, x):
        root = x.sqrt()
        ctx.save_for_backward(root)
        return root * x

    x = leaf([4.0])
    made = layer(forward, lambda ctx, d: d * ctx.saved_tensor()[0] * 1.5)
    (dx,) = opsdk.grad(made.apply(x), x, create_graph=True)
    assert dx.item() == 3.0
    with pytest.raises(DerivativeOrderError, match="a saved tensor that is neither an input nor an output"):
        opsdk.grad(dx, x)


def test_hooks_on_its_outputs_see_the_gradient():
    x = leaf([3.0])
    y = Square.apply(x)
    y.register_hook(lambda g: g * 10.0)
    y.backward()
    assert x.grad.tolist() == [60.0]


def test_a_gradient_that_was_given_back_stays_as_it_is():
    kept = []
    x = leaf([1.0])
    made = layer(lambda ctx, a: a * 1.0, lambda ctx, d: kept.append(d * 2.0) or kept[0])
    made.apply(x).backward()
    layer(twice, lambda ctx, d: d * 1.0).apply(x).backward()
    assert kept[0].tolist() == [2.0]
    assert x.grad.tolist() == [3.0]
    (dx,) = opsdk.grad(made.apply(x), x)
    dx.fill_(7.0)
    assert kept[0].tolist() == [2.0]


def test_the_graph_is_freed_without_the_collector():
    gc.disable()
    try:
        x = leaf([3.0])
        y = Square.apply(x)
        z = layer(
            lambda ctx, x: (ctx.save_for_backward(out := x * 2.0), out)[1], lambda ctx, d: d * ctx.saved_tensor()[0]
        ).apply(y)
        nodes = [weakref.ref(z._edge[0]), weakref.ref(y._edge[0])]
        del y, z
        assert [node() for node in nodes] == [None, None]
    finally:
        gc.enable()


def test_the_unused_input_is_named_where_a_layer_stands_in_the_graph():
    x, other = leaf([1.0]), leaf([1.0])
    with pytest.raises(GraphError, match=r"grad: input 0 of shape .* does not appear in the graph"):
        opsdk.grad(Square.apply(x), other)
