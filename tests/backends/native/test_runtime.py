"""The native runtime: who does which piece of a job, driven with entries of this file."""

import ctypes
import itertools
import os
import signal
import threading
import time
from pathlib import Path

import numpy as np
import pytest
from numba import int32, int64, types

import opsdk
from opsdk.backends.native import runtime
from opsdk.backends.native.compiler import Export, compile_object
from opsdk.backends.native.loader import load
from opsdk.backends.native.runtime import PROTOTYPE, collapsed, ffi, geometry_of, piece_of, run_shared, thread_count

TASKS = Path("/proc/self/task")


@pytest.fixture
def run():
    """Runs a job whose pieces are noted: (start, stop, thread); a function of a piece gives its status."""
    tools = ffi()

    def job(total, grain, status=lambda start: 0):
        pieces = []

        @tools.callback(PROTOTYPE)
        def entry(pointers, sizes, attrs, start, stop):
            pieces.append((start, stop, threading.get_ident()))
            return status(start)

        address = int(tools.cast("intptr_t", entry))
        returned = run_shared(address, tools.NULL, tools.NULL, tools.NULL, total, grain)
        runtime.entry_at.cache_clear()  # the address is free again when this function ends
        return returned, sorted(pieces)

    return job


@pytest.mark.parametrize("threads", [1, 2, 3, 8])
@pytest.mark.parametrize(("total", "grain"), [(1, 1), (10, 3), (64, 64), (65, 64), (100, 7), (1000, 1)])
def test_every_element_is_done_once(run, threads, total, grain):
    opsdk.set_flags(threads=threads)
    status, pieces = run(total, grain)
    assert status == 0
    assert [start for start, _, _ in pieces] == [0, *(stop for _, stop, _ in pieces)][:-1]
    assert pieces[-1][1] == total
    if len(pieces) > 1:
        assert all(stop - start == grain for start, stop, _ in pieces[:-1])


def test_one_thread_does_everything_in_one_piece(run):
    opsdk.set_flags(threads=1)
    assert run(1000, 10)[1] == [(0, 1000, threading.get_ident())]


def test_what_is_one_piece_wakes_nobody(run, monkeypatch):
    opsdk.set_flags(threads=4)
    monkeypatch.setattr(runtime, "_running", lambda: pytest.fail("the pool was asked"))
    assert run(100, 100)[1] == [(0, 100, threading.get_ident())]


def test_several_threads_take_part(run):
    opsdk.set_flags(threads=3)
    barrier = threading.Barrier(3)  # passed only if three pieces are under way at once

    def meet(start):
        barrier.wait(60)
        return 0

    _, pieces = run(3, 1, meet)
    assert len({thread for _, _, thread in pieces}) == 3


@pytest.mark.parametrize("threads", [1, 4])
def test_a_status_that_is_not_zero_comes_back(run, threads):
    opsdk.set_flags(threads=threads)
    assert run(100, 10, lambda start: 9 if start == 0 else 0)[0] == 9
    assert run(100, 10)[0] == 0  # the next job starts without it


def test_who_comes_while_a_job_runs_works_alone(run):
    opsdk.set_flags(threads=2)
    inner = []

    def ask_again(start):
        inner.append(run(50, 1)[1])
        return 0

    _, outer = run(4, 1, ask_again)
    assert len(outer) == 4
    for pieces in inner:
        assert len(pieces) == 1
        assert pieces[0][:2] == (0, 50)


def test_jobs_one_after_another_are_never_mixed(run):
    opsdk.set_flags(threads=4)
    for i in range(300):
        status, pieces = run(10 + i % 7, 1 + i % 3, lambda start, i=i: i + 1)
        assert (status, pieces[-1][1]) == (i + 1, 10 + i % 7)


def count(start, stop, sizes, times):
    for i in range(start, stop):
        times[i] += 1
    return np.int32(0)


