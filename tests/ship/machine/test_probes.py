import importlib
import os
import sys
import types

import numpy as np
import pytest

from gradcheck.run import workers
from gradcheck.run.workers import Outcome
from opsdk.core.errors import CompileError
from opsdk.ship.machine import probes
from opsdk.ship.machine.environment import Fact


def test_the_compiler_that_rows_get_builds_a_program_that_runs():
    pytest.importorskip("cffi")
    fact = probes.compiler()
    assert fact.state == "ok", fact
    assert fact.how.startswith("built and ran, ")


def test_a_missing_compiler_comes_with_a_remedy(monkeypatch):
    def refuse(subject):
        raise CompileError("info: no C compiler, tried cc; apt install gcc", code="OP402")

    monkeypatch.setattr(probes, "find_compiler", refuse)
    assert str(probes.compiler()) == "missing – C kernels need one: apt install gcc"


def planted_compiler(monkeypatch, here, script):
    file = here / "cc"
    file.write_text(f"#!/bin/sh\n{script}\n")
    file.chmod(0o755)
    monkeypatch.setattr(probes, "find_compiler", lambda subject: types.SimpleNamespace(command=(str(file),)))
    return str(probes.compiler())


@pytest.mark.skipif(sys.platform == "win32", reason="needs a shell")
def test_a_compiler_that_does_not_work_is_broken(monkeypatch, here):
    said = planted_compiler(monkeypatch, here, "echo 'no headers' >&2; exit 1")
    assert said == f"{here}/cc: no headers broken – name another one in OPSDK_CC"
    said = planted_compiler(monkeypatch, here, 'printf "#!/bin/sh\\nexit 3\\n" > "$3"; chmod +x "$3"')
    assert "what it built does not run here, status 3 instead of 7 broken" in said


def test_a_loop_is_compiled_and_its_result_looked_at(monkeypatch):
    fake = types.SimpleNamespace(njit=lambda function: function)
    monkeypatch.setattr(probes, "slow", lambda name: fake)
    assert probes.loop().state == "ok"
    monkeypatch.setattr(probes, "slow", lambda name: types.SimpleNamespace(njit=lambda function: lambda n: 44))
    assert str(probes.loop()) == "got 44, not 45 broken"


def test_the_threading_layer_is_the_one_that_a_parallel_loop_chose(monkeypatch):
    fake = types.SimpleNamespace(
        njit=lambda parallel: lambda function: function,
        prange=range,
        threading_layer=lambda: "tbb",
        get_num_threads=lambda: 3,
    )
    monkeypatch.setattr(probes, "slow", lambda name: fake)
    assert str(probes.layer()).startswith("layer tbb, 3 threads ok (compiled and ran, ")


def test_what_numba_lacks_or_refuses_comes_with_a_remedy(monkeypatch):
    def missing(name):
        raise ImportError("No module named 'numba'")

    monkeypatch.setattr(probes, "slow", missing)
    assert str(probes.loop()) == "No module named 'numba' missing – pip install numba"

    def refuse(function):
        raise RuntimeError("LLVM is too old\nand more")

    monkeypatch.setattr(probes, "slow", lambda name: types.SimpleNamespace(njit=refuse))
    assert str(probes.loop()) == "RuntimeError: LLVM is too old broken – pip install --upgrade numba"


def test_the_cache_is_written_to(monkeypatch, here):
    monkeypatch.setenv("OPSDK_CACHE_DIR", str(here / "cache"))
    assert str(probes.cache()) == f"{here}/cache ok (writable, 0 files of 0 B together)"
    (here / "file").touch()
    monkeypatch.setenv("OPSDK_CACHE_DIR", str(here / "file" / "cache"))
    assert "broken – set OPSDK_CACHE_DIR to another folder" in str(probes.cache())


