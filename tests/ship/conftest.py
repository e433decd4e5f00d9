"""What the tests of the command line share: a folder to work in, a clean registry, files to check, a runner."""

import sys

import pytest
from click.testing import CliRunner

from opsdk.define.op import PROVIDERS, REGISTRY
from opsdk.ship.cli.main import cli

RIGHT = """\
import numpy as np
import opsdk


@opsdk.op
def {name}(x):
    return np.maximum(x, 0)


@{name}.backward
def {name}_grad(y, dy):
    return dy * (y > 0)
"""


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    """A folder of its own for each test; ops and modules that a test defines are forgotten after it."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.setattr(PROVIDERS, "_failed", {})
    modules = set(sys.modules)
    with REGISTRY.scoped():
        yield tmp_path
    for name in set(sys.modules) - modules:
        if str(tmp_path) in str(getattr(sys.modules[name], "__file__", "")):
            del sys.modules[name]


@pytest.fixture
def run():
    """Runs the command with arguments; the result has exit_code, stdout and stderr."""
    return lambda *arguments: CliRunner().invoke(cli, arguments, prog_name="opsdk")


@pytest.fixture
def right(here):
    """A file with an op that passes."""
    file = here / "good.py"
    file.write_text(RIGHT.format(name="clamp"))
    return file


@pytest.fixture
def wrong(here):
    """A file with an op whose backward lets every gradient through."""
    file = here / "bad.py"
    file.write_text(RIGHT.format(name="clamp").replace("y > 0", "y >= 0"))
    return file
