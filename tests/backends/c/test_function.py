"""What a C source shows of its functions without a compiler."""

import numpy as np
import pytest

import opsdk
from opsdk.backends.c.function import missing_function
from opsdk.define.kernel.kernel import Kernel, KernelKey
from opsdk.define.op import REGISTRY

F32, F64 = np.dtype("float32"), np.dtype("float64")


@pytest.fixture
def missing(tmp_path):
    """Says what a source lacks for a dtype."""

    @opsdk.op(namespace="tests")
    def twice(x):
        return 2 * x

    def ask(source, dtype):
        return missing_function(twice.opdef, Kernel(KernelKey("cpu"), "c", source, twice.opdef.origin), dtype)

    yield ask
    assert "tests::twice" in REGISTRY


SOURCE = "#include <opsdk.h>\nvoid twice_f32(const DLTensor *x, DLTensor *y) { helper(x); }\n"


def test_a_function_that_is_there_is_not_missing(missing):
    assert missing(SOURCE, F32) == ""


def test_a_function_that_is_not_there_is_named_with_those_that_are(missing):
    assert missing(SOURCE, F64) == "its source has no function twice_f64; there are twice_f32"


@pytest.mark.parametrize("line", ['#include "more.h"\n', "#define NAME(s) twice_##s\n"])
def test_what_only_the_preprocessor_sees_is_not_called_missing(missing, line):
    assert missing(line + SOURCE, F64) == ""


def test_a_file_is_read_and_one_that_is_gone_is_what_is_wrong(missing, tmp_path):
    file = tmp_path / "rows.c"
    file.write_text(SOURCE)
    assert missing(str(file), F32) == ""
    file.unlink()
    assert "expected to read" in missing(str(file), F32)
