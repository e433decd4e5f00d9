import numpy as np
import pytest

import opsdk
from opsdk import static
from opsdk.core.errors import DerivativeOrderError, GradientMissingError, ProgramError

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


def test_an_op_without_a_backward_is_refused_when_its_gradient_is_asked_for(main, state, x, b):
    @opsdk.op(namespace="test_ops")
    def opaque(x):
        return x * 2

    loss = opaque(opsdk.tanh(x * b)).sum()
    before = state(main)
    text = r"op 'test_ops::opaque': no backward, and x needs a gradient; write @opaque.backward or declare nondiff"
    with pytest.raises(GradientMissingError, match=text):
        static.append_backward(loss)
    assert state(main) == before


def test_a_pass_that_fails_puts_back_the_composites_that_it_expanded(main, state, x):
    composed = opsdk.op("test_ops::composed(Tensor x) -> Tensor y", composite=True)(lambda x: opsdk.exp(x) * x)
    opaque = opsdk.register_op("test_ops::opaque", forward=lambda x: x * 2)
    y = opaque(composed(x))
    before = state(main)
    with pytest.raises(GradientMissingError, match="op 'test_ops::opaque': no backward"):
        static.gradients(y, x)
    assert state(main) == before


def test_an_op_without_a_backward_off_the_way_does_not_matter(fetch, x, b):
    opaque = opsdk.register_op("test_ops::opaque", forward=lambda x: x * 2)
    ((_, grad),) = static.append_backward((opaque(x) * b).sum())
    close(fetch(grad, x=X), 2 * X.sum(axis=0))


def test_the_derivative_of_an_opaque_backward_is_refused_and_nothing_is_appended(main, state, x):
    op = opsdk.register_op("test_ops::cube", forward=lambda x: x**3, backward=lambda x, dy: 3 * x**2 * dy)
    (first,) = static.gradients(op(x * x).sum(), x)
    penalty = (first * first).sum()
    before = state(main)
    text = "a derivative of it was asked for, but it is NumPy code that opsdk cannot see into; give it a backward"
    with pytest.raises(DerivativeOrderError, match=text):
        static.gradients(penalty, x)
    assert state(main) == before


def test_an_opaque_backward_with_a_backward_of_its_own_has_a_second_derivative(fetch, x):
    op = opsdk.register_op("test_ops::cube", forward=lambda x: x**3, backward=lambda x, dy: 3 * x**2 * dy)
    op.grad.backward(lambda x, dy, ddx: (6 * x * dy * ddx, 3 * x**2 * ddx))
    (first,) = static.gradients(op(x), x)
    result = fetch([first, *static.gradients(first, x)], x=X)
    close(result[0], 3 * X**2)
    close(result[1], 6 * X)


def test_an_opaque_backward_of_a_broadcast_op_is_summed_in_the_second_derivative(fetch, x, b):
    @opsdk.op("test_ops::times(Tensor a, Tensor b) -> Tensor out", infer=opsdk.infer.broadcast)
    def times(a, b):
        return a * b

    @times.backward
    def times_grad(a, b, dout):
        return dout * b, dout * a

    @times_grad.backward
    def times_grad_grad(a, b, dout, dda, ddb):
        return ddb * dout, opsdk.sum_to(dda * dout, b.shape), dda * b + ddb * a

    y = times(x, b)
    (of_b,) = static.gradients((y * y).sum(), b)
    result = fetch([of_b, *static.gradients(of_b, [b, x])], x=X)
    close(result[0], (2 * B * X**2).sum(axis=0))
    close(result[1], (2 * X**2).sum(axis=0))
    close(result[2], 4 * X * B)


def test_a_composite_that_was_recorded_whole_is_expanded(block, fetch, x):
    op = opsdk.op("test_ops::composed(Tensor x) -> Tensor y", composite=True)(lambda x: opsdk.exp(x) * x)
    y = op(x)
    (grad,) = static.gradients(y.sum(), x)
    assert "composed" not in [operator.type for operator in block.ops]
    close(fetch(grad, x=X), np.exp(X) * (1 + X))


def test_a_composite_that_was_expanded_still_gives_its_output(fetch, x):
    op = opsdk.op("test_ops::composed(Tensor x) -> Tensor y", composite=True)(lambda x: opsdk.exp(x) * x)
    y = op(x)
    static.gradients(y.sum(), x)
    close(fetch(y, x=X), np.exp(X) * X)


def two_outputs():
    """A sine, and an integer that says in which half turn."""

    @opsdk.op(
        "test_ops::wave(Tensor x) -> (Tensor y, Tensor turn)",
        nondifferentiable=("turn",),
        infer=lambda x: (x, type(x)(x.shape, "int64")),
    )
    def wave(x):
        return np.sin(x), np.floor(x / np.pi).astype(np.int64)

    @wave.backward
    def wave_grad(x, dy):
        return np.cos(x) * dy

    return wave


def test_an_output_that_is_not_differentiable_takes_no_part(fetch, x):
    y, turn = two_outputs()(x)
    (grad,) = static.gradients((y * turn.astype("float64")).sum(), x)
    close(fetch(grad, x=X), np.cos(X) * np.floor(X / np.pi))


