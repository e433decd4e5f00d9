import os
import subprocess
import sys
import threading
from contextlib import contextmanager
from unittest.mock import patch

import pytest

from opsdk.backends.cache import store as cache_lock
from tests.contracts.tree import REPOSITORY

HOLD = """
import os, sys
from pathlib import Path
from opsdk.backends.cache.store import locked
with locked(Path(sys.argv[1])) as held:
    if "fork" in sys.argv and not os.fork():
        os.close(1)
        sys.stdin.read()
        os._exit(0)
    print(held, flush=True)
    sys.stdin.read()
"""


@contextmanager
def locked(path, longest=cache_lock.LONGEST):
    """Holds a lock, and waits for it only so long."""
    with patch.object(cache_lock, "LONGEST", longest), cache_lock.locked(path) as held:
        yield held


@pytest.fixture
def path(tmp_path):
    return tmp_path / "lock"


def test_a_lock_is_held_and_leaves_no_file(path):
    with locked(path) as held:
        assert held
        assert path.exists()
    assert not path.exists()


def test_a_lock_whose_owner_was_interrupted_is_free(path, monkeypatch):
    take = cache_lock._try

    def interrupted(file):
        assert take(file)
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(cache_lock, "_try", interrupted)
        with pytest.raises(KeyboardInterrupt), locked(path):
            raise AssertionError("the lock was never held")
    found = []

    def other():
        with locked(path, 1.0) as held:
            found.append(held)

    others = threading.Thread(target=other)
    others.start()
    others.join()
    with locked(path, 0.1) as held:
        found.append(held)
    assert found == [True, True]


def test_a_long_wait_for_another_thread_is_not_told(path, capsys, monkeypatch):
    monkeypatch.setattr(cache_lock, "_QUIET", 0.0)
    with locked(path):
        found = []
        thread = threading.Thread(target=lambda: found.append(locked(path, 0.05).__enter__()))
        thread.start()
        thread.join()
    assert (found, capsys.readouterr().err) == ([False], "")


def test_a_lock_that_another_thread_holds_is_waited_for_and_not_forever(path):
    inside, leave = threading.Event(), threading.Event()

    def hold():
        with locked(path):
            inside.set()
            leave.wait(20)

    thread = threading.Thread(target=hold)
    thread.start()
    inside.wait()
    with locked(path, longest=0.01) as held:
        assert not held
    leave.set()
    thread.join()
    with locked(path, longest=0.01) as held:
        assert held


@pytest.mark.parametrize("how", ["alone", "fork"])  # a child that outlives the holder has its open files
def test_a_lock_of_another_process_is_waited_for_and_is_free_once_that_is_killed(path, how):
    environment = {**os.environ, "PYTHONPATH": str(REPOSITORY)}
    command = [sys.executable, "-c", HOLD, str(path), how]
    holder = subprocess.Popen(command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert holder.stdout.readline() == "True\n"
    with locked(path, longest=0.02) as held:
        assert not held
    holder.kill()
    holder.wait()
    with locked(path, longest=2) as held:
        assert held
    holder.stdin.close()
    holder.stdout.close()


@pytest.mark.parametrize("told", [True, False])
def test_a_long_wait_names_the_process_that_is_waited_for_once(path, told, capsys, monkeypatch):
    monkeypatch.setattr(cache_lock, "_QUIET", 0.0)
    environment = {**os.environ, "PYTHONPATH": str(REPOSITORY)}
    command = [sys.executable, "-c", HOLD, str(path)]
    holder = subprocess.Popen(command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert holder.stdout.readline() == "True\n"
    if not told:
        path.write_text("not a number")
    with locked(path, longest=0.05) as held:
        assert not held
    holder.communicate()
    who = f"process {holder.pid}" if told else "another process"
    said = capsys.readouterr().err
    assert said == f"opsdk: waits for {who}, which holds {path}; at most 0 s more, then goes on without it\n"


def test_what_is_raised_inside_frees_the_lock(path):
    with pytest.raises(KeyError, match="planted"), locked(path):
        raise KeyError("planted")
    with locked(path, longest=0) as held:
        assert held


def test_a_folder_that_cannot_be_written_has_no_lock(path):
    with locked(path / "below") as held:
        assert not held


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")  # forking beside threads is what is tested
def test_a_child_forked_while_another_thread_holds_the_lock_gets_it_later(path):
    inside, leave = threading.Event(), threading.Event()

    def hold():
        with locked(path):
            inside.set()
            leave.wait(20)

    thread = threading.Thread(target=hold)
    thread.start()
    inside.wait()
    waiting, released = os.pipe()
    pid = os.fork()
    if not pid:
        try:
            os.read(waiting, 1)
            with locked(path, longest=1) as held:
                os._exit(0 if held else 1)
        finally:
            os._exit(2)
    leave.set()
    thread.join()
    os.write(released, b"x")
    assert os.waitpid(pid, 0)[1] == 0
    os.close(waiting)
    os.close(released)
