import functools

import numpy as np
import pytest

import opsdk
from opsdk.core.errors import BindingError, DefinitionError, ShapeError
from opsdk.core.spec import TensorSpec
from opsdk.define.opdef import Source


@pytest.fixture
def scale():
    @opsdk.op("t::scale(Tensor x, Tensor gamma, *, float eps=0.0) -> Tensor y")
    def scale(x, gamma, eps):
        return x * gamma + eps

    return scale


def test_the_gradient_op_has_the_parameters_of_the_backward_and_one_result_per_input(scale):
    gradient = scale.backward(lambda x, dy, eps, gamma: (dy * gamma, dy * x))
    assert gradient.schema == (
        "t::scale_grad@1(Tensor x, Tensor dy, Tensor gamma, *, float eps=0.0) -> (Tensor dx, Tensor dgamma)"
    )


def test_what_the_backward_names_is_what_is_saved(scale):
    scale.backward(lambda gamma, dy, x: (dy * gamma, dy * x))
    rule = scale.opdef.grad
    assert rule.sources == (Source("input", 1), Source("cotangent", 0), Source("input", 0))
    assert (rule.attrs, rule.wrt) == ((), (0, 1))


def test_the_gradient_op_can_be_called_on_arrays(scale):
    gradient = scale.backward(lambda gamma, dy, x, eps: (dy * gamma, dy * x))
    dx, dgamma = gradient(np.array([2.0]), np.array([3.0]), np.array([5.0]))
    assert (dx.tolist(), dgamma.tolist()) == ([6.0], [15.0])


def test_inputs_without_a_gradient_get_no_result():
    @opsdk.op("t::pick(Tensor x, Tensor index) -> Tensor y", nondifferentiable=("index",))
    def pick(x, index):
        return x[index]

    gradient = pick.backward(lambda x, index, dy: dy)
    assert gradient.opdef.schema.output_names == ("dx",)
    assert gradient.opdef.traits.nondifferentiable == ("index",)


def test_an_output_without_a_gradient_has_no_cotangent():
    op = opsdk.op("t::f(Tensor x) -> (Tensor y, Tensor n)", nondifferentiable=("n",))(lambda x: (x, x))
    with pytest.raises(BindingError) as caught:
        op.backward(lambda dy, dn: dy)
    assert str(caught.value) == (
        "op 't::f', backward <lambda>(dy, dn): nothing is called 'dn'; there are n, dy, needs_input_grad, x, y"
    )


def test_a_result_whose_name_is_taken_is_named_after_its_input():
    op = opsdk.op("t::f(Tensor x, Tensor y) -> Tensor out")(lambda x, y: x * y)
    first = op.backward(lambda x, y, dout: (dout * y, dout * x))
    second = first.backward(lambda x, y, dout, ddx, ddy: (ddy * dout, ddx * dout, ddx * y + ddy * x))
    third = second.backward(lambda ddx, dx_grad, dy_grad, dddout: (None,) * 5)
    assert second.opdef.schema.output_names == ("x_grad", "y_grad", "ddout")
    assert "dx_grad" in third.opdef.schema.input_names


def test_a_variadic_input_has_a_list_of_gradients():
    op = opsdk.op("t::total(Tensor[] xs) -> Tensor y")(lambda xs: sum(xs))
    assert (
        op.backward(lambda xs, dy: [dy for _ in xs]).schema == "t::total_grad@1(Tensor[] xs, Tensor dy) -> Tensor[] dxs"
    )


def test_without_materialize_a_cotangent_is_optional():
    op = opsdk.op("t::f(Tensor x) -> (Tensor y, Tensor z)")(lambda x: (x, x))
    gradient = op.backward(materialize=False)(lambda dy, dz: dy)
    assert gradient.schema == "t::f_grad@1(Tensor? dy=None, Tensor? dz=None) -> Tensor dx"


def test_the_gradient_op_may_have_a_name_of_its_own(scale):
    assert scale.backward(name="rescale")(lambda dy, x: (dy, dy)).opdef.name == "t::rescale"


