"""What every test shares: caches of this run only, a process that is left as it was, and a seeded random generator."""

import ctypes
import gc
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

from tests.order import HEAVY, longest_first

# Numba reads its folder once, when it is first imported, so this stands at the top and not in a fixture. The workers of
# pytest-xdist get the folder of the process that started them.
_CACHE = None
if "PYTEST_XDIST_WORKER" not in os.environ:
    _CACHE = Path(tempfile.mkdtemp(prefix="opsdk-tests-"))
    os.environ["NUMBA_CACHE_DIR"] = str(_CACHE / "numba")
    os.environ["OPSDK_CACHE_DIR"] = str(_CACHE / "opsdk")


# Loaded before any scope begins: ops of a package that a test is the first to import would end with that test.
import contrib_ops  # noqa: E402, F401
import opsdk.nn  # noqa: E402
import opsdk.optimizer  # noqa: E402, F401
from opsdk.core.flags import get_flags, set_flags  # noqa: E402
from opsdk.define.op import PROVIDERS, REGISTRY  # noqa: E402

_EXAMPLES = Path(__file__).parents[1] / "examples"


def pytest_unconfigure():
    if _CACHE is not None:
        shutil.rmtree(_CACHE, ignore_errors=True)


@pytest.hookimpl(tryfirst=True)  # before pytest leaves out what is marked
def pytest_collection_modifyitems(items):
    heavy = {*HEAVY.read_text(encoding="utf-8").splitlines()}
    for item in items:
        if not heavy.isdisjoint((item.nodeid, item.nodeid.partition("[")[0])):
            item.add_marker("slow")
    longest_first(items, Path(__file__).parent)


def pytest_configure():
    gc.disable()  # until all is collected: nothing of it is garbage


def pytest_collection_finish():
    gc.collect()
    gc.enable()
    gc.freeze()  # what was collected lives to the end: every later collection went through it, a second each time


def pytest_runtest_setup(item):
    if item.get_closest_marker("gpu") and not _has_cuda_device():
        pytest.skip("no CUDA device")


def _has_cuda_device():
    try:
        return ctypes.CDLL("libcuda.so.1").cuInit(0) == 0
    except OSError:
        return False


@contextmanager
def _as_before(folder: Path) -> Iterator[None]:
    """Puts back, at the end of the block, what a process has one of: ops, modules, failed providers and flags.

    Args:
        folder: of the run's own files; modules made of these and of the examples are not there for the next test.
    """
    modules, failed, flags = set(sys.modules), PROVIDERS._failed, get_flags()
    PROVIDERS._failed = {}
    try:
        with REGISTRY.scoped():
            yield
    finally:
        PROVIDERS._failed = failed
        if get_flags() != flags:
            set_flags(**flags)
        for name in set(sys.modules) - modules:
            if _home(sys.modules[name]).startswith((str(folder), str(_EXAMPLES))):
                del sys.modules[name]


def _home(module):
    """Returns the file of a module, or the folder of one that has none; empty where it has neither."""
    names = getattr(module, "__dict__", {})
    return names.get("__file__") or next(iter(names.get("__path__", ())), "")


@pytest.fixture(autouse=True, scope="module")
def _file_leaves_nothing(tmp_path_factory):
    with _as_before(tmp_path_factory.getbasetemp()):
        yield


@pytest.fixture(autouse=True)
def _test_leaves_nothing(tmp_path_factory, _file_leaves_nothing):
    with _as_before(tmp_path_factory.getbasetemp()):
        yield


@pytest.fixture
def rng():
    """The same random numbers in every run."""
    return np.random.default_rng(20240229)
