import numpy as np
import pytest

import opsdk
from opsdk import nn, optimizer, static
from opsdk.core.errors import InPlaceError, ProgramError
from opsdk.static.ir.shared_memory import SharedMemory, changed, check_views, passed, viewed


@pytest.fixture
def add_one_():
    """Adds 1 in place."""

    @opsdk.op("tests::add_one_(Tensor(a!) x) -> Tensor(a!) y", nondifferentiable=("x", "y"))
    def add_one_(x):
        x += 1

    return add_one_


def first_half(x):
    """The specs of half of x and of all of it."""
    return opsdk.TensorSpec([2], x.dtype), x


@pytest.fixture
def head():
    """Gives the first half of x, a view, and x counted, an array of its own."""

    @opsdk.op("tests::head(Tensor(a) x) -> (Tensor(a) y, Tensor n)", infer=first_half)
    def head(x):
        return x.reshape(-1)[:2], x + 1

    return head


@pytest.fixture
def weight():
    """A persistable variable of zeros."""
    return static.create_parameter([2, 2], name="w", default_initializer=nn.initializer.Constant(0.0))


VIEWS = {
    "reshape": lambda w: w.reshape([4]),
    "transpose": lambda w: w.transpose([1, 0]),
    "unsqueeze": lambda w: opsdk.unsqueeze(w, 0),
    "squeeze": lambda w: opsdk.squeeze(w),
    "flatten": lambda w: opsdk.flatten(w),
    "detach": lambda w: w.detach(),
    "a view of a view": lambda w: opsdk.flatten(w).reshape([1, 4]),
    "a view of a part": lambda w: w[0].reshape([1, 2]),
}


# -- what is changed, what is a view, what a gradient passes on -------------------------------------------------------


def test_an_operator_tells_what_it_changes_and_what_it_shares(block, weight, add_one_, head):
    half, counted = head(weight)
    add_one_(counted)
    first, second = block.ops
    assert (changed(first), list(viewed(first))) == ([], [([half.name], ["w"])])
    assert (changed(second), list(viewed(second))) == ([counted.name], [])


def test_whatever_shares_memory_with_what_is_changed_is_exposed(block, weight, add_one_):
    of_it, of_that = weight.reshape([4]), weight.reshape([4]).reshape([1, 4])
    apart = (weight * 2.0).reshape([4])
    add_one_(weight)
    memory = SharedMemory(block.ops)
    assert [memory.is_changed(name) for name in ("w", of_it.name, apart.name)] == [True, False, False]
    assert [memory.is_exposed(name) for name in (of_it.name, of_that.name, apart.name)] == [True, True, False]


def test_a_gradient_that_is_its_cotangent_shares_memory_with_it(block, weight):
    static.gradients((weight + 1.0).sum(), weight)
    pairs = [pair for operator in block.ops for pair in passed(operator).values()]
    memory = SharedMemory(block.ops)
    for gradient, cotangent in pairs:
        assert gradient != cotangent
        assert not memory.is_exposed(gradient)


# -- a view is not changed in place -----------------------------------------------------------------------------------


@pytest.mark.parametrize("taken", VIEWS.values(), ids=VIEWS)
@pytest.mark.parametrize("made_of", ["parameter", "data", "result"])
def test_a_view_is_not_changed_in_place(block, weight, add_one_, taken, made_of):
    base = {"parameter": lambda: weight, "data": lambda: static.data("x", [2, 2]), "result": lambda: weight * 2.0}
    view = taken(base[made_of]())
    before = len(block.ops)
    with pytest.raises(InPlaceError, match=r"expected a whole variable, got '.*', a view that .* made, a copy"):
        add_one_(view)
    assert len(block.ops) == before


def test_an_operator_that_is_appended_by_name_changes_no_view_either(block, weight):
    view = weight.reshape([4])
    rate = static.create_global_var([1], 1.0, "float32", name="rate")
    gradient = static.create_global_var([4], 1.0, "float32", name="g")
    with pytest.raises(InPlaceError, match=r"so that 'w' would stay as it is; change the whole one, or a clone\(\)"):
        block.append_op("sgd", {"param": view, "grad": gradient, "learning_rate": rate}, {"param_out": view})


def test_a_copy_of_a_view_is_changed_in_place(fetch, weight, add_one_):
    copied = weight.reshape([4]).clone()
    add_one_(copied)
    assert [value.ravel().tolist() for value in fetch([copied, weight])] == [[1.0] * 4, [0.0] * 4]


def test_another_result_of_an_op_that_gives_a_view_is_changed_in_place(fetch, weight, add_one_, head):
    half, counted = head(weight)
    add_one_(counted)
    assert [value.ravel().tolist() for value in fetch([half, counted])] == [[0.0] * 2, [2.0] * 4]


