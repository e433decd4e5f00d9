import copy
import gc
import pickle
import threading

import numpy as np
import pytest

import opsdk
from opsdk import static
from opsdk.core.errors import FeedError, FetchError, NotInitializedError, ProgramError
from opsdk.static.run import executor as executor_module

ROWS = np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], np.float32)


@pytest.fixture
def x():
    return static.data("x", [None, 3], "float32")


@pytest.fixture
def y(x):
    return x * 2.0


# -- fetch -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("nested", ["alone", "by name", "list", "tuple", "nested"])
def test_fetches_come_in_many_forms(exe, y, nested):
    forms = {"alone": y, "by name": y.name, "list": [y], "tuple": (y.name,), "nested": [[y]]}
    np.testing.assert_array_equal(exe.run(feed={"x": ROWS}, fetch_list=forms[nested])[0], ROWS * 2)


def test_a_fetch_that_stands_twice_comes_twice(exe, x, y):
    found = exe.run(feed={"x": ROWS}, fetch_list=[y, x, y])
    assert [array[0, 0] for array in found] == [2.0, 1.0, 2.0]


def test_fetches_that_stand_twice_share_no_memory(exe, y):
    first, second = exe.run(feed={"x": ROWS}, fetch_list=[y, y])
    assert not np.shares_memory(first, second)


@pytest.mark.parametrize("nothing", [None, [], ()])
def test_without_a_fetch_the_result_is_empty(exe, y, nothing):
    assert exe.run(feed={"x": ROWS}, fetch_list=nothing) == []


@pytest.mark.parametrize("entry", [3, None, 1.5, ROWS])
def test_a_fetch_of_another_kind_is_refused(exe, y, entry):
    with pytest.raises(FetchError, match=r"fetch_list\[1\]: expected a Variable or a name, got"):
        exe.run(feed={"x": ROWS}, fetch_list=[y, entry])


def test_an_unknown_fetch_is_refused_and_lists_the_nearest(exe, y):
    with pytest.raises(FetchError, match=r"fetch 'scale_0.tmp': not in the Program; it has scale_0.tmp_0, x"):
        exe.run(feed={"x": ROWS}, fetch_list=["scale_0.tmp"])


def test_a_fetch_that_nothing_gives_a_value_is_refused(exe, block, y):
    block.create_var("orphan", [1], "float32")
    with pytest.raises(FetchError, match="fetch 'orphan': expected a value, nothing that ran gives it one"):
        exe.run(feed={"x": ROWS}, fetch_list=["orphan"])


def test_a_parameter_that_no_operator_uses_can_be_fetched(exe, startup):
    weight = static.create_parameter([2], default_initializer=opsdk.nn.initializer.Constant(3.0))
    exe.run(startup)
    np.testing.assert_array_equal(exe.run(fetch_list=[weight])[0], [3.0, 3.0])


def test_changing_a_fetched_parameter_changes_nothing(exe, startup):
    weight = static.create_parameter([2], default_initializer=opsdk.nn.initializer.Constant(3.0))
    exe.run(startup)
    exe.run(fetch_list=[weight])[0][:] = 100.0
    np.testing.assert_array_equal(exe.run(fetch_list=[weight])[0], [3.0, 3.0])


def test_changing_a_fetched_input_changes_nothing(exe, x):
    fed = ROWS.copy()
    exe.run(feed={"x": fed}, fetch_list=[x])[0][:] = 100.0
    np.testing.assert_array_equal(fed, ROWS)


def test_changing_a_fetched_constant_changes_nothing(exe, x):
    x + np.float32(1.0)
    exe.run(feed={"x": ROWS}, fetch_list=["constant_0"])[0][...] = 100.0
    assert exe.run(feed={"x": ROWS}, fetch_list=["constant_0"])[0] == 1.0


