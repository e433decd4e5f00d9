import numpy as np
import pytest

import opsdk
from opsdk.backends.call.language import PyFunc


def half(x):
    return x / 2


def test_the_launch_of_a_reference_row_is_the_authors_own_function():
    op = opsdk.op(half)
    assert PyFunc("numpy").compile(op.opdef, op.opdef.kernels.reference()) is half


@pytest.mark.parametrize("name", ["numpy", "composite"])
def test_rows_in_python_can_be_guarded_with_read_only_views(name):
    assert PyFunc(name).reads_python
    assert PyFunc(name).name == name


def test_any_callable_can_be_a_reference():
    class Scale:
        def __call__(self, x):
            return 3 * x

    assert opsdk.op(Scale(), name="triple")(np.ones(2)).tolist() == [3.0, 3.0]
    assert opsdk.op("t::neg(Tensor x) -> Tensor y")(lambda x, /: np.negative(x))(np.ones(2)).tolist() == [-1.0, -1.0]
