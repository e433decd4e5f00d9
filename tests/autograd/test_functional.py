import numpy as np
import pytest

import opsdk
from opsdk.autograd import PyLayer, functional
from opsdk.autograd.functional import hessian, hvp, jacobian, jvp, vjp, vmap
from opsdk.core.errors import (
    ArityError,
    AttributeValueError,
    DerivativeOrderError,
    DTypeError,
    GradientMissingError,
    GraphError,
    InPlaceError,
    MixedRuntimeError,
    ShapeError,
)

RNG = np.random.default_rng(3)
A = RNG.standard_normal((3, 3))
X = RNG.standard_normal(3)
V = RNG.standard_normal(3)


def tensor(values, dtype="float64"):
    return opsdk.to_tensor(np.array(values, dtype))


def slope(function, x, v, step=1e-6):
    """The derivative along v by central differences, of a NumPy function."""
    return (function(x + step * v) - function(x - step * v)) / (2 * step)


# Each function of tensors, and what NumPy says of it.
FUNCTIONS = {
    "an expression": (lambda x: opsdk.tanh(x) * x + 2.0, lambda x: np.tanh(x) * x + 2),
    "broadcast expressions": (lambda x: x.reshape([3, 1]) * x + tensor(V), lambda x: x[:, None] * x + V),
    "a product of matrices": (lambda x: tensor(A) @ x, lambda x: A @ x),
    "two products": (lambda x: (tensor(A) @ x) @ x, lambda x: A @ x @ x),
    "movements": (
        lambda x: opsdk.concat([x[1:], opsdk.transpose(opsdk.stack([x, x * x]), [1, 0]).reshape([-1])]),
        lambda x: np.concatenate([x[1:], np.stack([x, x * x]).T.reshape(-1)]),
    ),
    "sums and extremes": (
        lambda x: opsdk.stack([x.sum(), (x * x).mean(), x.max()]),
        lambda x: np.stack([x.sum(), (x * x).mean(), x.max()]),
    ),
    "a row expression": (
        lambda x: opsdk.log_softmax(x * 2.0),
        lambda x: 2 * x - np.log(np.exp(2 * x).sum()),
    ),
    "a choice": (lambda x: opsdk.where(x > 0.0, x * x, -x), lambda x: np.where(x > 0, x * x, -x)),
    "an order": (lambda x: opsdk.sort(x) * tensor([1.0, 2.0, 3.0]), lambda x: np.sort(x) * [1, 2, 3]),
    "a conversion": (lambda x: x.astype("float32").astype("float64") * x, lambda x: x * x),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_jvp_is_the_slope_along_the_direction(name):
    function, known = FUNCTIONS[name]
    y, dy = jvp(function, tensor(X), tensor(V))
    loose = 1e-6 if name == "a conversion" else 1e-12
    np.testing.assert_allclose(y.numpy(), known(X), rtol=loose, atol=loose)
    np.testing.assert_allclose(dy.numpy(), slope(known, X, V), rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_jacobian_is_the_slope_along_each_axis(name):
    function, known = FUNCTIONS[name]
    found = jacobian(function, tensor(X)).numpy()
    wanted = np.stack([slope(known, X, axis) for axis in np.eye(3)], axis=-1)
    np.testing.assert_allclose(found, wanted, rtol=1e-6, atol=1e-7)


def test_jvp_of_several_inputs_and_outputs():
    (y, z), (dy, dz) = jvp(lambda a, b: (a * b, b), [tensor(X), tensor(V)], [tensor(V), tensor(X)])
    np.testing.assert_allclose(dy.numpy(), V * V + X * X)
    np.testing.assert_allclose([y.numpy(), z.numpy(), dz.numpy()], [X * V, V, X])


def test_the_same_tensor_given_twice_has_two_tangents():
    x = tensor([3.0])
    _, dy = jvp(lambda a, b: a * a * b, (x, x), (tensor([1.0]), tensor([10.0])))
    assert dy.item() == 2 * 9.0 + 9.0 * 10.0


def test_jvp_takes_arrays_and_ones_unless_told():
    y, dy = jvp(lambda x: x * x, np.array([2.0, 3.0]))
    assert (y.tolist(), dy.tolist()) == ([4.0, 9.0], [4.0, 6.0])


def test_an_output_that_does_not_move_has_zeros():
    _, (dy, dz) = jvp(lambda x: (x * 2.0, tensor([5.0, 6.0])), tensor([1.0]))
    assert (dy.tolist(), dz.tolist()) == ([2.0], [0.0, 0.0])
    _, positions = jvp(lambda x: (opsdk.argsort(x), x > 0.0), tensor(X))
    assert [p.numpy().any() for p in positions] == [False, False]


def test_jvp_nests():
    def cubes(x):
        return jvp(lambda y: y * y * y, x, x * 0.0 + 1.0)[1]

    _, second = jvp(cubes, tensor([2.0]))
    assert second.item() == 12.0


def test_jvp_can_be_differentiated_backward():
    x = opsdk.to_tensor(np.array([2.0]), stop_gradient=False)
    _, dy = jvp(lambda x: x * x * x, x, tensor([1.0]))
    dy.backward()
    np.testing.assert_allclose(x.grad.item(), 12.0, rtol=1e-12)


def test_jvp_of_a_gradient_is_a_product_with_the_hessian():
    function = lambda x: ((tensor(A) @ x).tanh() * x).sum()  # noqa: E731
    whole = hessian(function, tensor(X)).numpy()
    y, product = hvp(function, tensor(X), tensor(V))
    np.testing.assert_allclose(product.numpy(), whole @ V, rtol=1e-10)
    np.testing.assert_allclose(y.numpy(), (np.tanh(A @ X) * X).sum())
    np.testing.assert_allclose(whole, whole.T, rtol=1e-10)
    gradient = lambda x: np.array([slope(lambda x: (np.tanh(A @ x) * x).sum(), x, e) for e in np.eye(3)])  # noqa: E731
    np.testing.assert_allclose(product.numpy(), slope(gradient, X, V, 1e-4), rtol=1e-3, atol=1e-4)


def test_jvp_goes_through_an_op_that_keeps_statistics_in_place():
    norm, x, v = opsdk.nn.BatchNorm1D(2), RNG.standard_normal((6, 2)), RNG.standard_normal((6, 2))
    norm.weight.set_value(np.array([2.0, -1.0]))
    _, dy = jvp(norm, tensor(x, "float32"), tensor(v, "float32"))
    known = lambda x: (x - x.mean(0)) / np.sqrt(x.var(0) + norm.epsilon) * [2.0, -1.0]  # noqa: E731
    np.testing.assert_allclose(dy.numpy(), slope(known, x, v), rtol=1e-3, atol=1e-3)
    assert norm._mean.numpy().any()


def test_jvp_along_a_cotangent():
    _, along = jvp(lambda v: vjp(lambda x: tensor(A) @ x.tanh(), tensor(X), v)[1], tensor(V), tensor(X))
    np.testing.assert_allclose(along.numpy(), (A * (1 - np.tanh(X) ** 2)).T @ X, rtol=1e-12)


def test_whether_jvp_is_recorded_can_be_said():
    x = opsdk.to_tensor(X, stop_gradient=False)
    assert [t.stop_gradient for t in jvp(lambda x: x * x, x, create_graph=False)] == [True, True]
    assert [t.stop_gradient for t in jvp(lambda x: x * x, x)] == [False, False]


def test_a_strict_jvp_refuses_an_output_that_does_not_move():
    with pytest.raises(GraphError, match="jvp: expected an output that depends on the inputs, with strict=True"):
        jvp(lambda x: tensor(V), tensor(X), strict=True)


def test_jvp_of_complex_numbers():
    z, v = np.array([1.0 + 2.0j]), np.array([0.5 - 1.0j])
    _, dy = jvp(lambda z: z * z, opsdk.to_tensor(z), opsdk.to_tensor(v))
    np.testing.assert_allclose(dy.numpy(), 2 * z * v)


class Square(PyLayer):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, dy):
        return dy * ctx.saved_tensor()[0] * 2.0


def test_a_py_layer_made_of_ops_has_a_tangent_and_runs_over_a_batch():
    _, dy = jvp(lambda x: Square.apply(x) * 3.0, tensor([2.0]), tensor([10.0]))
    assert dy.item() == 120.0
    with pytest.warns(UserWarning, match="vmap: a PyLayer has no rule for a batch and runs example by example"):
        assert vmap(lambda x: Square.apply(x).sum())(tensor([[1.0, 2.0], [3.0, 4.0]])).tolist() == [5.0, 25.0]


def opaque():
    @opsdk.op("functional_opaque(Tensor x) -> Tensor y")
    def made(x):
        return np.sin(x)

    @made.backward
    def made_grad(x, dy):
        return dy * np.cos(x)

    return made


def test_an_opaque_backward_has_no_tangent_and_says_so():
    with opsdk.scoped_registry(), pytest.raises(DerivativeOrderError, match="a derivative of it was asked for"):
        jvp(opaque(), tensor(X))


def test_an_op_without_a_backward_has_no_tangent_and_says_so():
    with opsdk.scoped_registry():

        @opsdk.op("functional_closed(Tensor x) -> Tensor y")
        def closed(x):
            return x * 2

        with pytest.raises(GradientMissingError, match="no backward, and x needs a gradient"):
            jvp(closed, tensor(X))


def test_a_composite_has_the_tangent_of_its_parts_and_batches_by_them():
    with opsdk.scoped_registry():

        @opsdk.op("functional_cube(Tensor x, *, float by=1.0) -> Tensor y", composite=True)
        def cube(x, by=1.0):
            return x * x * x * by

        assert jvp(lambda x: cube(x, by=10.0), tensor([2.0]))[1].item() == 120.0
        assert vmap(lambda x: cube(x).sum())(tensor([[1.0, 2.0], [3.0, 0.0]])).tolist() == [9.0, 27.0]


@pytest.mark.parametrize(
    ("v", "error", "text"),
    [
        ([tensor(X), tensor(X)], ArityError, "jvp: expected a v for each of the 1 inputs, got 2"),
        (tensor([1.0]), ShapeError, r"jvp: v of input 0 expected shape \(3,\), got \(1,\)"),
        (tensor(X, "float32"), DTypeError, "jvp: v of input 0 expected float64, got float32"),
    ],
)
def test_a_direction_that_does_not_fit_is_an_error(v, error, text):
    with pytest.raises(error, match=text):
        jvp(lambda x: x, tensor(X), v)


@pytest.mark.parametrize("transform", [jvp, hvp])
def test_what_cannot_be_called_is_an_error(transform):
    with pytest.raises(AttributeValueError, match="func expected a callable, got int"):
        transform(3, tensor(X))


def test_a_variable_is_an_error_by_name():
    with opsdk.static.program_guard(opsdk.static.Program()):
        x = opsdk.static.data("x", [2], "float32")
        with pytest.raises(MixedRuntimeError, match="jvp: expected tensors or arrays, got one of the Program"):
            jvp(lambda x: x, x)


def test_a_function_that_returns_no_tensor_is_an_error():
    with pytest.raises(GraphError, match="jvp: expected the function to return tensors, got int"):
        jvp(lambda x: 3, tensor(X))
    with pytest.raises(GraphError, match="vmap: expected the function to return tensors, got int"):
        vmap(lambda x: 3)(tensor(X))


# -- jacobian and hessian ---------------------------------------------------------------------------------------------


def test_jacobians_of_several_inputs_and_outputs_are_tuples():
    made = jacobian(lambda a, b: (a * b, b.sum()), (tensor([1.0, 2.0]), tensor([3.0, 4.0])))
    assert [[block.tolist() for block in row] for row in made] == [
        [[[3.0, 0.0], [0.0, 4.0]], [[1.0, 0.0], [0.0, 2.0]]],
        [[0.0, 0.0], [1.0, 1.0]],
    ]


def test_jacobian_of_tensors_that_were_computed_is_paddles():
    x = opsdk.to_tensor(np.array([1.0, 2.0]), stop_gradient=False)
    assert opsdk.autograd.jacobian(x * x, x).tolist() == [[2.0, 0.0], [0.0, 4.0]]
    assert opsdk.autograd.hessian((x * x * x).sum(), x).tolist() == [[6.0, 0.0], [0.0, 12.0]]


def test_jacobian_row_by_row_of_a_batch():
    x = opsdk.to_tensor(np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]), stop_gradient=False)
    made = opsdk.autograd.jacobian(opsdk.stack([x[:, 0] * x[:, 1], x[:, 1]], axis=1), x, batch_axis=0)
    assert made.tolist() == [[[2.0, 1.0], [0.0, 1.0]], [[4.0, 3.0], [0.0, 1.0]], [[6.0, 5.0], [0.0, 1.0]]]
    with pytest.raises(AttributeValueError, match="batch_axis expected None or 0, got 1"):
        opsdk.autograd.jacobian(x * x, x, batch_axis=1)
    with pytest.raises(AttributeValueError, match="batch_axis expected of tensors that were computed; of a"):
        jacobian(lambda x: x, x, batch_axis=0)


