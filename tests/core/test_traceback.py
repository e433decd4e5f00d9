import traceback

import numpy as np
import pytest

import opsdk
from opsdk.core.errors import OpsdkError
from opsdk.core.flags import get_flags, set_flags
from opsdk.core.traceback import trimmed


@pytest.fixture
def full_tracebacks():
    before = get_flags()
    set_flags(traceback="full")
    yield
    set_flags(**before)


def failed_call():
    with pytest.raises(OpsdkError) as caught:
        opsdk.add(np.ones(2), np.ones(3), np.ones(4))
    return [frame.name for frame in traceback.extract_tb(caught.value.__traceback__)]


def test_the_traceback_of_a_refused_call_ends_at_the_call():
    assert failed_call() == ["failed_call", "__call__"]


def test_the_flag_keeps_all_frames(full_tracebacks):
    assert failed_call()[-1] == "bind"


def test_the_error_stays_the_same_object():
    error = OpsdkError("text")
    assert trimmed(error) is error