def test_what_a_run_returned_stays_as_it_was_after_the_next(exe, y):
    (first,) = exe.run(feed={"x": ROWS}, fetch_list=[y])
    exe.run(feed={"x": ROWS * 10}, fetch_list=[y])
    np.testing.assert_array_equal(first, ROWS * 2)


def test_fetches_are_plain_writable_arrays(exe, y):
    (found,) = exe.run(feed={"x": np.broadcast_to(ROWS[:1], (2, 3))}, fetch_list=["x"])
    assert (type(found), found.flags.writeable) == (np.ndarray, True)


def test_a_fetched_gradient_is_found_by_its_name(exe, startup, x):
    static.append_backward(static.nn.fc(x, 1).sum())
    exe.run(startup)
    np.testing.assert_array_equal(exe.run(feed={"x": ROWS}, fetch_list=["fc_0.b_0@GRAD"])[0], [2.0])


# -- program and scope -------------------------------------------------------------------------------------------------


def test_without_a_program_the_default_main_program_runs(exe, y):
    assert len(exe.run(None, {"x": ROWS}, [y])) == 1


@pytest.mark.parametrize("program", [0, "main", [None]])
def test_what_is_no_program_is_refused(exe, program):
    with pytest.raises(ProgramError, match=r"Executor.run: program expected a Program, got"):
        exe.run(program)


def test_a_run_that_is_refused_shows_the_users_line_and_nothing_below_run(exe, y):
    with pytest.raises(FeedError, match="feed: expected a value for 'x'") as caught:
        exe.run(fetch_list=[y])
    assert [entry.name for entry in caught.traceback][-2:] == [
        "test_a_run_that_is_refused_shows_the_users_line_and_nothing_below_run",
        "run",
    ]


def test_what_is_no_scope_is_refused(exe, y):
    with pytest.raises(ProgramError, match=r"Executor.run: scope expected a Scope, got dict"):
        exe.run(feed={"x": ROWS}, scope={})


def test_a_closed_executor_is_refused(exe, y):
    exe.close()
    with pytest.raises(ProgramError, match="Executor: expected one that is open, this one was closed; make a new one"):
        exe.run(feed={"x": ROWS}, fetch_list=[y])


def test_another_place_than_host_memory_is_refused():
    with pytest.raises(ProgramError, match=r"Executor: place expected CPUPlace\(\), got"):
        static.Executor(opsdk.CUDAPlace(0))


def test_host_memory_may_be_named():
    assert static.Executor(opsdk.CPUPlace()).place.kind == "cpu"


def test_the_main_program_before_the_startup_program_is_refused(exe, x):
    static.nn.fc(x, 2)
    text = r"variable 'fc_0.w_0': expected a value in the Scope, it has none; run the startup program first: exe.run\("
    with pytest.raises(NotInitializedError, match=text):
        exe.run(feed={"x": ROWS})


def test_the_startup_program_run_again_initialises_again(exe, startup, x):
    opsdk.optimizer.SGD(0.5).minimize(static.nn.fc(x, 2).sum())
    exe.run(startup)
    (before,) = exe.run(startup, fetch_list=["fc_0.w_0"])
    (trained,) = exe.run(feed={"x": ROWS}, fetch_list=["fc_0.w_0"])
    (after,) = exe.run(startup, fetch_list=["fc_0.w_0"])
    assert (np.array_equal(before, after), np.array_equal(before, trained)) == (True, False)


def test_two_scopes_hold_independent_parameters(exe, startup, x):
    opsdk.optimizer.SGD(0.5).minimize(static.nn.fc(x, 2).sum())
    scopes = static.Scope(), static.Scope()
    for scope in scopes:
        exe.run(startup, scope=scope)
    (before,) = exe.run(startup, scope=scopes[1], fetch_list=["fc_0.w_0"])
    exe.run(feed={"x": ROWS}, scope=scopes[0])
    np.testing.assert_array_equal(np.array(scopes[1].find_var("fc_0.w_0").get_tensor()), before)