def test_strict_refuses_an_input_that_has_no_part():
    with pytest.raises(GraphError, match="jacobian: expected an output that depends on input 1, with strict=True"):
        jacobian(lambda a, b: a * 2.0, (tensor([1.0]), tensor([1.0])), strict=True)


def test_a_recorded_jacobian_can_be_differentiated():
    x = opsdk.to_tensor(np.array([2.0]), stop_gradient=False)
    jacobian(lambda x: x * x * x, x, create_graph=True).sum().backward()
    assert x.grad.tolist() == [12.0]


def test_hessian_of_several_inputs_is_by_pairs():
    made = hessian(lambda a, b: (a * a * b).sum(), (tensor([2.0]), tensor([3.0])))
    assert [[block.tolist() for block in row] for row in made] == [[[[6.0]], [[4.0]]], [[[4.0]], [[0.0]]]]


def test_hessian_of_more_than_one_element_is_an_error():
    with pytest.raises(GraphError, match=r"hessian: expected a function that gives one element, got shape \(3,\)"):
        hessian(lambda x: x * x, tensor(X))


# -- vmap -------------------------------------------------------------------------------------------------------------

BATCH = RNG.standard_normal((4, 2, 3))
OTHER = RNG.standard_normal((4, 3))
ONE = {  # of an example of shape (2, 3), and one of shape (3,)
    "broadcasting": lambda x, y: x * y + y.exp(),
    "a shared value": lambda x, y: x @ tensor(A) + tensor(V),
    "matrix and vector": lambda x, y: x @ y,
    "vector and matrix": lambda x, y: y @ opsdk.transpose(x, [1, 0]),
    "vectors": lambda x, y: y @ y,
    "a shared matrix": lambda x, y: tensor(A) @ y,
    "a transposed product": lambda x, y: opsdk.matmul(x, x, transpose_y=True),
    "sums": lambda x, y: x.sum() + x.sum(axis=0) + x.mean(axis=[-1], keepdim=True) + y.max(axis=0),
    "shapes": lambda x, y: x.reshape([3, 2]).reshape([-1]).unsqueeze(-1).squeeze(),
    "axes": lambda x, y: opsdk.transpose(x, [1, 0]).unsqueeze([0, 2]),
    "joining": lambda x, y: opsdk.concat([opsdk.stack([y, tensor(V)]), x], axis=0),
    "joining at the end": lambda x, y: opsdk.stack([x, x * 2.0], axis=-1),
    "parts": lambda x, y: opsdk.split(x, 3, axis=1)[1] + opsdk.split(y, [1, 2])[0],
    "elements": lambda x, y: x[1] + y[None, ::-1] + x[..., :1] + x[0, 2],
    "rows": lambda x, y: opsdk.softmax(x, axis=0) + opsdk.log_softmax(y),
    "choices": lambda x, y: opsdk.where(x > y, x, y) + opsdk.clip(x, -0.5, 0.5),
    "orders": lambda x, y: opsdk.sort(x, axis=0) + opsdk.cumsum(x, axis=1),
    "positions": lambda x, y: opsdk.argmax(x, axis=1) + opsdk.argsort(y)[:2],
    "conversions": lambda x, y: (x.astype("float32") * 2.0).astype("float64"),
    "sums of one number": lambda x, y: (y[0] > 0.0).sum() + y[0].sum(axis=[], keepdim=True).astype("int64"),
    "flat": lambda x, y: opsdk.flatten(x) + opsdk.flatten(x.unsqueeze(0), 1, -1)[0],
    "nothing of the batch": lambda x, y: tensor(A),
}


