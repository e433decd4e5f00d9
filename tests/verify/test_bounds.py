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
