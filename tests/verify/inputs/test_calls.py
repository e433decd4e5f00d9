"""Values that are other ones, and still of the kind that they were; and the input that an output is looked at with."""

import numpy as np
import pytest

import opsdk
from opsdk.verify.inputs.calls import Call, element, other, reordered


def test_numbers_change_their_places_and_keep_their_shape():
    assert reordered(np.array([[1.0, 2.0], [3.0, 4.0]])).tolist() == [[4.0, 3.0], [2.0, 1.0]]
    assert reordered(np.array(2.0)).tolist() == 2.5


def test_positions_stay_as_a_compiled_loop_would_follow_them_out_of_its_arrays():
    ends = np.array([0, 1, 4])
    assert reordered(ends) is ends
    assert other(ends) is ends
    assert other(np.array([2.0, 4.0], "float32")).tolist() == [2.5, 5.0]


@pytest.mark.parametrize(
    ("output", "told"), [("du", "u[1] = 4"), ("dw", "w[1] = 2"), ("dk", "dy[1] = 6"), ("dy", "dy[1] = 6")]
)
def test_a_gradient_is_looked_at_with_its_own_input_and_with_none_of_another(output, told):
    @opsdk.op("t::two(Tensor w, Tensor u, Tensor k, Tensor y) -> Tensor y2", infer=opsdk.infer.like("w"))
    def two(w, u, k, y):
        return w + u + k + y

    @two.backward
    def two_grad(w, u, dy2):
        return dy2, dy2, dy2, dy2

    call = Call([np.array(values) for values in ([1.0, 2.0], [3.0, 4.0], [5.0, 6.0])], {})
    assert element(two.grad.opdef, call, output, (2,), (1,)) == told.replace("dy", "dy2")
    assert element(two.grad.opdef, call, output, (3,), (1,)) == ""
