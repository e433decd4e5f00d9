"""Memory that a Python kernel keeps, whoever gave it: what was returned before never changes."""

import ctypes
import gc
import mmap
import types
from multiprocessing import shared_memory

import numpy as np
import pytest

import opsdk
from opsdk.core.errors import AliasError
from opsdk.core.fast import FAST

OWNED = np.zeros(4)
MATRIX = np.zeros((1, 4)).view(np.matrix)
RAW = (ctypes.c_double * 4)()
BYTES = bytearray(32)
MAPPED = mmap.mmap(-1, 32)


class Interface:
    __array_interface__ = OWNED.__array_interface__


@pytest.fixture(scope="module")
def shared():
    memory = shared_memory.SharedMemory(create=True, size=32)
    yield memory
    memory.unlink()


KEPT = {
    "an ndarray": lambda: OWNED,
    "ctypes": lambda: np.ctypeslib.as_array(RAW),
    "bytearray": lambda: np.frombuffer(BYTES, np.float64),
    "memoryview": lambda: np.asarray(memoryview(BYTES).cast("d")),
    "a buffer": lambda: np.ndarray((4,), np.float64, buffer=BYTES),
    "__array_interface__": lambda: np.asarray(Interface()),
    "DLPack": lambda: np.from_dlpack(OWNED),
    "mmap": lambda: np.frombuffer(MAPPED, np.float64),
    "strides": lambda: np.lib.stride_tricks.as_strided(OWNED, writeable=True),
    "a subclass": lambda: np.asarray(MATRIX)[0],
    "shared memory": None,  # of the fixture
}
TAKEN = {
    "itself": lambda kept: kept,
    "a view": lambda kept: kept[:3],
    "a view of a view": lambda kept: kept[:3].reshape(3, 1)[:, 0],
}


@pytest.fixture(params=[(way, taken) for way in KEPT for taken in TAKEN], ids=" as ".join)
def kept(request, shared):
    """A function that fills memory which it keeps, and returns it."""
    way, taken = request.param
    make = KEPT[way] or (lambda: np.ndarray((4,), np.float64, buffer=shared.buf))

    def fill(value):
        array = make()
        array[: value.size] = value
        return TAKEN[taken](array)[: value.size]

    return fill


def results_of(op, wrap, count=1):
    """Returns the first output of several calls on threes of 1, 2, 3 and so on, once all are made."""
    made = [op(*[wrap(np.full(3, float(i)))] * count) for i in range(1, 5)]
    return [np.asarray(m[0] if isinstance(m, (tuple, list)) else m).tolist() for m in made]


EXPECTED = [[float(i)] * 3 for i in range(1, 5)]
SIGNATURES = {
    "one": ("Tensor x) -> Tensor y", lambda f: lambda x: f(x), None),
    "of two inputs": ("Tensor x, Tensor w) -> Tensor y", lambda f: lambda x, w: f(x), None),
    "with an attribute": ("Tensor x, *, int n=1) -> Tensor y", lambda f: lambda x, n: f(x), None),
    "in a tuple": ("Tensor x) -> (Tensor y, Tensor z)", lambda f: lambda x: (f(x), x + 0), lambda x: [x, x]),
    "in a list": ("Tensor x) -> Tensor[] y", lambda f: lambda x: [f(x)], lambda x: [x]),
    "in a mapping": (
        "Tensor x) -> (Tensor y, Tensor z)",
        lambda f: lambda x: types.MappingProxyType({"y": f(x), "z": x + 0}),
        lambda x: [x, x],
    ),
}


@pytest.mark.parametrize("wrap", [np.array, opsdk.to_tensor])
@pytest.mark.parametrize("signature", SIGNATURES)
def test_memory_that_a_kernel_keeps_changes_no_earlier_result(kept, signature, wrap):
    schema, kernel, infer = SIGNATURES[signature]
    op = opsdk.op(f"t::kept({schema}", infer=infer)(kernel(kept))
    assert results_of(op, wrap, 2 if signature == "of two inputs" else 1) == EXPECTED


def test_memory_that_a_kernel_keeps_changes_nothing_that_was_saved(kept):
    op = opsdk.op("t::same(Tensor x) -> Tensor y")(lambda x: kept(x))
    op.backward(lambda y, dy: dy * y)
    one, two = (opsdk.to_tensor(np.full(3, value), stop_gradient=False) for value in (1.0, 2.0))
    (op(one) + op(two)).sum().backward()
    assert (one.grad.tolist(), two.grad.tolist()) == ([1.0] * 3, [2.0] * 3)


