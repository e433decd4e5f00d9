import pytest

from opsdk.ship.cli.exits import TABLE, Exit, of_verdicts


@pytest.mark.parametrize(
    ("verdicts", "code"),
    [
        ([], 5),
        (["pass", "pass"], 0),
        (["pass", "fail", "inconclusive"], 1),
        (["pass", "inconclusive"], 4),
    ],
)
def test_the_worst_verdict_decides(verdicts, code):
    assert of_verdicts(verdicts) == code


def test_inconclusive_can_be_made_a_finding_or_a_pass():
    assert of_verdicts(["inconclusive"], strict=True) is Exit.FINDING
    assert of_verdicts(["inconclusive"], allow_inconclusive=True) is Exit.PASS
    assert of_verdicts(["inconclusive", "fail"], allow_inconclusive=True) is Exit.FINDING


def test_the_numbers_are_a_promise():
    assert [int(code) for code in Exit] == [0, 1, 2, 3, 4, 5, 130]


def test_the_table_keeps_its_lines_in_the_help(run):
    shown = [line.strip() for line in run("--help").stdout.splitlines()]
    for line in TABLE.splitlines():
        assert line.strip() in shown
