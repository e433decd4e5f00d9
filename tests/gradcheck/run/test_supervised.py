import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from gradcheck.run import supervised
from tests.contracts.tree import REPOSITORY

CASES = """\
import atexit, os, signal, sys, threading
import numpy as np
import gradcheck

{head}


def forward(x):
    {inside}
    return x * 2.0


def vjp(inputs, outputs, cotangents):
    return (cotangents[0] * 2.0,)


case = gradcheck.Case(forward, vjp, (np.ones(3),))
{end}
"""

pytestmark = pytest.mark.skipif(not hasattr(signal, "sigwaitinfo"), reason="no signal.sigwaitinfo on this system")


def command(*arguments):
    environment = {**os.environ, "PYTHONPATH": str(REPOSITORY)}
    start = [sys.executable, "-W", "error", "-m", "gradcheck", *arguments]
    return subprocess.run(start, env=environment, capture_output=True, text=True, check=False)


@pytest.fixture
def write(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def write(name, head="", inside="pass", end=""):
        (tmp_path / name).write_text(CASES.format(head=head, inside=inside, end=end))

    write("good.py")
    return write


def run_in_child(code):
    """Runs a program that supervises `work`, and gives its end."""
    program = f"import os, signal, sys\nfrom gradcheck.run.supervised import *\n{code}"
    environment = {**os.environ, "PYTHONPATH": str(REPOSITORY)}
    return subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("end", ["sys.exit(0)", "sys.exit()", "raise SystemExit('done')"])
def test_a_file_that_exits_while_it_is_loaded_is_broken(write, end):
    write("ends.py", end=end)
    result = command("good.py", "ends.py")
    assert result.returncode == 2, result.stderr
    assert "ends.py: expected a file or module that loads, got SystemExit" in result.stderr


def test_a_file_that_ends_the_process_while_it_is_loaded_is_broken(write):
    write("ends.py", end="os._exit(0)")
    result = command("good.py", "ends.py")
    assert result.returncode == 2, result.stderr
    told = "ends.py: expected a file or module that loads, its process exited with status 0; mend what ends"
    assert told in result.stderr


def test_a_forward_that_ends_the_process_is_a_finding_and_the_other_cases_are_judged(write):
    write("ends.py", inside="os._exit(0)")
    result = command("ends.py", "good.py")
    assert result.returncode == 1, result.stderr
    assert "at ends.py:case; all that was asked for runs once more" in result.stderr
    assert "crash: expected forward and vjp to return or raise, its process exited with status 0" in result.stdout
    assert "1 failed, 1 passed in " in result.stdout


def test_a_forward_that_exits_is_broken_and_the_other_cases_are_judged(write):
    write("ends.py", inside="sys.exit(0)")
    result = command("ends.py", "good.py")
    assert result.returncode == 2, result.stderr
    assert "forward and vjp: expected each to return or to raise an error, got SystemExit(0)" in result.stdout
    assert "1 broken, 1 passed in " in result.stdout


def test_an_exit_handler_does_not_decide_the_status(write):
    write("ends.py", head="atexit.register(os._exit, 0)", inside="x = x * 3.0")
    result = command("ends.py")
    assert result.returncode == 1, result.stderr
    assert "1 failed in " in result.stdout


def test_a_thread_that_ends_the_process_each_time_leaves_no_status_of_success(write):
    write("ends.py", head="threading.Thread(target=os._exit, args=(0,)).start()")
    result = command("ends.py")
    assert result.returncode in (2, 3), result.stderr  # while it was loaded, or after that
    assert "its process exited with status 0" in result.stderr


def test_a_target_that_holds_no_case_beside_one_that_passes_is_not_a_pass(write, tmp_path):
    (tmp_path / "empty.py").write_text("x = 1\n")
    result = command("good.py", "empty.py")
    assert result.returncode == 5, result.stderr
    assert "nothing to check in empty.py: no gradcheck.Case is there" in result.stderr


def test_the_status_and_what_was_printed_are_those_of_the_work():
    result = run_in_child("def work():\n    print('found')\n    return 4\nsys.exit(supervise(work, 'work'))")
    assert (result.returncode, result.stdout, result.stderr) == (4, "found\n", "")


@pytest.mark.parametrize(
    ("end", "status"),
    [("raise SystemExit(5)", 5), ("raise SystemExit", 0), ("raise SystemExit('why')", 1), ("1 / 0", 1)],
)
def test_an_exception_gives_the_status_that_it_gives_a_script(end, status):
    result = run_in_child(f"def work():\n    {end}\nsys.exit(supervise(work, 'work'))")
    assert result.returncode == status
    assert ("why" in result.stderr) == ("why" in end)
    assert ("ZeroDivisionError" in result.stderr) == ("1 / 0" in end)


def test_what_stands_behind_the_call_runs_once():
    result = run_in_child("print('before', flush=True)\nsupervise(lambda: 0, 'work')\nprint('behind')")
    assert result.stdout == "before\nbehind\n"


def test_work_that_ends_its_process_twice_is_an_error_that_says_where():
    code = (
        "def work():\n    doing('apart' if must_work_apart() else 'together')\n    os._exit(0)\n"
        "sys.exit(supervise(work, 'the work', repeat=True))"
    )
    result = run_in_child(code)
    assert result.returncode == 3
    first, second = result.stderr.splitlines()
    assert first.startswith("the work: expected to come to its end, its process exited with status 0 at together; all")
    assert second == "the work: expected to come to its end, its process exited with status 0 at apart"


def test_a_crash_names_its_signal():
    result = run_in_child("sys.exit(supervise(lambda: os.kill(os.getpid(), signal.SIGSEGV), 'work'))")
    assert result.returncode == 3
    assert "work: expected to come to its end, crashed: signal SIGSEGV" in result.stderr


@pytest.mark.parametrize("name", ["SIGTERM", "SIGINT"])
def test_a_signal_reaches_the_work_and_its_end_is_that_of_the_command(name):
    code = (
        "signal.signal(signal.SIGINT, signal.SIG_DFL)\n"
        f"def work():\n    os.kill(os.getppid(), signal.{name})\n    signal.pause()\n"
        "supervise(work, 'work')"
    )
    assert run_in_child(code).returncode == -getattr(signal, name)


def test_a_report_that_cannot_be_written_is_no_pass():
    if not Path("/dev/full").exists():
        pytest.skip("no /dev/full on this system")
    program = (
        "import sys\nfrom gradcheck.run.supervised import *\nsys.exit(supervise(lambda: print('found') or 0, 'w'))"
    )
    start = [sys.executable, "-c", program]
    environment = {**os.environ, "PYTHONPATH": str(REPOSITORY)}
    with Path("/dev/full").open("w") as full:
        result = subprocess.run(start, env=environment, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert result.returncode == 3
    assert "standard output: expected to take what is written, got: No space left on device" in result.stderr


def test_in_a_thread_the_work_runs_where_it_is():
    seen = []
    thread = threading.Thread(target=lambda: seen.append(supervised.supervise(os.getpid, "work")))
    thread.start()
    thread.join()
    assert seen == [os.getpid()]


def test_without_a_supervisor_nothing_is_recorded():
    supervised.doing("something")
    assert not supervised.must_work_apart()
