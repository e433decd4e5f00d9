"""Probes: what opsdk needs of a machine, each tried in a process of its own, so that a crash is told as such."""

from __future__ import annotations

import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from opsdk.backends.c.compiler import find_compiler
from opsdk.backends.cache.places import cache_folder
from opsdk.backends.cache.store import cache_info
from opsdk.backends.cache.trust import danger, make_private
from opsdk.backends.cuda.runtime import SIMULATOR, is_simulated, missing_device
from opsdk.core.errors import CompileError
from opsdk.core.lazy import slow
from opsdk.ship.machine.cache import size_of
from opsdk.ship.machine.environment import BROKEN, MISSING, OK, Fact, home_hidden

SECONDS = 60.0  # after which a probe is given up; all of them together need three
_PROGRAM = """\
#include <math.h>
int main(int count, char **texts)
{ return (int)sqrt(count * 49.0) + (texts == 0); }
"""  # a status of its own, 7, shows that this program ran


def tried() -> list[Fact]:
    """Returns one fact per probe; one that crashed, or took too long, is broken and says how it ended."""
    try:
        from gradcheck.run.workers import Piece, run
    except ImportError:  # another package of that name hides ours, which is told beside this
        return [probe() for probe in PROBES.values()]
    pieces = [Piece(name, f"{__name__}:{probe.__name__}") for name, probe in PROBES.items()]
    ended = {}
    for position, outcome in run(pieces, jobs=2, timeout=SECONDS):
        name = pieces[position].name
        last = outcome.message.strip().rpartition("\n")[2]
        ended[name] = outcome.value if outcome.kind == "done" else Fact(name, last, BROKEN)
    return [ended[name] for name in PROBES]


def compiler() -> Fact:
    """Compiles a C program of three lines with the compiler that C kernels get, and runs it."""
    name = "C compiler"
    try:
        command = find_compiler("info").command
    except CompileError as error:
        return Fact(name, "", MISSING, f"C kernels need one: {str(error).rpartition('; ')[2]}")
    shown = home_hidden(" ".join(command))
    started = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        source, binary = Path(folder, "probe.c"), Path(folder, "probe")
        source.write_text(_PROGRAM, encoding="utf-8")
        built = subprocess.run(
            [*command, str(source), "-o", str(binary), "-lm"], capture_output=True, text=True, check=False
        )
        if built.returncode:
            return Fact(name, f"{shown}: {_first(built.stderr)}", BROKEN, "name another one in OPSDK_CC")
        ran = subprocess.run([str(binary)], check=False)
    if ran.returncode != 7:
        said = f"{shown}: what it built does not run here, status {ran.returncode} instead of 7"
        return Fact(name, said, BROKEN, "name one in OPSDK_CC that builds for this machine")
    version = _first(subprocess.run([command[0], "--version"], capture_output=True, text=True, check=False).stdout)
    return Fact(name, f"{shown}, {version}", OK, how=f"built and ran, {time.perf_counter() - started:.2f} s")


def loop() -> Fact:
    """Compiles a loop with Numba and runs it."""
    return _numba("numba loop", lambda numba: (numba.njit(_adding_up(range))(10), ""))


def layer() -> Fact:
    """Compiles a parallel loop with Numba, which is when its threading layer is chosen."""

    def run(numba: Any) -> tuple[int, str]:
        total = numba.njit(parallel=True)(_adding_up(numba.prange))(10)
        return total, f"layer {numba.threading_layer()}, {numba.get_num_threads()} threads"

    return _numba("numba threads", run)


def cache() -> Fact:
    """Writes to the cache folder."""
    folder = cache_folder()
    found = danger(folder, above=0)
    if found is not None:
        return Fact("cache", f"{home_hidden(str(folder))}: not used, {home_hidden(found.reason)}", BROKEN, found.remedy)
    try:
        make_private(folder)
        with tempfile.NamedTemporaryFile(dir=folder):
            pass
    except OSError as error:
        remedy = "set OPSDK_CACHE_DIR to another folder; until then nothing compiled is kept"
        return Fact("cache", f"{home_hidden(str(folder))}: {error.strerror}", BROKEN, remedy)
    held = cache_info()
    return Fact(
        "cache", home_hidden(str(folder)), OK, how=f"writable, {held.files} files of {size_of(held.bytes)} together"
    )


def cuda() -> Fact:
    """Launches a CUDA kernel, where there is a device."""
    if is_simulated():
        return Fact("CUDA", f"simulated, since {SIMULATOR} is set", OK)
    problem = missing_device()
    if problem:
        return Fact("CUDA", problem, MISSING, f"CPU only, nothing to do; {SIMULATOR}=1 simulates a device")
    started = time.perf_counter()
    try:
        cupy, numba_cuda = slow("cupy"), slow("numba.cuda")
        probe = cupy.zeros(1, "float32")
        numba_cuda.jit(_set_first)[1, 1](numba_cuda.as_cuda_array(probe), 7.0)
        got = float(probe[0])
    except ImportError as error:
        return Fact("CUDA", f"a device, but {error}", MISSING, f'pip install "opsdk[{cuda_extra(driver_version())}]"')
    except Exception as error:  # a driver too old, no NVVM: each library has errors of its own
        return Fact("CUDA", f"{type(error).__name__}: {_first(str(error))}", BROKEN, "nvidia-smi shows the driver")
    if got != 7.0:
        return Fact("CUDA", f"a kernel ran and gave {got}, not 7", BROKEN)
    how = f"compiled and launched a kernel, {time.perf_counter() - started:.2f} s"
    return Fact("CUDA", f"driver for CUDA {driver_version() // 1000}", OK, how=how)


def driver_version() -> int:
    """Returns the version of CUDA that the driver has, as 12040 for 12.4; 0 where it cannot be asked."""
    ctypes = slow("ctypes")
    found = ctypes.c_int(0)
    try:
        library = ctypes.CDLL("nvcuda.dll" if slow("sys").platform == "win32" else "libcuda.so.1")
        library.cuDriverGetVersion(ctypes.byref(found))
    except OSError:
        return 0
    return int(found.value)


def cuda_extra(version: int) -> str:
    """Returns the extra of opsdk that has the libraries for a driver."""
    return "cuda13" if version >= 13000 else "cuda"


PROBES: dict[str, Callable[[], Fact]] = {
    "C compiler": compiler,
    "numba loop": loop,
    "numba threads": layer,
    "cache": cache,
    "CUDA": cuda,
}


# Any: the module.
def _numba(name: str, run: Callable[[Any], tuple[int, str]]) -> Fact:
    started = time.perf_counter()
    try:
        total, said = run(slow("numba"))
    except ImportError as error:
        return Fact(name, str(error), MISSING, "pip install numba")
    except Exception as error:
        return Fact(name, f"{type(error).__name__}: {_first(str(error))}", BROKEN, "pip install --upgrade numba")
    if total != 45:
        return Fact(name, f"got {total}, not 45", BROKEN)
    return Fact(name, said, OK, how=f"compiled and ran, {time.perf_counter() - started:.2f} s")


def _adding_up(span: Any) -> Callable[[int], int]:  # Any: range, or Numba's of a parallel loop
    def add_up(count: int) -> int:
        total = 0
        for i in span(count):
            total += i
        return total

    return add_up


# Any: a device array.
def _set_first(x: Any, value: float) -> None:
    x[0] = value


def _first(text: str) -> str:
    return text.strip().partition("\n")[0]
