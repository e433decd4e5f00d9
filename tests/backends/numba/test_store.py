import os
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier, Thread

import numpy as np
import pytest

import opsdk
from tests.backends.numba_rows import Processes
from tests.contracts.tree import REPOSITORY

numba = pytest.importorskip("numba")

if not hasattr(os, "fork"):
    pytest.skip("no fork here", allow_module_level=True)

KERNELS = """
    import numpy as np
    import opsdk
    import helpers

    @opsdk.op("t::f(Tensor x) -> Tensor y")
    def f(x):
        raise AssertionError("the reference ran")

    @f.kernel("cpu", language="numba")
    def kernel(x):
        return helpers.scaled(x) + helpers.SHIFT
"""
HELPERS = """
    import numba
    SHIFT = {shift}

    @numba.njit{how}
    def scaled(x):
        return x * {scale}
"""
CALL = "import kernels; print(kernels.f(X).tolist())"


@pytest.fixture(scope="module")
def shared(tmp_path_factory):
    made = Processes(tmp_path_factory.mktemp("numba"))
    yield made
    made.end()


@pytest.fixture
def processes(shared):
    """The same process with an empty cache."""
    for path in (shared.folder / "cache").rglob("*.nbo"):
        path.unlink()
    return shared


def kept(processes):
    return sorted((processes.folder / "cache" / "numba").glob("[0-9a-f]*.nbo"))


def test_a_second_process_compiles_nothing_and_an_edit_of_a_module_that_is_used_is_seen(processes):
    processes.write("kernels.py", KERNELS)
    processes.write("helpers.py", HELPERS.format(shift=0.5, scale=2.0, how=""))
    assert processes.run(CALL) == [["[2.5, 4.5]"], ["kernel", "scaled"]]
    assert processes.run(CALL) == [["[2.5, 4.5]"], []]
    processes.write("helpers.py", HELPERS.format(shift=0.25, scale=2.0, how=""))
    assert processes.run(CALL) == [["[2.25, 4.25]"], ["kernel", "scaled"]]
    processes.write("helpers.py", HELPERS.format(shift=0.25, scale=3.0, how=""))
    assert processes.run(CALL) == [["[3.25, 6.25]"], ["kernel", "scaled"]]
    assert processes.run(CALL) == [["[3.25, 6.25]"], []]
    processes.write("helpers.py", HELPERS.format(shift=0.5, scale=2.0, how=""))
    assert processes.run(CALL) == [["[2.5, 4.5]"], []]
    assert len(kept(processes)) == 3


def test_a_kernel_that_calls_what_numba_keeps_itself_is_left_to_numba(processes):
    processes.write("kernels.py", KERNELS)
    processes.write("helpers.py", HELPERS.format(shift=0.5, scale=2.0, how="(cache=True)"))
    assert processes.run(CALL) == [["[2.5, 4.5]"], ["kernel", "scaled"]]
    assert processes.run(CALL) == [["[2.5, 4.5]"], ["kernel"]]
    assert kept(processes) == []


AFFINE = """
    import numba, opsdk
    K = 5.0

    @numba.njit
    def scaled(x):
        return x * K

    def define():
        @opsdk.op("t::f(Tensor x) -> Tensor y")
        def f(x):
            raise AssertionError("the reference ran")

        @f.kernel("cpu", language="numba")
        def kernel(x, y):
            for i in range(x.size):
                y[i] = scaled(x[i]) + 1.0

        return f
"""


def test_a_helper_that_was_compiled_with_another_value_leaves_nothing_behind(processes):
    processes.write("affine.py", AFFINE)
    early = "import affine; affine.scaled(1.0); affine.K = 6.0; affine.define()(X)"
    assert processes.run(early) == [[], ["kernel", "scaled"]]
    assert kept(processes) == []
    assert processes.run("import affine; affine.K = 6.0; print(affine.define()(X).tolist())") == [
        ["[7.0, 13.0]"],
        ["kernel", "scaled"],
    ]
    assert len(kept(processes)) == 1


def test_a_helper_that_another_kernel_had_compiled_is_kept_with_the_next(processes):
    processes.write("affine.py", AFFINE)
    twice = "import affine; affine.define()(X); print(affine.define()(X + 1).tolist())"
    assert processes.run(twice) == [["[11.0, 16.0]"], ["kernel", "scaled"]]
    assert len(kept(processes)) == 1


