import pytest

from opsdk.ship.bench.result import COPIES
from opsdk.ship.bench.run import copies


@pytest.mark.parametrize(("threads", "ways"), [(1, COPIES[:1]), (3, COPIES)])
def test_each_way_to_copy_can_be_called(threads, ways):
    with copies(1000, threads) as calls:
        assert tuple(calls) == ways
        for call in calls.values():
            call()


def test_nothing_to_move_is_still_a_copy():
    with copies(0, 1) as calls:
        calls[COPIES[0]]()
