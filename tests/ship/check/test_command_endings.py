"""What a checked file, or a kernel in it, does to its own process never passes for a verdict."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.contracts.tree import REPOSITORY

OP = """\
import atexit, os, sys, threading
import numpy as np
import opsdk

{head}


@opsdk.op
def clamp(x):
    {inside}
    return np.maximum(x, 0)


@clamp.backward
def clamp_grad(y, dy):
    {behind}
    return dy * (y > 0)


{end}
"""


def opsdk(*arguments):
    environment = {**os.environ, "PYTHONPATH": str(REPOSITORY)}
    command = [sys.executable, "-W", "error", "-m", "opsdk", *arguments]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)


@pytest.fixture
def write(here):
    """Writes ends.py, with an op and a way in which it ends its process."""

    def write(head="", inside="pass", behind="pass", end=""):
        (here / "ends.py").write_text(OP.format(head=head, inside=inside, behind=behind, end=end))

    return write


@pytest.mark.parametrize("end", ["sys.exit(0)", "sys.exit()", "raise SystemExit('done')"])
def test_a_file_that_exits_is_a_broken_definition(run, write, end):
    write(end=end)
    result = run("check", "ends.py")
    assert result.exit_code == 2
    assert "ends.py: expected a file or module that loads, got SystemExit" in result.stderr
    assert '; what only a script does belongs under if __name__ == "__main__"' in result.stderr
    assert f"| {end}" in result.stderr


@pytest.mark.parametrize("command", ["bench", "build", "doc", "show", "where", "check"])
def test_a_file_that_ends_the_process_is_told_by_every_command(write, right, command):
    write(end="os._exit(0)")
    result = opsdk(command, "ends" if command == "build" else "ends.py")
    assert result.returncode == 2, result.stderr
    assert "expected a file or module that loads, its process exited with status 0; mend what ends" in result.stderr


def test_a_kernel_that_exits_is_a_finding_and_the_other_ops_are_judged(run, write, right):
    write(inside="sys.exit(0)")
    result = run("check", "ends.py", "good.py")
    assert result.exit_code == 1, result.output
    assert "FAIL op 'ends::clamp': expected its code to return or raise an error, got SystemExit(0)" in result.stdout
    assert "  at       ends.py:10" in result.stdout
    assert "1 failed, 1 passed in " in result.stdout


def test_a_kernel_that_ends_the_process_is_a_finding_and_the_other_ops_are_judged(write, right):
    write(behind="os._exit(0)")
    result = opsdk("check", "ends.py", "good.py")
    assert result.returncode == 1, result.stderr
    assert "expected to come to its end, its process exited with status 0 at ends::clamp; all that" in result.stderr
    told = "FAIL op 'ends::clamp': expected its kernels to return or raise, its process exited with status 0"
    assert told in result.stdout
    assert "1 failed, 1 passed in " in result.stdout


def test_an_exit_handler_does_not_decide_the_status(write, wrong):
    write(head="atexit.register(os._exit, 0)")
    result = opsdk("check", "ends.py", "bad.py")
    assert result.returncode == 1, result.stderr
    assert "1 failed, 1 passed in " in result.stdout


def test_a_thread_that_ends_the_process_leaves_no_status_of_success(write):
    write(head="threading.Thread(target=os._exit, args=(0,)).start()")
    result = opsdk("check", "ends.py")
    assert result.returncode in (2, 3), result.stderr  # while it was loaded, or after that
    assert "its process exited with status 0" in result.stderr


def test_a_kernel_that_ends_the_process_of_another_command_is_an_error_of_that(write):
    write(inside="os._exit(0)")
    result = opsdk("bench", "ends.py")
    assert result.returncode == 3
    assert "opsdk bench: expected to come to its end, its process exited with status 0" in result.stderr


def test_code_that_exits_under_another_command_is_a_usage_error(run, right, monkeypatch):
    def leave(*arguments):
        raise SystemExit(0)

    monkeypatch.setattr("opsdk.ship.describe.catalog.names", leave)
    result = run("list")
    assert result.exit_code == 2
    assert result.stderr == "list: expected code that returns or raises an error, got SystemExit(0)\n"
    result = run("--traceback", "list")
    assert result.exit_code == 2
    assert "in leave" in result.stderr


def test_a_target_without_ops_beside_one_that_passes_is_not_a_pass(run, right, wrong, here):
    (here / "empty.py").write_text("x = 1\n")
    assert run("check", "good.py", "empty.py").exit_code == 5
    assert run("check", "bad.py", "empty.py").exit_code == 1


def test_an_error_of_opsdk_at_one_op_leaves_the_verdicts_of_the_others(run, write, right, monkeypatch):
    import opsdk as sdk

    whole = sdk.verify

    def verify(op, **options):
        if op.opdef.name == "ends::clamp":
            raise ZeroDivisionError("planted")
        return whole(op, **options)

    write()
    monkeypatch.setattr("opsdk.verify", verify, raising=False)
    result = run("check", "ends.py", "good.py")
    assert result.exit_code == 3
    assert "1 passed in " in result.stdout
    assert "internal error: ZeroDivisionError: planted" in result.stderr


def test_a_report_that_nobody_reads_is_no_pass(run, right, monkeypatch):
    def publish(*arguments):
        raise BrokenPipeError

    monkeypatch.setattr("opsdk.ship.check.command.publish", publish)
    monkeypatch.setattr("sys.stderr.close", lambda: None, raising=False)
    assert run("check", "good.py").exit_code == 3


def test_an_infer_rule_that_fails_where_the_forward_does_leaves_the_other_findings(run, wrong, here):
    (here / "pick.py").write_text(
        "import numpy as np\nimport opsdk\n\n\n"
        "@opsdk.op\ndef pick(x):\n    return x[..., 0] + float(x.shape[1])\n\n\n"
        "@pick.infer\ndef _(x):\n    return opsdk.TensorSpec((x.shape[0], x.shape[1])[:1], x.dtype)\n"
    )
    result = run("check", "pick.py", "bad.py")
    assert result.exit_code == 1, result.output
    assert "internal error" not in result.stderr
    assert "FAIL op 'bad::clamp', gradient of 'x'" in result.stdout


@pytest.mark.parametrize("buffered", ["", "1"])
@pytest.mark.parametrize("extra", [[], ["--json", "-"]])
def test_what_standard_output_does_not_take_is_said_and_is_no_internal_error(here, extra, buffered):
    if not Path("/dev/full").exists():
        pytest.skip("no /dev/full on this system")
    (here / "fine.py").write_text("import opsdk\n\n\n@opsdk.op\ndef halves(x):\n    return x / 2\n")
    command = [sys.executable, "-m", "opsdk", "check", "fine.py", *extra]
    environment = {**os.environ, "PYTHONPATH": str(REPOSITORY), "PYTHONUNBUFFERED": buffered}
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(command, env=environment, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert done.returncode == 2
    said = "standard output: expected to take what is written, got: No space left on device; write it elsewhere\n"
    assert done.stderr.count("standard output") == 1
    assert said in done.stderr
    assert "internal error" not in done.stderr
