"""A real package with a C kernel: wheel, source distribution, and a process that has no compiler."""

import os
import subprocess
import sys
import tarfile
import textwrap
import zipfile

import pytest

pytest.importorskip("setuptools", minversion="77")
pytest.importorskip("cffi")

from setuptools.errors import OptionError

from opsdk.ship.wheel import BuildKernels, KernelDistribution, KernelWheel, announced_modules
from tests.contracts.tree import REPOSITORY

FILES = {
    "pyproject.toml": """\
[build-system]
requires = ["setuptools>=77", "opsdk"]
build-backend = "setuptools.build_meta"

[project]
name = "tiny-ops"
version = "0.1.0"

[project.entry-points."opsdk.ops"]
tiny = "tiny_ops"
""",
    "setup.py": """\
from setuptools import setup

from opsdk.ship.wheel import KernelDistribution

setup(distclass=KernelDistribution)
""",
    "src/tiny_ops/__init__.py": """\
import numpy as np
import opsdk

@opsdk.op("tiny::relu(Tensor x) -> Tensor y")
def relu(x):
    raise AssertionError("the reference ran")

@relu.backward
def relu_grad(y, dy):
    raise AssertionError("the reference ran")

for each in (relu, relu_grad):
    each.kernel("cpu", language="c", source="relu.c", dtype="float32", include_dirs=["inc"])
""",
    "src/tiny_ops/relu.c": """\
#include "sign.h"
int32_t relu_f32(const DLTensor *x, DLTensor *y) {
  const float *in = OPSDK_DATA(const float, x);
  for (int64_t i = 0; i < opsdk_size(x); ++i) OPSDK_DATA(float, y)[i] = POSITIVE(in[i]) ? in[i] : 0;
  return 0;
}
void relu_grad_f32(const DLTensor *y, const DLTensor *dy, DLTensor *dx) {
  for (int64_t i = 0; i < opsdk_size(y); ++i)
    OPSDK_DATA(float, dx)[i] = POSITIVE(OPSDK_DATA(float, y)[i]) ? OPSDK_DATA(float, dy)[i] : 0;
}
""",
    "src/tiny_ops/inc/sign.h": "#define POSITIVE(x) ((x) > 0)\n",
}
USE = """
import numpy as np, opsdk
x = opsdk.to_tensor(np.array([-1, 2], "float32"), stop_gradient=False)
y = opsdk.find_op("tiny::relu")(x)
y.sum().backward()
print(y.numpy().tolist(), x.grad.numpy().tolist())
"""
PIP = ("-m", "pip", "--disable-pip-version-check", "-q")


@pytest.fixture
def project(tmp_path):
    for name, text in FILES.items():
        file = tmp_path / "tiny" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    return tmp_path / "tiny"


def python(*arguments, cwd, **environment):
    given = {**os.environ, "PYTHONPATH": str(REPOSITORY), **environment}
    return subprocess.run([sys.executable, *arguments], cwd=cwd, env=given, capture_output=True, text=True, check=False)


def wheel_of(project, source=".", **environment):
    given = (*PIP, "wheel", "--no-build-isolation", "--no-deps", "--no-index", "-w", "out", source)
    return python(*given, cwd=project, **environment)


def kernels(archive):
    return sorted(name for name in zipfile.ZipFile(archive).namelist() if "_kernels" in name)


@pytest.mark.slow  # builds and installs a wheel, as tests/templates do with every run
def test_a_wheel_holds_the_compiled_rows_and_needs_no_compiler_where_it_is_installed(project, tmp_path):
    done = wheel_of(project)
    assert done.returncode == 0, done.stdout + done.stderr
    (wheel,) = (project / "out").iterdir()
    assert wheel.name.startswith("tiny_ops-0.1.0-py3-none-")
    assert not wheel.name.endswith("-any.whl")
    names = zipfile.ZipFile(wheel).namelist()
    assert {"tiny_ops/relu.c", "tiny_ops/inc/sign.h"} < set(names)
    assert not any("__pycache__" in name for name in names)
    assert [name.split("/")[-1].partition(".")[0] for name in kernels(wheel)] == ["relu"] * 2 + ["relu_grad"] * 2

    site = tmp_path / "site"
    assert python(*PIP, "install", "--no-deps", "--no-index", "--target", site, wheel, cwd=tmp_path).returncode == 0
    bare = {  # a cache folder that is a file: a kernel that had to be compiled would fail
        "PATH": "",
        "CC": "/nonexistent",
        "OPSDK_CC": "/nonexistent",
        "OPSDK_CACHE_DIR": str(wheel),
        "PYTHONPATH": os.pathsep.join([str(REPOSITORY), str(site)]),
    }
    done = python("-W", "error", "-c", USE, cwd=tmp_path, **bare)
    assert (done.stdout, done.stderr) == ("[0.0, 2.0] [0.0, 1.0]\n", "")

    with (site / "tiny_ops" / "inc" / "sign.h").open("a") as file:
        file.write("// changed after it was installed\n")
    done = python("-c", USE, cwd=tmp_path, **bare)
    assert done.returncode == 1
    assert "op 'tiny::relu', c kernel: OPSDK_CC expected a C compiler, got '/nonexistent'" in done.stderr