OWN = """
    import numba, opsdk

    @opsdk.op("t::f(Tensor x) -> Tensor y")
    def f(x):
        raise AssertionError("the reference ran")

    @f.kernel("cpu", language="numba")
    @numba.njit{how}
    def kernel(x):
        return x * 2.0
"""


@pytest.mark.parametrize(("how", "second"), [("", ["kernel"]), ("(cache=True)", [])], ids=["without", "with"])
def test_a_dispatcher_of_the_users_is_kept_as_the_user_says(processes, how, second):
    processes.write("own.py", OWN.format(how=how))
    call = "import own; print(own.f(X).tolist())"
    assert processes.run(call) == [["[2.0, 4.0]"], ["kernel"]]
    assert processes.run(call) == [["[2.0, 4.0]"], second]
    assert kept(processes) == []


SESSION = """
    import opsdk
    FACTOR = {factor}

    @opsdk.op("t::f(Tensor x) -> Tensor y")
    def f(x):
        raise AssertionError("the reference ran")

    @f.kernel("cpu", language="numba")
    def kernel(x):
        for i in range(x.size):
            if x[i] > 9:
                raise ValueError("too large", FACTOR)
        return x * FACTOR

    print(f(X).tolist())
    try:
        f(X * 9)
    except ValueError as error:
        print(error.args)
"""


def test_a_function_without_a_file_is_kept_too_with_what_it_raises(processes):
    wanted = [["[2.0, 4.0]", "('too large', 2.0)"], ["kernel"]]
    assert processes.run("__name__ = 'a cell'\n" + SESSION.format(factor=2.0).replace("\n    ", "\n")) == wanted
    wanted[1] = []
    assert processes.run("__name__ = 'a cell'\n" + SESSION.format(factor=2.0).replace("\n    ", "\n")) == wanted
    other = processes.run("__name__ = 'a cell'\n" + SESSION.format(factor=3.0).replace("\n    ", "\n"))
    assert other == [["[3.0, 6.0]", "('too large', 3.0)"], ["kernel"]]


# Recursive, so that LLVM leaves the call a call.
FACTORY = """
import numba

def make(factor):
    @numba.njit
    def inner(x, n):
        if n <= 0:
            return 0.0
        return x.sum() * factor + np.sort(x)[0] - x.min() + inner(x, n - 1) * 0.0

    def kernel(x):
        y = np.empty_like(x)
        for i in range(x.size):
            y[i] = inner(x, i + 1)
        return y

    op = opsdk.op(f"t::by{factor}(Tensor x) -> Tensor y")(lambda x: x * 1)
    op.kernel("cpu", kernel, language="numba")
    return op

print(*[make(factor)(X).tolist() for factor in FACTORS])
"""


def test_functions_of_one_name_that_two_processes_compiled_stay_apart_in_a_third(processes):
    def run(factors):
        return processes.run(f"__name__ = '__main__'\nFACTORS = {factors}\n{FACTORY}")

    assert run([1]) == [["[3.0, 3.0]"], ["inner", "kernel"]]
    assert run([2]) == [["[6.0, 6.0]"], ["inner", "kernel"]]
    assert run([1, 2]) == [["[3.0, 3.0] [6.0, 6.0]"], []]
    assert run([2, 1]) == [["[6.0, 6.0] [3.0, 3.0]"], []]


