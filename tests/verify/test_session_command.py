"""The command that a finding offers works in a new process, or is not offered."""

import importlib
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from opsdk.define.op import find_op
from opsdk.verify import verify
from opsdk.verify.session import command, target_of

WRONG = """\
import opsdk


@opsdk.op
def mish(x):
    return x * x * x


@mish.backward
def mish_grad(x, dy):
    return 6 * x * x * dy


if __name__ == "__main__":
    print(opsdk.verify(mish))
"""


def test_an_op_made_in_a_function_offers_no_command(define):
    report = verify(define(lambda x: x * x, lambda x, dy: x * dy))
    assert report.findings[0].repro == ""


def test_a_built_in_op_goes_by_its_name():
    assert target_of(find_op("tanh").opdef) == "opsdk::tanh"
    assert command(find_op("tanh").opdef, "cpu,float64,numpy", "vjp.x", 3) == (
        "opsdk check 'opsdk::tanh[cpu,float64,numpy]::vjp.x' --seed 3"
    )


def test_an_op_of_a_package_itself_goes_by_the_package(tmp_path, monkeypatch):
    (tmp_path / "packed_ops").mkdir()
    (tmp_path / "packed_ops" / "__init__.py").write_text(WRONG)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.chdir(tmp_path)
    made = importlib.import_module("packed_ops")
    try:
        assert target_of(made.mish.opdef) == "packed_ops:mish"
        assert target_of(made.mish.grad.opdef) == "packed_ops:mish_grad"
    finally:
        del sys.modules["packed_ops"]


def test_a_command_is_quoted_for_the_shell(monkeypatch):
    monkeypatch.setattr("opsdk.verify.session.target_of", lambda opdef: "it's a $HOME.py:relu")
    said = command(find_op("relu").opdef, "cpu,float64,numpy", "vjp.x", 3)
    assert shlex.split(said) == ["opsdk", "check", "it's a $HOME.py:relu[cpu,float64,numpy]::vjp.x", "--seed", "3"]


@pytest.mark.slow  # two processes that each prove an op
def test_the_command_of_a_script_shows_the_finding_again(tmp_path):
    (tmp_path / "activations.py").write_text(WRONG)
    env = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}

    def run(*arguments):
        done = subprocess.run([sys.executable, *arguments], cwd=tmp_path, env=env, capture_output=True, text=True)
        return done.stdout + done.stderr

    text = run("activations.py")
    found = re.search(r"rerun    opsdk check '(.+)' --seed 0", text)
    assert found, text
    assert found[1] == "activations.py:mish[cpu,float64,numpy]::vjp.x"
    again = run("-m", "opsdk", "check", found[1], "--seed", "0")
    assert "gradient of 'x': wrong in " in again, again