@pytest.mark.slow  # builds a distribution, and a wheel of it
def test_a_source_distribution_needs_no_compiler_and_builds_the_same_wheel(project):
    code = "import sys; from setuptools import build_meta; build_meta.build_sdist(sys.argv[1])"
    assert python("-c", code, "made", cwd=project, CC="/nonexistent").returncode == 0
    (archive,) = (project / "made").iterdir()
    with tarfile.open(archive) as packed:
        names = {name.partition("/")[2] for name in packed.getnames()}
    assert set(FILES) <= names
    assert not any("_kernels" in name for name in names)

    done = wheel_of(project, str(archive))
    assert done.returncode == 0, done.stdout + done.stderr
    (wheel,) = (project / "out").iterdir()
    assert len(kernels(wheel)) == 4


def test_the_page_about_packages_shows_these_files():
    page = (REPOSITORY / "docs" / "packages.md").read_text(encoding="utf-8")
    assert textwrap.indent(FILES["setup.py"], "    ", lambda line: bool(line.strip())) in page
    assert FILES["pyproject.toml"].splitlines()[1] in page
    assert '[project.entry-points."opsdk.ops"]\n    tiny = "tiny_ops"\n' in page


@pytest.mark.slow  # a build by pip
def test_a_row_that_does_not_compile_ends_the_build_with_its_reason(project):
    (project / "src" / "tiny_ops" / "relu.c").write_text("int32_t relu_f32(const DLTensor *x, DLTensor *y) { oops }\n")
    done = wheel_of(project)
    assert done.returncode != 0
    said = done.stdout + done.stderr
    assert "op 'tiny::relu', c kernel: does not compile, " in said
    assert "error: tiny_ops: the C kernels were not built; the reason stands above" in said
    assert not list(project.rglob("*.whl"))


@pytest.mark.slow  # an installation by pip
def test_an_editable_install_builds_nothing(project, tmp_path):
    given = ("--no-build-isolation", "--no-deps", "--no-index", "--target", tmp_path / "site", "-e", ".")
    done = python(*PIP, "install", *given, cwd=project, CC="/nonexistent")
    assert done.returncode == 0, done.stdout + done.stderr
    assert not list(project.rglob("_kernels"))


def distribution(**attributes):
    return KernelDistribution({"name": "tiny", **attributes})


@pytest.mark.parametrize(
    "entry_points",
    [
        {"opsdk.ops": ["tiny = tiny_ops", "more = tiny_ops.more:register", "again = tiny_ops [extra]"]},
        {"opsdk.ops": "tiny = tiny_ops\nmore = tiny_ops.more:register"},
        "[opsdk.ops]\nTiny = tiny_ops\nmore = tiny_ops.more:register\n[other]\nx = y\n",
    ],
)
def test_the_modules_are_those_that_are_announced(entry_points):
    assert announced_modules(distribution(entry_points=entry_points)) == ["tiny_ops", "tiny_ops.more"]


@pytest.mark.parametrize("entry_points", [None, {}, {"console_scripts": ["x = y"]}, "[other]\nx = y\n"])
def test_a_distribution_that_announces_nothing_is_an_error(entry_points):
    with pytest.raises(OptionError) as caught:
        announced_modules(distribution(entry_points=entry_points))
    assert str(caught.value) == (
        "tiny: expected an entry point in the group opsdk.ops, which names the module that registers its ops, got "
        'none; add [project.entry-points."opsdk.ops"] to pyproject.toml'
    )


def test_commands_of_the_packages_own_are_kept(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    from setuptools.command.build_ext import build_ext

    class Own(build_ext):
        pass

    made = distribution(cmdclass={"build_ext": Own}).get_command_class("build_ext")
    assert issubclass(made, Own)
    assert issubclass(made, BuildKernels)
    assert distribution().get_command_class("bdist_wheel") is not None
    assert distribution(cmdclass={"build_ext": BuildKernels}).get_command_class("build_ext") is BuildKernels


def test_the_patterns_of_the_packages_own_are_kept(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    made = distribution(package_data={"": ["*.json"], "tiny": ["*.txt"]})
    made.parse_config_files()
    assert made.package_data == {"": ["*.json", "*.c", "*.h"], "tiny": ["*.txt"]}


@pytest.mark.parametrize("extensions", [(), ("native",)])
def test_a_wheel_with_extension_modules_is_for_one_python(tmp_path, monkeypatch, extensions):
    from setuptools import Extension

    monkeypatch.chdir(tmp_path)
    made = distribution(ext_modules=[Extension(name, [f"{name}.c"]) for name in extensions])
    command = made.get_command_obj("bdist_wheel")
    assert isinstance(command, KernelWheel)
    command.ensure_finalized()
    python_tag, abi, platform = command.get_tag()
    assert platform != "any"
    version = f"cp{sys.version_info.major}{sys.version_info.minor}"
    assert (python_tag, abi != "none") == ((version, True) if extensions else ("py3", False))
