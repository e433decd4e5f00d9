import json
import subprocess
import sys
import zipfile

import pytest

from tests.contracts.tree import REPOSITORY
from tests.templates.rendered import KINDS, Rendered, name

# A proof takes seconds, so each op is proven once, by its package's own tests, which ask the judge that `opsdk check`
# asks; what is proven in no time is proven by the command too.
CHECKED = ("ops_pyfunc", "ops_cuda", "ops_c", "ops_collection::huber")
SIMULATED = {"cuda": {"NUMBA_ENABLE_CUDASIM": "1"}}  # there a package's CUDA rows are proven, as well as the others


@pytest.fixture(scope="module")
def rendered(tmp_path_factory):
    """Every kind, installed."""
    made = Rendered(tmp_path_factory.mktemp("packages"))
    made.make()
    return made


@pytest.mark.slow  # a pytest in a pytest for each kind; opsdk check proves four with every run
@pytest.mark.parametrize("kind", KINDS)
def test_a_package_passes_its_own_tests(rendered, kind):
    # The ops of a collection are those of other kinds, whose own tests prove them.
    chosen = ("-k", "not proven") if kind == "collection" else ()
    options = ("-q", "-p", "no:cacheprovider", *chosen)
    done = rendered.run("-m", "pytest", *options, kind=kind, **SIMULATED.get(kind, {}))
    assert " passed" in done.stdout
    assert "skipped" not in done.stdout


def test_check_proves_installed_packages(rendered):
    done = rendered.run("-m", "opsdk", "check", *CHECKED)
    assert "4 passed" in done.stdout
    assert "FAIL" not in done.stdout


def test_an_op_is_found_by_its_name_alone(rendered):
    code = "import opsdk; print(opsdk.find_op('ops_numba::linear_scan').schema)"
    assert rendered.run("-c", code).stdout == "ops_numba::linear_scan@1(Tensor a, Tensor x) -> Tensor y\n"
    assert rendered.run("-m", "opsdk", "where", "ops_numba::linear_scan").stdout.endswith("linear_scan.py:9\n")
    listed = rendered.run("-m", "opsdk", "list").stdout.splitlines()
    assert {f"{name('pyfunc')}::huber", f"{name('collection')}::gaussian", f"{name('c')}::linear_scan"} <= set(listed)


def test_ruff_finds_nothing(rendered):
    ruff = [sys.executable, "-m", "ruff"]
    packages = [rendered.folder / name(kind) for kind in KINDS]
    for command in (("check", "--no-cache"), ("format", "--no-cache", "--check")):
        done = subprocess.run([*ruff, *command, *packages], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout


@pytest.mark.slow  # mypy reads opsdk anew; make lint does in every run
def test_mypy_finds_nothing(rendered, tmp_path):
    # One run for all of them, with the settings of one: they do not depend on the kind.
    settings = {rendered.text(kind, "pyproject.toml").partition("[tool.mypy]")[2] for kind in KINDS}
    assert len(settings) == 1
    sources = [rendered.folder / name(kind) / "src" for kind in KINDS]
    options = ("--python-executable", rendered.python, "--config-file", rendered.folder / "ops_c" / "pyproject.toml")
    command = [sys.executable, "-m", "mypy", *options, "--cache-dir", tmp_path, *sources]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize("kind", KINDS)
def test_a_wheel_holds_the_package_and_nothing_beside_it(rendered, kind):
    names = zipfile.ZipFile(rendered.wheel(kind)).namelist()
    top = {path.partition("/")[0] for path in names}
    assert top == {name(kind), f"{name(kind)}-0.1.0.dist-info"}
    assert f"{name(kind)}/py.typed" in names
    assert f"{name(kind)}-0.1.0.dist-info/licenses/LICENSE" in names
    assert not any("__pycache__" in path for path in names)


def test_a_wheel_with_c_rows_brings_them_compiled(rendered):
    names = zipfile.ZipFile(rendered.wheel("c")).namelist()
    assert "ops_c/linear_scan.c" in names
    assert sum(path.endswith(".so") for path in names) == 2  # forward and backward
    code = "import numpy as np, ops_c; print(ops_c.linear_scan(np.array([0.5, 0.5]), np.array([1.0, 2.0])))"
    nowhere = {"OPSDK_CC": "/nowhere/cc", "OPSDK_CACHE_DIR": str(rendered.folder / "empty")}
    assert rendered.run("-c", code, **nowhere).stdout == "[1.  2.5]\n"


def test_the_metadata_is_what_was_asked_for(rendered):
    code = (
        "import importlib.metadata, json; m = importlib.metadata.metadata('ops-pyfunc')\n"
        "print(json.dumps([m['Author-email'], m['License-Expression'], m['Name'], m.get_all('Requires-Dist')]))"
    )
    author, licence, distribution, needs = json.loads(rendered.run("-c", code).stdout)
    assert author == '"Ada \\"A\\" Lovelace" <ada@example.org>'
    assert (licence, distribution) == ("Apache-2.0", "ops-pyfunc")
    assert needs[:2] == ["numpy>=2.0", "opsdk>=0.1.0"]


def test_an_installed_name_is_taken(rendered):
    done = rendered.run("-m", "opsdk", "new", "ops_numba", "--into", rendered.wheels, check=False)
    assert done.returncode == 2
    assert "package 'ops_numba': expected a name that is free, got an installed module, " in done.stderr
    assert "; take ops_numba_ops" in done.stderr


@pytest.mark.parametrize("kind", ["c", "composite"])
def test_the_benchmark_times_every_row(rendered, kind):
    options = ("--n", "1K", "--rounds", "2", "--seconds", "0.001")
    done = rendered.run("benchmarks/bench.py", *options, kind=kind)
    timed = {"c": ("linear_scan ", "linear_scan_grad ", "c float32"), "composite": ("attention ", "composite ")}
    assert all(word in done.stdout for word in timed[kind]), done.stdout


def test_the_licence_is_that_of_opsdk_word_for_word(rendered):
    assert rendered.text("pyfunc", "LICENSE") == (REPOSITORY / "LICENSE").read_text(encoding="utf-8")