def test_a_file_that_was_damaged_is_compiled_again(processes):
    processes.write("kernels.py", KERNELS)
    processes.write("helpers.py", HELPERS.format(shift=0.5, scale=2.0, how=""))
    processes.run(CALL)
    (file,) = kept(processes)
    whole = file.read_bytes()
    for damaged in (whole[: len(whole) // 2], whole[:100] + bytes([whole[100] ^ 1]) + whole[101:], b""):
        file.write_bytes(damaged)
        assert processes.run(CALL) == [["[2.5, 4.5]"], ["kernel", "scaled"]]
        assert processes.run(CALL) == [["[2.5, 4.5]"], []]


def test_a_global_that_changes_while_the_kernel_is_compiled_leaves_nothing_behind(processes):
    source = """
        __name__ = "made"
        FACTOR = 2.0
        op = opsdk.op("t::f(Tensor x) -> Tensor y")(lambda x: x * 1)
        op.kernel("cpu", lambda x: x * FACTOR, language="numba")
        from opsdk.backends.numba.store import KernelStore
        save = KernelStore.save_overload
        def late(self, *arguments):
            global FACTOR
            FACTOR = 3.0
            save(self, *arguments)
        KernelStore.save_overload = late
        print(op(X).tolist())
    """
    assert processes.run(source)[0] == ["[2.0, 4.0]"]
    assert kept(processes) == []


PROCESS = """
import sys, time
from pathlib import Path
import numpy as np
import kernels
from opsdk.backends.cache import store as cache
if sys.argv[1] == "stuck":
    def stuck(number):
        print("writing", flush=True)
        time.sleep(600)
    cache.os.fsync = stuck
    go = None
else:
    print("ready", flush=True)
    while not Path(sys.argv[1]).exists():
        time.sleep(0.001)
print(kernels.f(np.array([1.0, 2.0])).tolist())
"""


@pytest.mark.slow  # stress: five processes that compile; the tests above have one at a time
def test_two_processes_at_once_and_one_that_is_killed_while_it_writes_harm_nobody(processes, tmp_path):
    space = processes
    space.write("kernels.py", KERNELS)
    space.write("helpers.py", HELPERS.format(shift=0.5, scale=2.0, how=""))
    paths = os.pathsep.join([str(space.folder), str(REPOSITORY)])
    environment = {**os.environ, "PYTHONPATH": paths, "OPSDK_CACHE_DIR": str(space.folder / "cache")}

    def start(argument):
        command = [sys.executable, "-c", PROCESS, argument]
        return subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    stuck = start("stuck")
    assert stuck.stdout.readline() == "writing\n"
    stuck.send_signal(signal.SIGKILL)
    stuck.communicate()
    assert kept(space) == []
    both = [start(str(tmp_path / "go")) for _ in range(2)]
    for each in both:
        assert each.stdout.readline() == "ready\n"
    (tmp_path / "go").touch()
    assert [(*each.communicate(), each.returncode) for each in both] == [("[2.5, 4.5]\n", "", 0)] * 2
    assert len(kept(space)) == 1
    assert space.run(CALL) == [["[2.5, 4.5]"], []]


# Ten seconds of a core, as both kernels are compiled while seven threads wait; native/test_stress has such a race.
@pytest.mark.slow
def test_eight_threads_that_all_come_first_get_what_one_gets():
    double, triple = (opsdk.op(f"t::by{factor}(Tensor x) -> Tensor y")(lambda x: x * 1) for factor in (2, 3))

    @double.kernel("cpu", language="numba")
    def twice(x):
        return x * 2.0

    @triple.kernel("cpu", language="numba")
    def thrice(x, y):
        for i in range(x.size):
            y[i] = x[i] * 3.0

    gate = Barrier(8)

    def work(number):
        x = np.arange(100.0) + number
        gate.wait()
        return all((double(x) == x * 2).all() and (triple(x) == x * 3).all() for _ in range(50))

    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(work, range(8))) == [True] * 8


# Nine seconds of a core for one long kernel; that the lock is free is seen of short ones in test_parallel.
@pytest.mark.slow
def test_other_threads_go_on_while_a_kernel_runs():
    op = opsdk.op("t::wait(Tensor(a!) x, Tensor at) -> Tensor(a!)", infer=opsdk.infer.like("x"))(lambda x, at: x)

    @op.kernel("cpu", language="numba")
    def kernel(x, at):
        turns = 0
        while x[0] == 0.0 and turns < 2_000_000_000:
            turns += 1
            x[at[0]] = turns  # a place that the compiler does not know, so that x[0] is read each time

    x, at = np.array([1.0, 0.0]), np.array([1])
    op(x, at)  # compiles it
    x[0] = 0.0
    waiting = Thread(target=op, args=(x, at))
    waiting.start()
    while x[1] == 0.0:
        pass
    x[0] = 1.0
    waiting.join()
    assert 0.0 < x[1] < 2e9