@pytest.mark.parametrize("name", ONE)
def test_vmap_gives_what_the_function_gives_of_each_example(name):
    function = ONE[name]
    made = vmap(function)(tensor(BATCH), tensor(OTHER))
    each = [function(tensor(x), tensor(y)).numpy() for x, y in zip(BATCH, OTHER, strict=True)]
    assert made.dtype == each[0].dtype
    np.testing.assert_allclose(made.numpy(), np.stack(each), rtol=1e-12)


def test_an_op_without_a_rule_runs_example_by_example_with_a_notice():
    with opsdk.scoped_registry():
        made = opaque()
        with pytest.warns(UserWarning, match="vmap: op '.*functional_opaque' has no rule for this batch and runs"):
            found = vmap(made)(tensor(BATCH))
    np.testing.assert_allclose(found.numpy(), np.sin(BATCH))


def test_axes_of_the_batch_go_in_and_out_where_they_are_said_to():
    x, y = tensor(BATCH), tensor(OTHER)
    moved = vmap(lambda x, y: (x @ y, y), in_dims=(2, None), out_dims=(1, 0))(opsdk.transpose(x, [1, 2, 0]), y[0])
    np.testing.assert_allclose(moved[0].numpy(), (BATCH @ OTHER[0]).T)
    np.testing.assert_allclose(moved[1].numpy(), np.stack([OTHER[0]] * 4))
    held = vmap(lambda d, s: {"sum": d["x"].sum() + s[0].sum()}, in_dims=({"x": 0}, (None,)))({"x": x}, (y[0],))
    np.testing.assert_allclose(held["sum"].numpy(), BATCH.sum((1, 2)) + OTHER[0].sum())


