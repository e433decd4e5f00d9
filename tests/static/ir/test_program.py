import numpy as np
import pytest

import opsdk
from opsdk import static
from opsdk.core.errors import ProgramError, VariableNotFoundError


@pytest.fixture
def x():
    return static.data("x", [None, 2], "float32")


@pytest.fixture
def loss(x):
    return opsdk.mean(static.nn.fc(x, 3))


ROWS = np.array([[1.0, 2.0], [3.0, 4.0]], np.float32)


def types(program):
    return [operator.type for operator in program.global_block().ops]


def test_it_starts_with_one_empty_block(main):
    assert (main.num_blocks, main.global_block() is main.block(0) is main.current_block()) == (1, True)


def test_variables_of_all_blocks_are_listed(main, x):
    assert [variable.name for variable in main.list_vars()] == ["x"]


def test_parameters_are_listed(main, loss):
    assert [p.name for p in main.all_parameters()] == ["fc_0.w_0", "fc_0.b_0"]


def test_every_change_makes_it_a_new_version(main, x):
    before = main.version
    x + 1.0
    assert main.version > before


def test_it_prints_every_variable_and_operator(main, x):
    opsdk.relu(x)
    assert main.to_string() == (
        "{ // block_idx:0  parent_idx:-1\n"
        "    var x : DENSE_TENSOR.shape(-1, 2).dtype(float32).stop_gradient(True)\n"
        "    var relu_0.tmp_0 : DENSE_TENSOR.shape(-1, 2).dtype(float32).stop_gradient(True)\n"
        "\n"
        "    {out=['relu_0.tmp_0']} = relu(inputs={x=['x']}, op_role = forward)\n"
        "}"
    )


def test_attributes_print_as_the_schema_language_writes_them(startup):
    static.create_global_var([2, 3], 0.5, "float64", name="v")
    line = str(startup).splitlines()[3]
    assert line == (
        "    {out=['v']} = fill_constant(inputs={}, shape = [2, 3], value = 0.5, dtype = float64, op_role = forward)"
    )


def test_its_short_form_counts(main, x):
    x + x
    assert repr(main) == f"<program {main.number}: 2 variables, 1 operators>"


@pytest.mark.parametrize("seed", [-1, 1.5, "7"])
def test_a_random_seed_is_a_count(main, seed):
    with pytest.raises(ProgramError, match="random_seed: expected an integer ≥ 0, got"):
        main.random_seed = seed


# -- clone -------------------------------------------------------------------------------------------------------------


def test_a_clone_has_the_same_text(main, loss):
    static.append_backward(loss)
    assert str(main.clone()) == str(main)


def test_a_clone_does_not_change_with_the_original(main, loss):
    twin = main.clone()
    before = str(twin)
    static.append_backward(loss)
    assert str(twin) == before


def test_the_original_does_not_change_with_a_clone(main, loss):
    before = str(main)
    twin = main.clone()
    static.append_backward(twin.global_block().var(loss.name))
    assert str(main) == before


def test_a_clone_shares_parameters_through_the_scope(exe, main, startup, loss):
    exe.run(startup)
    twin = main.clone()
    feed = {"x": ROWS}
    assert exe.run(main, feed, [loss]) == exe.run(twin, feed, [loss.name])


def test_a_clone_can_be_fetched_from_with_the_original_variables(exe, main, startup, loss):
    exe.run(startup)
    assert exe.run(main.clone(), {"x": ROWS}, [loss])[0].shape == ()


def test_a_clone_keeps_its_names_when_the_original_renames(main, block, x):
    y = x + 1.0
    static.gradients(y * y, y)
    twin = main.clone()
    before = str(twin), [operator.like for operator in twin.global_block().ops]
    block.rename(y, "sum")
    assert (str(twin), [operator.like for operator in twin.global_block().ops]) == before


def test_a_clone_keeps_the_random_seed(main):
    main.random_seed = 7
    assert main.clone().random_seed == 7


