import numpy as np
import pytest

import opsdk
from opsdk.backends.buffers import allocate, infer, specs_of
from opsdk.core.errors import ShapeError
from opsdk.core.spec import TensorSpec


@pytest.fixture
def opdef():
    @opsdk.op(
        "t::f(Tensor x, Tensor? w=None, *, int n=1) -> (Tensor y, Tensor z)",
        infer=lambda x, n: (TensorSpec([n, *x.shape], "int8"), TensorSpec([None], x.dtype)),
    )
    def f(x, w, n):
        raise AssertionError

    return f.opdef


def test_inputs_become_specs_in_the_form_that_rules_take():
    x = np.zeros((2, 0), "int8")
    assert specs_of([x, None, [x, x]]) == [TensorSpec([2, 0], "int8"), None, [TensorSpec([2, 0], "int8")] * 2]


def test_outputs_are_inferred_from_actual_inputs(opdef):
    specs = infer(opdef, [np.zeros((2, 3)), None], {"n": 4})
    assert specs == (TensorSpec([4, 2, 3], "int8"), TensorSpec([None], "float64"))


def test_buffers_are_made_for_the_outputs_that_a_kernel_fills(opdef):
    (buffer,) = allocate(opdef, [np.zeros(3), None], {"n": 2}, [0])
    assert (buffer.shape, buffer.dtype) == ((2, 3), np.int8)


def test_a_buffer_whose_size_nobody_knows_is_refused(opdef):
    with pytest.raises(ShapeError) as caught:
        allocate(opdef, [np.zeros(3), None], {"n": 2}, [1])
    assert str(caught.value) == (
        "op 't::f', output 'z': expected a shape known before the kernel runs, since the kernel fills a buffer, "
        "got float64(?,); let the kernel return the array"
    )
