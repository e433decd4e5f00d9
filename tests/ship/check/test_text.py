"""The table of `opsdk check`."""

import pytest

from opsdk.ship.check.text import _sees_down_to
from opsdk.verify.report import Row

LONG, SHORT, UNJUDGED = (
    Row("t::f", "cpu,float64,numpy", "pass", sees_down_to=2e-9),
    Row("t::f", "cpu,float32,c", "pass", sees_down_to=5e-5),
    Row("t::f", "cpu,float64,c", "pass"),
)


@pytest.mark.parametrize(
    ("rows", "shown"),
    [((LONG, SHORT, UNJUDGED), "2e-09"), ((SHORT, UNJUDGED), "5e-05"), ((UNJUDGED,), "–"), ((), "–")],
)
def test_what_a_run_sees_is_told_of_float64_rows_and_of_others_where_there_is_none(rows, shown):
    assert _sees_down_to(rows) == shown