def test_the_tape_shares_the_memory_that_a_program_would_copy(add_one_):
    base = opsdk.to_tensor(np.zeros((2, 2), np.float32))
    add_one_(base.reshape([4]))
    assert base.numpy().tolist() == [[1.0, 1.0], [1.0, 1.0]]


# -- a view is not read after its base was changed --------------------------------------------------------------------


@pytest.mark.parametrize("taken", [VIEWS["reshape"], VIEWS["a view of a view"]], ids=["a view", "a view of a view"])
def test_a_view_is_not_read_after_its_base_was_changed(fetch, weight, add_one_, taken):
    view = taken(weight)
    add_one_(weight)
    late = view * 1.0
    with pytest.raises(ProgramError, match="a view of 'w', to be read before 'add_one_' changes 'w' in place, got it"):
        fetch(late)


@pytest.mark.parametrize("taken", [VIEWS["reshape"], VIEWS["a view of a view"]], ids=["a view", "a view of a view"])
@pytest.mark.parametrize("use_prune", [False, True])
def test_a_view_is_not_fetched_after_its_base_was_changed(exe, startup, weight, add_one_, taken, use_prune):
    view = taken(weight)
    add_one_(weight)
    exe.run(startup)
    wanted = [view, weight]
    with pytest.raises(ProgramError, match=r"fetch '.*': expected a view of 'w', to be read before 'add_one_' changes"):
        exe.run(fetch_list=wanted, use_prune=use_prune)
    assert np.array(static.global_scope().find_var("w").get_tensor()).tolist() == [[0.0, 0.0], [0.0, 0.0]]


def test_a_view_that_was_taken_once_more_is_fetched(fetch, weight, add_one_):
    add_one_(weight)
    assert fetch(weight.reshape([4])).tolist() == [1.0] * 4


def test_a_name_that_is_written_anew_after_the_change_is_fetched(fetch, block, weight, add_one_):
    view = weight.reshape([4])
    add_one_(weight)
    block.append_op("reshape", {"x": weight}, {"out": view}, {"shape": [4]})
    assert fetch(view).tolist() == [1.0] * 4


def test_nothing_is_run_of_a_program_that_reads_a_view_too_late(exe, startup, weight, add_one_):
    view = weight.reshape([4])
    add_one_(weight)
    late = view * 1.0
    exe.run(startup)
    with pytest.raises(ProgramError, match=r"take the view once more there, or a clone\(\) before"):
        exe.run(fetch_list=[late])
    assert np.array(static.global_scope().find_var("w").get_tensor()).tolist() == [[0.0, 0.0], [0.0, 0.0]]


def test_a_view_of_a_stale_view_is_stale(block, weight, add_one_):
    view = weight.reshape([4])
    add_one_(weight)
    view.reshape([1, 4])
    with pytest.raises(ProgramError, match=r"operator 'reshape': expected 'reshape_0\.tmp_0', a view of 'w'"):
        check_views(block.ops)


def test_a_view_is_read_before_the_change_and_taken_once_more_after(fetch, weight, add_one_):
    before = weight.reshape([4]) * 1.0
    add_one_(weight)
    after = weight.reshape([4]) * 1.0
    assert [value.tolist() for value in fetch([before, after])] == [[0.0] * 4, [1.0] * 4]


def test_a_copy_of_a_view_is_read_after_the_change(fetch, weight, add_one_):
    kept = weight.reshape([4]).clone()
    add_one_(weight)
    assert fetch(kept + 0.0).tolist() == [0.0] * 4


def test_parameters_that_are_used_through_views_are_trained(exe, startup):
    x = static.data("x", [None, 2])
    weight = static.create_parameter([4], name="v", default_initializer=nn.initializer.Constant(1.0))
    loss = (x @ weight.reshape([2, 2])).sum()
    optimizer.SGD(0.5).minimize(loss)
    exe.run(startup)
    exe.run(feed={"x": np.array([[1.0, 2.0]], np.float32)}, fetch_list=[loss])
    assert np.array(static.global_scope().find_var("v").get_tensor()).tolist() == [0.5, 0.5, 0.0, 0.0]


def test_a_clone_for_tests_reads_a_view_of_what_only_training_changes(exe, startup, main):
    weight = static.create_parameter([4], name="v", default_initializer=nn.initializer.Constant(1.0))
    view = weight.reshape([2, 2])
    optimizer.SGD(0.5).minimize(view.sum())
    tested = main.clone(for_test=True)
    with static.program_guard(tested):
        shown = tested.global_block().var(view.name) * 2.0
    exe.run(startup)
    assert exe.run(tested, fetch_list=[shown])[0].tolist() == [[2.0, 2.0], [2.0, 2.0]]