def test_disconnected_inputs_are_known_by_position(scale):
    scale.backward(disconnected=("gamma",))(lambda dy: (dy, None))
    assert scale.opdef.grad.disconnected == (1,)


def test_gradients_are_summed_where_the_rule_broadcasts(scale):
    scale.infer(opsdk.infer.broadcast)
    scale.backward(lambda dy: (dy, dy))
    assert scale.opdef.grad.reduces


def test_gradients_are_summed_also_where_the_rule_came_after_the_backward(scale):
    scale.backward(lambda x, gamma, dy: (dy * gamma, dy * x))
    scale.infer(opsdk.infer.broadcast)
    gamma = opsdk.to_tensor([3.0], stop_gradient=False)
    scale(opsdk.to_tensor([[1.0, 2.0]], stop_gradient=False), gamma).sum().backward()
    assert gamma.grad.numpy().tolist() == [3.0]


def test_the_gradient_op_infers_each_gradient_like_its_input(scale):
    gradient = scale.backward(lambda dy, gamma: (dy, dy)).opdef
    specs = [TensorSpec([2, 3]), TensorSpec([3], "float64")]
    assert gradient.infer(gradient.schema, specs, {}) == (specs[0], specs[1])


def spec(*shape):
    return TensorSpec(shape, np.dtype("float64"))