def test_threads_that_run_at_once_never_take_the_same_piece():
    counters = types.CPointer(int64)
    signature = int32(int64, int64, counters, counters)
    data = compile_object("count", [Export("count", count, signature, is_range=True)])
    image = load(data, ["count"])
    opsdk.set_flags(threads=4)
    times = np.zeros(50_000, np.int64)
    pointers = ffi().new("void *[]", [ffi().from_buffer(times)])
    for turn in range(1, 41):
        assert run_shared(image.addresses["count"], pointers, ffi().NULL, ffi().NULL, times.size, 1 + turn % 3) == 0
        assert (times == turn).all()


def test_the_number_of_threads_is_the_flag_or_what_the_process_may_use(monkeypatch):
    opsdk.set_flags(threads=5)
    assert thread_count() == 5
    opsdk.set_flags(threads=0)
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: {0, 1, 2}, raising=False)
    assert thread_count() == 3
    monkeypatch.delattr(os, "sched_getaffinity")
    monkeypatch.setattr(os, "cpu_count", lambda: None)
    assert thread_count() == 1


@pytest.mark.skipif(not TASKS.is_dir(), reason="threads are counted in /proc")
def test_a_number_of_threads_that_comes_again_makes_no_new_ones(run):
    for threads in (2, 5, 3):
        opsdk.set_flags(threads=threads)
        run(100, 1)
    before = len(list(TASKS.iterdir()))
    for _ in range(20):
        for threads in (2, 5, 3):
            opsdk.set_flags(threads=threads)
            run(100, 1)
    assert len(list(TASKS.iterdir())) == before


def blocked_signals(task):
    (line,) = [line for line in (task / "status").read_text().splitlines() if line.startswith("SigBlk")]
    return int(line.split()[1], 16)


@pytest.mark.skipif(not TASKS.is_dir(), reason="signal masks are read in /proc")
def test_signals_are_left_to_pythons_own_threads(run):
    before = {task.name for task in TASKS.iterdir()}
    opsdk.set_flags(threads=7)
    runtime._pools.pop(6, None)
    run(100, 1)
    made = [task for task in TASKS.iterdir() if task.name not in before]
    assert len(made) == 6
    for task in made:
        blocked = blocked_signals(task)
        deadline = time.monotonic() + 60
        while blocked >> (signal.SIGSEGV - 1) & 1 and time.monotonic() < deadline:
            os.sched_yield()  # a thread that has not begun yet blocks all signals; nobody waits for it
            blocked = blocked_signals(task)
        assert all(blocked >> (number - 1) & 1 for number in (signal.SIGINT, signal.SIGTERM, signal.SIGCHLD))
        assert not blocked >> (signal.SIGSEGV - 1) & 1
    assert signal.SIGINT not in signal.pthread_sigmask(signal.SIG_BLOCK, [])


@pytest.mark.parametrize("granted", [0, 1])
def test_a_system_that_gives_fewer_threads_is_enough(run, monkeypatch, granted):
    library = ctypes.CDLL(None)

    class Stingy:
        asked = 0

        def __getattr__(self, name):
            if name != "pthread_create":
                return getattr(library, name)

            def create(*args):
                Stingy.asked += 1
                return library.pthread_create(*args) if Stingy.asked <= granted else 11

            return create

    opsdk.set_flags(threads=9)
    runtime._pools.pop(8, None)
    monkeypatch.setattr(runtime.ctypes, "CDLL", lambda name: Stingy())
    assert run(100, 7)[1][-1][1] == 100
    assert runtime._pools.pop(8).workers == granted


def test_without_posix_threads_the_caller_works_alone(run, monkeypatch):
    monkeypatch.setattr(runtime, "_HAS_THREADS", False)
    opsdk.set_flags(threads=11)
    runtime._pools.pop(10, None)
    assert run(100, 7)[1] == [(0, 100, threading.get_ident())]
    runtime._pools.pop(10)


@pytest.mark.parametrize("threads", [1, 2, 7, 64])
@pytest.mark.parametrize("total", [1, 5000, 100_001, 10_000_000])
def test_pieces_are_whole_vectors_and_enough_for_every_thread(threads, total):
    opsdk.set_flags(threads=threads)
    piece = piece_of(total, 4096)
    assert piece % 64 == 0
    assert piece >= 4096
    assert piece < 4096 + 64 or total / piece > 2 * threads


