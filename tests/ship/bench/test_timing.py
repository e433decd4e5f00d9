import pytest

from opsdk.ship.bench.timing import Ratio, Sampler, rounds_within, spread


class Clock:
    """Time that passes only when something says that it took some."""

    def __init__(self):
        self.now = 0.0

    def __call__(self):
        return self.now

    def takes(self, seconds):
        def call():
            self.now += seconds

        return call


def test_a_sample_is_the_mean_of_as_many_repeats_as_fill_the_time():
    clock, calls = Clock(), []
    work = clock.takes(0.001)
    sampler = Sampler(lambda: (work(), calls.append(0)), 0.01, clock=clock)
    assert sampler() == pytest.approx(0.001)
    calls.clear()
    assert sampler() == pytest.approx(0.001)
    assert len(calls) == 10


def test_a_call_that_is_longer_than_a_sample_is_made_once():
    clock, calls = Clock(), []
    work = clock.takes(5.0)
    sampler = Sampler(lambda: (work(), calls.append(0)), 0.01, clock=clock)
    sampler()
    calls.clear()
    assert sampler() == 5.0
    assert len(calls) == 1


def test_what_is_prepared_is_not_counted_and_what_is_awaited_is():
    clock = Clock()
    sampler = Sampler(clock.takes(1.0), 100.0, prepare=clock.takes(7.0), finish=clock.takes(0.5), clock=clock)
    assert sampler() == 1.5  # one repeat, though a hundred would fit


def test_the_spread_is_the_interquartile_range_beside_the_median():
    found = spread([4.0, 2.0, 3.0, 1.0, 5.0])
    assert (found.median, found.share) == (3.0, pytest.approx(2.0 / 3.0))


@pytest.mark.parametrize(
    ("low", "high", "same"), [(0.9, 1.1, True), (1.0, 2.0, True), (1.01, 1.1, False), (0.5, 0.99, False)]
)
def test_two_are_the_same_where_the_rounds_do_not_agree_on_the_faster(low, high, same):
    assert Ratio((low + high) / 2, low, high).is_same is same


def test_the_margin_is_half_of_what_the_rounds_gave():
    assert Ratio(8.7, 8.4, 9.0).margin == pytest.approx(0.3)


@pytest.mark.parametrize(("one", "rounds"), [(0.1, 15), (1.0, 10), (60.0, 5), (0.0, 15)])
def test_slow_rounds_are_fewer(one, rounds):
    assert rounds_within(10.0, one, 15, 5) == rounds
