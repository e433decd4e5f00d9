import sys
import traceback

import pytest

from opsdk.backends.c.frame import call_at
from opsdk.core.origin import Origin

cffi = pytest.importorskip("cffi")


def test_a_call_gives_what_the_function_gives():
    assert call_at(Origin("ops.py", 7), "f, c kernel")(lambda a, b: a - b, [5, 2]) == 3


def test_its_frame_stands_at_the_row():
    seen = []

    def look():
        frame = sys._getframe(1)
        seen.append((frame.f_code.co_filename, frame.f_lineno, frame.f_code.co_name))

    call_at(Origin("ops.py", 7), "f, c kernel")(look, [])
    assert seen == [("ops.py", 7, "f, c kernel")]


def test_an_exception_shows_it_in_its_traceback():
    def fail():
        raise OverflowError("planted")

    with pytest.raises(OverflowError, match="planted") as caught:
        call_at(Origin("ops.py", 7), "f, c kernel")(fail, [])
    frames = traceback.extract_tb(caught.value.__traceback__)
    assert ("ops.py", 7, "f, c kernel") in [(frame.filename, frame.lineno, frame.name) for frame in frames]
