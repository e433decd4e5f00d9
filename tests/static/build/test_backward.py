import numpy as np
import pytest

import opsdk
from opsdk import static
from opsdk.core.errors import DTypeError, ProgramError, ShapeError, VariableNotFoundError

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


# -- append_backward ---------------------------------------------------------------------------------------------------


def test_pairs_come_in_the_order_in_which_parameters_were_created(x):
    loss = static.nn.fc(static.nn.fc(x, 4), 2).sum()
    names = [(param.name, grad.name) for param, grad in static.append_backward(loss)]
    assert names == [(name, f"{name}@GRAD") for name in ("fc_0.w_0", "fc_0.b_0", "fc_1.w_0", "fc_1.b_0")]


def test_gradients_have_the_shapes_and_dtypes_of_their_parameters(x):
    for param, grad in static.append_backward(static.nn.fc(x, 4).sum()):
        assert (grad.shape, grad.dtype) == (param.shape, param.dtype)


def test_the_gradient_of_a_parameter_is_right(fetch, x, b):
    ((_, grad),) = static.append_backward((x * b).sum())
    close(fetch(grad, x=X), X.sum(axis=0))


def test_a_loss_that_is_no_scalar_is_summed(fetch, x, b):
    ((_, grad),) = static.append_backward(x * b)
    close(fetch(grad, x=X), X.sum(axis=0))


def test_uses_of_one_variable_are_summed(fetch, b):
    ((_, grad),) = static.append_backward((b * b + opsdk.exp(b) + b * 3.0).sum())
    close(fetch(grad), 2 * B + np.exp(B) + 3)


def test_the_complete_gradient_has_the_plain_name_and_its_parts_are_renamed(block, fetch, b):
    static.append_backward((b * b).sum())
    assert [name for name in block.vars if name.startswith("b@GRAD")] == [
        "b@GRAD@RENAME@0",
        "b@GRAD@RENAME@1",
        "b@GRAD",
    ]
    close(fetch("b@GRAD"), 2 * B)


def test_a_parameter_list_says_whose_gradients_are_appended(x):
    loss = static.nn.fc(x, 4).sum()
    ((param, _),) = static.append_backward(loss, parameter_list=["fc_0.b_0"])
    assert param.name == "fc_0.b_0"


def test_a_parameter_list_takes_variables(x, b):
    ((param, _),) = static.append_backward(static.nn.fc(x * b, 4).sum(), parameter_list=[b])
    assert param is b


def test_a_parameter_list_takes_one_name(x):
    assert len(static.append_backward(static.nn.fc(x, 4).sum(), parameter_list="fc_0.w_0")) == 1


def test_parameters_that_the_loss_does_not_depend_on_are_left_out(x, b):
    static.create_parameter([2], "float64", name="unused")
    assert [param.name for param, _ in static.append_backward((x * b).sum())] == ["b"]


@pytest.mark.parametrize("blocked", [{"fc_0.b_0"}, ["fc_0.b_0"], ("fc_0.b_0",)])
def test_a_no_grad_set_leaves_parameters_out(x, blocked):
    ((param, _),) = static.append_backward(static.nn.fc(x, 4).sum(), no_grad_set=blocked)
    assert param.name == "fc_0.w_0"


@pytest.mark.parametrize("freeze", ["trainable", "stop_gradient"])
def test_a_frozen_parameter_is_left_out(block, x, freeze):
    loss = static.nn.fc(x, 4).sum()
    setattr(block.var("fc_0.w_0"), freeze, freeze == "stop_gradient")
    assert [param.name for param, _ in static.append_backward(loss)] == ["fc_0.b_0"]


def test_a_loss_without_a_trainable_parameter_is_refused(x):
    with pytest.raises(
        ProgramError, match="expected to depend on a trainable parameter, of none at all it does on none"
    ):
        static.append_backward(x.sum())


def test_a_loss_that_depends_on_no_parameter_names_them(x, b):
    with pytest.raises(ProgramError, match=r"loss 'sum_0.tmp_0' expected to depend on a trainable parameter, of b it"):
        static.append_backward(x.sum())


def test_a_loss_of_integers_is_refused(b):
    with pytest.raises(
        ProgramError, match=r"append_backward: loss expected a float Variable, got 'cast_0.tmp_0' of int64"
    ):
        static.append_backward(b.astype("int64"))


def test_a_loss_that_is_no_variable_is_refused():
    with pytest.raises(ProgramError, match="append_backward: loss expected a float Variable, got ndarray"):
        static.append_backward(np.zeros(()))


def test_a_parameter_of_another_program_is_refused(x, b):
    with static.program_guard(static.Program()):
        other = static.create_parameter([3], "float64", name="b")
    with pytest.raises(VariableNotFoundError, match="parameter_list expected variables of the Program of the targets"):
        static.append_backward((x * b).sum(), parameter_list=[other])


def test_a_parameter_list_of_arrays_is_refused(x, b):
    with pytest.raises(ProgramError, match="append_backward: parameter_list expected Variables, got ndarray"):
        static.append_backward((x * b).sum(), parameter_list=[B])


# -- gradients ---------------------------------------------------------------------------------------------------------


def test_gradients_of_data(fetch, x):
    (grad,) = static.gradients((x * x).sum(), x)
    close(fetch(grad, x=X), 2 * X)


def test_gradients_of_an_interior_variable(fetch, x):
    y = opsdk.exp(x)
    (grad,) = static.gradients((y * y).sum(), y)
    close(fetch(grad, x=X), 2 * np.exp(X))