def test_memory_that_a_backward_keeps_changes_no_earlier_gradient(kept):
    op = opsdk.op("t::half(Tensor x) -> Tensor y")(lambda x: x / 2)
    op.backward(lambda y, dy: kept(dy / 2))
    grads = []
    for value in range(1, 5):
        x = opsdk.to_tensor(np.zeros(3), stop_gradient=False)
        grads += opsdk.grad(op(x), x, opsdk.to_tensor(np.full(3, 2.0 * value)))
        op(x).backward(opsdk.to_tensor(np.full(3, 2.0 * value)))
        grads.append(x.grad)
    assert [grad.tolist() for grad in grads] == [row for row in EXPECTED for _ in range(2)]


def _with_py_func(kept, x):
    out = opsdk.static.default_main_program().global_block().create_var(shape=[3], dtype="float64")
    return opsdk.static.py_func(kept, x, out)


@pytest.mark.parametrize("kind", ["an op", "a py_func"])
def test_memory_that_a_kernel_of_a_program_keeps_changes_no_earlier_result(kept, kind):
    op = opsdk.op("t::same(Tensor x) -> Tensor y")(lambda x: kept(x))
    main = opsdk.static.Program()
    with opsdk.static.program_guard(main):
        x = opsdk.static.data("x", [3], "float64")
        made = [op(v) if kind == "an op" else _with_py_func(lambda a: kept(np.asarray(a)), v) for v in (x, x + 1.0)]
    exe = opsdk.static.Executor(opsdk.CPUPlace())
    found = [exe.run(main, feed={"x": np.full(3, float(i))}, fetch_list=made) for i in (1, 3)]
    assert [value.tolist() for pair in found for value in pair] == EXPECTED


needs_fast = pytest.mark.skipif(FAST is None, reason="the fast path is not built: views can be made writable")


@needs_fast
def test_a_view_of_the_copy_that_stood_for_an_input_outlives_it():
    def turned(x):
        x.setflags(write=True)  # refused of a view that is read-only, so that a copy stands for it
        return x[::-1]

    op = opsdk.op("t::turned(Tensor x) -> Tensor y")(turned)
    x = np.arange(4000.0)
    for wrap in (np.array, opsdk.to_tensor):
        made = [op(wrap(x)) for _ in range(3)]
        gc.collect()
        others = [np.full(4000, 7.0) for _ in range(20)]
        assert all((np.asarray(value) == np.arange(3999.0, -1, -1)).all() for value in made)
        del others


@needs_fast
def test_a_declared_view_that_could_only_be_one_of_a_copy_is_refused():
    def turned(x):
        x.setflags(write=True)
        return x[::-1]

    op = opsdk.op("t::turned(Tensor(a) x) -> Tensor(a) y")(turned)
    for wrap in (np.array, opsdk.to_tensor):
        for _ in range(2):
            with pytest.raises(ValueError, match="WRITEABLE"):
                op(wrap(np.zeros(3)))


STRIDED = {
    "as_strided": lambda x: np.lib.stride_tricks.as_strided(x),
    "a view of it": lambda x: np.lib.stride_tricks.as_strided(x)[:],
    "a memoryview": lambda x: np.asarray(memoryview(x)),
}


@pytest.mark.parametrize("way", STRIDED)
def test_a_declared_view_of_an_input_stays_one_by_whatever_way_it_was_made(way):
    op = opsdk.op("t::seen(Tensor(a) x) -> Tensor(a) y")(lambda x: STRIDED[way](x))
    for wrap in (np.array, opsdk.to_tensor):
        x = wrap(np.zeros(3))
        for value in (1.0, 2.0):
            y = op(x)
            getattr(x, "_array", x)[0] = value
            assert np.asarray(y)[0] == value


@pytest.mark.parametrize("way", STRIDED)
def test_a_view_of_an_input_that_was_not_declared_is_refused_by_whatever_way_it_was_made(way):
    op = opsdk.op("t::seen(Tensor x) -> Tensor y")(lambda x: STRIDED[way](x))
    for wrap in (np.array, opsdk.to_tensor):
        for _ in range(2):
            with pytest.raises(AliasError, match="expected a new array, got a view of input 'x'"):
                op(wrap(np.zeros(3)))
