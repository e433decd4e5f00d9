"""The loader: object code into the process, keyed by the processor that it is for."""

import mmap
import sys
import threading

import pytest
from numba import int64

from opsdk.backends.native import loader
from opsdk.backends.native.compiler import Export, compile_object
from opsdk.backends.native.runtime import ffi
from opsdk.core.errors import CompileError, MissingDependencyError


def plus_one(value):
    return value + 1


@pytest.fixture(scope="module")
def data():
    """An object file with one function."""
    return compile_object("plus", [Export("plus", plus_one, int64(int64))])[0]


def test_a_symbol_is_called_at_its_address(data):
    assert ffi().cast("int64_t(*)(int64_t)", loader.load(data, ["plus"])["plus"])(41) == 42


def test_the_same_object_may_be_loaded_again_and_by_several_threads(data):
    found = []

    def run():
        call = ffi().cast("int64_t(*)(int64_t)", loader.load(data, ["plus"])["plus"])
        found.append(call(1))

    threads = [threading.Thread(target=run) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert found == [2] * 8


def test_the_key_of_the_host_is_one_text_per_process():
    assert loader.host_key() == loader.host_key()
    assert len(loader.host_key()) == 64


@pytest.mark.parametrize("part", ["get_host_cpu_name", "get_default_triple"])
def test_another_processor_has_another_key(part, monkeypatch):
    binding = loader._prepare()
    before = loader.host_key.__wrapped__()
    monkeypatch.setattr(binding, part, lambda: "other")
    assert loader.host_key.__wrapped__() != before


def test_a_missing_llvmlite_says_what_installs_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "llvmlite.binding", None)
    with pytest.raises(MissingDependencyError, match=r'native kernel needs llvmlite.*pip install "opsdk\[numba\]"'):
        loader._prepare.__wrapped__()


def test_an_object_file_without_the_symbol_is_refused(data):
    with pytest.raises(CompileError, match="native kernel: expected the symbol 'minus_two' in its object file"):
        loader.load(data, ["minus_two"])


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="needs mmap's MAP_NORESERVE of Linux")
def test_code_is_right_where_memory_is_scattered(data):
    """Reservations of 3 GiB with holes of a page between them: code and constants must not land in two of these."""
    held = []
    for turn in range(60):
        held.append(mmap.mmap(-1, 3 << 30, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | 0x4000))  # no memory behind it
        held.append(mmap.mmap(-1, mmap.PAGESIZE))
        if turn % 3 == 2:
            held.pop(turn % len(held)).close()
        assert ffi().cast("int64_t(*)(int64_t)", loader.load(data, ["plus"])["plus"])(turn) == turn + 1
    for each in held:
        each.close()
