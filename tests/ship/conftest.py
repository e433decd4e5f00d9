"""What the tests of the command line share: a folder to work in, files to check, a runner."""

import sys

import pytest
from click.testing import CliRunner

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
    """A folder of its own for each test."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    return tmp_path


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
