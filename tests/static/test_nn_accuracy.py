import numpy as np
import pytest

from opsdk import static
from opsdk.core.errors import AttributeValueError

SCORES = np.array([[0.1, 0.7, 0.2], [0.5, 0.3, 0.2], [0.3, 0.3, 0.4], [0.2, 0.5, 0.3]], np.float32)
LABELS = np.array([[1], [1], [2], [0]])


@pytest.fixture
def scores():
    return static.data("scores", [None, 3], "float32")


@pytest.fixture
def label():
    return static.data("label", [None, 1], "int64")


@pytest.mark.parametrize(("k", "expected"), [(1, 0.5), (2, 0.75), (3, 1.0)])
def test_it_is_the_share_of_rows_whose_label_is_among_the_greatest(fetch, scores, label, k, expected):
    assert fetch(static.accuracy(scores, label, k=k), scores=SCORES, label=LABELS) == expected


def test_labels_may_be_a_vector(fetch, scores):
    label = static.data("vector", [None], "int64")
    assert fetch(static.accuracy(scores, label), scores=SCORES, vector=LABELS[:, 0]) == 0.5


def test_it_is_a_0_d_float32(fetch, scores, label):
    result = fetch(static.accuracy(input=scores, label=label), scores=SCORES, label=LABELS)
    assert (result.shape, result.dtype) == ((), np.float32)


def test_it_carries_no_gradient(label):
    scores = static.create_parameter([4, 3])
    assert static.accuracy(scores, label).stop_gradient is True


@pytest.mark.parametrize("k", [0, -1])
def test_at_least_one_score_counts(scores, label, k):
    with pytest.raises(AttributeValueError, match=f"accuracy: k expected ≥ 1, got {k}"):
        static.accuracy(scores, label, k=k)
