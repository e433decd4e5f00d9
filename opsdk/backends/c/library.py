"""The compiled functions of a C kernel, opened: built ahead of time, from the cache, or built now."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from typing import Any
from weakref import WeakKeyDictionary

from opsdk.backends.c.compiler import LIBRARY_SUFFIX
from opsdk.backends.c.job import Job
from opsdk.backends.c.openmp import short_waits
from opsdk.backends.c.prebuilt import interface_of, outdated, prebuilt
from opsdk.backends.c.signature import size_symbols, symbols
from opsdk.backends.cache.store import cached, cached_bytes
from opsdk.core.errors import CompileError
from opsdk.core.lazy import optional, slow
from opsdk.define.kernel.kernel import Kernel
from opsdk.define.opdef import OpDef

_ROOM = 256  # bytes; C's fenv_t has 32 at most where CPython runs
_open: dict[str, Library] = {}  # by key; libraries are never closed, since functions of them may be anywhere
_of_row: WeakKeyDictionary[Kernel, Library] = WeakKeyDictionary()  # a kernel stays what was read at its first call


@dataclass(frozen=True, eq=False)
class Library:
    """An open library.

    Attributes:
        ffi: cffi's interface to it, which makes its structs (Any: cffi has no types).
        functions: by the name of their dtype.
        counting: those that decide open sizes, likewise; none where Python does.
        file: the library's file.
        lib: what cffi opened.
        has_threads: whether it runs threads of OpenMP.
        looks_up: whether its source asks for the dtypes of tensors.
    """

    ffi: Any
    functions: dict[str, Callable[..., Any]]
    counting: dict[str, Callable[..., Any]]
    file: str
    lib: Any
    has_threads: bool
    looks_up: bool

    def message(self, status: int) -> str:
        """Returns what the source says about a status; empty where it says nothing."""
        if not hasattr(self.lib, "opsdk_message"):
            return ""
        text = self.lib.opsdk_message(status)
        return "" if text == self.ffi.NULL else self.ffi.string(text).decode("utf-8", errors="replace")


def library_of(opdef: OpDef, kernel: Kernel) -> Library:
    """Returns the library of a kernel, compiled where it is not yet; files that change later do not change the kernel.

    Raises:
        CompileError, BindingError: see `Job`.
    """
    library = _of_row.get(kernel)
    return _of_row.setdefault(kernel, _found(opdef, kernel)) if library is None else library


def _found(opdef: OpDef, kernel: Kernel) -> Library:
    """Returns the library of a kernel as its files are now."""
    job = Job.of(opdef, kernel)
    ahead = prebuilt(job)
    key = str(ahead) if ahead else _key(job)
    library = _open.get(key)
    if library is None:
        made = _from_cache(job) if ahead is None else opened(job, interface_of(ahead).read_bytes(), key)
        library = _open.setdefault(key, made)
    return library


def _key(job: Job) -> str:
    """Returns the key of a kernel that has to be compiled, for which there have to be a compiler and cffi."""
    try:
        assert job.key
        optional("cffi", extra="c", subject=job.subject)  # before the compiler is run for nothing
        return job.whole_key
    except CompileError as error:
        raise CompileError(str(error), because=outdated(job), code=error.code) from error.__cause__


def _from_cache(job: Job) -> Library:
    path = cached("c", job.whole_key, LIBRARY_SUFFIX, job.build)
    version = optional("_cffi_backend", extra="c", subject="C kernels").__version__
    interface = cached_bytes("c", f"{job.whole_key}\0{version}", ".py", job.interface)
    try:
        return opened(job, interface, str(path))
    except CompileError:
        if path.exists():
            raise
    path = cached("c", job.whole_key, LIBRARY_SUFFIX, job.build)  # the cache was cleared
    return opened(job, interface, str(path))


def opened(job: Job, interface: bytes, file: str) -> Library:
    """Opens a file as the library of a job.

    Args:
        job: the kernel on its way.
        interface: what `Job.interface` gives.
        file: the built library.

    Raises:
        CompileError: it does not open.
    """
    optional("cffi", extra="c", subject=job.subject)
    scope: dict[str, Any] = {}
    try:
        exec(compile(interface, "<cffi interface of a C kernel>", "exec"), scope)
        ffi = scope["ffi"]
        with short_waits() if job.options.uses_openmp else nullcontext(), _kept_modes():
            lib = ffi.dlopen(file)
    except (OSError, ImportError) as error:
        raise CompileError(
            f"{job.subject}: was built and does not open, {error}", at=str(job.kernel.origin), because=file
        ) from error
    there = dir(lib)
    functions, counting = (
        {dtype: getattr(lib, name) for dtype, name in named.items() if name in there}
        for named in (symbols(job.opdef.schema), size_symbols(job.opdef.schema, job.options.decides))
    )
    has_threads = job.options.uses_openmp and _has_threads(ffi, lib)
    return Library(ffi, functions, counting, file, lib, has_threads, job.looks_up)


@contextmanager
def _kept_modes() -> Iterator[None]:
    """Undoes what a library changes of rounding and subnormal numbers, in this thread, when it is loaded.

    GCC links into a library that is built with -ffast-math code that has its loader flush subnormal numbers to zero, in
    all that this thread computes from then on, and in the threads that it starts.
    """
    if os.name != "posix":
        yield
        return
    ctypes = slow("ctypes")
    library, modes = ctypes.CDLL(None), ctypes.create_string_buffer(_ROOM)
    is_known = hasattr(library, "fegetenv") and library.fegetenv(modes) == 0
    try:
        yield
    finally:
        if is_known:
            library.fesetenv(modes)


def _has_threads(ffi: Any, lib: Any) -> bool:
    """Whether a library runs threads of OpenMP: one without a parallel loop is not linked with it."""
    try:
        return lib.omp_set_num_threads is not None
    except (AttributeError, ffi.error):
        return False


def _after_fork() -> None:
    """Keeps a forked child from waiting for threads of OpenMP that it does not have."""
    for library in _open.values():
        if library.has_threads:
            library.lib.omp_set_num_threads(1)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
