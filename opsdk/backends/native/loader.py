"""The loader: object files into the process, through llvmlite alone, so that a warm start need not compile."""

from __future__ import annotations

import ctypes
import mmap
import os
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from opsdk.core.errors import CompileError
from opsdk.core.lazy import optional, slow

_FOLDERS = (".", "../vmath", "../../expr")  # of the code generator, a change of which never meets old object code
_DRAWS = "../../core/philox.py"  # which kernels compile too
_HEADROOM = 16  # memory mappings; an object needs 3 to 5

_lock = threading.Lock()


@dataclass(frozen=True)
class Image:
    """An object file in memory. Its code is there as long as the image is.

    Args:
        addresses: by symbol.
        engine: holds the memory (Any: llvmlite's).
    """

    addresses: Mapping[str, int]
    engine: Any


def _after_fork() -> None:
    global _lock
    _lock = threading.Lock()  # a thread that held it does not exist in the child


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


@cache
def _prepare() -> Any:
    binding = optional("llvmlite.binding", extra="numba", subject="native kernel")
    binding.initialize_native_target()
    binding.initialize_native_asmprinter()
    return binding


@cache
def host_key() -> str:
    """Returns a text that differs where object code differs: processor, its features, versions of the compiler."""
    binding = _prepare()
    features = binding.get_host_cpu_features().flatten()
    packages = map(_installed, ("numba", "llvmlite"))
    parts = (binding.get_default_triple(), binding.get_host_cpu_name(), features, *packages)
    return slow("hashlib").sha256("\n".join(parts).encode()).hexdigest()


@cache
def sources_key() -> str:
    """Returns a hash of every source file that decides what kernels are compiled to."""
    here = Path(__file__).parent
    digest = slow("hashlib").sha256()
    files = [file for folder in _FOLDERS for file in sorted((here / folder).rglob("*.py"))]
    for file in (*files, here / _DRAWS):
        digest.update(file.read_bytes())
    return digest.hexdigest()


def _installed(package: str) -> str:
    """Returns what differs between two versions of a package, without importing it or reading its metadata."""
    found = find_spec(package)
    if found is None or found.origin is None:
        return ""
    held = os.stat(found.origin)  # noqa: PTH116 - pathlib would cost more than the rest of this
    return f"{found.origin} {held.st_mtime_ns} {held.st_size}"


def load(data: bytes, symbols: Sequence[str]) -> Image:
    """Loads an object file, with the addresses of its symbols.

    Raises:
        CompileError: it lacks a symbol, or the process may have no more memory mappings.
    """
    binding = _prepare()
    with _lock:
        _check_room()
        machine = binding.Target.from_default_triple().create_target_machine(opt=3)
        # use_lmm: one block for code and constants. Where memory is scattered they may lie further apart than the
        # 2 GiB that an instruction can reach, and LLVM ends the process.
        engine = binding.create_mcjit_compiler(binding.parse_assembly(""), machine, use_lmm=True)
        engine.add_object_file(binding.ObjectFileRef.from_data(data))
        engine.finalize_object()
        found = {symbol: engine.get_function_address(symbol) for symbol in symbols}
    missing = [symbol for symbol, address in found.items() if not address]
    if missing:
        raise CompileError(f"native kernel: expected the symbol {missing[0]!r} in its object file, found none")
    return Image(found, engine)  # one engine each: two objects may name their inner functions alike


def _check_room() -> None:
    """Checks that the process may have more memory mappings, by making some.

    LLVM does not look whether its code could be made executable; a call would end the process.

    Raises:
        CompileError: it may have no more.
    """
    if os.name != "posix":
        return
    library, size = ctypes.CDLL(None, use_errno=True), mmap.PAGESIZE
    with mmap.mmap(-1, _HEADROOM * size) as block:
        held = ctypes.c_char.from_buffer(block)
        first = ctypes.addressof(held)
        del held
        for page in range(0, _HEADROOM, 2):  # what differs from its neighbours is a mapping of its own
            if library.mprotect(ctypes.c_void_p(first + page * size), ctypes.c_size_t(size), 0):
                reason = os.strerror(ctypes.get_errno())
                raise CompileError(
                    f"native kernel: expected room for {_HEADROOM} more memory mappings, the system has none "
                    f"({reason}); drop ops that are not needed, or raise vm.max_map_count"
                )
