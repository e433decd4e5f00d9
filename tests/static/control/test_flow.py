"""Branches and loops in Programs, and on tensors: values and gradients by hand or by NumPy."""

import numpy as np
import pytest

import opsdk
from opsdk import nn, static
from opsdk.core.errors import AttributeValueError, InPlaceError, ProgramError
from opsdk.static.nn import case, cond, switch_case, while_loop

UP, DOWN, W = (np.array(pair, np.float32) for pair in ([1.0, 2.0], [-1.0, -2.0], [5.0, 7.0]))
C = np.array([0.5, 1.5], np.float32)


@pytest.fixture
def x():
    made = static.data("x", [2])
    made.stop_gradient = False
    return made


def grads(y, *sources):
    return static.gradients(y.sum(), list(sources))


# -- cond -------------------------------------------------------------------------------------------------------------


def test_a_run_takes_the_branch_that_its_condition_says(fetch, x):
    y = cond(x.sum() > 0, lambda: x * 2.0, lambda: x - 1.0)
    np.testing.assert_array_equal(fetch(y, x=UP), [2.0, 4.0])
    np.testing.assert_array_equal(fetch(y, x=DOWN), [-2.0, -3.0])


def test_derivatives_of_every_order_are_those_of_the_branch_that_ran(fetch, x):
    y = cond(x.sum() > 0, lambda: x**3, lambda: opsdk.exp(x))
    orders = [y]
    for _ in range(3):
        orders += grads(orders[-1], x)
    np.testing.assert_allclose(fetch(orders, x=UP), [UP**3, 3 * UP**2, 6 * UP, [6, 6]], rtol=1e-6)
    np.testing.assert_allclose(fetch(orders, x=DOWN), [np.exp(DOWN)] * 4, rtol=1e-6)


def test_what_only_one_branch_reads_gets_zeros_from_the_other(fetch, x):
    w = static.data("w", [2])
    w.stop_gradient = False
    y = cond(x.sum() > 0, lambda: x * w, lambda: x * 3.0)
    dx, dw = grads(y, x, w)
    np.testing.assert_array_equal(fetch([dx, dw], x=UP, w=W), [W, UP])
    np.testing.assert_array_equal(fetch([dx, dw], x=DOWN, w=W), [[3.0, 3.0], [0.0, 0.0]])


def test_branches_hold_branches(fetch, x):
    k = static.data("k", [1], "int64")
    y = cond(x.sum() > 0, lambda: cond((k > 3).all(), lambda: x * 2.0, lambda: x * 3.0), lambda: -x)
    (dx,) = grads(y, x)
    for feed, k_fed, slope in ((UP, 5, 2.0), (UP, 1, 3.0), (DOWN, 5, -1.0)):
        np.testing.assert_array_equal(fetch(dx, x=feed, k=[k_fed]), [slope, slope])


def test_the_parameters_of_a_layer_are_read_in_a_branch(fetch, x):
    layer = nn.Linear(2, 2)
    y = cond(x.sum() > 0, lambda: layer(x.reshape([1, 2])), lambda: x.reshape([1, 2]))
    (dw,) = grads(y, layer.weight)
    got, slope = fetch([y, dw], x=UP)
    np.testing.assert_allclose(got, UP[None] @ layer.weight.numpy() + layer.bias.numpy(), rtol=1e-6)
    np.testing.assert_allclose(slope, [[1.0, 1.0], [2.0, 2.0]])


def test_structures_numbers_and_whole_numbers_come_back(fetch, x):
    y = cond(x.sum() > 0, lambda: {"a": (x, 1.5), "k": 3}, lambda: {"a": (-x, 2.5), "k": 4})
    assert isinstance(y["a"], tuple)
    assert (y["a"][1].dtype, y["k"].dtype) == (np.float32, np.int64)
    values = fetch([y["a"][0], y["a"][1], y["k"]], x=DOWN)
    assert [value.tolist() for value in values] == [[1.0, 2.0], 2.5, 4]


def test_sizes_that_differ_are_open(fetch, x):
    y = cond(x.sum() > 0, lambda: x, lambda: opsdk.concat([x, x]))
    assert y.shape == (-1,)
    assert fetch(y, x=DOWN).shape == (4,)


