import pytest

from opsdk.ship.check.kept import Pace, remember_pace
from opsdk.ship.check.result import Checked
from opsdk.verify.report import VerifyReport


@pytest.fixture(autouse=True)
def cache(here, monkeypatch):
    monkeypatch.setenv("OPSDK_CACHE_DIR", str(here / "cache"))
    return here / "cache"


def took(level="default", **seconds):
    remember_pace([Checked(VerifyReport(name, "pass", seconds=s)) for name, s in seconds.items()], level)


def test_nothing_is_said_where_nothing_is_known():
    pace = Pace(["a", "b"], "default", 1)
    assert (pace.left, pace.said()) == (None, "")


def test_what_ops_took_last_time_tells_how_long_the_rest_takes():
    took(a=10.0, b=30.0, c=2.0)
    pace = Pace(["a", "b", "c"], "default", 1)
    assert pace.said() == "about 42 s left"
    pace.end("a", 20.0)  # twice as long as before
    assert pace.left == 64.0
    pace.end("b", None)  # a crash tells nothing
    assert pace.left == 4.0


def test_an_op_that_is_new_counts_as_the_others_do_on_average():
    took(a=10.0)
    pace = Pace(["a", "new"], "default", 1)
    assert pace.left == 20.0


def test_several_at_a_time_take_less():
    took(a=10.0, b=10.0, c=10.0, d=10.0)
    pace = Pace(["a", "b", "c", "d"], "default", 2)
    assert pace.left == 20.0
    for name in "abc":
        pace.end(name, 10.0)
    assert pace.left == 10.0  # the last is one


def test_each_level_has_times_of_its_own_and_what_was_not_checked_keeps_its():
    took(a=10.0, b=5.0)
    took("quick", a=1.0)
    took(a=11.0)
    assert Pace(["a", "b"], "default", 1).left == 16.0
    assert Pace(["a"], "quick", 1).left == 1.0


def test_minutes_are_told_as_such_and_a_few_seconds_not_at_all():
    took(a=600.0, b=4.0)
    assert Pace(["a"], "default", 1).said() == "about 10 min left"
    assert Pace(["b"], "default", 1).said() == ""


def test_a_damaged_file_tells_nothing(cache):
    took(a=10.0)
    (file,) = (cache / "durations").iterdir()
    for text in ("", "[1]", '{"default": 3}', '{"default": {"a": "x"}}'):
        file.write_text(text)
        assert Pace(["a"], "default", 1).left is None
    took(a=10.0)
    assert Pace(["a"], "default", 1).left == 10.0
