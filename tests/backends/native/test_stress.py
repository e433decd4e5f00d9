"""Compiled rows under many threads, forks, kills, interrupts and damaged caches: the same results, and no waiting."""

import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest

import opsdk
from opsdk import vmath
from opsdk.backends.native import code, loader, runtime
from opsdk.expr import node

LONGEST = 120  # seconds; only something that hangs takes as long
SIZES = [1, 7, 300, 4096, 70_001]

can_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="processes are not forked here")
may_fork = pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")

PROGRAM = """
import sys
import numpy as np
import opsdk
from opsdk import vmath
from opsdk.backends.native import code

opsdk.set_flags(threads=4)

@opsdk.elementwise(namespace="stress")
def wave(x, *, k: float = 2.0):
    return vmath.sin(k * x) * vmath.exp(-x * x)

real = code.Code.compiled

def compiled(self):
    print("compiling", flush=True)
    if {waits}:
        sys.stdin.read()
    return real(self)

code.Code.compiled = compiled
x = np.linspace(-2, 2, 300_000)
y = wave(x)
assert np.allclose(y, np.sin(2 * x) * np.exp(-x * x), rtol=1e-12, atol=1e-14)
print("right", flush=True)
"""


def defined():
    """Returns three ops of their own: nothing of them is in memory yet, nor shared with those of another test."""
    code._images.clear()

    @opsdk.elementwise(namespace="stress", replace=True)
    def wave(x, *, k: float = 2.0):
        return vmath.sin(k * x) * vmath.exp(-x * x)

    @opsdk.elementwise(namespace="stress", replace=True)
    def mix(x, y):
        return vmath.maximum(x, y) - 0.5 * x * y

    @opsdk.elementwise("stress::both(Tensor x) -> (Tensor a, Tensor b)", replace=True)
    def both(x):
        return x * x, vmath.tanh(x)

    return wave, mix, both


