import os
import subprocess
import sys

import numpy as np
import pytest

from opsdk.backends.c_build import ffibuilder
from opsdk.core.errors import BindingError, CompileError, DefinitionError
from tests.backends.c_rows import leaky, nothing, op
from tests.contracts.tree import REPOSITORY

pytest.importorskip("setuptools")
TAKES = "const DLTensor *x, DLTensor *y"

FILES = {
    "relu.c": """
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
const char *opsdk_message(int32_t status) { return 0; }
""",
    "sign.h": "#define POSITIVE(x) ((x) > 0)\n",
    "__init__.py": """
import numpy as np
import opsdk

@opsdk.op("my_pkg::relu(Tensor x) -> Tensor y")
def relu(x):
    return np.maximum(x, 0)

@relu.backward
def relu_grad(y, dy):
    return dy * (y > 0)

for each in (relu, relu_grad):
    each.kernel("cpu", language="c", source="relu.c", module="my_pkg._relu", dtype="float32")
""",
    "_build.py": """
from my_pkg import relu, relu_grad
from opsdk.backends.c_build import ffibuilder

ffi = ffibuilder(relu, relu_grad)
""",
}
SETUP = """
import sys
from pathlib import Path
sys.path.insert(0, str(Path(__file__).parent))
from setuptools import setup
setup(name="my_pkg", packages=["my_pkg"], cffi_modules=["my_pkg/_build.py:ffi"])
"""
USE = """
import numpy as np, opsdk
from my_pkg import relu, relu_grad
from opsdk.backends.c_row import native_entry
x = opsdk.to_tensor(np.array([-1, 2], "float32"), stop_gradient=False)
for _ in range(3):
    y = relu(x)
    y.sum().backward()
print(y.numpy().tolist(), x.grad.numpy().tolist())
for op in (relu, relu_grad):
    entry = native_entry(op, "float32")
    print(entry.file.rpartition("/")[2].partition(".")[0], entry.prototype, entry.address > 0)
"""


def python(*arguments, cwd, **environment):
    given = {**os.environ, "PYTHONPATH": f"{REPOSITORY}{os.pathsep}{cwd}", **environment}
    done = subprocess.run([sys.executable, *arguments], cwd=cwd, env=given, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_package_compiles_its_rows_into_its_wheel_and_needs_no_compiler_afterwards(tmp_path):
    package = tmp_path / "my_pkg"
    package.mkdir()
    for name, text in FILES.items():
        (package / name).write_text(text)
    (tmp_path / "setup.py").write_text(SETUP)
    python("setup.py", "-q", "build_ext", "--inplace", cwd=tmp_path)
    none = {"OPSDK_CC": "no-compiler", "OPSDK_CACHE_DIR": str(tmp_path / "cache")}
    expected = [
        "[0.0, 2.0] [0.0, 3.0]",
        "_relu int32_t relu_f32(const DLTensor *x, DLTensor *y) True",
        "_relu void relu_grad_f32(const DLTensor *y, const DLTensor *dy, DLTensor *dx) True",
    ]
    assert python("-c", USE, cwd=tmp_path, **none).splitlines() == expected
    assert not (tmp_path / "cache").exists()

    (package / "sign.h").unlink()
    (package / "relu.c").unlink()  # a wheel need not bring its sources
    assert python("-c", USE, cwd=tmp_path, **none).splitlines() == expected

    (package / "sign.h").write_text(FILES["sign.h"])
    (package / "relu.c").write_text(FILES["relu.c"].replace("in[i] : 0", "in[i] : 9"))  # newer than the module
    made = python("-c", USE, cwd=tmp_path, OPSDK_CACHE_DIR=str(tmp_path / "cache")).splitlines()
    assert made[0] == "[9.0, 2.0] [3.0, 3.0]"
    assert not made[1].startswith("_relu")


def test_the_code_is_for_any_processor_and_options_are_merged():
    first = leaky(module="m._a", flags=["-funroll-loops", "-lm"], define={"A": 1}, openmp=True)
    source, kwargs = ffibuilder(first)._assigned_source[1], ffibuilder(first)._assigned_source[3]
    assert "march" not in str(kwargs)
    assert {"-DA=1", "-funroll-loops", "-fopenmp", "-O3"} < set(kwargs["extra_compile_args"])
    assert {"-fopenmp", "-lm"} == set(kwargs["extra_link_args"])
    assert source.count("#define LEAKY") == 1


def test_ops_without_a_common_module_are_refused():
    with pytest.raises(DefinitionError, match="ffibuilder: expected ops whose C rows name one module, got no ops"):
        ffibuilder()
    one = leaky(module="m._a")
    two = op("f(Tensor x) -> Tensor y", nothing("f", TAKES), module="m._b")
    with pytest.raises(DefinitionError, match=r"expected ops whose C rows name one module, got m\._a, m\._b"):
        ffibuilder(one, two)


def test_an_op_without_a_row_that_names_a_module_is_refused():
    with pytest.raises(DefinitionError, match=r"op 't::leaky': expected one C row with module='package\._module'"):
        ffibuilder(leaky())


def test_what_does_not_compile_is_said_before_the_build():
    broken = op("f(Tensor x) -> Tensor y", nothing("f", TAKES, body="return no;"), module="m._a")
    with pytest.raises(CompileError, match=r"op 't::f', c row: does not compile, .*'no' undeclared"):
        ffibuilder(broken)


def test_what_differs_from_the_schema_is_said_before_the_build():
    other = op("f(Tensor x) -> Tensor y", nothing("f", "const DLTensor *x"), module="m._a")
    with pytest.raises(BindingError, match="op 't::f', c row: expected int32_t f_f32"):
        ffibuilder(other)


def test_the_rows_are_used_without_their_module_too():
    assert leaky(module="m._a")(np.array([-1.0])).tolist() == [-0.5]
