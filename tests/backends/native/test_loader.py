"""The loader: object code into the process, keyed by the processor that it is for."""

import mmap
import os
import re
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from numba import int64

from opsdk.backends.native import loader
from opsdk.backends.native.compiler import Export, compile_object
from opsdk.backends.native.runtime import ffi
from opsdk.core.errors import CompileError, MissingDependencyError


def plus_one(value):
    return value + 1


def plus_of(image):
    """The function of an image, which has to be held while it is called."""
    return ffi().cast("int64_t(*)(int64_t)", image.addresses["plus"])


@pytest.fixture(scope="module")
def data():
    """An object file with one function."""
    return compile_object("plus", [Export("plus", plus_one, int64(int64))])


def test_a_symbol_is_called_at_its_address(data):
    image = loader.load(data, ["plus"])
    assert plus_of(image)(41) == 42


def test_the_same_object_may_be_loaded_again_and_by_several_threads(data):
    found = []

    def run():
        image = loader.load(data, ["plus"])
        found.append(plus_of(image)(1))

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
        image = loader.load(data, ["plus"])
        assert plus_of(image)(turn) == turn + 1
    for each in held:
        each.close()


def mappings():
    return len(Path("/proc/self/maps").read_text().splitlines())


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads Linux's list of mappings")
def test_code_leaves_memory_with_its_image(data):
    loader.load(data, ["plus"])
    before = mappings()
    held = [loader.load(data, ["plus"]) for _ in range(20)]
    assert mappings() >= before + 20
    held.clear()
    assert mappings() <= before + 5


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="needs a limit of Linux")
def test_a_process_that_may_have_no_more_mappings_hears_of_it_and_lives(tmp_path, data):
    (tmp_path / "plus.o").write_bytes(data)
    script = tmp_path / "full.py"
    script.write_text(FULL)
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[3])}
    command = [sys.executable, script, tmp_path / "plus.o"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, env=environment)
    assert done.returncode == 0, done.stderr
    assert re.match(r"native kernel: expected room for 16 more memory mappings, .*; drop ops .*\n2$", done.stdout)


FULL = """
import ctypes, mmap, sys
from pathlib import Path
from opsdk.backends.native.loader import load
from opsdk.core.errors import CompileError

data = Path(sys.argv[1]).read_bytes()
load(data, ["plus"])
limit, page = int(Path("/proc/sys/vm/max_map_count").read_text()), mmap.PAGESIZE
block = mmap.mmap(-1, (limit + 9) * page)
first = ctypes.addressof(ctypes.c_char.from_buffer(block))
protect = ctypes.CDLL(None).mprotect
i = 0
while protect(ctypes.c_void_p(first + i * page), ctypes.c_size_t(page), 0) == 0:
    i += 2
protect(ctypes.c_void_p(first), ctypes.c_size_t(8 * page), 3)  # some are left for whatever Python does
try:
    load(data, ["plus"])
except CompileError as error:
    print(error)
protect(ctypes.c_void_p(first), ctypes.c_size_t((limit + 9) * page), 3)
image = load(data, ["plus"])
print(ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64)(image.addresses["plus"])(1))
"""


# -- the version of the code generator --------------------------------------------------------------------------------


@pytest.fixture
def sources(tmp_path, monkeypatch):
    """Stands for the package: folders with a source each."""
    for folder in ("native", "vmath", "expr", "core"):
        (tmp_path / "a" / folder).mkdir(parents=True)
        (tmp_path / "a" / folder / "one.py").write_text(f"{folder} = 1\n")
    monkeypatch.setattr(loader, "__file__", str(tmp_path / "a" / "native" / "loader.py"))
    monkeypatch.setattr(loader, "_FOLDERS", (".", "../vmath", "../expr"))
    monkeypatch.setattr(loader, "_DRAWS", "../core/one.py")
    return tmp_path / "a"


def key():
    return loader.sources_key.__wrapped__()


def test_the_key_is_the_same_for_the_same_sources(sources):
    assert key() == key()


@pytest.mark.parametrize("folder", ["native", "vmath", "expr", "core"])
def test_a_change_of_any_source_changes_the_key(sources, folder):
    before = key()
    (sources / folder / "one.py").write_text("changed = 1\n")
    assert key() != before


@pytest.mark.parametrize("folder", ["native", "vmath", "expr"])
def test_a_new_source_changes_the_key(sources, folder):
    before = key()
    (sources / folder / "two.py").write_text("new = 1\n")
    assert key() != before


def test_what_is_no_source_changes_nothing(sources):
    before = key()
    (sources / "native" / "one.pyc").write_text("bytes")
    (sources / "other").mkdir()
    (sources / "other" / "one.py").write_text("elsewhere = 1\n")
    assert key() == before


def test_the_folders_of_the_real_package_exist():
    here = Path(loader.__file__).parent
    assert all(list((here / folder).glob("*.py")) for folder in loader._FOLDERS)
    assert (here / loader._DRAWS).is_file()
