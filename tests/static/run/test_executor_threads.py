"""Several threads: one Executor, one Scope, one Program."""

import sys
import threading

import numpy as np
import pytest

import opsdk
from opsdk import static

ROWS = np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], np.float32)


@pytest.fixture(autouse=True)
def hasty():
    """Threads that take turns after every few instructions."""
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(interval)


def together(count, work):
    """Runs `work(i)` in as many threads at once, and raises what one of them raised."""
    start, errors = threading.Barrier(count), []

    def run(i):
        try:
            start.wait()
            work(i)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=run, args=(i,)) for i in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]


@pytest.fixture
def x():
    return static.data("x", [None, 3], "float32")


@pytest.fixture
def count_rows():
    """Adds the number of rows in place."""

    @opsdk.op("test_ops::count_rows(Tensor(a!) n, Tensor x) -> Tensor(a!) out", nondifferentiable=("n", "x", "out"))
    def count_rows(n, x):
        for _ in range(len(x)):
            n += 1

    return count_rows


def test_runs_that_write_to_one_scope_take_turns(exe, main, startup, x, count_rows):
    n = static.create_global_var([1], 0.0, "float64", persistable=True)
    count_rows(n, x)
    exe.run(startup)
    scope = static.global_scope()

    def work(i):
        for _ in range(25):
            exe.run(main, feed={"x": ROWS}, scope=scope)

    together(8, work)
    assert np.array(scope.find_var(n.name).get_tensor()) == [8 * 25 * 2]


def test_training_in_several_threads_is_training_in_one(exe, main, startup, x):
    startup.random_seed = 3
    loss = static.nn.fc(x, 2).square().mean()
    opsdk.optimizer.Adam(learning_rate=0.01).minimize(loss)
    found = []
    for count in (1, 6):
        scope = static.Scope()
        exe.run(startup, scope=scope)

        def work(i, scope=scope, count=count):
            for _ in range(60 // count):
                exe.run(main, feed={"x": ROWS}, scope=scope)

        together(count, work)
        found.append(scope.values)
    assert found[0].keys() == found[1].keys()
    for name, value in found[0].items():
        np.testing.assert_array_equal(found[1][name], value, err_msg=name)


def test_who_reads_beside_training_sees_whole_steps(exe, main, startup, x, block):
    names = [static.create_global_var([500], 0.0, "float64", name=name) for name in ("a", "b", "c")]
    test = main.clone()
    for variable in names:
        block.append_op("scale", {"x": variable}, {"out": variable}, {"bias": 1.0})
    exe.run(startup)
    scope = static.global_scope()
    done = threading.Event()

    def work(i):
        if i == 0:
            try:
                for _ in range(100):
                    exe.run(main, scope=scope)
            finally:
                done.set()
            return
        while not done.is_set():
            found = exe.run(test, fetch_list=["a", "b", "c"], scope=scope)
            assert len({value for array in found for value in np.unique(array)}) == 1

    together(4, work)
    assert scope.values["a"][0] == 100


def test_random_draws_of_several_threads_are_those_of_one(exe, main, block):
    noise = block.create_var("noise", [3], "float64")
    block.append_op("uniform_random", {}, {"out": noise}, {"shape": [3], "seed": 9, "dtype": "float64"})
    alone = static.Scope()
    expected = sorted(exe.run(main, fetch_list=[noise], scope=alone)[0].tolist() for _ in range(60))
    shared, found = static.Scope(), []

    def work(i):
        found.extend([exe.run(main, fetch_list=[noise], scope=shared)[0].tolist() for _ in range(10)])

    together(6, work)
    assert sorted(found) == expected


def test_setting_a_value_beside_runs_is_not_lost_among_them(exe, main, startup, x, count_rows):
    n = static.create_global_var([1], 0.0, "float64", persistable=True)
    count_rows(n, x)
    exe.run(startup)
    scope = static.global_scope()
    begun, begin = threading.Event(), threading.Event()

    def slow(array):
        begun.set()
        begin.wait(5)
        return array.copy()

    static.py_func(slow, x, main.global_block().create_var("slow", [None, 3], "float32"))

    def work(i):
        if i == 0:
            exe.run(main, feed={"x": ROWS}, scope=scope)
            return
        begun.wait(5)
        setter = threading.Thread(target=lambda: scope.find_var(n.name).get_tensor().set([100.0]))
        setter.start()
        begin.set()
        setter.join()

    together(2, work)
    assert np.array(scope.find_var(n.name).get_tensor()) == [100.0]


def test_a_py_func_may_run_another_program_in_the_same_scope(exe, main, startup, x, count_rows, block):
    n = static.create_global_var([1], 0.0, "float64", persistable=True)
    inner, inner_startup = static.Program(), static.Program()
    with static.program_guard(inner, inner_startup):
        m = static.create_global_var([1], 0.0, "float64", persistable=True, name="m")
        count_rows(m, static.data("x", [None, 3], "float32"))
    exe.run(startup)
    exe.run(inner_startup)

    def run_inner(array):
        exe.run(inner, feed={"x": ROWS})
        return array.copy()

    static.py_func(run_inner, x, block.create_var("y", [None, 3], "float32"))
    count_rows(n, x)
    exe.run(main, feed={"x": ROWS})
    assert [float(np.array(static.global_scope().find_var(name).get_tensor())[0]) for name in (n.name, "m")] == [2, 2]


def test_threads_build_programs_of_their_own(exe):
    results = {}

    def work(i):
        main, startup = static.Program(), static.Program()
        with static.program_guard(main, startup), static.scope_guard(static.Scope()):
            x = static.data("x", [None, 3], "float32")
            for _ in range(10):
                x = x * 1.0 + float(i)
            loss = static.nn.fc(x, 2).mean()
            opsdk.optimizer.SGD(learning_rate=0.1).minimize(loss)
            exe.run(startup)
            results[i] = exe.run(feed={"x": ROWS}, fetch_list=[x])[0]

    together(6, work)
    for i, found in results.items():
        np.testing.assert_array_equal(found, ROWS + 10.0 * i)


def test_threads_append_to_one_program_without_losing_anything(exe, main, x):
    totals = {}

    def work(i):
        with static.program_guard(main):
            y = x
            for _ in range(40):
                y = y * 1.0 + np.float32(1.0)
            totals[i] = y

    together(6, work)
    block = main.global_block()
    assert len(block.ops) == 6 * 40 * 2
    assert len({name for op in block.ops for name in op.output_arg_names}) == len(block.ops)
    found = exe.run(main, feed={"x": ROWS}, fetch_list=list(totals.values()))
    for array in found:
        np.testing.assert_array_equal(array, ROWS + 40)


def test_a_call_that_is_refused_takes_back_nothing_of_another_thread(main, x):
    wide = static.data("wide", [None, 4], "float32")

    def work(i):
        with static.program_guard(main):
            for _ in range(60):
                if i % 2:
                    x * 2.0
                else:
                    with pytest.raises(opsdk.errors.ShapeError):
                        opsdk.add(x, wide)

    together(6, work)
    assert [op.type for op in main.global_block().ops] == ["scale"] * 180


def test_a_program_grows_while_others_run_it(exe, main, x):
    y = x * 2.0
    done = threading.Event()

    def work(i):
        if i:
            while not done.is_set():
                np.testing.assert_array_equal(exe.run(main, feed={"x": ROWS}, fetch_list=[y])[0], ROWS * 2)
            return
        try:
            with static.program_guard(main):
                for _ in range(100):
                    opsdk.exp(x * 0.0) + y
        finally:
            done.set()

    together(3, work)
    assert len(main.global_block().ops) == 301