def test_the_guarded_scope_is_used(exe, startup):
    static.create_parameter([2], name="w")
    scope = static.Scope()
    with static.scope_guard(scope):
        exe.run(startup)
    assert (scope.find_var("w") is None, static.global_scope().find_var("w") is None) == (False, True)


def test_after_a_run_only_persistable_values_are_in_the_scope(exe, startup, x):
    static.nn.fc(x, 2)
    exe.run(startup)
    exe.run(feed={"x": ROWS})
    assert static.global_scope().local_var_names() == ["fc_0.b_0", "fc_0.w_0"]


def test_a_value_that_is_set_in_the_scope_is_used(exe, startup, x):
    y = static.nn.fc(x, 1)
    exe.run(startup)
    static.global_scope().find_var("fc_0.w_0").get_tensor().set(np.ones((3, 1)))
    np.testing.assert_array_equal(exe.run(feed={"x": ROWS}, fetch_list=[y])[0], [[6.0], [15.0]])


def test_a_value_of_another_program_under_the_same_name_is_refused(exe):
    static.create_parameter([2], name="w") * 2.0
    static.global_scope().var("w").get_tensor().set(np.ones(3, np.float32))
    text = r"variable 'w': expected float32 \(2,\), the Scope holds float32 \(3,\); another Program uses the same name"
    with pytest.raises(ProgramError, match=text):
        exe.run()


def test_a_run_that_fails_leaves_what_was_not_updated_yet(exe, block, x):
    kept = block.create_var("kept", [None, 3], "float32", persistable=True)
    block.append_op("relu", {"x": x}, {"out": kept})
    static.py_func(lambda x: [][0], x, block.create_var("never", [1], "float32"))
    with pytest.raises(IndexError):
        exe.run(feed={"x": ROWS})
    assert static.global_scope().find_var("kept") is None


# -- pruning and compiling ---------------------------------------------------------------------------------------------


def test_with_pruning_only_what_the_fetches_need_runs(exe, block, x, y):
    calls = []
    static.py_func(lambda x: calls.append(0) or x * 1, x, block.create_var("out", [None, 3], "float32"))
    exe.run(feed={"x": ROWS}, fetch_list=[y], use_prune=True)
    assert calls == []


def test_without_pruning_everything_runs(exe, block, x, y):
    calls = []
    static.py_func(lambda x: calls.append(0) or x * 1, x, block.create_var("out", [None, 3], "float32"))
    exe.run(feed={"x": ROWS}, fetch_list=[y])
    assert calls == [0]


def test_with_pruning_only_the_feeds_of_what_runs_are_needed(exe, y):
    opsdk.relu(static.data("z", [2], "float32"))
    np.testing.assert_array_equal(exe.run(feed={"x": ROWS}, fetch_list=[y], use_prune=True)[0], ROWS * 2)


def test_with_pruning_and_no_fetch_everything_runs(exe, startup):
    static.create_parameter([2], name="w")
    exe.run(startup, use_prune=True)
    assert static.global_scope().find_var("w") is not None


def test_with_pruning_a_gradient_finds_what_its_shape_comes_from(exe, startup, x):
    weight = static.create_parameter([3], name="w")
    cotangent = static.data("cotangent", [None, 3], "float32")
    (grad,) = static.gradients(x + weight, weight, cotangent)
    exe.run(startup)
    found = exe.run(feed={"cotangent": ROWS}, fetch_list=[grad], use_prune=True)
    np.testing.assert_array_equal(found[0], ROWS.sum(axis=0))


@pytest.fixture
def compilations(monkeypatch):
    """Counts how often a Program is compiled."""
    made = []

    class Counted(executor_module.Compiled):
        def __init__(self, *arguments):
            made.append(arguments)
            super().__init__(*arguments)

    monkeypatch.setattr(executor_module, "Compiled", Counted)
    return made


