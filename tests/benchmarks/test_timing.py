import pytest

from benchmarks.goals import Goal, judge
from opsdk.ship.bench.timing import Ratio, Span, alternate, percentile, ratio, span


def test_each_round_takes_one_sample_of_each_in_rotating_order():
    order = []

    def measure(name):
        order.append(name)
        return 1.0

    samples = alternate({"a": lambda: measure("a"), "b": lambda: measure("b"), "c": lambda: measure("c")}, rounds=3)
    assert "".join(order) == "abc" + "abc" + "bca" + "cab"  # the first three warm up
    assert samples == {"a": [1.0] * 3, "b": [1.0] * 3, "c": [1.0] * 3}


def test_a_ratio_is_taken_round_by_round():
    samples = {"slow": [4.0, 40.0, 4.0], "fast": [2.0, 20.0, 1.0]}
    assert ratio(samples, "slow", "fast").value == 2.0


def test_a_ratio_is_taken_of_the_rounds_that_both_took_part_in():
    assert ratio({"slow": [4.0], "fast": [2.0, 1.0, 1.0]}, "slow", "fast").value == 2.0


def test_a_span_is_a_time_or_how_much_longer_one_takes():
    samples = {"ours": [0.4, 0.5, 0.6], "theirs": [0.1, 0.2, 0.2]}
    assert span(samples, "ours").value == 0.5
    assert span(samples, "ours", "theirs").value == pytest.approx(0.3)
    assert str(Span(0.0012, 0.001, 0.002)) == "1.2 ms (1.0–2.0)"


def test_percentiles_are_interpolated():
    assert percentile([0.0, 1.0, 2.0, 3.0, 4.0], 0.1) == pytest.approx(0.4)
    assert percentile([7.0], 0.9) == 7.0


def test_a_ratio_shows_its_spread():
    assert str(Ratio(2.0, 1.5, 2.51)) == "2.00 (1.50–2.51)"


GOAL = Goal("P", "ours", "theirs", 2.0, True, "at most twice")
FASTER = Goal("P", "theirs", "ours", 3.0, False, "at least three times faster")


@pytest.mark.parametrize(
    ("goal", "ours", "theirs", "verdict"),
    [
        (GOAL, [1.0, 1.0], [1.0, 1.0], "yes"),
        (GOAL, [3.0, 3.0], [1.0, 1.0], "no"),
        (GOAL, [1.0, 3.0], [1.0, 1.0], "within the spread"),
        (FASTER, [1.0, 1.0], [4.0, 3.5], "yes"),
        (FASTER, [1.0, 1.0], [2.0, 2.0], "no"),
        (FASTER, [1.0, 1.0], [2.0, 4.0], "within the spread"),
    ],
)
def test_a_goal_holds_only_if_it_does_across_the_spread(goal, ours, theirs, verdict):
    assert judge(goal, {"ours": ours, "theirs": theirs}).verdict == verdict


def test_a_goal_against_a_missing_peer_is_not_measured():
    judged = judge(GOAL, {"ours": [1.0]})
    assert (judged.verdict, judged.found) == ("not measured", None)
