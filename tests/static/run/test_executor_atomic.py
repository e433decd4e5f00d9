"""A run that raises leaves the Scope as it was; one that does not has written everything."""

import numpy as np
import pytest

import opsdk
from opsdk import static
from opsdk.core.errors import FetchError
from opsdk.static.run.steps import RANDOM_COUNTER

ROWS = np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], np.float32)


class Stopped(Exception):
    """What a user's function raises."""


@pytest.fixture
def x():
    return static.data("x", [None, 3], "float32")


@pytest.fixture
def scope_state():
    """The values of the global Scope, copied, by name."""

    def read():
        scope = static.global_scope()
        return {name: value.copy() for name, value in scope.values.items()}

    return read


@pytest.fixture
def failing(block):
    """Appends a py_func that raises what it is told to, when it is told to."""
    errors = []

    def append(variable):
        def work(array):
            if errors:
                raise errors[0]
            return array.copy()

        out = block.create_var("after", variable.shape, variable.dtype)
        return static.py_func(work, variable, out), errors

    return append


def same(before, after):
    assert before.keys() == after.keys()
    for name, value in before.items():
        np.testing.assert_array_equal(after[name], value, err_msg=name)


OPTIMIZERS = {
    "SGD": lambda: opsdk.optimizer.SGD(learning_rate=0.1),
    "Momentum": lambda: opsdk.optimizer.Momentum(learning_rate=0.1),
    "Adam": lambda: opsdk.optimizer.Adam(learning_rate=0.1),
    "AdamW": lambda: opsdk.optimizer.AdamW(learning_rate=0.1),
}


@pytest.mark.parametrize("error", [Stopped(), KeyboardInterrupt(), SystemExit(3)])
@pytest.mark.parametrize("name", OPTIMIZERS)
def test_a_run_that_raises_after_the_updates_changes_no_parameter_and_no_state(
    exe, startup, x, scope_state, failing, name, error
):
    loss = static.nn.fc(x, 2).square().mean()
    OPTIMIZERS[name]().minimize(loss)
    after, errors = failing(loss)
    exe.run(startup)
    exe.run(feed={"x": ROWS}, fetch_list=[after])
    before = scope_state()
    errors.append(error)
    with pytest.raises(type(error)):
        exe.run(feed={"x": ROWS}, fetch_list=[after])
    same(before, scope_state())


def test_runs_before_and_after_one_that_raised_are_as_if_it_had_not_been(exe, startup, x, failing):
    loss = static.nn.fc(x, 2).square().mean()
    opsdk.optimizer.Adam(learning_rate=0.1).minimize(loss)
    after, errors = failing(loss)
    losses = {}
    for interrupted in (False, True):
        startup.random_seed = 3
        with static.scope_guard(static.Scope()):
            exe.run(startup)
            found = []
            for step in range(4):
                if interrupted and step == 2:
                    errors.append(Stopped())
                    with pytest.raises(Stopped):
                        exe.run(feed={"x": ROWS}, fetch_list=[after])
                    errors.clear()
                found.append(float(exe.run(feed={"x": ROWS}, fetch_list=[after])[0]))
            losses[interrupted] = found
    assert losses[True] == losses[False]


@pytest.fixture
def add_to():
    """Adds an array in place."""

    @opsdk.op("test_ops::add_to(Tensor(a!) total, Tensor x) -> Tensor(a!) out", nondifferentiable=("total", "x", "out"))
    def add_to(total, x):
        if np.isnan(x).any():
            total += 1
            raise Stopped("a nan")
        total += x

    return add_to


def test_statistics_of_a_batch_stay_as_they_were(exe, startup, x, add_to):
    total = static.create_global_var([3], 0.0, "float32", persistable=True)
    seen = static.create_global_var([1], 0.0, "float32", persistable=True)
    one = opsdk.sum(x, axis=1).mean() * 0.0 + 1.0
    add_to(seen, one.reshape([1]))
    add_to(total, x.sum(axis=0))
    exe.run(startup)
    exe.run(feed={"x": ROWS})
    with pytest.raises(Stopped):
        exe.run(feed={"x": ROWS * np.nan})
    scope = static.global_scope()
    np.testing.assert_array_equal(np.array(scope.find_var(total.name).get_tensor()), ROWS.sum(axis=0))
    np.testing.assert_array_equal(np.array(scope.find_var(seen.name).get_tensor()), [1.0])


