"""What is installed is what is here: the wheel has every file of the packages, and works without the checkout."""

import os
import shutil
import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path

import pytest

from tests.contracts.tree import REPOSITORY

PACKAGES = ("opsdk", "gradcheck", "contrib_ops")
BUILT = "_built.*"  # the fast path; a checkout has one, or has none
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
        if path.is_file() and "__pycache__" not in path.parts and not path.match(BUILT)
    }


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """The wheel, built from a copy of what it is made of, and unpacked."""
    copy, site = tmp_path_factory.mktemp("source"), tmp_path_factory.mktemp("site")
    unpack_wheel(copy, site, os.environ)
    return site


def unpack_wheel(copy, site, environment):
    for name in (*PACKAGES, "templates"):
        shutil.copytree(REPOSITORY / name, copy / name, ignore=shutil.ignore_patterns("__pycache__", BUILT))
    for name in ("setup.py", "pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(REPOSITORY / name, copy)
    command = [sys.executable, "setup.py", "-q", "bdist_wheel", "-d", str(copy / "made")]
    subprocess.run(command, cwd=copy, check=True, capture_output=True, env=environment)
    (wheel,) = (copy / "made").glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(site)


def test_every_file_of_the_packages_is_in_the_wheel(site):
    expected = files_of(REPOSITORY)
    assert {"opsdk/backends/c/opsdk.h", "contrib_ops/linear_algebra/cholesky.c"} <= expected
    assert expected - files_of(site) == set()


def test_the_wheel_adds_templates_and_nothing_else(site):
    added = files_of(site) - files_of(REPOSITORY)
    assert added
    assert {name for name in added if not name.startswith("opsdk/templates/")} == set()


@pytest.mark.slow  # a process on the wheel; test_the_wheel_has_the_fast_path is one in every run
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


ASKS = "import numpy as np, opsdk; from opsdk.core.fast import state; print(state(), opsdk.relu(np.ones(1))[0])"


def asked(site, folder, **variables):
    environment = {**os.environ, "PYTHONPATH": str(site), "OPSDK_CACHE_DIR": str(folder / "cache"), **variables}
    done = subprocess.run(
        [sys.executable, "-c", ASKS], cwd=folder, env=environment, capture_output=True, text=True, check=True
    )
    return done.stdout.strip()


def test_the_wheel_has_the_fast_path(site, tmp_path):
    pytest.importorskip("setuptools")
    if not has_compiler():
        pytest.skip("no C compiler, or no Python.h")
    assert asked(site, tmp_path) == "built 1.0"
    assert asked(site, tmp_path, OPSDK_FAST_PATH="0") == "off 1.0"
    with (site / "opsdk" / "core" / "fast" / "fast.h").open("a", encoding="utf-8") as file:
        file.write("\n")
    assert asked(site, tmp_path) == "out of date 1.0"


@pytest.mark.slow  # a second wheel; the first one is looked at in every run
def test_a_wheel_is_made_without_a_compiler_too(tmp_path):
    copy, site = tmp_path / "source", tmp_path / "site"
    unpack_wheel(copy, site, {**os.environ, "CC": "/nowhere/cc", "PATH": str(tmp_path)})
    assert asked(site, tmp_path) == "not built 1.0"


def has_compiler():
    compiler = (sysconfig.get_config_var("CC") or "cc").split()[0]
    return shutil.which(compiler) is not None and Path(sysconfig.get_path("include"), "Python.h").exists()
