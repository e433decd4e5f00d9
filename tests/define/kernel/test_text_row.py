from pathlib import Path

import numpy as np
import pytest

import opsdk
from opsdk.core.errors import DefinitionError
from opsdk.define.op import REGISTRY

SOURCE = "int32_t f_f32(const DLTensor *x, DLTensor *y) { return 0; }"


@pytest.fixture
def op():
    with REGISTRY.scoped():

        @opsdk.op("t::f(Tensor x, *, float slope=0.5) -> Tensor y")
        def f(x, slope):
            return np.copy(x)

        yield f


def test_a_text_row_is_data_and_holds_the_line_that_registered_it(op):
    op.kernel("cpu", language="c", source=SOURCE, dtype="float32", openmp=True)
    (row,) = [row for row in op.opdef.kernels if row.language == "c"]
    assert (str(row), row.source, row.parameters) == ("c (cpu, float32)", SOURCE, ("x", "y", "slope"))
    assert row.options["openmp"] is True
    assert str(row.origin).endswith("test_text_row.py:25")


def test_a_language_that_reads_text_refuses_a_function(op):
    text = "op 't::f': language 'c' expected source=, a file or its text, got the Python function kernel; call kernel"

    def kernel(x):
        raise AssertionError

    with pytest.raises(DefinitionError) as caught:
        op.kernel("cpu", kernel, language="c")
    assert str(caught.value).startswith(text)
    with pytest.raises(DefinitionError) as caught:
        op.kernel("cpu", language="c", source=SOURCE)(kernel)
    assert str(caught.value).startswith(text)


@pytest.mark.parametrize(("source", "said"), [(None, "nothing"), (3, "3"), (b"x", "b'x'")])
def test_a_language_that_reads_text_refuses_what_is_no_text(op, source, said):
    with pytest.raises(DefinitionError, match=f"expected source=, a file or its text, got {said}"):
        op.kernel("cpu", language="c", source=source)
    assert [row.language for row in op.opdef.kernels] == ["numpy"]


def test_a_path_is_a_source_too(op, tmp_path):
    file = Path(tmp_path, "f.c")
    file.write_text(SOURCE)
    op.kernel("cpu", language="c", source=file)
    assert next(row for row in op.opdef.kernels if row.language == "c").source == str(file)
