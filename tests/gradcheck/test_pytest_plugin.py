import subprocess
import sys

import pytest

pytest_plugins = ["pytester"]

HEAD = """\
import numpy as np
import pytest


def cosine(inputs, outputs, cotangents):
    return (cotangents[0] * np.cos(inputs[0]),)


def twice(inputs, outputs, cotangents):
    return (2 * cotangents[0] * np.cos(inputs[0]),)


x = np.array([0.3, -1.2])
nowhere = np.full(2, np.nan)
"""


@pytest.fixture
def run(pytester, monkeypatch):
    """Runs pytest on some tests below the definitions above, with no plugin but ours."""
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")

    def run(source, *options):
        pytester.makepyfile(HEAD + source)
        return pytester.runpytest_inprocess("-p", "gradcheck.pytest_plugin", "--strict-markers", "-q", *options)

    return run


def test_a_right_vjp_passes_and_a_wrong_one_fails_with_its_pattern(run):
    result = run(
        "def test_right(gradcheck):\n    assert gradcheck(np.sin, cosine, (x,)).verdict == 'pass'\n\n\n"
        "def test_wrong(gradcheck):\n    gradcheck(np.sin, twice, (x,), names=['angle'])\n"
    )
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(["E *GradcheckError: sin, gradient of 'angle': wrong in 2 of 2 elements*"])
    result.stdout.fnmatch_lines(["E *; yours is 2 times the derivative*"])
    result.stdout.no_fnmatch_line("*gradcheck/pytest_plugin.py*")


def test_inconclusive_fails_unless_it_is_allowed(run):
    result = run(
        "def test_unsure(gradcheck):\n    gradcheck(np.log, cosine, (nowhere,), vary=False)\n\n\n"
        "def test_allowed(gradcheck):\n"
        "    gradcheck(np.log, cosine, (nowhere,), vary=False, allow_inconclusive=True)\n"
    )
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(["E *log: expected a judgement, got inconclusive: *; check at other values, or pass*"])


def test_options_come_from_the_call_then_the_mark_then_the_command_line(run):
    result = run(
        "def test_typed(gradcheck):\n    assert gradcheck(np.sin, cosine, (x,)).seed == 3\n\n\n"
        "@pytest.mark.gradcheck(seed=4)\n"
        "class TestMarked:\n"
        "    def test_outer(self, gradcheck):\n        assert gradcheck(np.sin, cosine, (x,)).seed == 4\n\n"
        "    @pytest.mark.gradcheck(seed=5)\n"
        "    def test_inner(self, gradcheck):\n"
        "        assert gradcheck(np.sin, cosine, (x,)).seed == 5\n"
        "        assert gradcheck(np.sin, cosine, (x,), seed=6).seed == 6\n",
        "--gradcheck-seed=3",
        "--gradcheck-budget=400",
    )
    result.assert_outcomes(passed=3)


def test_the_command_lines_budget_is_used(run):
    result = run("def test_it(gradcheck):\n    gradcheck(np.sin, cosine, (x,))\n", "--gradcheck-budget=7")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["E *budget: expected an integer >= 200 forward calls or None, got 7*"])


def test_importing_gradcheck_loads_no_pytest():
    code = "import sys, gradcheck; raise SystemExit('pytest' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
