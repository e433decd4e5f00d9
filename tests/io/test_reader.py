import pytest

import opsdk
from opsdk.core.errors import AttributeValueError


def test_a_reader_is_batched_each_time_anew():
    batched = opsdk.batch(lambda: iter(range(5)), batch_size=2)
    assert list(batched()) == list(batched()) == [[0, 1], [2, 3], [4]]
    assert list(opsdk.batch(lambda: range(5), 2, drop_last=True)()) == [[0, 1], [2, 3]]


def test_a_batch_of_nothing_is_refused():
    with pytest.raises(AttributeValueError, match="batch: batch_size expected an integer ≥ 1, got 0"):
        opsdk.batch(lambda: range(5), 0)