def test_vmap_nests():
    made = vmap(lambda x: vmap(lambda a, b: a * b.sum(), in_dims=(0, None))(x, x[0]))(tensor(BATCH))
    np.testing.assert_allclose(made.numpy(), BATCH * BATCH[:, 0].sum(1)[:, None, None], rtol=1e-12)


def test_gradients_go_through_it():
    w = opsdk.to_tensor(A, stop_gradient=False)
    vmap(lambda y: (w @ y).tanh().sum())(tensor(OTHER)).sum().backward()
    slopes = 1 - np.tanh(OTHER @ A.T) ** 2
    np.testing.assert_allclose(w.grad.numpy(), slopes.T @ OTHER, rtol=1e-12)


def test_gradients_inside_are_those_of_each_example():
    w = tensor(A)
    made = vmap(lambda y: vjp(lambda w: (w @ y).tanh().sum(), w)[1])(tensor(OTHER))
    slopes = 1 - np.tanh(OTHER @ A.T) ** 2
    np.testing.assert_allclose(made.numpy(), slopes[:, :, None] * OTHER[:, None, :], rtol=1e-12)


def test_jvp_inside_and_outside():
    inside = vmap(lambda x, v: jvp(lambda x: opsdk.sort(x * x), x, v)[1])(tensor(OTHER), tensor(OTHER))
    _, outside = jvp(vmap(lambda x: opsdk.sort(x * x)), tensor(OTHER), tensor(OTHER))
    order = np.argsort(OTHER**2, axis=1)
    wanted = np.take_along_axis(2 * OTHER * OTHER, order, 1)
    np.testing.assert_allclose(inside.numpy(), wanted, rtol=1e-12)
    np.testing.assert_allclose(outside.numpy(), wanted, rtol=1e-12)


