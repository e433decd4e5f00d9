"""Values that are other ones, and still of the kind that they were."""

import numpy as np

from opsdk.verify.inputs.calls import other, reordered


def test_numbers_change_their_places_and_keep_their_shape():
    assert reordered(np.array([[1.0, 2.0], [3.0, 4.0]])).tolist() == [[4.0, 3.0], [2.0, 1.0]]
    assert reordered(np.array(2.0)).tolist() == 2.5


def test_positions_stay_as_a_compiled_loop_would_follow_them_out_of_its_arrays():
    ends = np.array([0, 1, 4])
    assert reordered(ends) is ends
    assert other(ends) is ends
    assert other(np.array([2.0, 4.0], "float32")).tolist() == [2.5, 5.0]
