import os
import subprocess
import sys

import pytest

from tests.backends.numba_rows import Processes
from tests.contracts.tree import REPOSITORY

pytest.importorskip("numba")

if not hasattr(os, "fork"):
    pytest.skip("no fork here", allow_module_level=True)

SOURCE = """
import os, threading
from concurrent.futures import ThreadPoolExecutor
import numba, numpy as np, opsdk
from opsdk.core.errors import ForkError

double = opsdk.op("t::double(Tensor x) -> Tensor y")(lambda x: x * 2)
triple = opsdk.op("t::triple(Tensor x) -> Tensor y")(lambda x: x * 3)

@double.kernel("cpu", language="numba")
@numba.njit(parallel=True, nogil=True)
def kernel(x):
    y = np.empty_like(x)
    for i in numba.prange(x.size):
        y[i] = x[i] * 2
    return y

@numba.njit(parallel=True)
def inner(x):
    y = np.empty_like(x)
    for i in numba.prange(x.size):
        y[i] = x[i] * 3
    return y

triple.kernel("cpu", lambda x: inner(x), language="numba")
x = np.arange(20000.0)
gate = threading.Barrier(6)

def work(_):
    gate.wait()
    return all((double(x) == x * 2).all() and (triple(x) == x * 3).all() for _ in range(40))

with ThreadPoolExecutor(6) as pool:
    print(set(pool.map(work, range(6))), numba.threading_layer(), flush=True)
pid = os.fork()
if not pid:
    try:
        print(double(x)[3], triple(x)[3], flush=True)
    except ForkError as error:
        print(error, flush=True)
    os._exit(0)
print(os.waitpid(pid, 0)[1])
"""


def run(layer, tmp_path):
    told = {"NUMBA_THREADING_LAYER": layer, "NUMBA_NUM_THREADS": "2", "OPSDK_CACHE_DIR": str(tmp_path)}
    environment = {**os.environ, "PYTHONPATH": str(REPOSITORY), **told}
    # Python 3.12 and later warn of every fork of a process with threads, which is what is tried here.
    command = [sys.executable, "-W", "ignore:This process:DeprecationWarning", "-c", SOURCE]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if "No threading layer could be loaded" in done.stderr:
        pytest.skip(f"Numba has no layer {layer} here")
    assert done.stderr == ""
    return done.stdout.splitlines()


def test_workqueue_runs_one_kernel_at_a_time_whoever_calls_and_goes_on_in_a_forked_child(tmp_path):
    assert run("workqueue", tmp_path) == ["{True} workqueue", "6.0 9.0", "0"]


def test_openmp_is_refused_in_a_forked_child_where_it_would_end_the_process(tmp_path):
    first, second, third = run("omp", tmp_path)
    assert (first, third) == ("{True} omp", "0")
    assert second == (
        "op 't::double', numba kernel: compiled with parallel=True, expected a process that did not fork from one "
        "which "
        "had used Numba's layer 'omp', got a child of such a process; start children with 'spawn' or 'forkserver', or "
        "set NUMBA_THREADING_LAYER=workqueue"
    )


KERNELS = """
    import numba, opsdk

    @opsdk.op("t::shared(Tensor x) -> Tensor y")
    def shared(x):
        raise AssertionError("the reference ran")

    @shared.kernel("cpu", language="numba", parallel=True)
    def kernel(x, y):
        for i in numba.prange(x.size):
            y[i] = 2 * x[i]
"""
CALL = "import numba, kernels; print(kernels.shared(X).tolist(), numba.threading_layer() != '')"


def test_a_row_with_parallel_true_starts_threads_and_is_compiled_once_for_all_processes(tmp_path):
    processes = Processes(tmp_path)
    try:
        processes.write("kernels.py", KERNELS)
        assert processes.run(CALL)[0] == ["[2.0, 4.0] True"]
        assert processes.run(CALL) == [["[2.0, 4.0] True"], []]
        processes.write("kernels.py", KERNELS.replace(", parallel=True", ""))  # other code under the same text
        assert processes.run("import kernels; print(kernels.shared(X).tolist())")[1] == ["kernel"]
    finally:
        processes.end()
