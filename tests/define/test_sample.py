import numpy as np

import opsdk


def test_a_sample_keeps_inputs_reason_and_attributes_apart():
    x = np.zeros((2, 0))
    sample = opsdk.Sample(x, None, reason="empty", axis=1)
    assert sample.inputs == (x, None)
    assert (sample.reason, sample.attrs) == ("empty", {"axis": 1})


def test_a_sample_prints_its_shapes_and_its_reason():
    assert repr(opsdk.Sample(np.zeros((2, 0)), None, reason="empty")) == "Sample((2, 0), None; empty)"


def test_a_sample_without_a_reason_says_so():
    assert repr(opsdk.Sample(np.zeros(3))) == "Sample((3,); no reason given)"
