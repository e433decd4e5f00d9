"""What every test shares: caches of this run only, and a seeded random generator."""

import ctypes
import gc
import os
import shutil
import tempfile
from pathlib import Path

import numpy as np
import pytest

from tests.order import longest_first

# Numba reads its folder once, when it is first imported, so this stands at the top and not in a fixture. The workers of
# pytest-xdist get the folder of the process that started them.
_CACHE = None
if "PYTEST_XDIST_WORKER" not in os.environ:
    _CACHE = Path(tempfile.mkdtemp(prefix="opsdk-tests-"))
    os.environ["NUMBA_CACHE_DIR"] = str(_CACHE / "numba")
    os.environ["OPSDK_CACHE_DIR"] = str(_CACHE / "opsdk")


def pytest_unconfigure():
    if _CACHE is not None:
        shutil.rmtree(_CACHE, ignore_errors=True)


def pytest_collection_modifyitems(items):
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


@pytest.fixture
def rng():
    """The same random numbers in every run."""
    return np.random.default_rng(20240229)
