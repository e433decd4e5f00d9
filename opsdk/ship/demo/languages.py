"""The languages that kernels can be written in here, and why the others cannot."""

from __future__ import annotations

from importlib.util import find_spec

from opsdk.backends.c.compiler import find_compiler
from opsdk.core.errors import CompileError


def missing_languages() -> dict[str, str]:
    """Returns what cannot run here, `c` or `cuda`, with the reason; every other way needs only what opsdk needs."""
    missing = {}
    try:
        find_compiler("opsdk demo")
    except CompileError as error:
        missing["c"] = str(error).partition(": ")[2]
    if not has_numba_cuda():
        missing["cuda"] = 'found no numba.cuda; pip install "opsdk[cuda]"'
    return missing


def has_numba_cuda() -> bool:
    """Whether `numba.cuda` can be imported, of Numba itself or of the package numba-cuda; it is not tried."""
    try:
        return find_spec("numba.cuda") is not None
    except (ImportError, ValueError):  # there is no Numba, or something stands in its place
        return False
