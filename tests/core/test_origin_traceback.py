import traceback

import numpy as np
import pytest

import opsdk
from opsdk.core.errors import OpsdkError
from opsdk.core.flags import get_flags, set_flags
from opsdk.core.origin import PACKAGE_ROOT, shorten, trimmed


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


def test_a_users_frames_in_between_are_kept():
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


def failing(x):
    raise KeyError("mine")


def raised_in(what):
    """Gives a call of an op of which one function raises."""
    op = opsdk.op(
        failing if what == "kernel" else lambda x: x * 2,
        name="failing",
        namespace="trace",
        replace=True,
        infer=failing if what == "infer" else lambda x: x,
    )
    if what == "check":
        op.check(failing)
    if what != "backward":
        return lambda: op(leaf())
    op.backward(lambda dy: failing(dy), replace=True)
    return lambda: op(leaf()).backward()


def frames_of_users(call):
    with pytest.raises(KeyError) as caught:
        call()
    frames = traceback.extract_tb(caught.value.__traceback__)
    inside = [frame for frame in frames if frame.filename.startswith(PACKAGE_ROOT)]
    return [frame.name for frame in frames if frame not in inside], len(inside)


@pytest.mark.parametrize("what", ["infer", "check", "kernel", "backward"])
def test_an_exception_of_a_users_function_shows_the_call_and_the_function(what):
    names, inside = frames_of_users(raised_in(what))
    between = ["<lambda>"] if what == "backward" else []
    assert names == ["frames_of_users", "<lambda>", *between, "failing"]
    assert inside <= 1  # what was called, and raises again


def test_an_infer_rule_that_raises_in_a_program_shows_the_call_and_the_rule(program):
    op = opsdk.op(lambda x: x, name="failing", namespace="trace", replace=True, infer=failing)
    names, inside = frames_of_users(lambda: op(opsdk.static.data("x", [2], "float32")))
    assert names == ["frames_of_users", "<lambda>", "failing"]
    assert inside <= 1


def test_a_kernel_that_raises_in_a_run_shows_the_run_and_the_kernel(program):
    op = opsdk.op(failing, name="failing", namespace="trace", replace=True, infer=lambda x: x)
    y = op(opsdk.static.data("x", [2], "float32"))
    executor = opsdk.static.Executor()
    names, inside = frames_of_users(lambda: executor.run(program, feed={"x": np.ones(2, "float32")}, fetch_list=[y]))
    assert names == ["frames_of_users", "<lambda>", "failing"]
    assert inside <= 1


def test_an_exception_of_a_users_function_keeps_all_frames_by_the_flag(full_tracebacks):
    names, inside = frames_of_users(raised_in("infer"))
    assert names[-1] == "failing"
    assert inside > 3


def test_an_exception_that_opsdk_did_not_mean_keeps_its_frames():
    with pytest.raises(AttributeError) as caught:
        shorten(3)
    frames = traceback.extract_tb(trimmed(caught.value).__traceback__)
    assert [frame.name for frame in frames] == ["test_an_exception_that_opsdk_did_not_mean_keeps_its_frames", "shorten"]