# -- the walk over operands is the one that NumPy's broadcasting gives, in as few dimensions as will do ---------------


def offsets(dims, strides):
    """Returns the byte offsets that a walk in row-major order gives."""
    return [
        sum(i * step for i, step in zip(index, strides, strict=True)) for index in itertools.product(*map(range, dims))
    ]


def of_numpy(array, shape):
    return offsets(shape, np.broadcast_to(array, shape).strides)


BASE = np.zeros((4, 6, 5), np.float32)
CASES = {
    "contiguous": ((4, 6, 5), [BASE, BASE], 1),
    "one scalar": ((4, 6, 5), [BASE, np.zeros(())], 1),
    "last dimension broadcast": ((4, 6, 5), [BASE, np.zeros((4, 6, 1))], 2),
    "first dimension broadcast": ((4, 6, 5), [BASE, np.zeros((6, 5))], 2),
    "middle dimension broadcast": ((4, 6, 5), [BASE, np.zeros((4, 1, 5))], 3),
    "column by row": ((4, 6), [np.zeros((4, 1)), np.zeros(6)], 2),
    "sliced": ((2, 6, 5), [BASE[::2], np.zeros((2, 6, 5))], 2),
    "reversed": ((4, 6, 5), [BASE[:, :, ::-1], BASE], 2),
    "reversed as a whole": ((4, 6, 5), [BASE[::-1, ::-1, ::-1]], 1),
    "transposed": ((5, 6, 4), [BASE.T, np.zeros((5, 6, 4))], 3),
    "transposed alike": ((5, 6, 4), [BASE.T, BASE.T], 3),
    "sizes of one": ((1, 4, 1, 6, 5, 1), [BASE.reshape(1, 4, 1, 6, 5, 1)], 1),
    "one element": ((1, 1), [np.zeros((1, 1)), np.zeros(())], 1),
    "no dimension": ((), [np.zeros(())], 1),
    "repeated by strides": ((3, 5), [np.lib.stride_tricks.as_strided(BASE, (3, 5), (0, 4))], 2),
}


@pytest.mark.parametrize("case", CASES)
def test_the_walk_is_numpys(case):
    shape, arrays, dims = CASES[case]
    size, made = geometry_of(77, shape, arrays, len(arrays))
    sizes = list(made)
    count = len(arrays)
    assert sizes[:4] == [77, count, count, dims]
    sides, items = sizes[4 : 4 + dims], sizes[4 + dims : 4 + dims + count]
    rest = sizes[4 + dims + count :]
    assert items == [array.itemsize for array in arrays]
    for i, array in enumerate(arrays):
        steps = rest[i * dims : (i + 1) * dims]
        assert offsets(sides, steps) == of_numpy(array, shape)
        dense = rest[count * dims + i]
        walked = of_numpy(array, shape)
        if dense:
            assert walked == [j * array.itemsize for j in range(len(walked))]
        elif size > 1:
            assert walked != [j * array.itemsize for j in range(len(walked))]
    assert size == int(np.prod(shape))


def test_an_empty_shape_has_no_elements():
    assert geometry_of(1, (3, 0), [np.zeros((3, 0)), np.zeros((3, 1))], 2)[0] == 0


def test_dimensions_are_joined_only_where_every_operand_allows():
    assert collapsed((2, 3, 4), [[48, 16, 4], [0, 16, 4]]) == ([2, 12], [[48, 4], [0, 4]])
    assert collapsed((2, 3, 4), [[48, 16, 4], [4, 0, 0]]) == ([2, 12], [[48, 4], [4, 0]])
    assert collapsed((2, 3, 4), [[48, 16, 4], [0, 4, 0]]) == ([2, 3, 4], [[48, 16, 4], [0, 4, 0]])
    assert collapsed((1, 1), [[0, 0], [8, 8]]) == ([1], [[0], [0]])
