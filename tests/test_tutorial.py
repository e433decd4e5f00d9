"""docs/tutorial.md, followed by the letter: its files are written, its commands run, its output is compared."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import sysconfig
import venv
from pathlib import Path

import pytest

from tests.contracts.tree import REPOSITORY

PAGE = REPOSITORY / "docs" / "tutorial.md"
BLOCK = re.compile(r"^```(python|console)([^\n]*)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
OFFLINE = {"PIP_NO_INDEX": "1", "PIP_NO_DEPS": "1", "PIP_NO_BUILD_ISOLATION": "0", "PIP_DISABLE_PIP_VERSION_CHECK": "1"}


def steps_of(text):
    """Returns what a page asks for, in order: ("file", name, content) or ("command", line, expected output)."""
    steps = []
    for kind, title, body in BLOCK.findall(text):
        if kind == "python":
            steps.append(("file", title.strip().removeprefix("file="), body))
            continue
        for part in re.split(r"^\$ ", body, flags=re.MULTILINE)[1:]:
            command, _, output = part.partition("\n")
            steps.append(("command", command, output.rstrip()))
    return steps


def fits(expected, got):
    """Whether output is what the page shows: `…` stands for any text in a line, and alone for any lines.

    On a machine with other work a row may not be faster by more than the spread; that is no fault of the page.
    """
    got = re.sub(r"(?m)^(\w+) and (\w+) take the same time, within the spread$", r"\1 is 1 times faster than \2", got)
    pattern = "".join(
        r"(?:.*\n)*?" if line.strip() == "…" else ".*?".join(map(re.escape, line.split("…"))) + r" *\n"
        for line in expected.splitlines()
    )
    lines = "".join(f"{line}\n" for line in got.rstrip().splitlines())
    return re.fullmatch(pattern, lines) is not None


@pytest.fixture(scope="module")
def reader(tmp_path_factory):
    """A reader's machine: a folder, and an environment of its own that has what opsdk's has."""
    root = tmp_path_factory.mktemp("reader")
    venv.create(root / "venv", with_pip=False, symlinks=True)
    site = Path(sysconfig.get_path("purelib", vars={"base": str(root / "venv")}))
    (site / "there.pth").write_text(f"{sysconfig.get_path('purelib')}\n{REPOSITORY}\n", encoding="utf-8")
    commands = root / "venv" / "bin"
    for name in ("pip", "pytest", "opsdk"):
        (commands / name).write_text(f'#!/bin/sh\nexec "{commands}/python" -m {name} "$@"\n', encoding="utf-8")
        (commands / name).chmod(0o755)
    (root / "work").mkdir()
    return root


def machine(reader):
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST", "COV_", "PYTHON"))}
    return {
        **kept,
        **OFFLINE,
        "PATH": f"{reader / 'venv' / 'bin'}{os.pathsep}{os.environ['PATH']}",
        "COLUMNS": "100",
        "GIT_CONFIG_GLOBAL": os.devnull,
    }


@pytest.mark.slow  # 33 s: it proves, builds, installs and times; docs/*.md and the templates do so with every run
def test_a_reader_who_follows_the_tutorial_sees_what_it_says(reader):
    steps = steps_of(PAGE.read_text(encoding="utf-8"))
    assert {kind for kind, _, _ in steps} == {"file", "command"}
    folder = reader / "work"
    for kind, name, text in steps:
        if kind == "file":
            (folder / name).write_text(text, encoding="utf-8")
            continue
        if name.startswith("cd "):
            folder = (folder / name.removeprefix("cd ")).resolve()
            assert folder.is_dir(), name
            continue
        done = subprocess.run(
            name, shell=True, cwd=folder, env=machine(reader), capture_output=True, text=True, check=False
        )
        assert fits(text, done.stdout), f"$ {name}\n{done.stdout}\n--- stderr\n{done.stderr}\n--- expected\n{text}"


@pytest.mark.parametrize(
    ("expected", "got", "same"),
    [
        ("1 passed in … s", "1 passed in 3.4 s", True),
        ("1 passed in … s", "2 passed in 3.4 s", False),
        ("a\n…\nz", "a\nb\nc\nz\n", True),
        ("a\n…\nz", "a\nz\n", True),
        ("b is … times faster than a", "b and a take the same time, within the spread\n", True),
        ("a\nz", "a\nb\nz\n", False),
        ("", "", True),
        ("", "more\n", False),
        ("[1, 2]", "[1, 2]  ", True),
    ],
)
def test_output_is_compared_line_by_line(expected, got, same):
    assert fits(expected, got) is same


def test_steps_are_read_in_the_order_of_the_page():
    text = "```python file=a.py\nx = 1\n```\n\n```console\n$ python a.py\n$ echo b\nb\n```\n"
    assert steps_of(text) == [("file", "a.py", "x = 1\n"), ("command", "python a.py", ""), ("command", "echo b", "b")]


def test_the_readers_python_is_that_of_this_environment(reader):
    code = "import sys, numpy, opsdk; print(sys.prefix)"
    command = [str(reader / "venv" / "bin" / "python"), "-c", code]
    done = subprocess.run(command, env=machine(reader), capture_output=True, text=True, check=True)
    assert done.stdout.strip() == str(reader / "venv")
    assert sys.prefix != str(reader / "venv")