def started(waits, cache):
    """Returns a process that compiles and runs one op with a cache folder of its own."""
    root = Path(__file__).parents[3]
    environment = {**os.environ, "OPSDK_CACHE_DIR": str(cache), "PYTHONPATH": str(root)}
    return subprocess.Popen(
        [sys.executable, "-c", PROGRAM.format(waits=waits)],
        env=environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def check_wave(wave):
    x = np.linspace(-2, 2, 50_000)
    np.testing.assert_allclose(wave(x), np.sin(2 * x) * np.exp(-x * x), rtol=1e-12, atol=1e-14)


# -- threads -----------------------------------------------------------------------------------------------------------


def test_eight_threads_of_mixed_ops_and_sizes_get_the_results_of_one(rng):
    wave, mix, both = defined()
    opsdk.set_flags(threads=5)  # more than there are cores, in the pool alone
    data = {size: rng.standard_normal(size).astype("float32") for size in SIZES}
    grid = rng.standard_normal((301, 233)).astype("float32")

    def calls(k):
        for size, x in data.items():
            yield wave(x, k=float(k % 3))
            yield mix(x, x[::-1])
            yield from both(x)
            yield wave(x.astype("float64"), k=1.0)
            yield mix(grid, grid[0] if size % 2 else grid[:, :1])
            leaf = opsdk.to_tensor(x, stop_gradient=False)
            mix(leaf, leaf).sum().backward()
            yield leaf.grad.numpy()

    expected = [[value.tobytes() for value in calls(k)] for k in range(3)]
    wave, mix, both = defined()  # compiled anew, by whichever thread comes first
    start, wrong = threading.Barrier(8), []

    def work(index):
        start.wait(LONGEST)
        for turn in range(8):
            k = index + turn
            try:
                if [value.tobytes() for value in calls(k)] != expected[k % 3]:
                    wrong.append((index, turn))
            except BaseException as error:
                wrong.append(error)
                raise

    threads = [threading.Thread(target=work, args=(i,), daemon=True) for i in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(LONGEST)
    assert not any(thread.is_alive() for thread in threads)
    assert wrong == []


def test_the_number_of_threads_may_change_while_kernels_run(rng):
    _, mix, _ = defined()
    x = rng.standard_normal(200_000).astype("float32")
    expected = mix(x, x).tobytes()
    wrong, over = [], threading.Event()

    def work():
        while not over.is_set():
            if mix(x, x).tobytes() != expected:
                wrong.append(1)

    threads = [threading.Thread(target=work, daemon=True) for _ in range(3)]
    for thread in threads:
        thread.start()
    for turn in range(60):
        opsdk.set_flags(threads=1 + turn % 6)
        assert mix(x, x).tobytes() == expected
    over.set()
    for thread in threads:
        thread.join(LONGEST)
    assert not any(thread.is_alive() for thread in threads)
    assert wrong == []


# -- forks -------------------------------------------------------------------------------------------------------------


def in_child(function):
    """Runs a function in a forked child and returns whether it came to its end there."""
    child = os.fork()
    if child == 0:
        signal.alarm(LONGEST)  # a child that hangs ends by this
        ended = 1
        try:
            function()
            ended = 0
        finally:
            os._exit(ended)
    _, status = os.waitpid(child, 0)
    return os.waitstatus_to_exitcode(status) == 0


@can_fork
@may_fork
def test_a_forked_child_and_its_parent_go_on_computing(rng):
    opsdk.set_flags(threads=4)
    wave, mix, _ = defined()
    x = rng.standard_normal(300_000)
    expected = wave(x).tobytes()  # the pool runs

    def compute():
        for _ in range(20):
            assert wave(x).tobytes() == expected
        np.testing.assert_allclose(mix(x, x), x - 0.5 * x * x, rtol=1e-12, atol=1e-14)  # compiled in the child

    for _ in range(3):
        assert in_child(compute)
        assert wave(x).tobytes() == expected
    compute()


@pytest.mark.slow  # a fork at many moments; test_arena_threads forks in every run
@can_fork
@may_fork
def test_a_fork_while_another_thread_is_in_a_kernel_leaves_a_child_that_computes(rng):
    opsdk.set_flags(threads=3)
    wave, _, _ = defined()
    x = rng.standard_normal(400_000)
    expected = wave(x).tobytes()
    over = threading.Event()

    def work():
        while not over.is_set():
            wave(x)

    thread = threading.Thread(target=work, daemon=True)
    thread.start()

    def compute():
        assert wave(x).tobytes() == expected
        assert wave(x[::2]).tobytes() == wave(x[::2].copy()).tobytes()

    try:
        assert all(in_child(compute) for _ in range(15))
    finally:
        over.set()
        thread.join(LONGEST)
    assert not thread.is_alive()
    assert wave(x).tobytes() == expected


@can_fork
@may_fork
def test_locks_that_another_thread_held_at_the_fork_are_free_in_the_child():
    held, over = threading.Event(), threading.Event()

    def hold():
        with node._lock, loader._lock, runtime._pool_lock:
            held.set()
            over.wait(LONGEST)

    thread = threading.Thread(target=hold, daemon=True)
    thread.start()
    held.wait(LONGEST)

    def compute():
        opsdk.set_flags(threads=3)
        wave, _, _ = defined()
        check_wave(wave)

    try:
        assert in_child(compute)
    finally:
        over.set()
        thread.join(LONGEST)


# -- processes and the cache -------------------------------------------------------------------------------------------


# Three seconds of two new processes; that of one which is killed while it compiles runs always.
@pytest.mark.slow
def test_two_processes_that_compile_one_kernel_at_once_are_both_right(tmp_path):
    processes = [started(False, tmp_path / "cache") for _ in range(2)]
    for process in processes:
        output, errors = process.communicate(timeout=LONGEST)
        assert (process.returncode, output.splitlines()[-1:]) == (0, ["right"]), errors
    assert not list((tmp_path / "cache").rglob("*.tmp*"))


def test_a_process_that_is_killed_while_it_compiles_leaves_nothing_that_hurts(tmp_path, monkeypatch):
    process = started(True, tmp_path / "cache")
    assert process.stdout.readline() == "compiling\n"
    process.kill()  # it holds the lock of the kernel, and will not let it go
    process.communicate(timeout=LONGEST)
    monkeypatch.setenv("OPSDK_CACHE_DIR", str(tmp_path / "cache"))
    wave, _, _ = defined()
    check_wave(wave)
    assert len([path for path in (tmp_path / "cache").rglob("*.o") if not path.name.startswith(".")]) >= 1


@pytest.fixture
def compilations(monkeypatch):
    """Gives the names of the kernels that are compiled from here on."""
    real, names = code.Code.compiled, []

    def compiled(self):
        names.append(self.name)
        return real(self)

    monkeypatch.setattr(code.Code, "compiled", compiled)
    return names


@pytest.mark.parametrize(
    "damage",
    [
        lambda data: b"",
        lambda data: data[: len(data) // 2],
        lambda data: data[:-1],
        lambda data: bytes([data[0] ^ 255]) + data[1:],
        lambda data: data[:200] + bytes([data[200] ^ 1]) + data[201:],
        lambda data: b"\0" * len(data),
    ],
    ids=["empty", "half", "one byte less", "first byte", "one bit", "zeros"],
)
def test_a_damaged_object_file_is_compiled_again_and_not_loaded(tmp_path, monkeypatch, compilations, damage):
    monkeypatch.setenv("OPSDK_CACHE_DIR", str(tmp_path))
    check_wave(defined()[0])
    check_wave(defined()[0])  # from the file
    assert compilations == ["wave_float64"]
    (file,) = [path for path in tmp_path.rglob("*.o") if not path.name.startswith(".")]
    whole = file.read_bytes()
    file.write_bytes(damage(whole))
    check_wave(defined()[0])
    assert compilations == ["wave_float64"] * 2
    check_wave(defined()[0])  # the file is whole again
    assert len(compilations) == 2


def test_a_cache_folder_that_cannot_be_made_is_done_without(tmp_path, monkeypatch, compilations):
    (tmp_path / "file").write_text("no folder")
    monkeypatch.setenv("OPSDK_CACHE_DIR", str(tmp_path / "file" / "cache"))
    check_wave(defined()[0])
    check_wave(defined()[0])
    assert compilations == ["wave_float64"]  # a folder of this process serves instead


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may write to read-only folders")
def test_a_read_only_cache_is_read_and_not_written(tmp_path, monkeypatch, compilations):
    monkeypatch.setenv("OPSDK_CACHE_DIR", str(tmp_path))
    check_wave(defined()[0])
    folder = tmp_path / "native"
    folder.chmod(0o500)
    try:
        check_wave(defined()[0])
        assert compilations == ["wave_float64"]
        _, mix, _ = defined()
        mix(np.ones(3), np.ones(3))
    finally:
        folder.chmod(0o700)
    assert compilations == ["wave_float64", "mix_float64_float64"]


# -- interrupts --------------------------------------------------------------------------------------------------------


@pytest.fixture
def interruptible():
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background jobs ignore interrupts
    yield
    signal.signal(signal.SIGINT, before)


def test_an_interrupt_comes_between_kernels_and_the_next_ones_are_right(rng, interruptible):
    opsdk.set_flags(threads=4)
    wave, _, _ = defined()
    x = rng.standard_normal(200_000)
    expected = wave(x).tobytes()
    for _ in range(5):
        running = threading.Event()

        def interrupt(running=running):
            running.wait(LONGEST)
            os.kill(os.getpid(), signal.SIGINT)

        thread = threading.Thread(target=interrupt, daemon=True)
        thread.start()
        with pytest.raises(KeyboardInterrupt):
            while True:
                wave(x)
                running.set()
        thread.join(LONGEST)
        assert wave(x).tobytes() == expected


def test_an_interrupted_compilation_is_done_at_the_next_call(tmp_path, monkeypatch):
    monkeypatch.setenv("OPSDK_CACHE_DIR", str(tmp_path))
    real = code.Code.compiled

    def interrupted(self):
        raise KeyboardInterrupt

    @opsdk.elementwise(namespace="stress")
    def fresh(x):  # no other test compiles it: what the process keeps where a cache failed would be found
        return vmath.cos(3.0 * x) - 5.0 * x

    monkeypatch.setattr(code.Code, "compiled", interrupted)
    with pytest.raises(KeyboardInterrupt):
        fresh(np.ones(3))
    monkeypatch.setattr(code.Code, "compiled", real)
    np.testing.assert_allclose(fresh(np.ones(3)), np.cos(3.0) - 5.0, rtol=1e-12)


FIRST_CALLS = """
import sys, threading
import numpy as np
import opsdk

sys.setswitchinterval(1e-6)
x, w = np.arange(90_000, dtype="f4").reshape(300, 300), np.arange(300, dtype="f4")
gate, wrong = threading.Barrier(6), []

def work(i):
    gate.wait()
    if not np.array_equal(opsdk.add(x, w + i), x + (w + i)):
        wrong.append(i)

threads = [threading.Thread(target=work, args=(i,)) for i in range(6)]
[thread.start() for thread in threads]
[thread.join() for thread in threads]
assert not wrong
"""


# Five new processes; threads of one process meet in the tests above.
@pytest.mark.slow
def test_first_calls_of_several_threads_that_broadcast_are_right(tmp_path):
    runs = []
    for _ in range(5):  # the first one compiles; object code that lies there is loaded by all threads at once
        environment = {**os.environ, "OPSDK_CACHE_DIR": str(tmp_path)}
        runs.append(subprocess.run([sys.executable, "-c", FIRST_CALLS], env=environment, timeout=LONGEST).returncode)
    assert runs == [0] * 5
