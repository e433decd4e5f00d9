import traceback

import numpy as np
import pytest

import opsdk
from opsdk.core.errors import OpsdkError
from opsdk.core.flags import get_flags, set_flags
from opsdk.core.origin import trimmed


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


def frames_of(call):
    with pytest.raises(OpsdkError) as caught:
        call()
    return [frame.name for frame in traceback.extract_tb(caught.value.__traceback__)]


def leaf():
    return opsdk.to_tensor(np.ones(2, "float32"), stop_gradient=False)


@pytest.fixture
def silent():
    op = opsdk.op(lambda x: x * 2, name="silent", namespace="trace", replace=True)
    op.backward(lambda dy: None, replace=True)
    return op


@pytest.fixture
def program():
    main = opsdk.static.Program()
    with opsdk.static.program_guard(main, opsdk.static.Program()):
        yield main


ENTRIES = {
    "Tensor.backward": (lambda op: op(leaf()).backward(), ["backward"]),
    "autograd.backward": (lambda op: opsdk.autograd.backward([op(leaf())]), ["trimmed_call"]),
    "grad": (lambda op: opsdk.grad(op(leaf()), leaf()), ["trimmed_call"]),
}


@pytest.mark.parametrize(("call", "frames"), ENTRIES.values(), ids=ENTRIES)
def test_the_traceback_of_a_refused_gradient_ends_at_the_call(silent, call, frames):
    assert frames_of(lambda: call(silent)) == ["frames_of", "<lambda>", "<lambda>", *frames]


def test_the_traceback_of_a_refused_static_gradient_ends_at_the_call(program):
    x = opsdk.static.data("x", [2], "float32")
    x.stop_gradient = False
    opaque = opsdk.op(lambda x: x * 2, name="opaque", namespace="trace", replace=True)
    loss = opaque(x).sum()
    sgd = opsdk.optimizer.SGD(0.1)
    for call in (
        lambda: opsdk.static.append_backward(loss, parameter_list=[x]),
        lambda: opsdk.static.gradients(loss, x),
        lambda: sgd.minimize(loss),
    ):
        assert frames_of(call) == ["frames_of", "<lambda>", "trimmed_call"]


def test_a_users_frames_in_between_keep_the_whole_traceback():
    def calling(dy):
        return opsdk.add(dy)

    op = opsdk.op(lambda x: x * 2, name="calling", namespace="trace", replace=True)
    op.backward(calling, replace=True)
    assert "calling" in frames_of(lambda: op(leaf()).backward())


def test_a_users_exception_keeps_its_traceback():
    def failing(dy):
        raise KeyError("mine")

    op = opsdk.op(lambda x: x * 2, name="failing", namespace="trace", replace=True)
    op.backward(failing, replace=True)
    with pytest.raises(KeyError) as caught:
        op(leaf()).backward()
    assert traceback.extract_tb(caught.value.__traceback__)[-1].name == "failing"