def test_a_test_clone_drops_backward_and_updates(main, loss):
    opsdk.optimizer.SGD(0.1).minimize(loss)
    assert types(main.clone(for_test=True)) == ["mul", "elementwise_add", "reduce_mean"]


def test_a_test_clone_drops_gradients_and_optimizer_state(main, loss):
    opsdk.optimizer.SGD(0.1).minimize(loss)
    names = list(main.clone(for_test=True).global_block().vars)
    assert names == ["x", "fc_0.w_0", "fc_0.tmp_0", "fc_0.b_0", "fc_0.tmp_1", "mean_0.tmp_0"]


def test_a_test_clone_is_the_same_before_and_after_minimize(main, loss):
    before = str(main.clone(for_test=True))
    opsdk.optimizer.SGD(0.1).minimize(loss)
    assert str(main.clone(for_test=True)) == before


def test_a_test_clone_keeps_inputs_that_only_the_backward_reads(main, loss):
    static.data("weight", [1], "float32")
    assert main.clone(for_test=True).global_block().has_var("weight")


def test_a_test_clone_drops_what_is_computed_from_gradients(exe, main, startup, loss):
    ((_, grad), _) = static.append_backward(loss)
    opsdk.sum(grad * grad)
    exe.run(startup)
    test = main.clone(for_test=True)
    assert (types(test)[-1], exe.run(test, {"x": ROWS}, [loss])[0].shape) == ("reduce_mean", ())


def test_a_test_clone_sets_is_test(main, x):
    @opsdk.op("test_ops::noisy(Tensor x, *, bool is_test=False) -> Tensor out")
    def noisy(x, *, is_test=False):
        return x * 1 if is_test else x * 2

    noisy(x)
    test = main.clone(for_test=True)
    flags = [program.global_block().ops[0].attr("is_test") for program in (main, test)]
    assert flags == [False, True]


# -- prune -------------------------------------------------------------------------------------------------------------


def test_prune_keeps_what_a_target_needs(main, x):
    used = opsdk.relu(x)
    opsdk.tanh(x)
    target = opsdk.exp(used)
    assert types(main.prune([target])) == ["relu", "exp"]


def test_prune_drops_variables_that_nothing_needs(main, x):
    target = opsdk.relu(x)
    opsdk.tanh(x)
    assert list(main.prune(target).global_block().vars) == ["x", target.name]


def test_prune_takes_names(main, x):
    target = opsdk.relu(x)
    opsdk.tanh(x)
    assert types(main.prune(target.name)) == ["relu"]


def test_prune_of_the_loss_drops_the_updates(main, loss):
    opsdk.optimizer.SGD(0.1).minimize(loss)
    assert types(main.prune([loss])) == ["mul", "elementwise_add", "reduce_mean"]


def test_prune_of_a_gradient_keeps_what_its_shape_comes_from(exe, main, x):
    weight = static.create_parameter([2], "float32", default_initializer=opsdk.nn.initializer.Constant(2.0))
    cotangent = static.data("cotangent", [None, 2], "float32")
    (grad,) = static.gradients(x + weight, x, cotangent)
    exe.run(static.default_startup_program())
    (value,) = exe.run(main.prune([grad]), {"x": ROWS, "cotangent": ROWS}, [grad.name])
    np.testing.assert_array_equal(value, ROWS)


def test_prune_to_an_input_keeps_it_and_nothing_else(main, x):
    opsdk.relu(x)
    block = main.prune([x]).global_block()
    assert (list(block.vars), block.ops) == (["x"], [])


def test_prune_leaves_the_original(main, x):
    target = opsdk.relu(x)
    opsdk.tanh(x)
    main.prune([target])
    assert types(main) == ["relu", "tanh"]


def test_prune_refuses_a_target_that_is_not_there(main, x):
    with pytest.raises(VariableNotFoundError, match="prune: target 'y' expected in the Program; it has x"):
        main.prune(["y"])