def test_a_gradient_of_what_all_share_is_refused():
    w = opsdk.to_tensor(A, stop_gradient=False)
    with pytest.raises(GraphError, match="expected gradients with respect to values of each example, got a tensor"):
        vmap(lambda y: opsdk.grad((w @ y).sum(), w)[0])(tensor(OTHER))


READS = {
    "numpy": lambda x: x.numpy(),
    "item": lambda x: x.sum().item(),
    "bool": lambda x: bool(x.sum()),
    "array": np.asarray,
    "hook": lambda x: x.register_hook(print),
    "retain": lambda x: x.retain_grads(),
}


@pytest.mark.parametrize("read", READS)
@pytest.mark.parametrize("transform", [lambda f: vmap(f)(tensor(BATCH)), lambda f: jvp(f, tensor(X))])
def test_values_of_the_function_are_not_read(transform, read):
    with pytest.raises(GraphError, match="expected ops on the values inside of the function, which have no array"):
        transform(READS[read])


def test_values_of_the_function_are_not_changed_and_do_not_leave_it():
    kept = []
    with pytest.raises((InPlaceError, GraphError)):
        vmap(lambda x: x.add_(x))(tensor(BATCH))
    with opsdk.scoped_registry():

        @opsdk.op("functional_change_(Tensor(a!) x) -> Tensor(a!) y")
        def change_(x):
            x += 1

        with pytest.raises(InPlaceError, match="expected values outside of vmap, since it changes one in place"):
            vmap(change_)(tensor(BATCH))
    vmap(lambda x: kept.append(x) or x)(tensor(BATCH))
    assert kept[0].shape == [2, 3]
    assert "value of vmap" in repr(kept[0])
    for use in (lambda x: x + 1.0, lambda x: tensor(V) * x, lambda x: opsdk.concat([x]), lambda x: x.exp()):
        with pytest.raises(GraphError, match="not used after it returned"):
            use(kept[0])


