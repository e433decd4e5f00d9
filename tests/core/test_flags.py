import subprocess
import sys

import pytest

from opsdk.core import flags
from opsdk.core.errors import AttributeValueError
from opsdk.core.flags import get_flags, on_change, set_flags


@pytest.fixture(autouse=True)
def as_before():
    before = get_flags()
    yield
    set_flags(**before)


def test_a_flag_that_was_set_is_read_back():
    set_flags(traceback="full")
    assert get_flags()["traceback"] == "full"


def test_an_unknown_flag_is_refused_with_the_flags_there_are():
    with pytest.raises(
        AttributeValueError,
        match=r"^set_flags: expected one of debug, traceback, arena_limit_bytes, threads, got 'debgu'",
    ):
        set_flags(debgu=True)


def test_a_value_of_another_type_is_refused():
    with pytest.raises(AttributeValueError, match=r"^set_flags: flag 'debug' expected bool, got 1"):
        set_flags(debug=1)


def test_nothing_is_set_when_one_of_several_flags_is_refused():
    with pytest.raises(AttributeValueError):
        set_flags(debug=True, traceback=3)
    assert get_flags()["debug"] is False


def test_listeners_hear_of_a_change_after_it_happened(monkeypatch):
    monkeypatch.setattr(flags, "_listeners", [])
    heard = []
    on_change(lambda: heard.append(get_flags()["debug"]))
    set_flags(debug=True)
    assert heard == [True]


@pytest.mark.parametrize(("value", "debug"), [("1", "True"), ("ON", "True"), ("0", "False"), ("", "False")])
def test_debug_is_read_from_the_environment(value, debug):
    code = "from opsdk.core.flags import FLAGS; print(FLAGS.debug, FLAGS.traceback)"
    environment = {"OPSDK_DEBUG": value, "OPSDK_TRACEBACK": "full", "PYTHONPATH": ":".join(sys.path)}
    out = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    assert out.stdout.split() == [debug, "full"]


@pytest.mark.parametrize(("value", "limit"), [("4096", "True"), ("0", "False"), ("many", "False"), ("", "False")])
def test_the_limit_of_the_arena_is_read_from_the_environment_where_it_is_a_number(value, limit):
    code = "from opsdk.core.flags import FLAGS; print(FLAGS.arena_limit_bytes == 4096, FLAGS.arena_limit_bytes == 0)"
    environment = {"OPSDK_ARENA_LIMIT_BYTES": value, "PYTHONPATH": ":".join(sys.path)}
    out = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    assert out.stdout.split() == [limit, str(value == "0")]
