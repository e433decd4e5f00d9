"""The built-in ops on the simulated device: by their CUDA kernels, and by their references, unchanged."""

import inspect

import numpy as np
import pytest

import opsdk.nn  # registers its ops
import opsdk.static  # noqa: F401 - as well
from opsdk.backends.memory.simulated import SimulatedArray
from opsdk.core.errors import PlaceError
from opsdk.define.op import REGISTRY
from opsdk.verify.inputs.calls import each, flat
from opsdk.verify.inputs.sampling import calls_of

HOST = ("cond", "cond_grad", "while_loop", "while_loop_grad")  # whose bodies are Programs, which run in host memory
BUILTIN = sorted((op for op in REGISTRY if op.opdef.name.startswith("opsdk::")), key=lambda op: op.opdef.name)
OPS = [op for op in BUILTIN if op.opdef.schema.name not in HOST]
MOST = 8  # calls of one op; an op's own samples come first


def listed(made):
    return flat(list(made) if isinstance(made, tuple) else [made])


def runs(op, call):
    """Returns what the host computes; None where an op refuses a call."""
    with np.errstate(all="ignore"):
        try:
            return listed(op(*each(call.inputs, np.array), **call.attrs))
        except Exception:
            return None


def assert_as_on_the_host(op, call, wanted):
    made = listed(op(*each(call.inputs, lambda array: SimulatedArray(np.array(array))), **call.attrs))
    for ours, theirs in zip(made, wanted, strict=True):
        if theirs is None:
            assert ours is None
            continue
        assert isinstance(ours, SimulatedArray)
        assert (ours.shape, ours.dtype) == (theirs.shape, theirs.dtype)
        rtol, atol = (1e-4, 1e-6) if theirs.dtype.itemsize <= 4 else (1e-10, 1e-12)
        np.testing.assert_allclose(ours.get(), theirs, rtol=rtol, atol=atol)


def on_the_host(op):
    """Gives calls of an op that have arrays, and what the host computes of each; none that the op refuses there."""
    calls = [(call, runs(op, call)) for call in calls_of(op.opdef, None, 0)[:MOST]]
    return [(call, wanted) for call, wanted in calls if wanted is not None and flat(call.inputs)]


@pytest.mark.parametrize("op", OPS, ids=lambda op: op.opdef.name)
def test_a_built_in_op_gives_on_the_device_what_it_gives_on_the_host(op):
    for call, wanted in on_the_host(op):
        assert_as_on_the_host(op, call, wanted)


@pytest.mark.parametrize("name", ["cond", "while_loop"])
def test_branches_and_loops_are_refused_by_name(name):
    op = next(op for op in BUILTIN if op.opdef.schema.name == name)
    call = calls_of(op.opdef, None, 0)[0]
    inputs = each(call.inputs, lambda array: SimulatedArray(np.array(array)))
    with pytest.raises(
        PlaceError, match="control flow: expected values in host memory, where Programs run, got some of"
    ):
        op(*inputs, **call.attrs)


def test_references_call_only_what_cupy_has(monkeypatch):
    cupy = pytest.importorskip("cupy", reason="CuPy is not installed")
    missing = set()
    run = SimulatedArray.__array_function__

    def watched(self, function, types, args, options):
        there = getattr(cupy.linalg if "linalg" in function.__module__ else cupy, function.__name__, None)
        try:
            if there is None:
                missing.add(function.__name__)
            else:
                inspect.signature(there).bind(*args, **options)
        except TypeError as error:
            missing.add(f"{function.__name__}: {error}")
        return run(self, function, types, args, options)

    monkeypatch.setattr(SimulatedArray, "__array_function__", watched)
    for op in OPS:
        for call in calls_of(op.opdef, None, 0)[:MOST]:
            if flat(call.inputs) and runs(op, call) is not None:
                op(*each(call.inputs, lambda array: SimulatedArray(np.array(array))), **call.attrs)
    assert missing == set()
