import numpy as np
import pytest

import opsdk
from opsdk.core.errors import KernelNotFoundError
from opsdk.ship.demo.rows import only, row_that_runs


@pytest.fixture
def op():
    @opsdk.op(namespace="rowtest")
    def twice(x):
        return 2 * x

    @twice.backward
    def twice_grad(dy):
        return 2 * dy

    @twice.kernel("cpu", language="numba")
    def other(x):
        return 3 * x

    return twice


def test_an_op_is_held_to_one_language(op):
    op.grad.kernel("cpu", lambda dy: 3 * dy, language="numba")
    held = only(op, "numpy")
    assert row_that_runs(held) == "numpy"
    assert row_that_runs(op) == "numba"
    x = opsdk.to_tensor(np.array([1.0]), stop_gradient=False)
    y = held(x)
    y.backward()
    assert (y.item(), x.grad.item()) == (2.0, 2.0)


def test_a_row_that_is_missing_on_one_side_is_an_error(op):
    with pytest.raises(KernelNotFoundError, match="op 'rowtest::twice_grad': expected a numba row, got rows in numpy"):
        only(op, "numba")


def test_a_row_of_one_dtype_is_the_one_that_a_float32_call_runs(op):
    op.kernel("cpu", lambda x: 4 * x, language="numba", dtype="float32")
    op.kernel("cuda", lambda x, y: None, language="numba", launch=opsdk.launch.elementwise("y"))
    assert row_that_runs(only(op.grad, "numpy")) == "numpy"
    assert row_that_runs(op) == "numba"