def test_random_numbers_of_a_branch_differ_between_runs_and_agree_with_its_gradient(exe, startup):
    wide = static.data("wide", [200])
    wide.stop_gradient = False
    y = cond(wide.sum() > 0, lambda: nn.functional.dropout(wide, 0.5), lambda: wide)
    (slope,) = grads(y, wide)
    exe.run(startup)
    feed = {"wide": np.ones(200, np.float32)}
    (one, one_slope), (other, other_slope) = (exe.run(feed=feed, fetch_list=[y, slope]) for _ in range(2))
    np.testing.assert_array_equal(one, one_slope)
    np.testing.assert_array_equal(other, other_slope)
    assert (one != other).any()


def test_a_clone_for_tests_tests_its_branches(exe, main, startup):
    wide = static.data("wide", [200])
    y = cond(wide.sum() > 0, lambda: nn.functional.dropout(wide, 0.5), lambda: wide)
    exe.run(startup)
    ones = np.ones(200, np.float32)
    (got,) = exe.run(main.clone(for_test=True), {"wide": ones}, [y.name])
    np.testing.assert_array_equal(got, ones)


def test_a_branch_that_draws_nothing_leaves_the_count_of_draws(exe, main, startup, x):
    y = cond(x.sum() > 0, lambda: nn.functional.dropout(x, 0.5), lambda: x)
    exe.run(startup)
    exe.run(main.clone(for_test=True), {"x": UP}, [y.name])
    assert static.global_scope().lookup("@RANDOM_COUNTER@") is None
    exe.run(main, {"x": UP}, [y])
    assert static.global_scope().lookup("@RANDOM_COUNTER@") == 1


def test_on_a_tensor_the_one_function_is_called():
    x, seen = opsdk.to_tensor(UP, stop_gradient=False), []
    y = cond(x.sum() > 0, lambda: x * 2.0, lambda: seen.append(1))
    y.sum().backward()
    assert (seen, x.grad.tolist()) == ([], [2.0, 2.0])
    assert cond(False, lambda: 1) is None


WRONG = {
    "one structure, true_fn gave ['a value', 'a value'], false_fn a value": (lambda x: (x, x), lambda x: x),
    "of value 0 true_fn gave float32 (2,), false_fn int64 (2,); cast one": (lambda x: x, lambda x: x.astype("int64")),
    "of value 0 true_fn gave float32 (2,), false_fn float32 (); reshape one": (lambda x: x, lambda x: x.sum()),
    "a function returned object": (lambda x: object(), lambda x: object()),
}


@pytest.mark.parametrize("text", WRONG)
def test_functions_that_do_not_agree_leave_the_program_as_it_was(main, state, x, text):
    is_up = x.sum() > 0
    before = state(main)
    with pytest.raises(ProgramError) as error:
        cond(is_up, *[lambda each=each: each(x) for each in WRONG[text]])
    assert text in str(error.value)
    assert state(main) == before


def test_a_condition_is_one_truth_value(x):
    with pytest.raises(ProgramError, match=r"cond: pred expected one truth value, got bool \(2,\); reduce it, by any"):
        cond(x > 0, lambda: x, lambda: x)
    with pytest.raises(ProgramError, match=r"cond: pred expected one truth value, got float32 \(\)"):
        cond(x.sum(), lambda: x, lambda: x)


def test_what_is_no_function_is_refused(x):
    with pytest.raises(AttributeValueError, match="cond: true_fn expected a function, got Variable"):
        cond(x.sum() > 0, x, lambda: x)


def test_a_branch_does_not_change_what_is_around_it(main, state, x):
    norm = nn.BatchNorm1D(2)
    is_up = x.sum() > 0
    before = state(main)
    with pytest.raises(InPlaceError, match="which is from around it; return the new value"):
        cond(is_up, lambda: norm(x.reshape([1, 2])), lambda: x.reshape([1, 2]))
    assert state(main) == before


# -- case and switch_case ---------------------------------------------------------------------------------------------


