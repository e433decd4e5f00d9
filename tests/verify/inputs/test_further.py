"""Further calls of a gradient op fit together: outputs of its op are those of the inputs beside them."""

import numpy as np
import pytest

import opsdk
from opsdk.verify.inputs.further import cut_calls, further_calls
from opsdk.verify.inputs.sampling import calls_of


def test_a_gradient_op_is_called_with_outputs_of_its_op_at_other_sizes_and_values(define):
    op = define(lambda x: np.exp(x), lambda x, y, dy: dy * y + 0 * x)
    op.samples(lambda rng: [opsdk.Sample(rng.normal(size=(2, 3)), reason="small")])
    gradient = op.grad.opdef
    with np.errstate(over="ignore"):
        calls = further_calls(gradient, calls_of(gradient, None, 0), 0, ())
    assert {(0, 3), (1, 3), (19, 3), (2, 131), (3, 3)} <= {call.inputs[0].shape for call in calls}
    for call in calls:
        x, y, dy = call.inputs
        with np.errstate(over="ignore"):
            np.testing.assert_array_equal(np.exp(x), y)
        assert dy.shape == x.shape
    assert {"values: great", "values: one nan", "values: every value twice"} <= {call.reason for call in calls}


def test_integers_get_other_dtypes_that_hold_them(define):
    @opsdk.op("planted::f(Tensor x, Tensor<int> i) -> Tensor y")
    def taken(x, i):
        return x

    @taken.samples
    def samples(rng):
        yield opsdk.Sample(rng.normal(size=3), np.array([0, -2]), reason="from the end")

    calls = further_calls(taken.opdef, calls_of(taken.opdef, None, 0), 0, ())
    found = [call.inputs[1] for call in calls if call.reason.startswith("integers")]
    assert [array.dtype for array in found] == [np.int32, np.int16, np.int8]
    assert all(array.tolist() == [0, -2] for array in found)


def test_where_a_source_reads_integers_by_their_dtype_some_are_beyond_those_with_a_sign():
    pytest.importorskip("cffi")

    @opsdk.op("planted::cut(Tensor x, Tensor<int> lengths) -> Tensor y")
    def cut(x, lengths):
        return x * (np.arange(x.shape[1]) < np.asarray(lengths)[:, None])

    @cut.samples
    def samples(rng):
        yield opsdk.Sample(rng.normal(size=(3, 5)), np.array([0, 5, 2]), reason="lengths of rows")

    def lengths(kernels):
        found = further_calls(cut.opdef, calls_of(cut.opdef, None, 0), 0, kernels)
        return [call.inputs[1] for call in found if call.reason == "integers of uint8, far from 0"]

    assert lengths(()) == []
    cut.kernel("cpu", language="c", source="int32_t cut_f64(const DLTensor *x, const DLTensor *lengths, DLTensor *y);")
    (array,) = lengths([*cut.opdef.kernels][1:])
    assert (array.dtype, array.tolist()) == (np.uint8, [0, 200, 80])


def test_many_elements_are_all_equal_and_in_order_too(define):
    op = define(lambda x: x * 2)
    op.samples(lambda rng: [opsdk.Sample(rng.normal(size=5), reason="short")])
    found = {call.reason: call.inputs[0] for call in further_calls(op.opdef, calls_of(op.opdef, None, 0), 0, ())}
    equal, rising = found["lengths 131 for 5, values: all equal"], found["lengths 131 for 5, values: ascending"]
    assert equal.shape == rising.shape == (131,)
    assert np.ptp(equal) == 0
    assert (np.diff(rising) >= 0).all()
    assert "lengths 19 for 5, values: all equal" not in found


def test_a_gradient_op_gets_what_belongs_to_a_smaller_call_of_its_op(define):
    op = define(lambda x: np.exp(x), lambda x, y, dy: dy * y + 0 * x)
    op.samples(lambda rng: [opsdk.Sample(rng.normal(size=(90, 100))), opsdk.Sample(rng.normal(size=(2, 3)))])
    gradient = op.grad.opdef
    (call,) = cut_calls(gradient, calls_of(gradient, None, 0), 0, 4096)
    x, y, dy = call.inputs
    assert x.shape == (22, 25)
    np.testing.assert_array_equal(np.exp(x), y)
    assert dy.shape == x.shape
