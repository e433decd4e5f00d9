"""What is installed is what is here: the wheel has every file of the packages, and works without the checkout."""

import os
import shutil
import subprocess
import sys
import zipfile

import pytest

from tests.contracts.tree import REPOSITORY

PACKAGES = ("opsdk", "gradcheck", "contrib_ops")
USE = """
import numpy as np
import contrib_ops, opsdk
assert opsdk.__file__.startswith({site!r})
assert contrib_ops.__file__.startswith({site!r})
a = np.array([[4.0, 2.0], [2.0, 3.0]])
(row,) = [str(verdict.row) for verdict in opsdk.explain(contrib_ops.cholesky, a).rows if verdict.is_chosen]
print(np.allclose(contrib_ops.cholesky(a), [[2.0, 0.0], [1.0, 2.0**0.5]]), row)
"""


def files_of(folder):
    return {
        path.relative_to(folder).as_posix()
        for name in PACKAGES
        for path in (folder / name).rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """The wheel, built from a copy of what it is made of, and unpacked."""
    copy, site = tmp_path_factory.mktemp("source"), tmp_path_factory.mktemp("site")
    for name in (*PACKAGES, "templates"):
        shutil.copytree(REPOSITORY / name, copy / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("setup.py", "pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(REPOSITORY / name, copy)
    command = [sys.executable, "setup.py", "-q", "bdist_wheel", "-d", str(copy / "made")]
    subprocess.run(command, cwd=copy, check=True, capture_output=True)
    (wheel,) = (copy / "made").glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(site)
    return site


def test_every_file_of_the_packages_is_in_the_wheel(site):
    expected = files_of(REPOSITORY)
    assert {"opsdk/backends/opsdk.h", "contrib_ops/linear_algebra/cholesky.c"} <= expected
    assert expected - files_of(site) == set()


def test_the_wheel_adds_templates_and_nothing_else(site):
    added = files_of(site) - files_of(REPOSITORY)
    assert added
    assert {name for name in added if not name.startswith("opsdk/templates/")} == set()


def test_a_c_row_runs_from_the_wheel_alone(site, tmp_path):
    environment = {**os.environ, "PYTHONPATH": str(site), "OPSDK_CACHE_DIR": str(tmp_path / "cache")}
    done = subprocess.run(
        [sys.executable, "-c", USE.format(site=str(site))],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stderr == ""
    assert done.stdout == "True c (cpu, float64)\n"
