import json

import pytest

from benchmarks import __main__ as command
from benchmarks.goals import Goal, Judged, judge
from benchmarks.peers import Missing
from benchmarks.report import Section, microseconds, milliseconds, page

SAMPLES = {"ours": [1e-6, 1e-6], "theirs": [2e-6, 2e-6]}


def section(goal):
    judged: tuple[Judged, ...] = (judge(goal, SAMPLES),)
    missing = (Missing("absent", "No module named 'absent'"),)
    return Section("Work", SAMPLES, "ours", microseconds, judged, missing, ("theirs 1.0",), "As it was done.")


HOLDS = Goal("P", "theirs", "ours", 2.0, False, "twice as fast")
FAILS = Goal("P", "theirs", "ours", 3.0, False, "three times as fast")


def test_a_page_has_machine_goal_ratio_times_and_what_is_missing():
    text = page("Title", [section(HOLDS)])
    assert text.startswith("# Title\n")
    assert "cores" in text
    assert "commit" in text
    assert "| P | twice as fast | 2.00 (2.00–2.00) | yes |" in text
    assert "| theirs | 2.00 µs | 2.00 µs | 2.00 (2.00–2.00) |" in text
    assert "- absent: No module named 'absent'" in text
    assert "As it was done." in text


def test_times_have_units():
    assert (microseconds(1.5e-6), milliseconds(0.25)) == ("1.50 µs", "250.0 ms")


@pytest.mark.parametrize(("goal", "status"), [(HOLDS, 0), (FAILS, 1)])
def test_a_goal_that_does_not_hold_is_the_exit_status(monkeypatch, tmp_path, capsys, goal, status):
    class Case:
        TITLE = "Case"

        @staticmethod
        def run(rounds, seconds, wanted, pythons):
            assert (rounds, wanted, pythons) == (2, ("torch",), {"paddle": "/p"})
            return [section(goal)]

    monkeypatch.setattr(command, "CASES", {"eager": Case})
    arguments = ["eager", "--rounds", "2", "--peers", "torch", "--python", "paddle=/p", "--out", str(tmp_path)]
    assert command.main(arguments) == status
    assert (tmp_path / "eager.md").read_text() == capsys.readouterr().out.removesuffix("\n")
    (recorded,) = json.loads((tmp_path / "eager.json").read_text())["sections"]
    assert recorded["seconds"] == SAMPLES
    assert recorded["missing"] == {"absent": "No module named 'absent'"}
    assert [judged["found"] for judged in recorded["goals"]] == [[2.0, 2.0, 2.0]]


def test_an_interpreter_needs_a_peer_and_a_path(capsys):
    with pytest.raises(SystemExit):
        command.main(["--python", "nonsense"])
    assert "expected PEER=PATH with a peer of opsdk, torch, jax, paddle, got 'nonsense'" in capsys.readouterr().err


def test_processor_time_is_asked_for_and_told(monkeypatch, capsys):
    class Case:
        TITLE = "Case"

        @staticmethod
        def run(*given):
            return [section(HOLDS)]

    monkeypatch.setitem(command.CASES, "eager", Case)
    monkeypatch.setenv("OPSDK_BENCH_CLOCK", "")
    assert "Processor time" not in page("Title", [section(HOLDS)])
    assert command.main(["eager", "--cpu"]) == 0
    assert "Processor time, since others shared the machine." in capsys.readouterr().out
