"""The environment: versions, processor, compiler and cache, found by trying them."""

from __future__ import annotations

import importlib.metadata
import os
import platform
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import opsdk

PACKAGES = ("numpy", "numba", "cffi", "scikit-learn", "torch", "jax", "paddlepaddle", "onnxruntime")
_PROGRAM = "int main(void) { return 7; }\n"  # a status of its own shows that this program ran


def facts(*, exercise: bool) -> dict[str, str]:
    """Returns what this machine has, by label; home folders are written `~`.

    Args:
        exercise: also compiles a C program and a loop, and writes to the cache folder.
    """
    found = {
        "opsdk": f"{opsdk.__version__} at {home_hidden(str(Path(opsdk.__file__).parent))}",
        "python": f"{platform.python_version()} {platform.system().lower()} {platform.machine()}",
        "cpu": f"{cpu_model()}, {cores()} cores",
    }
    found.update({package: version_of(package) for package in PACKAGES})
    if exercise:
        found["gradcheck"] = _gradcheck()
        found["C compiler"] = _compiler()
        found["numba loop"] = _loop()
        found["cache"] = _cache()
    return found


def rendered(found: dict[str, str]) -> str:
    """Returns the facts as a block to paste."""
    longest = max(len(label) for label in found)
    return "\n".join(f"{label:<{longest}}  {text}" for label, text in found.items())


def version_of(package: str) -> str:
    """Returns a distribution's version, or `missing`; nothing is imported."""
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return "missing"


def cpu_model() -> str:
    """Returns the processor's name."""
    info = Path("/proc/cpuinfo")
    if info.is_file():
        for line in info.read_text(encoding="utf-8", errors="replace").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def cores() -> int:
    """Returns how many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def home_hidden(path: str) -> str:
    """Returns a path with the user's home folder as `~`."""
    home = str(Path.home())
    return f"~{path[len(home) :]}" if home != "/" and path.startswith(home) else path


def _gradcheck() -> str:
    import gradcheck

    file = Path(gradcheck.__file__).parent
    ours = file.parent == Path(opsdk.__file__).parent.parent
    return home_hidden(str(file)) + (" ok" if ours else " broken: another package of that name; uninstall it")


def _compiler() -> str:
    named = os.environ.get("CC", "")
    path = next((found for name in (named, "cc", "gcc", "clang") if name and (found := shutil.which(name))), None)
    if path is None:
        return "missing; C rows need one, for example: apt install gcc"
    started = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        source, binary = Path(folder, "probe.c"), Path(folder, "probe")
        source.write_text(_PROGRAM, encoding="utf-8")
        built = subprocess.run([path, str(source), "-o", str(binary)], capture_output=True, text=True, check=False)
        if built.returncode:
            return f"{path} broken: {built.stderr.strip().partition(chr(10))[0]}"
        ran = subprocess.run([str(binary)], check=False)
    if ran.returncode != 7:
        return f"{path} broken: the program it built does not run here (status {ran.returncode})"
    return f"{path} ok (built and ran, {time.perf_counter() - started:.2f} s)"


def _loop() -> str:
    try:
        import numba
    except ImportError as error:
        return f"missing ({error}): pip install numba"
    started = time.perf_counter()
    try:
        total = numba.njit(_add_up)(10)
    except Exception as error:
        return f"broken: {type(error).__name__}: {str(error).partition(chr(10))[0]}"
    return f"ok (compiled in {time.perf_counter() - started:.2f} s)" if total == 45 else f"broken: got {total}, not 45"


def _add_up(count: int) -> int:
    total = 0
    for i in range(count):
        total += i
    return total


def _cache() -> str:
    folder = Path(os.environ.get("OPSDK_CACHE_DIR") or Path.home() / ".cache" / "opsdk")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=folder):
            pass
    except OSError as error:
        return f"{home_hidden(str(folder))} broken: {error.strerror}; set OPSDK_CACHE_DIR to another folder"
    return f"{home_hidden(str(folder))} ok, writable"


def described() -> str:
    """Returns one line for the head of a report: opsdk, Python, NumPy, Numba, processor."""
    found = facts(exercise=False)
    return (
        f"opsdk {opsdk.__version__} · python {platform.python_version()} · numpy {found['numpy']} · "
        f"numba {found['numba']} · {found['cpu']} · {sys.platform}"
    )
