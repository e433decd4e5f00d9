"""Names of the package, each loaded when it is first asked for, whatever was loaded before."""

import subprocess
import sys

import pytest

import gradcheck
from tests.contracts.tree import REPOSITORY


def in_a_new_process(code):
    done = subprocess.run([sys.executable, "-c", code], cwd=REPOSITORY, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


def test_the_constraints_alone_load_nothing_that_judges():
    loaded = in_a_new_process("import sys, gradcheck.domain; print(*[m for m in sys.modules if 'gradcheck' in m])")
    assert set(loaded) == {
        "gradcheck",
        "gradcheck.domain",
        "gradcheck.errors",
        "gradcheck.model",
        "gradcheck.model.constraint",
        "gradcheck.model.dims",
        "gradcheck.model.dtypes",
        "gradcheck.model.interval",
        "gradcheck.model.whole",
    }


def test_functions_are_functions_whoever_loads_their_modules_first():
    code = (
        "import gradcheck.case, gradcheck.shrinking, gradcheck.show.html, gradcheck.taylor, gradcheck as g\n"
        "print(*{type(getattr(g, n)).__name__ for n in g.__all__ if n != 'domain' and n.islower()})\n"
    )
    assert in_a_new_process(code) == ["function"]


def test_every_name_is_seen_before_it_is_loaded():
    assert in_a_new_process("import gradcheck as g; print(*sorted(set(g.__all__) - set(dir(g))))") == []


def test_another_name_is_refused():
    with pytest.raises(AttributeError, match="module 'gradcheck' has no attribute 'grad_check'"):
        gradcheck.grad_check  # noqa: B018