def test_two_changes_in_place_of_one_value_add_up(exe, startup, x, add_to):
    total = static.create_global_var([3], 0.0, "float32", persistable=True)
    add_to(total, x.sum(axis=0))
    made = total * 1.0
    add_to(total, x.sum(axis=0))
    exe.run(startup)
    for run in range(2):
        first, last = exe.run(feed={"x": ROWS}, fetch_list=[made, total])
        np.testing.assert_array_equal(first, ROWS.sum(axis=0) * (2 * run + 1))
        np.testing.assert_array_equal(last, ROWS.sum(axis=0) * (2 * run + 2))


def test_values_that_a_run_makes_appear_only_with_its_end(exe, startup, block, scope_state):
    static.create_parameter([2], name="w")
    made = startup.global_block().create_var("made", [2], "float32")
    errors = [Stopped()]

    def work(array):
        if errors:
            raise errors.pop()
        return array.copy()

    static.py_func(work, startup.global_block().var("w"), made)
    with pytest.raises(Stopped):
        exe.run(startup)
    assert scope_state() == {}
    exe.run(startup)
    assert "w" in scope_state()


def test_a_fetch_that_fails_changes_nothing(exe, startup, block, x, scope_state):
    loss = static.nn.fc(x, 2).square().mean()
    opsdk.optimizer.SGD(learning_rate=0.1).minimize(loss)
    block.create_var("orphan", [1], "float32")
    exe.run(startup)
    before = scope_state()
    with pytest.raises(FetchError, match="fetch 'orphan': expected a value, nothing that ran gives it one"):
        exe.run(feed={"x": ROWS}, fetch_list=[loss, "orphan"])
    same(before, scope_state())


def test_a_run_in_a_child_scope_that_raises_changes_neither_scope(exe, startup, x, failing):
    loss = static.nn.fc(x, 2).square().mean()
    opsdk.optimizer.SGD(learning_rate=0.1).minimize(loss)
    _, errors = failing(loss)
    exe.run(startup)
    parent = static.global_scope()
    child = parent.new_scope()
    before = {name: value.copy() for name, value in parent.values.items()}
    errors.append(Stopped())
    with pytest.raises(Stopped):
        exe.run(feed={"x": ROWS}, scope=child)
    same(before, parent.values)
    assert child.values == {}
    errors.clear()
    exe.run(feed={"x": ROWS}, scope=child)
    assert child.values == {}
    assert not np.array_equal(parent.values["fc_0.w_0"], before["fc_0.w_0"])


def test_random_numbers_go_on_where_they_were_before_a_run_that_raised(exe, block, failing):
    noise = block.create_var("noise", [4], "float32")
    block.append_op("gaussian_random", {}, {"out": noise}, {"shape": [4], "seed": 5})
    after, errors = failing(noise)
    expected = [exe.run(fetch_list=[after], scope=scope)[0] for scope in [static.Scope()] * 3]
    assert int(exe.run(fetch_list=[after])[0].size) == 4
    errors.append(Stopped())
    with pytest.raises(Stopped):
        exe.run(fetch_list=[after])
    errors.clear()
    assert int(static.global_scope().values[RANDOM_COUNTER]) == 1
    np.testing.assert_array_equal(exe.run(fetch_list=[after])[0], expected[1])


def test_a_reference_that_a_py_func_keeps_does_not_change_with_the_next_step(exe, startup, block, x):
    kept = []

    def look(weight):
        kept.append(weight)
        return weight.copy()

    loss = static.nn.fc(x, 2, bias_attr=False).square().mean()
    static.py_func(look, block.var("fc_0.w_0"), block.create_var("seen", [3, 2], "float32"))
    opsdk.optimizer.SGD(learning_rate=0.1).minimize(loss)
    exe.run(startup)
    exe.run(feed={"x": ROWS})
    first = kept[0].copy()
    exe.run(feed={"x": ROWS})
    np.testing.assert_array_equal(kept[0], first)
    assert not np.array_equal(kept[1], first)