@pytest.fixture
def pooled():
    def infer(x, k):
        return spec(x.shape[0] // k if x.shape[0] is not None else None)

    op = opsdk.op("t::pooled(Tensor x, *, int k=2) -> Tensor y", infer=infer)(lambda x, k: x.reshape(-1, k).sum(axis=1))
    return op.backward(lambda x, dy, k: np.repeat(dy, k))


def test_a_cotangent_has_the_shape_that_the_forward_gives_its_output(pooled):
    infer, schema = pooled.opdef.infer, pooled.opdef.schema
    assert infer(schema, [spec(6), spec(3)], {"k": 2}) == (spec(6),)
    assert infer(schema, [spec(6), spec(None)], {"k": 2}) == (spec(6),)
    assert infer(schema, [spec(None), spec(3)], {"k": 2}) == (spec(None),)
    for dy in (spec(2), spec(), spec(3, 1)):
        with pytest.raises(ShapeError, match=r"op 't::pooled_grad': expected dy of the shape of y, \(3,\), got \("):
            infer(schema, [spec(6), dy], {"k": 2})


def test_a_cotangent_whose_output_takes_more_to_know_is_left_alone():
    op = opsdk.op("t::f(Tensor x, Tensor w) -> Tensor y", infer=lambda x, w: w)(lambda x, w: w)
    gradient = op.backward(lambda x, dy: (dy, dy)).opdef
    assert gradient.infer(gradient.schema, [spec(2), spec(7)], {}) == (spec(2), None)


def test_a_rule_that_names_one_input_takes_that_one_only():
    op = opsdk.op("t::f(Tensor x, Tensor w) -> Tensor y", infer=opsdk.infer.like("w"))(lambda x, w: w)
    gradient = op.backward(lambda w, dy: (dy, dy)).opdef
    with pytest.raises(ShapeError, match=r"expected dy of the shape of y, \(2,\), got \(7,\)"):
        gradient.infer(gradient.schema, [spec(2), spec(7)], {})


def test_a_rule_that_comes_after_the_backward_holds_cotangents_too(scale):
    gradient = scale.backward(lambda x, gamma, dy, eps: (dy * gamma, dy * x))
    scale.infer(lambda x, gamma: x)
    with pytest.raises(ShapeError, match=r"expected dy of the shape of y, \(2,\), got \(3,\)"):
        gradient.opdef.infer(gradient.opdef.schema, [spec(2), spec(), spec(3)], {"eps": 0.0})


def test_the_gradient_of_a_list_is_inferred_like_the_list_or_left_open():
    op = opsdk.op("t::total(Tensor[] xs) -> Tensor y")(lambda xs: sum(xs))
    with_list = op.backward(lambda xs, dy: [dy for _ in xs]).opdef
    specs = [TensorSpec([2]), TensorSpec([2])]
    assert with_list.infer(with_list.schema, [specs, specs[0]], {}) == (specs,)
    without = op.backward(lambda dy: [dy]).opdef
    assert without.infer(without.schema, [specs[0]], {}) == (None,)


def test_a_parameter_that_names_nothing_is_refused_with_the_nearest(scale):
    with pytest.raises(BindingError) as caught:
        scale.backward(lambda gama, dy: (dy, dy))
    assert str(caught.value) == (
        "op 't::scale', backward <lambda>(gama, dy): nothing is called 'gama'; "
        "there are gamma, dy, eps, needs_input_grad, x, y"
    )


def test_a_backward_without_a_cotangent_is_refused(scale):
    with pytest.raises(BindingError) as caught:
        scale.backward(lambda x, gamma: (x, gamma))
    assert str(caught.value) == (
        "op 't::scale', backward <lambda>: expected a cotangent among its parameters (dy), got (x, gamma); "
        "a gradient depends on what enters it"
    )


def test_a_callable_without_a_name_is_refused_with_its_class(scale):
    with pytest.raises(BindingError, match="backward partial: expected a cotangent among its parameters"):
        scale.backward(functools.partial(lambda k, x: x, 1))


@pytest.mark.parametrize("promised", [("x",), ("y",)])
def test_an_op_with_nothing_to_differentiate_takes_no_backward(promised):
    op = opsdk.op("t::f(Tensor x) -> Tensor y", nondifferentiable=promised)(lambda x: x)
    with pytest.raises(DefinitionError) as caught:
        op.backward(lambda x: x)
    assert str(caught.value) == "op 't::f': expected a differentiable input and output, got none of one of them"


def test_disconnected_names_that_are_no_differentiable_inputs_are_refused(scale):
    with pytest.raises(DefinitionError) as caught:
        scale.backward(disconnected=("eps",))(lambda dy: (dy, dy))
    assert str(caught.value) == "op 't::scale', backward: disconnected='eps' is no differentiable input"


def test_a_name_that_could_be_a_cotangent_or_an_input_is_refused():
    op = opsdk.op("t::f(Tensor y, Tensor dout) -> Tensor out")(lambda y, dout: y * dout)
    with pytest.raises(DefinitionError) as caught:
        op.backward(lambda y, dout: (dout, y))
    assert str(caught.value) == (
        "op 't::f', backward: 'dout' could be the cotangent of output 'out' or the op's own 'dout'; "
        "rename one in the schema"
    )


def test_a_backward_that_is_refused_registers_nothing(scale):
    with pytest.raises(BindingError):
        scale.backward(lambda dz: dz)
    assert scale.grad is None
    assert "t::scale_grad" not in opsdk.REGISTRY


def test_a_backward_may_not_read_an_input_that_the_forward_changes():
    op = opsdk.op("t::f(Tensor(a!) x) -> Tensor(a!) y")(lambda x: None)
    with pytest.raises(DefinitionError) as caught:
        op.backward(lambda x, dy: dy * x)
    assert str(caught.value) == (
        "op 't::f', backward: 'x' is changed in place by the forward, expected the backward to read what is still "
        "there; name an output instead, or write a forward that changes nothing"
    )


def test_a_composite_takes_no_backward_that_no_runtime_would_call():
    swish = opsdk.op("t::swish(Tensor x) -> Tensor y", composite=True)(lambda x: x * opsdk.sigmoid(x))
    with pytest.raises(DefinitionError) as caught:
        swish.backward(lambda x, dy: dy)
    assert str(caught.value).splitlines()[0] == (
        "op 't::swish', backward: expected none of a composite, whose gradient is that of the ops it calls; take "
        "composite=True out of the forward, or the backward"
    )
