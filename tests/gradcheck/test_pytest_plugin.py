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


def test_a_budget_that_is_too_little_ends_the_run_before_any_test(run):
    result = run("def test_it(gradcheck):\n    gradcheck(np.sin, cosine, (x,))\n", "--gradcheck-budget=7")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*--gradcheck-budget: expected an integer >= 200 forward calls or None, got 7*"])


@pytest.mark.parametrize("budget", ["200", "0.5s"])
def test_the_command_lines_budget_is_used(run, budget):
    result = run(
        "def test_it(gradcheck, request):\n"
        "    gradcheck(np.sin, cosine, (x,))\n"
        "    assert request.config.getoption('--gradcheck-budget') in (200, 0.5)\n",
        f"--gradcheck-budget={budget}",
    )
    result.assert_outcomes(passed=1)


def test_an_option_that_check_has_not_is_refused_with_the_nearest(run):
    result = run(
        "@pytest.mark.gradcheck(sead=3)\ndef test_marked(gradcheck):\n    gradcheck(np.sin, cosine, (x,))\n\n\n"
        "def test_called(gradcheck):\n    gradcheck(np.sin, cosine, (x,), domian=(0, 1))\n"
    )
    result.assert_outcomes(failed=2)
    result.stdout.fnmatch_lines(["E *gradcheck: expected options of gradcheck.check, got 'sead'; meant seed?"])
    result.stdout.fnmatch_lines(["E *gradcheck: expected options of gradcheck.check, got 'domian'; meant domain?"])


def test_a_failure_shows_the_tests_line_and_no_source_of_gradcheck(run):
    result = run(
        "def raising(x):\n    raise ValueError('planted')\n\n\n"
        "def test_wrong(gradcheck):\n    gradcheck(np.sin, twice, (x,))\n\n\n"
        "def test_refused(gradcheck):\n    gradcheck(np.sin, cosine, (x,), domain=(3, 4))\n\n\n"
        "def test_raising(gradcheck):\n    gradcheck(raising, cosine, (x,))\n"
    )
    result.assert_outcomes(failed=3)
    result.stdout.fnmatch_lines([">       gradcheck(np.sin, twice, (x,))", "E *GradcheckError: *"])
    result.stdout.fnmatch_lines([">       gradcheck(np.sin, cosine, (x,), domain=(3, 4))", "E *UsageError: *"])
    result.stdout.fnmatch_lines([">       raise ValueError('planted')", ">       gradcheck(raising, cosine, (x,))"])
    for file in ("check", "report", "protocol", "domain", "evaluation", "pytest_plugin"):
        result.stdout.no_fnmatch_line(f"*gradcheck/*{file}.py:*")
        result.stdout.no_fnmatch_line(f"{file}.py:*")


def test_importing_gradcheck_loads_no_pytest():
    code = "import sys, gradcheck; raise SystemExit('pytest' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
