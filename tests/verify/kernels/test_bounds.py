import numpy as np
import pytest

import opsdk
from opsdk import vmath

numba = pytest.importorskip("numba")


@numba.njit
def grown(x):
    return vmath.exp(x)


def test_the_text_of_a_row_may_call_a_compiled_function_that_uses_vmath():
    with opsdk.REGISTRY.scoped():

        @opsdk.op("t::grow(Tensor x) -> Tensor y", nondifferentiable=["y"])
        def grow(x):
            return np.exp(x)

        @grow.kernel("cpu", language="numba")
        def grow_numba(x, y):
            for i in range(x.size):
                y.flat[i] = grown(x.flat[i])

        report = opsdk.verify(grow)
    assert not report.findings
    assert "bounds" in report.coverage.checks


def test_a_loop_that_leaves_its_arrays_is_told_what_to_do():
    with opsdk.REGISTRY.scoped():

        @opsdk.op("t::double(Tensor x) -> Tensor y", nondifferentiable=["y"])
        def double(x):
            return x * 2

        @double.kernel("cpu", language="numba")
        def double_numba(x, y):
            for i in range(x.size + 1):
                y.flat[i] = x.flat[i] * 2

        finding = opsdk.verify(double).findings[0]
    assert finding.check == "bounds"
    assert finding.message.endswith(
        "; compiled it reads or overwrites what lies there: end its loops at the sizes of its arrays"
    )
