"""docs/reference: the pages of the ops of contrib_ops are what `opsdk doc contrib_ops` writes."""

import subprocess
import sys

import pytest

from tests.contracts.tree import REPOSITORY

pytest.importorskip("numba")


def files_of(folder):
    files = [path for path in folder.rglob("*") if path.is_file()]
    return {path.relative_to(folder).as_posix(): path.read_text(encoding="utf-8") for path in files}


def test_the_pages_are_what_the_command_writes(tmp_path):
    command = [sys.executable, "-m", "opsdk", "doc", "contrib_ops", "--out", str(tmp_path)]
    subprocess.run(command, cwd=REPOSITORY, capture_output=True, check=True)
    made, held = files_of(tmp_path), files_of(REPOSITORY / "docs" / "reference")
    assert set(made) == set(held)
    changed = [name for name in made if made[name] != held[name]]
    assert changed == [], "run: opsdk doc contrib_ops --out docs/reference"
