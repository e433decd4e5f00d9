"""Memory that ends, or begins, at a page that nobody may touch."""

import ctypes
import subprocess
import sys

import numpy as np
import pytest

from opsdk.backends.memory import guarded
from opsdk.backends.memory.guarded import GuardedMemory, Touch, filling, watcher

DOUBLE = ctypes.POINTER(ctypes.c_double)


def elements(array):
    return ctypes.cast(array.ctypes.data, DOUBLE)


@pytest.fixture
def watched():
    if isinstance(watcher(), str):
        pytest.skip(watcher())


def told(memory):
    return [(touch.name, touch.access, touch.index, touch.size) for touch in memory.touches()]


@pytest.mark.parametrize(("at_end", "beside", "not_seen"), [(True, 6, -1), (False, -1, 6)])
def test_a_read_beside_an_input_is_seen_on_the_side_of_the_guard(watched, at_end, beside, not_seen):
    memory = GuardedMemory(at_end=at_end, fill=0)
    x = memory.holding(np.arange(6.0).reshape(2, 3), "x")
    with memory.watched():
        read = elements(x)[beside], elements(x)[not_seen]
    assert read[0] == 0.0  # it went on with what the page holds
    assert told(memory) == [("x", "read", beside, 6)]
    assert next(memory.touches()).stack


def test_a_write_behind_an_output_is_seen_and_goes_on(watched):
    memory = GuardedMemory(at_end=True, fill=0)
    first, second = memory.empty((2,), np.dtype("float64")), memory.empty((4,), np.dtype("float64"))
    with memory.watched():
        elements(second)[5] = 1.0
        elements(second)[3] = 7.0
    assert told(memory) == [(1, "wrote", 5, 4)]
    assert second[3] == 7.0
    assert np.isnan(first).all()


def test_arrays_that_are_made_while_it_is_watched_are_guarded_too(watched):
    memory = GuardedMemory(at_end=True, fill=0)
    with memory.watched():
        elements(memory.empty((2,), np.dtype("float64")))[2] = 1.0
    assert told(memory) == [(0, "wrote", 2, 2)]


def test_an_array_without_elements_has_guards_and_nothing_between(watched):
    memory = GuardedMemory(at_end=True, fill=0)
    x = memory.holding(np.empty((0, 3)), "x")
    with memory.watched():
        assert elements(x)[0] == 0.0
    assert told(memory) == [("x", "read", 0, 0)]


def test_what_alignment_leaves_behind_an_output_is_marked():
    memory = GuardedMemory(at_end=True, fill=0)
    y = memory.empty((3,), np.dtype("float64"))
    assert y.ctypes.data % 16 == 0
    elements(y)[3] = 0.0
    assert list(memory.touches()) == [Touch(0, 3, 3, "wrote")]


def test_where_nothing_can_be_watched_writes_are_seen_by_their_marks(monkeypatch):
    monkeypatch.setattr(guarded, "watcher", lambda: "no compiler")
    memory = GuardedMemory(at_end=False, fill=0)
    x = memory.holding(np.arange(3.0), "x")
    with memory.watched():
        elements(x)[4] = 2.0
    assert told(memory) == [("x", "wrote", 4, 3)]


def test_the_reason_is_that_of_the_compiler(monkeypatch):
    monkeypatch.setenv("OPSDK_CC", "/no/such/compiler")
    watcher.cache_clear()
    try:
        assert watcher().startswith("guarded memory: OPSDK_CC expected a C compiler, got '/no/such/compiler'")
    finally:
        monkeypatch.undo()
        watcher.cache_clear()


@pytest.mark.parametrize("at_end", [True, False])
@pytest.mark.parametrize("turn", [np.asfortranarray, lambda a: a[::2, ::-1], lambda a: a.T, np.array])
def test_a_copy_lies_as_what_it_is_of(turn, at_end):
    array = turn(np.arange(24.0).reshape(6, 4))
    copy = GuardedMemory(at_end=at_end, fill=0).holding(array, "x")
    assert copy.strides == array.strides
    assert copy.tolist() == array.tolist()


def test_a_copy_of_what_is_not_aligned_is_not_aligned_either():
    array = np.ndarray((3,), np.float64, np.zeros(25, np.uint8), 1)
    assert not GuardedMemory(at_end=True, fill=0).holding(array, "x").flags.aligned


@pytest.mark.parametrize(
    ("dtype", "held"),
    [
        ("float32", ["nan", 2.0**100, -(2.0**100)]),
        ("float16", ["nan", 2.0**15, -(2.0**15)]),
        ("complex64", ["nan", (1 + 1j) * 2.0**100, (-1 - 1j) * 2.0**100]),
        ("int8", [85, -86, 0]),
        ("int64", [85, -86, 0]),
        ("uint8", [85, 170, 0]),
        ("bool", [True, False, True]),
    ],
)
def test_outputs_hold_what_nobody_computes(dtype, held):
    for fill, number in enumerate(held):
        array = np.full(2, 1).astype(dtype)
        array[...] = filling(array.dtype, fill)
        assert np.isnan(array[0]) if number == "nan" else array[0] == number


def test_a_fault_anywhere_else_is_handed_on(watched):
    code = (
        "import ctypes, faulthandler; faulthandler.enable()\n"
        "from opsdk.backends.memory.guarded import GuardedMemory\n"
        "with GuardedMemory(at_end=True, fill=0).watched('kernel f ran\\n'): ctypes.string_at(8)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == -11
    assert done.stderr.startswith("kernel f ran\nFatal Python error: Segmentation fault")
