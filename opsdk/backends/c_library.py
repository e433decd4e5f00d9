"""The compiled functions of a C row, opened: from the cache, from a module built ahead of time, or built now."""

from __future__ import annotations

import importlib
import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from opsdk.backends.c_compiler import LIBRARY_SUFFIX
from opsdk.backends.c_job import Job
from opsdk.backends.c_options import COptions
from opsdk.backends.c_signature import SUFFIXES, Signature
from opsdk.backends.cache import cached_bytes, cached_file
from opsdk.core.errors import CompileError
from opsdk.core.lazy import optional
from opsdk.define.kernel import Kernel
from opsdk.define.opdef import OpDef

_open: dict[str, Library] = {}  # by key; libraries are never closed, since functions of them may be anywhere
_openmp: dict[str, Library] = {}  # by file


@dataclass(frozen=True, eq=False)
class Library:
    """An open library.

    Attributes:
        ffi: cffi's interface to it, which makes its structs (Any: cffi has no types).
        functions: by the suffix of their dtype.
        file: the library's file.
        lib: what cffi opened.
    """

    ffi: Any
    functions: dict[str, Callable[..., Any]]
    file: str
    lib: Any

    def message(self, status: int) -> str:
        """Returns what the source says about a status; empty where it says nothing."""
        if not hasattr(self.lib, "opsdk_message"):
            return ""
        text = self.lib.opsdk_message(status)
        return "" if text == self.ffi.NULL else self.ffi.string(text).decode("utf-8", errors="replace")

    def returns(self, function: Callable[..., Any]) -> str:
        """Returns the C type that a function returns."""
        return str(self.ffi.getctype(self.ffi.typeof(function).result))

    def address(self, symbol: str) -> int:
        """Returns where a function is."""
        return int(self.ffi.cast("uintptr_t", self.ffi.addressof(self.lib, symbol)))


def library_of(opdef: OpDef, kernel: Kernel) -> Library:
    """Returns the library of a row, compiled where it is not yet.

    Raises:
        CompileError, BindingError: see `Job`.
    """
    options = COptions(**kernel.options)
    module = _import(opdef, options.module) if options.module else None
    try:
        job = Job.of(opdef, kernel)
    except CompileError:
        if module is None:
            raise
        return _from_module(module, Signature.of(opdef.schema), options)  # a wheel need not bring the source
    if module is not None and _is_from(module, job):
        return _from_module(module, job.signature, options)
    library = _open.get(job.key)
    return library if library is not None else _open.setdefault(job.key, _from_cache(job))


def _from_cache(job: Job) -> Library:
    optional("cffi", extra="c", subject=job.subject)  # before the compiler is run for nothing
    path = cached_file("c", job.key, LIBRARY_SUFFIX, job.build)
    interface = cached_bytes("c", f"{job.key}\0{_backend_version()}", ".py", job.interface)
    scope: dict[str, Any] = {}
    exec(compile(interface, "<cffi interface of a C row>", "exec"), scope)
    ffi = scope["ffi"]
    try:
        lib = ffi.dlopen(str(path))
    except OSError as error:
        raise CompileError(
            f"{job.subject}: was built and does not open, {error}", at=str(job.kernel.origin), because=str(path)
        ) from error
    return _opened(ffi, lib, str(path), job.signature, job.options)


def _opened(ffi: Any, lib: Any, file: str, signature: Signature, options: COptions) -> Library:
    there = dir(lib)
    functions = {
        suffix: getattr(lib, signature.symbol(suffix))
        for suffix in SUFFIXES.values()
        if signature.symbol(suffix) in there
    }
    library = Library(ffi, functions, file, lib)
    if options.uses_openmp and _has_threads(ffi, lib):
        _openmp[file] = library
    return library


def _has_threads(ffi: Any, lib: Any) -> bool:
    """Whether a library runs threads of OpenMP: one without a parallel loop is not linked with it."""
    try:
        return lib.omp_set_num_threads is not None
    except (AttributeError, ffi.error):
        return False


def _import(opdef: OpDef, name: str) -> Any:
    """Returns the module that was built ahead of time; None where there is none."""
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name is not None and f"{name}.".startswith(f"{error.name}."):
            return None
        raise _unusable(opdef, name, error) from error
    except ImportError as error:
        raise _unusable(opdef, name, error) from error


def _unusable(opdef: OpDef, name: str, error: ImportError) -> CompileError:
    return CompileError(f"{opdef.subject}, c row: module {name} was built and does not open, {error}")


def _is_from(module: Any, job: Job) -> bool:
    """Whether a module was built from the source as it is now."""
    digest = getattr(getattr(module, "lib", None), job.digest_symbol, None)
    return digest is not None and module.ffi.string(digest()).decode() == job.digest


def _from_module(module: Any, signature: Signature, options: COptions) -> Library:
    return _opened(module.ffi, module.lib, str(module.__file__), signature, options)


def _backend_version() -> str:
    return str(optional("_cffi_backend", extra="c", subject="C rows").__version__)


def _after_fork() -> None:
    """Keeps a forked child from waiting for threads of OpenMP that it does not have."""
    for library in _openmp.values():
        library.lib.omp_set_num_threads(1)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