def test_gradients_of_an_interior_variable_and_what_it_is_made_from(fetch, x):
    y = opsdk.exp(x)
    both = static.gradients((y * y).sum(), [x, y])
    for result, expected in zip(fetch(both, x=X), (2 * np.exp(2 * X), 2 * np.exp(X)), strict=True):
        close(result, expected)


def test_the_gradient_of_a_variable_by_itself_is_one(fetch, x):
    (grad,) = static.gradients(x, x)
    close(fetch(grad, x=X), np.ones_like(X))


def test_an_input_that_is_not_reached_has_none(x, b):
    assert static.gradients((x * 2.0).sum(), [b]) == [None]


def test_inputs_that_are_reached_and_not_keep_their_order(x, b):
    found = static.gradients((x * 2.0).sum(), [b, x])
    assert [grad is None for grad in found] == [True, False]


def test_several_targets_are_summed(fetch, x):
    (grad,) = static.gradients([x * x, opsdk.exp(x)], x)
    close(fetch(grad, x=X), 2 * X + np.exp(X))


def test_a_target_that_another_is_made_from_counts_twice(fetch, x):
    y = x * 3.0
    (grad,) = static.gradients([y, y * y], x)
    close(fetch(grad, x=X), 3 + 18 * X)


def test_one_target_twice_counts_twice(fetch, x):
    y = x * x
    (grad,) = static.gradients([y, y], x)
    close(fetch(grad, x=X), 4 * X)


def test_target_gradients_weigh_the_targets(fetch, x):
    weight = static.data("weight", [None, 3], "float64")
    (grad,) = static.gradients(x * x, x, target_gradients=weight)
    close(fetch(grad, x=X, weight=2 * X), 2 * X * 2 * X)


def test_none_among_target_gradients_stands_for_ones(fetch, x):
    weight = static.data("weight", [None, 3], "float64")
    (grad,) = static.gradients([x * x, x * 5.0], x, target_gradients=[weight, None])
    close(fetch(grad, x=X, weight=X), 2 * X * X + 5)


def test_a_target_gradient_of_another_shape_is_refused(x, b):
    with pytest.raises(
        ShapeError, match=r"gradients: cotangent of 'scale_0.tmp_0' expected shape \(-1, 3\), got \(3,\)"
    ):
        static.gradients(x * 2.0, x, target_gradients=b)


def test_a_target_gradient_of_another_dtype_is_refused(x):
    weight = static.data("weight", [None, 3], "float32")
    with pytest.raises(DTypeError, match=r"gradients: cotangent of 'scale_0.tmp_0' expected float64, got float32"):
        static.gradients(x * 2.0, x, target_gradients=weight)


def test_too_few_target_gradients_are_refused(x):
    with pytest.raises(ProgramError, match="gradients: expected one target_gradients per target, 2, got 1"):
        static.gradients([x * 2.0, x * 3.0], x, target_gradients=[x])


def test_no_target_is_refused(x):
    with pytest.raises(ProgramError, match="gradients: targets expected at least one Variable, got none"):
        static.gradients([], x)


@pytest.mark.parametrize("role", ["targets", "inputs", "target_gradients"])
def test_what_is_no_variable_is_refused(x, role):
    arguments = {"targets": [x * 2.0], "inputs": [x], "target_gradients": [x], role: [X]}
    with pytest.raises(ProgramError, match=f"gradients: {role} expected Variables, got ndarray"):
        static.gradients(**arguments)


@pytest.mark.parametrize("role", ["targets", "inputs", "target_gradients"])
def test_a_variable_of_another_program_is_refused(x, role):
    y = x * 2.0
    with static.program_guard(static.Program()):
        stranger = static.data("x", [None, 3], "float64")
    arguments = {"targets": [y, y], "inputs": [x], "target_gradients": [x, x]}
    arguments[role] = [x if role == "inputs" else y, stranger][-len(arguments[role]) :]
    with pytest.raises(VariableNotFoundError, match=f"{role} expected variables of the Program of the targets"):
        static.gradients(**arguments)


def test_complex_targets_need_a_cotangent_and_complex_losses_are_refused():
    with static.program_guard(static.Program(), static.Program()):
        z = static.data("z", [2], "complex128")
        z.stop_gradient = False
        y = z * z
        with pytest.raises(ProgramError, match="expected real, since a complex one is no loss, got complex128"):
            static.gradients(y, z)
        with pytest.raises(ProgramError, match=r"loss expected a float Variable, got .* of complex128"):
            static.append_backward(y, [z])
        (dz,) = static.gradients(y, z, [opsdk.conj(z)])
        made = static.Executor().run(z.block.program, feed={"z": np.array([1 + 2j, 3j])}, fetch_list=[dz])
    np.testing.assert_allclose(made[0], 2 * np.conj(np.array([1 + 2j, 3j])) ** 2)


@pytest.mark.parametrize("blocked", ["fc_0.b_0", 3])
def test_a_no_grad_set_is_a_set(main, state, x, blocked):
    loss = static.nn.fc(x, 4).sum()
    before = state(main)
    text = f"no_grad_set expected a set of Variables or names, got one {type(blocked).__name__}; put it into a set"
    with pytest.raises(ProgramError, match=f"append_backward: {text}"):
        static.append_backward(loss, no_grad_set=blocked)
    with pytest.raises(ProgramError, match=f"gradients: {text}"):
        static.gradients(loss, x, no_grad_set=blocked)
    assert state(main) == before


def test_a_no_grad_set_names_variables_that_there_are(x):
    with pytest.raises(VariableNotFoundError, match=r"fc_0\.c_0"):
        static.append_backward(static.nn.fc(x, 4).sum(), no_grad_set={"fc_0.c_0"})