def test_the_first_true_condition_counts(fetch, x):
    y = case([(x.sum() > 5, lambda: x), (x.sum() > 1, lambda: x * 2.0)], lambda: x * 3.0)
    assert [fetch(y, x=feed).tolist() for feed in (UP * 2, UP, DOWN)] == [[2.0, 4.0], [2.0, 4.0], [-3.0, -6.0]]


def test_without_a_default_the_last_function_is_it(fetch, x):
    y = case([(x.sum() > 5, lambda: x), (x.sum() > 1, lambda: x * 2.0)])
    np.testing.assert_array_equal(fetch(y, x=DOWN), DOWN * 2)


def test_case_wants_pairs():
    for pairs in ([], [lambda: 1]):
        with pytest.raises(AttributeValueError, match="case: pred_fn_pairs expected pairs of a condition and a func"):
            case(pairs)


FORMS = {
    "a table": lambda x: {0: lambda: x * 2.0, 1: lambda: x * 3.0, 5: lambda: x * 7.0},
    "pairs": lambda x: [(5, lambda: x * 7.0), (0, lambda: x * 2.0), (1, lambda: x * 3.0)],
}


@pytest.mark.parametrize("form", FORMS)
def test_a_number_says_which_function(fetch, x, form):
    k = static.data("k", [1], "int64")
    (slope,) = grads(switch_case(k, FORMS[form](x)), x)
    assert [fetch(slope, x=UP, k=[number])[0] for number in (0, 1, 5, 9)] == [2.0, 3.0, 7.0, 7.0]


def test_a_list_is_numbered_from_0_and_a_default_serves_all_others(fetch, x):
    k = static.data("k", [], "int32")
    y = switch_case(k, [lambda: x, lambda: -x], lambda: x * 9.0)
    assert [fetch(y, x=UP, k=np.int32(n))[0] for n in (0, 1, 2)] == [1.0, -1.0, 9.0]


def test_switch_case_wants_functions_of_whole_numbers(x):
    with pytest.raises(AttributeValueError, match="branch_fns expected functions, each of a whole number of its own"):
        switch_case(1, [(0, lambda: x), (0, lambda: x)])
    with pytest.raises(ProgramError, match=r"switch_case: branch_index expected one whole number, got float32 \(2,\)"):
        switch_case(x, [lambda: x])


# -- while_loop -------------------------------------------------------------------------------------------------------


def test_a_loop_and_its_gradient_are_those_of_its_turns(fetch, x):
    c = static.data("c", [2])
    c.stop_gradient = False
    turns = opsdk.full([1], 0, "int64")
    n, y = while_loop(lambda i, s: (i < 4).all(), lambda i, s: [i + 1, s * c + opsdk.sin(s)], [turns, x])
    count, value, dx, dc = fetch([n, y, *grads(y, x, c)], x=UP, c=C)
    u, v = (opsdk.to_tensor(a, stop_gradient=False) for a in (UP, C))
    s = u
    for _ in range(4):
        s = s * v + opsdk.sin(s)
    s.sum().backward()
    assert count.tolist() == [4]
    np.testing.assert_allclose([value, dx, dc], [s.numpy(), u.grad.numpy(), v.grad.numpy()], rtol=1e-6)


def test_a_loop_without_a_turn_passes_values_and_cotangents(fetch, x):
    (y,) = while_loop(lambda s: s.sum() > 100, lambda s: s * 2.0, [x])
    assert [value.tolist() for value in fetch([y, *grads(y * 3.0, x)], x=UP)] == [[1.0, 2.0], [3.0, 3.0]]


def test_a_loop_may_grow_its_values(fetch):
    open_ = static.data("open", [None])
    (y,) = while_loop(lambda s: s.sum() < 9, lambda s: opsdk.concat([s, s]), [open_])
    assert fetch(y, open=np.ones(3, np.float32)).tolist() == [1.0] * 12


def test_a_loop_in_a_branch_reads_a_layer(fetch, x):
    layer = nn.Linear(2, 2)

    def loop():
        return while_loop(lambda i, s: i < 3, lambda i, s: (i + 1, opsdk.tanh(layer(s))), [0, x.reshape([1, 2])])[1]

    y = cond(x.sum() > 0, loop, lambda: x.reshape([1, 2]))
    (dw,) = grads(y, layer.weight)
    s = opsdk.to_tensor(UP).reshape([1, 2])
    got, slope = fetch([y, dw], x=UP)
    for _ in range(3):
        s = opsdk.tanh(layer(s))
    (wanted,) = opsdk.grad(s.sum(), [layer.weight])
    np.testing.assert_allclose(got, s.numpy(), rtol=1e-6)
    np.testing.assert_allclose(slope, wanted.numpy(), rtol=1e-5)
    assert not fetch(dw, x=DOWN).any()


