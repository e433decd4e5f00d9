import io
import sys

import pytest

from opsdk.ship.cli import terminal


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.fixture(autouse=True)
def plain(monkeypatch):
    for name in ("NO_COLOR", "FORCE_COLOR", "TERM"):
        monkeypatch.delenv(name, raising=False)


def test_a_file_is_no_terminal_and_has_no_colour():
    assert not terminal.is_terminal(io.StringIO())
    assert not terminal.has_colour(io.StringIO())


def test_a_terminal_has_colour_unless_told_otherwise(monkeypatch):
    assert terminal.has_colour(Terminal())
    monkeypatch.setenv("NO_COLOR", "1")
    assert not terminal.has_colour(Terminal())


def test_a_dumb_terminal_is_none(monkeypatch):
    monkeypatch.setenv("TERM", "dumb")
    assert not terminal.is_terminal(Terminal())


def test_colour_can_be_forced(monkeypatch):
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert terminal.has_colour(io.StringIO())


def test_only_the_verdict_word_is_painted(monkeypatch):
    monkeypatch.setattr(sys, "stdout", Terminal())
    assert terminal.painted("FAIL") == "\x1b[31mFAIL\x1b[0m"
    assert terminal.painted("FAILED") == "FAILED"


def test_off_a_terminal_a_line_has_a_hundred_columns(monkeypatch):
    monkeypatch.setattr(sys, "stdout", io.StringIO())
    assert terminal.width() == 100
