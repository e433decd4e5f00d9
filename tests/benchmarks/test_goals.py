import pytest

from benchmarks.goals import Goal, Limit, judge

SAMPLES = {"ours": [1.0, 1.0], "slow": [4.0, 4.0], "quick": [2.0, 9.0]}


def test_of_several_subjects_the_one_with_the_least_sample_is_compared_with():
    judged = judge(Goal("P", ("absent", "slow", "quick"), "ours", 2.0, False, "faster than the best"), SAMPLES)
    assert judged.words == "faster than the best (quick)"
    assert judged.found.low == pytest.approx(2.7)
    assert judged.verdict == "yes"


def test_several_may_be_divided_by():
    assert judge(Goal("P", "ours", ("slow", "quick"), 1.0, True, "below"), SAMPLES).words == "below (quick)"


def test_of_several_none_measured_is_not_measured():
    judged = judge(Goal("P", ("a", "b"), "ours", 2.0, False, "faster"), SAMPLES)
    assert (judged.verdict, judged.found, judged.words) == ("not measured", None, "faster")


@pytest.mark.parametrize(
    ("beyond", "seconds", "verdict"),
    [("", 1.0, "yes"), ("", 0.9, "no"), ("quick", 0.0, "yes"), ("quick", -5.0, "within the spread")],
)
def test_a_limit_holds_a_time_or_a_difference(beyond, seconds, verdict):
    assert judge(Limit("P", "ours", beyond, seconds, "in time"), SAMPLES).verdict == verdict


def test_a_limit_without_its_subject_is_not_measured():
    for goal in (Limit("P", "absent", "", 1.0, "in time"), Limit("P", "ours", "absent", 1.0, "in time")):
        assert judge(goal, SAMPLES).verdict == "not measured"


@pytest.mark.parametrize(
    ("bound", "others", "verdict"),
    [
        (0.2, ("slow",), "does not bind"),  # the slow one takes twice the copy too
        (0.2, ("absent",), "no"),
        (0.2, (), "no"),
        (2.0, ("slow", "ours"), "yes"),
        (0.2, ("slow", "faster"), "no"),  # somebody reaches it, so we could
    ],
)
def test_a_bound_that_nobody_reaches_does_not_bind(bound, others, verdict):
    samples = {**SAMPLES, "copy": [2.0, 2.0], "faster": [0.1, 0.1]}
    assert judge(Goal("P", "ours", ("copy",), bound, True, "near", others), samples).verdict == verdict