def test_a_loop_has_no_second_derivative_and_says_so(x):
    (y,) = while_loop(lambda s: s.sum() < 9, lambda s: s * s, [x])
    (slope,) = grads(y, x)
    with pytest.raises(opsdk.errors.DerivativeOrderError, match="op 'opsdk::while_loop_grad'"):
        grads(slope, x)


def test_on_tensors_it_is_pythons_loop():
    assert while_loop(lambda i: i < 3, lambda i: i + 1, [0]) == [3]
    x = opsdk.to_tensor(UP, stop_gradient=False)
    (y,) = while_loop(lambda s: s.sum() < 10, lambda s: s * 2.0, [x])
    y.sum().backward()
    assert (y.tolist(), x.grad.tolist()) == ([4.0, 8.0], [4.0, 4.0])


LOOPS = {
    "body expected to return what it takes, ['a value'], got [['a value', 'a value']]": lambda s: (s, s),
    "of loop variable 0 it takes float32 (2,) and gives float32 (); reshape it": lambda s: s.sum(),
    "of loop variable 0 it takes float32 (2,) and gives float64 (2,); cast it": lambda s: s.astype("float64"),
}


@pytest.mark.parametrize("text", LOOPS)
def test_a_body_that_gives_something_else_leaves_the_program_as_it_was(main, state, x, text):
    before = state(main)
    with pytest.raises(ProgramError) as error:
        while_loop(lambda s: s.sum() < 9, LOOPS[text], [x])
    assert text in str(error.value)
    assert state(main) == before


def test_the_condition_of_a_loop_is_one_truth_value(x):
    with pytest.raises(ProgramError, match=r"while_loop: cond expected one truth value, got bool \(2,\)"):
        while_loop(lambda s: s < 9, lambda s: s * 2.0, [x])


def test_a_loop_wants_functions_and_variables(x):
    with pytest.raises(AttributeValueError, match="while_loop: cond expected a function, got bool"):
        while_loop(True, lambda s: s, [x])
    with pytest.raises(AttributeValueError, match="while_loop: loop_vars expected a list of at least one, got"):
        while_loop(lambda: True, lambda: None, [])


# -- Programs ---------------------------------------------------------------------------------------------------------


def test_a_program_shows_its_bodies_as_blocks(main, x):
    static.gradients(cond(x.sum() > 0, lambda: x * 2.0, lambda: x), x)
    assert "block_idx:2  parent_idx:0" in str(main)
    assert main.block(1) in main.blocks
    assert any(operator.type == "scale" for operator in main.block(1).ops)
    assert main.num_blocks == 3


def test_what_nobody_needs_of_it_is_pruned(main, x):
    is_up = x.sum() > 0
    y = cond(is_up, lambda: x * 2.0, lambda: x)
    assert [operator.type for operator in main.prune([y]).global_block().ops][-1] == "cond"
    assert [operator.type for operator in main.prune([is_up]).global_block().ops][-1] == "greater_than"


def test_a_program_with_branches_trains(exe, startup):
    x, y = static.data("x", [None, 2]), static.data("y", [None, 1])
    layer = nn.Linear(2, 1)
    out = cond(x.sum() > 0, lambda: layer(x), lambda: layer(-x))
    loss = nn.functional.mse_loss(out, y)
    opsdk.optimizer.SGD(0.1).minimize(loss)
    exe.run(startup)
    rows = np.array([[1.0, 0.5], [0.3, 1.0]], np.float32)
    feeds = [{"x": sign * rows, "y": rows.sum(1, keepdims=True)} for sign in (1, -1)] * 40
    losses = [float(exe.run(feed=feed, fetch_list=[loss])[0]) for feed in feeds]
    assert losses[-1] < losses[0] / 100
