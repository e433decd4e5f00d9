import io
import sys

from gradcheck.run import progress
from opsdk.ship.cli.progress import Progress


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_off_a_terminal_each_finished_piece_is_a_line(capsys):
    with Progress(2, "checking") as shown:
        for name in ("a", "b"):
            shown.start(name)
            shown.advance(f"{name} done")
    assert capsys.readouterr().err == "[1/2] a done\n[2/2] b done\n"


def test_a_single_piece_needs_no_line(capsys):
    with Progress(1, "checking") as shown:
        shown.advance("done")
    assert capsys.readouterr().err == ""


def test_a_bar_moves_on_a_terminal_once_work_takes_long(monkeypatch):
    stream = Terminal()
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.delenv("TERM", raising=False)
    monkeypatch.setattr(progress, "QUIET_SECONDS", 0.0)
    with Progress(2, "checking") as shown:
        shown.start("relu")
        shown.advance("relu done")
    assert "\x1b" in stream.getvalue()
    assert "relu done" not in stream.getvalue()


def test_quick_work_shows_no_bar(monkeypatch):
    stream = Terminal()
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.delenv("TERM", raising=False)
    with Progress(2, "checking") as shown:
        shown.start("relu")
    assert stream.getvalue() == ""


def test_the_time_left_is_told_by_whoever_knows_it(capsys, monkeypatch):
    left = iter(("about 9 s left", ""))
    with Progress(2, "checking", left=lambda: next(left)) as shown:
        shown.advance("a done")
        shown.advance("b done")
    assert capsys.readouterr().err == "[1/2] a done, about 9 s left\n[2/2] b done\n"
    stream = Terminal()
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.delenv("TERM", raising=False)
    monkeypatch.setattr(progress, "QUIET_SECONDS", 0.0)
    with Progress(2, "checking", left=lambda: "about 9 s left") as shown:
        shown.start("relu")
    assert "about 9 s left" in stream.getvalue()
