"""The script that CI runs: which targets of make, in which order, and what it says at the end."""

import os
import subprocess

import pytest

from tests.contracts.tree import REPOSITORY

# Stands for make: writes down what it was asked for, and says and returns what the variables of that target tell.
MAKE = """\
#!/bin/sh
echo "$1" >> "$ASKED"
name=$(echo "$1" | tr - _)
eval "echo \\"\\$SAYS_$name\\"; exit \\${ENDS_$name:-0}"
"""
QUICK, SWEEPS = "==== 10 passed, 2 skipped in 9.87s (0:00:09) ====", "3 passed, 7 deselected in 5.00s"


@pytest.fixture
def ci(tmp_path):
    """Runs the script with a make that does nothing; gives what came of it and the targets that were asked for."""
    make = tmp_path / "bin" / "make"
    make.parent.mkdir()
    make.write_text(MAKE, encoding="utf-8")
    make.chmod(0o755)
    asked = tmp_path / "asked"

    def run(**variables):
        path = f"{make.parent}{os.pathsep}{os.environ['PATH']}"
        environment = {**os.environ, "PATH": path, "ASKED": str(asked), **variables}
        command = [str(REPOSITORY / ".ci" / "run")]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
        return done, asked.read_text(encoding="utf-8").split()

    return run


def test_lint_tests_and_sweeps_run_and_their_summaries_end_the_report(ci):
    done, asked = ci(SAYS_test=QUICK, SAYS_test_slow=SWEEPS)
    assert (done.returncode, asked) == (0, ["lint", "test", "test-slow"])
    assert done.stdout.splitlines()[-2:] == [QUICK, SWEEPS]


@pytest.mark.parametrize("target", ["lint", "test", "test_slow"])
def test_whatever_fails_the_others_run_and_the_status_says_so(ci, target):
    done, asked = ci(SAYS_test=QUICK, SAYS_test_slow=SWEEPS, **{f"ENDS_{target}": "2"})
    assert (done.returncode, asked) == (1, ["lint", "test", "test-slow"])
    assert done.stderr.splitlines()[-1] == ".ci/run: failed"
    assert done.stdout.splitlines()[-2:] == [QUICK, SWEEPS]


def test_a_run_without_a_summary_fails(ci):
    done, _ = ci(SAYS_test=QUICK)
    assert done.returncode == 1
    assert done.stdout.splitlines()[-1] == "test-slow: no tests ran"