@pytest.mark.skipif(os.name != "posix", reason="no modes as on POSIX here")
def test_a_cache_that_others_may_write_to_is_broken(monkeypatch, here):
    (here / "cache").mkdir()
    (here / "cache").chmod(0o777)
    monkeypatch.setenv("OPSDK_CACHE_DIR", str(here / "cache"))
    told = f"{here}/cache: not used, others may write to {here}/cache (mode 0777) broken – chmod go-w {here}/cache"
    assert str(probes.cache()) == told


def test_a_machine_without_a_device_is_told_that_nothing_has_to_be_done(monkeypatch):
    monkeypatch.setattr(probes, "is_simulated", lambda: False)
    monkeypatch.setattr(probes, "missing_device", lambda: "found no driver (libcuda.so.1)")
    assert str(probes.cuda()) == (
        "found no driver (libcuda.so.1) missing – CPU only, nothing to do; NUMBA_ENABLE_CUDASIM=1 simulates a device"
    )


def test_the_simulator_is_named(monkeypatch):
    monkeypatch.setattr(probes, "is_simulated", lambda: True)
    assert str(probes.cuda()) == "simulated, since NUMBA_ENABLE_CUDASIM is set ok"


def planted_cuda(monkeypatch, cupy):
    monkeypatch.setattr(probes, "is_simulated", lambda: False)
    monkeypatch.setattr(probes, "missing_device", lambda: "")
    monkeypatch.setattr(probes, "driver_version", lambda: 12040)
    launch = {(1, 1): lambda x, value: x.__setitem__(0, value)}
    cuda = types.SimpleNamespace(jit=lambda function: launch, as_cuda_array=lambda x: x)
    monkeypatch.setitem(sys.modules, "cupy", cupy)
    monkeypatch.setattr(probes, "slow", lambda name: importlib.import_module(name) if name == "cupy" else cuda)
    return str(probes.cuda())


class Stuck:
    def __setitem__(self, index, value):
        pass

    def __getitem__(self, index):
        return 3.0


def test_a_device_is_tried_by_a_launch(monkeypatch):
    assert planted_cuda(monkeypatch, np).startswith("driver for CUDA 12 ok (compiled and launched a kernel, ")
    wrong = types.SimpleNamespace(zeros=lambda *args: Stuck())
    assert planted_cuda(monkeypatch, wrong) == "a kernel ran and gave 3.0, not 7 broken"


def test_what_a_device_lacks_comes_with_a_remedy(monkeypatch):
    assert planted_cuda(monkeypatch, None).endswith('missing – pip install "opsdk[cuda]"')

    def refuse(*args):
        raise RuntimeError("driver too old\nand more")

    said = planted_cuda(monkeypatch, types.SimpleNamespace(zeros=refuse))
    assert said == "RuntimeError: driver too old broken – nvidia-smi shows the driver"


@pytest.mark.parametrize(("version", "extra"), [(12040, "cuda"), (13000, "cuda13"), (0, "cuda")])
def test_the_extra_is_that_of_the_driver(version, extra):
    assert probes.cuda_extra(version) == extra


def test_a_probe_that_crashes_is_told_and_the_others_go_on(monkeypatch):
    def run(pieces, jobs, timeout):
        for position, piece in enumerate(pieces):
            if piece.name == "CUDA":
                yield position, Outcome("crashed", message="ended by signal 11, SIGSEGV")
            else:
                yield position, Outcome("done", Fact(piece.name, "", "ok"))

    monkeypatch.setattr(workers, "run", run)
    found = probes.tried()
    assert [fact.name for fact in found] == list(probes.PROBES)
    assert str(found[-1]) == "ended by signal 11, SIGSEGV broken"
    assert found[0].state == "ok"


def test_without_our_own_gradcheck_the_probes_run_here(monkeypatch):
    monkeypatch.setitem(sys.modules, "gradcheck.run.workers", None)
    monkeypatch.setattr(probes, "PROBES", {"one": lambda: Fact("one", "", "ok")})
    assert probes.tried() == [Fact("one", "", "ok")]