def test_a_float_output_that_is_declared_not_differentiable_takes_no_part(fetch, x):
    @opsdk.op("test_ops::parts(Tensor x) -> (Tensor whole, Tensor rest)", nondifferentiable=("rest",))
    def parts(x):
        return np.floor(x) * 1, x - np.floor(x)

    @parts.backward
    def parts_grad(dwhole):
        return dwhole * 7

    whole, rest = parts(x)
    (grad,) = static.gradients([whole, rest], x)
    assert static.gradients(rest, x) == [None]
    close(fetch(grad, x=X), np.full_like(X, 7))


def test_an_output_that_is_not_differentiable_carries_no_gradient(b):
    y, turn = two_outputs()(b)
    assert (y.stop_gradient, turn.stop_gradient) == (False, True)


def pair(materialize):
    @opsdk.op("test_ops::pair(Tensor x) -> (Tensor a, Tensor b)")
    def pair(x):
        return 2 * x, 3 * x

    @pair.backward(materialize=materialize)
    def pair_grad(da, db):
        return 2 * da + (100 if db is None else 3 * db)

    return pair


@pytest.mark.parametrize(("materialize", "expected"), [(True, 2.0), (False, 102.0)])
def test_an_output_that_nobody_uses_sends_zeros_or_none_as_declared(fetch, x, materialize, expected):
    a, _ = pair(materialize)(x)
    (grad,) = static.gradients(a.sum(), x)
    close(fetch(grad, x=X), np.full_like(X, expected))


@pytest.mark.parametrize("materialize", [True, False])
def test_a_piece_that_nobody_uses_sends_zeros(fetch, x, materialize):
    @opsdk.op("test_ops::pieces(Tensor x) -> Tensor[] y", infer=lambda x: [x, x])
    def pieces(x):
        return [2 * x, 3 * x]

    @pieces.backward(materialize=materialize)
    def pieces_grad(dy):
        return 2 * dy[0] + 3 * dy[1]

    first, _ = pieces(x)
    (grad,) = static.gradients(first.sum(), x)
    close(fetch(grad, x=X), np.full_like(X, 2.0))


def test_a_second_derivative_that_reads_a_gradient_that_was_not_made_is_refused(x):
    @opsdk.op("test_ops::times(Tensor p, Tensor q) -> Tensor out")
    def times(p, q):
        return p * q

    @times.backward
    def times_grad(p, q, dout):
        return dout * q, dout * p

    @times_grad.backward
    def times_grad_grad(p, dq, ddp, dout):
        return ddp * 0, ddp * dout, ddp * dq / p

    (of_p,) = static.gradients(times(x, x * 2.0), x, no_grad_set=[x.block.var("scale_0.tmp_0")])
    with pytest.raises(ProgramError, match="its backward reads 'dq', which was not asked for when it was appended"):
        static.gradients(of_p, x)


def test_a_gradient_that_nobody_wanted_counts_as_zeros_in_the_second_derivative(fetch, x):
    weight = static.create_parameter([3, 1], "float64", default_initializer=Assign(B[:, None]))
    (of_weight,) = static.gradients(opsdk.square(static.nn.fc(x, 1, weight_attr=weight.name)), weight)
    ((_, grad),) = static.append_backward((of_weight * of_weight).sum(), parameter_list=[weight])
    gram = X.T @ X
    close(fetch(grad, x=X), (8 * gram @ gram @ B)[:, None])


def test_the_pieces_of_a_list_of_inputs_get_their_gradients(fetch, x):
    y = static.data("y", [None, 3], "float64")
    joined = opsdk.concat([x, y, x], axis=0)
    found = fetch(static.gradients((joined * joined).sum(), [x, y]), x=X, y=3 * X)
    close(found[0], 4 * X)
    close(found[1], 6 * X)


def test_only_the_pieces_that_are_asked_for_get_gradients(block, x):
    y = static.data("y", [None, 3], "float64")
    static.gradients(opsdk.concat([x, y], axis=0).sum(), y)
    assert block.ops[-1].output("dx") == ["", "y@GRAD"]


@pytest.mark.parametrize("given", [False, True])
def test_an_optional_input_gets_a_gradient_where_it_is_given(fetch, x, given):
    @opsdk.op("test_ops::shift(Tensor x, Tensor? by=None) -> Tensor out")
    def shift(x, by=None):
        return x + (1 if by is None else by)

    @shift.backward
    def shift_grad(dout, by):
        return dout, None if by is None else dout * 1

    y = static.data("y", [None, 3], "float64")
    found = static.gradients((shift(x, y) if given else shift(x)) * 5.0, [x, y])
    assert [grad is not None for grad in found] == [True, given]
    close(fetch(found[0], x=X, y=X), np.full_like(X, 5))


def test_an_input_that_was_declared_disconnected_has_none(x, b):
    @opsdk.op("test_ops::like_shape(Tensor x, Tensor other) -> Tensor out")
    def like_shape(x, other):
        return x * 1

    @like_shape.backward(disconnected=("other",))
    def like_shape_grad(dout):
        return dout, None

    of_x, of_other = static.gradients(like_shape(x, x * b).sum(), [x, b])
    assert (of_x is None, of_other is None) == (False, True)


def test_a_backward_that_takes_a_mask_learns_which_gradients_are_wanted(block, x, b):
    static.append_backward((x * b).sum())
    assert block.ops[-1].attr("needs_input_grad") == (False, True)


def test_a_deep_program_is_differentiated_without_recursion(fetch, b):
    y = b
    for _ in range(2000):
        y = y + 0.001
    ((_, grad),) = static.append_backward(y.sum())
    close(fetch(grad), np.ones(3))