def test_random_numbers_need_a_word():
    with opsdk.scoped_registry():

        @opsdk.op("functional_noisy(Tensor x, *, Generator generator) -> Tensor y")
        def noisy(x, generator):
            return x + generator.random(x.shape)

        x = tensor(np.zeros((3, 2)))
        with pytest.raises(GraphError, match="expected no random numbers inside of vmap, it draws some; say"):
            vmap(noisy)(x)
        same = vmap(noisy, randomness="same")(x).numpy()
        with pytest.warns(UserWarning, match="runs example by example"):
            other = vmap(noisy, randomness="different")(x).numpy()
    assert (same == same[0]).all()
    assert len(np.unique(other)) == 6
    with pytest.raises(AttributeValueError, match="vmap: randomness expected one of error, different, same, got"):
        vmap(noisy, randomness="some")


@pytest.mark.parametrize(
    ("in_dims", "args", "text"),
    [
        (0, (tensor(BATCH), tensor(V)), "expected arguments with a batch of one size, at least 1, got [3, 4]"),
        (None, (tensor(V),), "expected arguments with a batch of one size, at least 1, got none"),
        (0, (tensor(np.zeros((0, 2))),), "got [0]"),
        (3, (tensor(BATCH),), "expected a tensor with axis 3, by in_dims, got shape (4, 2, 3)"),
        (0, (7,), "expected a tensor with axis 0, by in_dims, got int; None is for what all share"),
        ((0,), (tensor(V), tensor(V)), "expected in_dims for each of the 2 arguments, got 1"),
    ],
)
def test_arguments_without_a_batch_are_an_error(in_dims, args, text):
    with pytest.raises(GraphError) as raised:
        vmap(lambda *args: args[0], in_dims)(*args)
    assert text in str(raised.value)


def test_the_transforms_are_where_users_look_for_them():
    assert opsdk.autograd.functional is functional
    assert functional.vjp is opsdk.vjp
