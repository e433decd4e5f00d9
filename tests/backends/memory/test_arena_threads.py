"""The arena among threads, finalisers and forks, and at the end of the interpreter."""

import os
import subprocess
import sys
import textwrap
import threading

import numpy as np
import pytest

from opsdk.backends.memory import arena as module
from opsdk.backends.memory.arena import SMALLEST, Arena, is_leased

MIB = 1 << 20
BYTE = np.dtype("int8")


@pytest.fixture
def arena():
    return Arena(64 * MIB)


def test_threads_that_make_and_drop_arrays_never_see_each_others(rng):
    arena, wrong = Arena(8 * MIB), []
    sizes = rng.integers(SMALLEST, 4 * SMALLEST, (8, 1000))

    def work(mark):
        kept = []
        for size in sizes[mark].tolist():
            array = arena.empty((size,), BYTE)
            array[:] = mark
            kept.append(array[size // 2 :])
            if len(kept) > 3:
                wrong.extend([mark] if (kept.pop(0) != mark).any() else [])

    threads = [threading.Thread(target=work, args=(mark,)) for mark in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    stats = arena.stats()
    assert not wrong
    assert (stats.in_use, stats.allocations) == (0, 8000)
    assert 0 < stats.held <= 8 * MIB


def test_what_a_finaliser_does_inside_of_the_arenas_work_neither_waits_nor_is_lost(arena, monkeypatch):
    victims = [arena.empty((2 * MIB,), BYTE)]
    arena.keep_at_most(MIB)
    inner = []

    def interrupted(size):
        victims.clear()
        inner.append(arena.empty((MIB,), BYTE))
        inner.append(arena.release())
        return real(size)

    real = module.mapped
    monkeypatch.setattr(module, "mapped", interrupted)
    outer = arena.empty((MIB,), BYTE)
    assert is_leased(outer, ()) and inner[0].base is None and inner[1] == 0
    assert (arena.stats().in_use, arena.stats().held) == (MIB, 0)  # the limit holds for the victim's block too


def test_an_array_that_dies_while_another_thread_is_at_work_does_not_wait_for_it(arena, monkeypatch):
    array = arena.empty((2 * MIB,), BYTE)
    begun, go_on, others = threading.Event(), threading.Event(), []

    def slow(size):
        begun.set()
        assert go_on.wait(20)
        return real(size)

    real = module.mapped
    monkeypatch.setattr(module, "mapped", slow)
    thread = threading.Thread(target=lambda: others.append(arena.empty((MIB,), BYTE)))
    thread.start()
    assert begun.wait(60)
    del array  # would never come back if it waited
    go_on.set()
    thread.join()
    assert (arena.stats().in_use, arena.stats().held) == (MIB, 2 * MIB)


def run(code):
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-W", "ignore", "-c", textwrap.dedent(code)]
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120, check=False)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
def test_a_child_forked_amid_the_work_of_threads_goes_on_with_memory_of_its_own():
    done = run(
        """
        import os, signal, threading
        import numpy as np
        from opsdk.backends.memory.arena import ARENA, empty

        stop, byte = threading.Event(), np.dtype("int8")

        def work():
            kept = []
            while not stop.is_set():
                kept = [*kept[-3:], empty((100_000 + 30_000 * len(kept),), byte)]

        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        shared = empty((1 << 20,), byte)
        shared[:] = 7
        codes = []
        for _ in range(20):
            child = os.fork()
            if child == 0:
                signal.alarm(20)  # a lock that nobody will open ends the child
                made = []
                other = threading.Thread(target=lambda: made.append(empty((1 << 20,), byte)))
                other.start()
                other.join()
                for mark in range(50):
                    array = empty((1 << 18,), byte)
                    array[:] = mark
                    if (array != mark).any() or (shared != 7).any():
                        os._exit(1)
                shared[:] = 9
                del array, shared
                ARENA.release()
                os._exit(0 if empty((1 << 20,), byte).base is not None else 2)
            codes.append(os.waitpid(child, 0)[1])
            if codes[-1]:
                break
        stop.set()
        for thread in threads:
            thread.join()
        print(codes == [0] * 20, (shared == 7).all())
        """
    )
    assert (done.stdout.split(), done.stderr) == (["True", "True"], "")


def test_arrays_that_live_until_the_interpreter_ends_end_with_it_quietly():
    done = run(
        """
        import sys
        import numpy as np
        from opsdk.backends.memory.arena import empty

        class Late:
            def __del__(self):
                self.array[:] = 1
                self.array = None

        held = [empty((1 << 20,), np.dtype("int8")) for _ in range(3)]
        held.append(held)
        late = Late()
        late.array = empty((1 << 20,), np.dtype("int8"))
        sys.late = late
        """
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
