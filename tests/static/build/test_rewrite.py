import numpy as np
import pytest

import opsdk
from opsdk import static
from opsdk.core.errors import ArityError, DerivativeOrderError, GradientMissingError, ReturnError
from opsdk.static.build.recording import append
from opsdk.static.build.rewrite import differentiable


@pytest.fixture
def x():
    return static.data("x", [2, 3], "float64")


def test_an_operator_with_a_rule_stands_for_itself(block, x):
    opsdk.tanh(x)
    assert differentiable(block, block.ops[0]) == [block.ops[0]]


def test_a_composite_is_replaced_in_its_place(block, x):
    op = opsdk.op("test_ops::composed(Tensor x) -> Tensor y", composite=True)(lambda x: opsdk.exp(x) * 2.0)
    after = opsdk.tanh(append(block, op.opdef, [x], {}))
    differentiable(block, block.ops[0])
    assert [operator.type for operator in block.ops] == ["exp", "scale", "assign", "tanh"]
    assert after.name == block.ops[-1].output_arg_names[0]


def test_what_stands_for_an_operator_plays_its_part(block, x):
    static.gradients(opsdk.matmul(x, x.T).sum(), x)
    gradient = next(op for op in block.ops if op.type == "matmul_grad")
    made = differentiable(block, gradient)
    assert gradient not in made
    assert {new.role for new in made} == {"backward"}


def test_a_derived_gradient_has_a_rule_of_its_own_and_stands_for_itself(block, x):
    static.gradients(opsdk.tanh(x).sum(), x)
    gradient = next(op for op in block.ops if op.type == "tanh_grad")
    assert differentiable(block, gradient) == [gradient]


def test_a_derived_gradient_of_one_input_never_hides_a_sum(block):
    x = static.data("open", [None, 3], "float64")
    x.stop_gradient = False
    static.gradients(opsdk.tanh(x).sum(), x)
    gradient = next(op for op in block.ops if op.type == "tanh_grad")
    assert differentiable(block, gradient) == [gradient]


def test_a_hidden_sum_is_made_visible(block, x):
    b = static.create_parameter([3], "float64")
    static.append_backward((x + b).sum())
    gradient = next(op for op in block.ops if op.type == "elementwise_add_grad")
    assert "sum_to_like" in [new.type for new in differentiable(block, gradient)]


def test_where_nothing_was_broadcast_there_is_no_sum(block, x):
    b = static.create_parameter([2, 3], "float64")
    static.append_backward((x + b).sum())
    gradient = next(op for op in block.ops if op.type == "elementwise_add_grad")
    assert differentiable(block, gradient) == [gradient]


def test_a_missing_backward_says_where_the_op_was_used_and_defined(block, x):
    op = opsdk.register_op("test_ops::opaque", forward=lambda x: x * 2)
    op(x)
    with pytest.raises(GradientMissingError) as caught:
        differentiable(block, block.ops[0])
    labels = [note.split()[0] for note in caught.value.__notes__]
    assert labels == ["at", "defined", "code"]


def test_a_missing_backward_of_a_py_func_names_its_remedy(block, x):
    static.py_func(np.tanh, x, block.create_var("y", [2, 3], "float64"))
    text = "op 'py_func::tanh': no backward, and x0 needs a gradient; pass backward_func to py_func"
    with pytest.raises(GradientMissingError, match=text):
        differentiable(block, block.ops[0])


def test_a_derivative_of_an_opaque_backward_says_what_to_write(block, x):
    op = opsdk.register_op("test_ops::cube", forward=lambda x: x**3, backward=lambda x, dy: 3 * x**2 * dy)
    static.gradients(op(x), x)
    with pytest.raises(DerivativeOrderError, match="opsdk cannot see into; give it a backward") as caught:
        differentiable(block, block.ops[-1])
    assert any("@cube_grad.backward (order 2, any NumPy)" in note for note in caught.value.__notes__)


def test_a_derivative_of_the_backward_of_a_py_func_points_to_ops(block, x):
    out = block.create_var("y", [2, 3], "float64")
    static.py_func(np.tanh, x, out, backward_func=lambda x, y, dy: dy * (1 - y * y))
    static.gradients(out, x)
    with pytest.raises(DerivativeOrderError, match="register an op in place of the py_func"):
        differentiable(block, block.ops[-1])


