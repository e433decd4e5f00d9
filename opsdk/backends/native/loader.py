"""The loader: object files into the process, through llvmlite alone, so that a warm start need not compile."""

from __future__ import annotations

import os
import threading
from collections.abc import Sequence
from functools import cache
from importlib.util import find_spec
from typing import Any

from opsdk.core.errors import CompileError
from opsdk.core.lazy import optional, slow

_lock = threading.Lock()
_engines: list[Any] = []  # Any: llvmlite's engines; code lives as long as its engine


def _after_fork() -> None:
    global _lock
    _lock = threading.Lock()  # a thread that held it does not exist in the child


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


def _binding(subject: str) -> Any:
    return optional("llvmlite.binding", extra="numba", subject=subject)


@cache
def _prepare(subject: str = "native kernel") -> Any:
    binding = _binding(subject)
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


def _installed(package: str) -> str:
    """Returns what differs between two versions of a package, without importing it or reading its metadata."""
    found = find_spec(package)
    if found is None or found.origin is None:
        return ""
    held = os.stat(found.origin)  # noqa: PTH116 - pathlib would cost more than the rest of this
    return f"{found.origin} {held.st_mtime_ns} {held.st_size}"


def load(data: bytes, symbols: Sequence[str]) -> dict[str, int]:
    """Loads an object file and returns the addresses of its symbols; the code stays for the life of the process."""
    binding = _prepare()
    with _lock:
        machine = binding.Target.from_default_triple().create_target_machine(opt=3)
        # use_lmm: one block for code and constants. Where memory is scattered they may lie further apart than the
        # 2 GiB that an instruction can reach, and LLVM ends the process.
        engine = binding.create_mcjit_compiler(binding.parse_assembly(""), machine, use_lmm=True)
        engine.add_object_file(binding.ObjectFileRef.from_data(data))
        engine.finalize_object()
        _engines.append(engine)  # one engine each: two objects may name their inner functions alike
        found = {symbol: engine.get_function_address(symbol) for symbol in symbols}
    missing = [symbol for symbol, address in found.items() if not address]
    if missing:
        raise CompileError(f"native kernel: expected the symbol {missing[0]!r} in its object file, found none")
    return found