def test_a_program_is_compiled_once(exe, y, compilations):
    for fetches in ([y], [], ["x"]):
        exe.run(feed={"x": ROWS}, fetch_list=fetches)
    assert len(compilations) == 1


def test_one_thread_at_a_time_compiles(exe, y, monkeypatch):
    locked = []

    class Watched(executor_module.Compiled):
        def __init__(self, *arguments):
            locked.append(exe._lock.locked())
            super().__init__(*arguments)

    monkeypatch.setattr(executor_module, "Compiled", Watched)
    exe.run(feed={"x": ROWS})
    assert locked == [True]


def test_a_program_that_changed_is_compiled_again(exe, x, y, compilations):
    exe.run(feed={"x": ROWS})
    z = x + y
    np.testing.assert_array_equal(exe.run(feed={"x": ROWS}, fetch_list=[z])[0], ROWS * 3)
    assert len(compilations) == 2


def test_what_was_compiled_for_an_older_version_is_forgotten(exe, main, x):
    for _ in range(3):
        x + x
        exe.run(feed={"x": ROWS})
    assert len(exe._compiled[main]) == 1


def test_pruned_programs_are_compiled_per_fetch(exe, x, y, compilations):
    for fetches in ([x], [y], [x], [y]):
        exe.run(feed={"x": ROWS}, fetch_list=fetches, use_prune=True)
    assert len(compilations) == 2


def test_an_executor_does_not_keep_programs_alive(exe, x, y):
    exe.run(feed={"x": ROWS})
    other = static.Program()
    with static.program_guard(other):
        static.data("z", [2], "float32") * 2.0
    exe.run(other, feed={"z": np.ones(2, np.float32)})
    del other
    gc.collect()
    assert len(exe._compiled) == 1


def test_threads_with_scopes_of_their_own_get_their_own_results(exe, main, startup, x):
    loss = opsdk.mean(opsdk.square(static.nn.fc(x, 2)))
    opsdk.optimizer.SGD(0.01).minimize(loss)
    feeds = [ROWS * (i + 1) / 8 for i in range(4)]

    def train(rows):
        scope = static.Scope()
        exe.run(startup, scope=scope)
        return [float(exe.run(main, {"x": rows}, [loss], scope=scope)[0]) for _ in range(50)]

    expected = [train(rows) for rows in feeds]
    found = [None] * len(feeds)
    start = threading.Barrier(len(feeds))

    def work(i):
        start.wait()
        found[i] = train(feeds[i])

    threads = [threading.Thread(target=work, args=(i,)) for i in range(len(feeds))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == expected


def test_feeds_constants_and_scope_values_of_the_other_byte_order_are_of_this_machine():
    swapped = np.array([3.0, 4.0]).astype(np.dtype("f8").newbyteorder("S"))
    v = static.data("v", [2], "float64")
    out = v * swapped
    exe = static.Executor(opsdk.CPUPlace())
    (value,) = exe.run(feed={"v": swapped}, fetch_list=[out])
    np.testing.assert_array_equal(value, [9.0, 16.0])
    scope = static.Scope()
    scope.var("w").get_tensor().set(swapped)
    held = np.asarray(scope.find_var("w").get_tensor())
    assert held.dtype == np.dtype("float64")
    np.testing.assert_array_equal(held, [3.0, 4.0])


@pytest.mark.parametrize("how", [pickle.dumps, copy.deepcopy, copy.copy], ids=["pickle", "deepcopy", "copy"])
def test_programs_variables_and_executors_stay_in_their_process(x, how):
    with pytest.raises(ProgramError, match=r"Program: expected to stay in its process, .* use clone\(\) here"):
        how(static.default_main_program())
    with pytest.raises(ProgramError, match=r"Executor: expected to stay in its process, got pickled or copied"):
        how(static.Executor())
    if how is not copy.copy:
        with pytest.raises(ProgramError, match="Program: expected to stay in its process"):
            how(x)