def test_a_composite_backward_that_returns_none_for_a_gradient_that_is_needed_is_refused(block, x):
    op = opsdk.register_op("test_ops::twice", forward=lambda x: x * 2)

    @op.backward(composite=True)
    def twice_grad(dy):
        return None

    static.gradients(op(x), x)
    with pytest.raises(ReturnError, match="expected a gradient for 'x', its body returned None there; return zeros"):
        differentiable(block, block.ops[-1])


def test_an_input_that_was_broadcast_beside_one_that_was_not_adds_no_sum(block, x):
    b = static.create_parameter([3], "float64")
    static.gradients((x * b).sum(), x)
    gradient = next(op for op in block.ops if op.type == "elementwise_mul_grad")
    assert "sum_to_like" not in [new.type for new in differentiable(block, gradient)]


def test_an_opaque_gradient_with_a_hidden_sum_is_had_in_the_shape_of_its_cotangent(block, x):
    @opsdk.op("test_ops::times(Tensor a, Tensor b) -> Tensor out", infer=opsdk.infer.broadcast)
    def times(a, b):
        return a * b

    @times.backward
    def times_grad(a, b, dout):
        return dout * b, dout * a

    @times_grad.backward
    def times_grad_grad(a, b, dout, dda, ddb):
        return ddb * dout, dda * dout, dda * b + ddb * a

    b = static.create_parameter([3], "float64", name="b")
    static.gradients(times(x, b).sum(), b)
    gradient = next(op for op in block.ops if op.type == "times_grad")
    again, total = differentiable(block, gradient)
    assert (again.type, total.type) == ("times_grad", "sum_to_like")
    assert block.var(again.output("db")[0]).shape == (2, 3)


def test_a_composite_backward_that_returns_too_short_a_list_is_refused(block, x):
    @opsdk.op("test_ops::total(Tensor[] x) -> Tensor out")
    def total(x):
        return x[0] + x[1]

    @total.backward(composite=True)
    def total_grad(dout):
        return [dout]

    static.gradients(total([x, x * 1.0]), x)
    gradient = next(op for op in block.ops if op.type == "total_grad")
    with pytest.raises(ArityError, match="output 'dx': expected its body to return a list of 2, got 1"):
        differentiable(block, gradient)


def scaled_rows():
    """x · w · r + row_sum(x) · r, of a number per element, per column and per row."""
    decorate = opsdk.rowwise(per_column=("w",), per_row=("r",), name="scaled_rows")
    return decorate(lambda x, w, r: x * w * r + opsdk.vmath.row_sum(x) * r)


def test_a_derived_gradient_of_rows_has_the_shapes_of_its_inputs_and_hides_no_sum(block, x):
    op = scaled_rows()
    w, r = static.data("w", [3], "float64"), static.data("r", [2, 1], "float64")
    static.gradients(op(x, w, r).sum(), [x, w, r])
    assert differentiable(block, block.ops[-1]) == [block.ops[-1]]


def test_a_gradient_of_rows_with_an_open_size_is_had_in_the_shapes_of_its_inputs(block):
    op = scaled_rows()
    shapes = {"x": [None, 3], "w": [3], "r": [None, 1]}
    given = [static.data(name, shape, "float64") for name, shape in shapes.items()]
    static.gradients(op(*given).sum(), given)
    (again, *_) = differentiable(block, block.ops[-1])
    made = {name: block.var(again.output(f"d{name}")[0]).spec.shape for name in shapes}
    assert made == {name: tuple(shape) for name, shape in shapes.items()}


@pytest.mark.parametrize("rows", [2, None])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_third_derivatives_of_rows_run_in_programs(rows, dtype):
    x, r = static.data("x", [rows, 3], "float64"), static.data("r", [rows, 1], "float64")
    w = static.data("w", [3], dtype)
    total = scaled_rows()(x, w, r).sum()
    for _ in range(2):
        total = sum(opsdk.cast(g, dtype="float64").sum() for g in static.gradients(total, [x, w, r]))
    third = static.gradients(total, [x, w, r])
    feed = {"x": np.ones((2, 3)), "w": np.ones(3, dtype), "r": np.ones((2, 1))}
    dx, dw, dr = static.Executor().run(feed=feed, fetch_list=third)
    # the sum of all first derivatives, twice: 2 Σx + 2 · 2 Σw + 2 · 3 Σr and a constant
    for got, want, given in ((dx, 2, x), (dw, 4, w), (dr, 6, r)):
        np.testing.assert_array_equal(got, np.full(feed[given.name].shape, want))
        assert got.dtype == given.dtype
