import pytest

import opsdk
from opsdk.backends.cuda.launch import BoundKernel, failures
from opsdk.core.errors import CompileError, MissingDependencyError, PlaceError

numba = pytest.importorskip("numba")
UNCOMPILED = (
    "op 't::f', CUDA kernel: does not compile, said; look at that line without compiling: NUMBA_ENABLE_CUDASIM=1 runs "
    "the "
    "kernel as Python"
)


def named(name, base=Exception):
    return type(name, (base,), {})("said\n  so")


@pytest.fixture
def opdef():
    return opsdk.op(lambda x: x, name="f", namespace="t").opdef


@pytest.mark.parametrize(
    ("error", "kind", "message"),
    [
        (
            named("CudaSupportError", ImportError),
            PlaceError,
            "t: expected a CUDA driver and device, Numba says said so",
        ),
        (
            named("NvvmSupportError", ImportError),
            MissingDependencyError,
            't needs libnvvm, which Numba does not find (said so): pip install "opsdk[cuda]"',
        ),
        (numba.core.errors.TypingError("said"), CompileError, UNCOMPILED),
        (named("UnsupportedBytecodeError"), CompileError, UNCOMPILED),
    ],
)
def test_what_keeps_a_kernel_from_running_is_said_by_name(opdef, error, kind, message):
    with pytest.raises(kind) as caught, failures(opdef, opdef.origin, "t"):
        raise error
    assert str(caught.value) == message
    assert caught.value.__cause__ is error


def test_what_a_kernel_raises_itself_stays(opdef):
    with pytest.raises(IndexError, match="out"), failures(opdef, opdef.origin, "t"):
        raise IndexError("out")


def test_nothing_raised_is_nothing_changed(opdef):
    with failures(opdef, opdef.origin, "t"):
        pass


def test_a_kernel_is_looked_at_before_every_compilation():
    def changed():
        raise ValueError("k was changed")

    pytest.importorskip("numba.cuda.dispatcher")
    with pytest.raises(ValueError, match="k was changed"):
        BoundKernel(lambda x: None, changed)._function.compile(())
