import os
import signal
from contextlib import closing

import pytest

from gradcheck import UsageError
from gradcheck.run import workers
from gradcheck.run.stacks import innermost, read_stack
from gradcheck.run.workers import Piece, jobs_of, run

HERE = "tests.gradcheck.pieces_of_work"


def pieces(*calls):
    return [Piece(call, f"{HERE}:{call}", tuple(arguments)) for call, *arguments in calls]


def outcomes(*calls, **options):
    """The outcomes in the order of the calls, each a name or (name, argument, ...)."""
    made = dict(run(pieces(*[call if isinstance(call, tuple) else (call,) for call in calls]), **options))
    return [made[k] for k in range(len(calls))]


@pytest.fixture(scope="module")
def ended():
    """Outcomes of all that can happen, from two workers, by name."""
    names = ["crash", "abort", "fail", "fail_locally", "exit_politely", "give_a_function", "print_much"]
    calls = [*names, ("leave", 3), ("add", 1, 2), "process_id"]
    return dict(zip([*names, "leave", "add", "process_id"], outcomes(*calls, jobs=2, timeout=60), strict=True))


def test_results_come_back_whatever_happened_before(ended):
    assert (ended["add"].kind, ended["add"].value) == ("done", 3)
    assert ended["process_id"].value != os.getpid()


def test_a_segmentation_fault_says_where_it_was(ended):
    assert ended["crash"].kind == "crashed"
    assert ended["crash"].message.startswith("crashed: signal SIGSEGV in crash (")
    assert "pieces_of_work.py:" in ended["crash"].message
    assert ended["crash"].stack[0].startswith("string_at (")


def test_an_abort_says_where_it_was(ended):
    assert ended["abort"].kind == "crashed"
    assert ended["abort"].message.startswith("crashed: signal SIGABRT in abort (")


def test_leaving_without_a_word_is_a_crash(ended):
    assert (ended["leave"].kind, ended["leave"].message) == ("crashed", "its process exited with status 3")


def test_an_exception_travels(ended):
    assert ended["fail"].kind == "raised"
    assert isinstance(ended["fail"].error, UsageError)
    assert str(ended["fail"].error) == "planted: a text that travels"
    assert any("in fail" in line for line in ended["fail"].stack)


def test_of_an_exception_that_cannot_travel_the_text_does(ended):
    error = ended["fail_locally"].error
    assert (type(error), str(error)) == (RuntimeError, "LocalError: planted: of a class that does not travel")


def test_an_exit_ends_the_piece_only(ended):
    assert (ended["exit_politely"].kind, ended["exit_politely"].message) == ("raised", "SystemExit: enough")
    assert isinstance(ended["exit_politely"].error, RuntimeError)


def test_a_result_that_cannot_travel_is_an_error(ended):
    assert ended["give_a_function"].kind == "raised"
    assert "pickle" in ended["give_a_function"].message


def test_what_is_printed_disturbs_nothing_and_its_end_is_kept(ended):
    assert (ended["print_much"].kind, ended["print_much"].value) == ("done", "")
    assert ended["print_much"].printed.endswith("much \nthe end\n")
    assert len(ended["print_much"].printed) <= 2000


def test_a_piece_that_hangs_is_ended_and_says_where_it_was():
    late, after = outcomes("hang", ("add", 1, 1), timeout=1)
    assert late.kind == "late"
    assert late.message.startswith("ran longer than 1 s; still in hang (")
    assert after.value == 2


def test_a_piece_that_stops_the_watch_is_ended_from_outside(monkeypatch):
    monkeypatch.setattr(workers, "_GRACE", 0.1)
    (late,) = outcomes("hang_unwatched", timeout=0.2)
    assert (late.kind, late.message) == ("late", "ran longer than 0.2 s")


def test_a_worker_serves_many_pieces_until_it_crashes():
    first, second, _, third = outcomes("process_id", "process_id", "abort", "process_id")
    assert first.value == second.value != third.value


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
def test_a_child_of_a_crashed_worker_holds_nobody_up():
    (crashed,) = outcomes("crash_beside_a_child_of_its_own")
    assert crashed.kind == "crashed"


def test_a_worker_that_cannot_start_is_a_crash_of_its_piece(monkeypatch):
    monkeypatch.setattr(workers, "_BOOT", "print('planted'); raise SystemExit(7)")
    (crashed,) = outcomes("process_id")
    assert crashed.message == "its process exited with status 7"


def test_what_prevents_a_worker_reaches_the_caller(monkeypatch):
    monkeypatch.setattr(workers.sys, "executable", "/nowhere/python")
    with pytest.raises(FileNotFoundError, match="/nowhere/python"):
        outcomes("process_id")


def test_closing_early_ends_what_is_at_work():
    with closing(run(pieces(("process_id",), ("hang",)), jobs=2)) as ending:
        position, outcome = next(ending)
    assert position == 0
    with pytest.raises(ProcessLookupError):
        os.kill(outcome.value, 0)


def test_a_piece_that_begins_after_the_stop_is_ended(tmp_path):
    crew = workers._Crew(tmp_path, None)
    crew.stop()
    (piece,) = pieces(("hang",))
    assert crew.perform(piece).kind == "crashed"


def test_idle_workers_tidy_up_before_they_leave(tmp_path):
    marks = [tmp_path / name for name in "ab"]
    outcomes(*[("touch_at_exit", str(mark)) for mark in marks], jobs=2)
    assert [mark.exists() for mark in marks] == [True, True]


def test_no_pieces_need_no_worker():
    assert list(run([])) == []


def test_jobs_are_a_number_or_one_per_processor():
    assert (jobs_of("3"), jobs_of("auto")) == (3, os.cpu_count())
    for text in ("0", "-1", "many"):
        with pytest.raises(ValueError, match=f"jobs: expected an integer >= 1 or auto, got '{text}'"):
            jobs_of(text)


def test_a_kill_from_outside_names_the_usual_reason():
    assert workers.reason_of(-signal.SIGKILL).startswith("crashed: signal SIGKILL, as the system sends it when memory")
    assert workers.reason_of(-200) == "crashed: signal 200"


STACK = """\
Timeout (0:00:01)!
Thread 0x00007f (most recent call first):
  File "/x/gradcheck/child.py", line 80 in _hand_over

Thread 0x00007e (most recent call first):
  File "/usr/own/inner.py", line 3 in inner
  File "/usr/own/outer.py", line 9 in outer
  File "<string>", line 1 in <module>
"""


def test_the_stack_is_that_of_the_thread_that_works():
    assert read_stack(STACK) == ("inner (/usr/own/inner.py:3)", "outer (/usr/own/outer.py:9)")
    assert innermost(read_stack(STACK)) == "inner (/usr/own/inner.py:3)"


def test_without_a_stack_there_is_no_place():
    assert read_stack("") == ()
    assert innermost(()) == ""


def test_of_an_installed_package_only_the_caller_is_named():
    library = f"{os.__file__}:7"
    assert innermost((f"join ({library})", "mine (mine.py:2)")) == "mine (mine.py:2)"
    assert innermost((f"join ({library})",)) == f"join ({library})"


def test_what_is_printed_before_a_worker_is_ready_is_skipped(monkeypatch):
    monkeypatch.setattr(workers, "_BOOT", f"print('planted'); {workers._BOOT}")
    (done,) = outcomes(("add", 1, 2))
    assert done.value == 3
