"""The native runtime: the thread pool and the strided walk, started on first use, and how a kernel entry is called.

Kernels run without the GIL. Small work is done by the caller alone; larger work is shared with the pool's threads.
"""

from __future__ import annotations

import ctypes
import math
import os
import threading
from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np

from opsdk.backends.cache.store import cached_bytes
from opsdk.backends.native.loader import Image, host_key, load, sources_key
from opsdk.core.flags import FLAGS, on_change
from opsdk.core.lazy import optional, slow
from opsdk.core.once import once

_PIECES = 16  # per thread: what the last one still does while the others are done is a part of that
_WHOLE = 64  # elements; no vector loop takes more at a time
_HAS_THREADS = os.name == "posix"  # elsewhere the caller works alone
_SYMBOLS = ("opsdk_strided", *(("opsdk_pool_worker", "opsdk_pool_run") if _HAS_THREADS else ()))
_BYTES, _MUTEX, _WORK, _DONE = 640, 448, 512, 576  # the control block, as pool_source lays it out

# The call of a kernel entry; see the package's docstring.
PROTOTYPE = "int32_t(*)(void **, const int64_t *, const double *, int64_t, int64_t)"


@once
def ffi() -> Any:  # Any: cffi has no types
    """Returns the cffi object through which entries are called."""
    return optional("cffi", extra="c", subject="native kernel").FFI()


@once
def _image() -> Image:
    data = cached_bytes("native", f"runtime {sources_key()} {host_key()}", ".o", _compile)
    return load(data, _SYMBOLS)


def _compile() -> bytes:
    optional("numba", extra="numba", subject="native kernel")
    compiler = slow("opsdk.backends.native.compiler")
    exports = slow("opsdk.backends.native.strided_source").exports()
    if _HAS_THREADS:
        exports += slow("opsdk.backends.native.pool_source").exports()
    return compiler.compile_object("opsdk_runtime", exports)


@once
def strided_address() -> int:
    """Returns the address of the entry that walks strided operands."""
    return _image().addresses["opsdk_strided"]


class _Pool:
    """Threads that share the work of one job at a time; made new in a forked child, which has only one thread."""

    def __init__(self, workers: int) -> None:
        self.control = 0
        self.workers = 0
        if workers == 0 or not _HAS_THREADS:
            return
        library = ctypes.CDLL(None)
        library.calloc.restype = ctypes.c_void_p
        # Never freed: the threads read it until the process is gone, longer than any object of Python's lives.
        address = library.calloc(ctypes.c_size_t(_BYTES + 64), ctypes.c_size_t(1))
        self.control = address + -address % 64
        parts = (("pthread_mutex_init", _MUTEX), ("pthread_cond_init", _WORK), ("pthread_cond_init", _DONE))
        for name, offset in parts:
            getattr(library, name)(ctypes.c_void_p(self.control + offset), None)
        worker = ctypes.c_void_p(_image().addresses["opsdk_pool_worker"])
        # Signals are blocked in the threads: they are for Python's own, one of which may wait for them.
        signal = slow("signal")
        faults = {signal.SIGSEGV, signal.SIGBUS, signal.SIGFPE, signal.SIGILL, signal.SIGABRT}
        before = signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals() - faults)
        try:
            for _ in range(workers):
                handle = ctypes.c_void_p()
                create = library.pthread_create
                if create(ctypes.byref(handle), None, worker, ctypes.c_void_p(self.control)) != 0:
                    break  # the system gives no more threads; those that there are do
                self.workers += 1
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)


_pool: _Pool | None = None
_pools: dict[int, _Pool] = {}  # by number of threads besides the caller; one that is not in use sleeps
_pool_lock = threading.Lock()


def thread_count() -> int:
    """Returns how many threads share the work of a large kernel: the flag `threads`, or what this process may use."""
    if FLAGS.threads > 0:
        return FLAGS.threads
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _running() -> _Pool:
    global _pool
    found = _pool  # read once: another thread may change the number of threads meanwhile
    if found is None:
        with _pool_lock:
            workers = thread_count() - 1
            found = _pools.get(workers)
            if found is None:
                found = _pools[workers] = _Pool(workers)
            _pool = found
    return found


def _forget() -> None:
    """Drops the pools of the parent, whose threads a child does not have. The next job makes a new one."""
    global _pool, _pool_lock
    _pool, _pool_lock = None, threading.Lock()
    _pools.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)


@on_change
def _resize() -> None:
    global _pool
    with _pool_lock:
        _pool = None


@once
def _pool_run() -> Any:  # Any: a cffi function
    kind = "int32_t(*)(int64_t, int64_t, int64_t, void **, const int64_t *, const double *, int64_t, int64_t)"
    return ffi().cast(kind, _image().addresses["opsdk_pool_run"])


def run_shared(entry: int, pointers: Any, sizes: Any, attrs: Any, total: int, grain: int) -> int:
    """Runs a kernel entry over `0 ≤ i < total` with all threads, in pieces of `grain`; returns the status.

    Args:
        entry: the entry's address.
        pointers: a cffi array, as the entry takes it; so are the next two (Any: cffi has no types).
        sizes: numbers that the entry reads.
        attrs: the values of attributes.
        total: the end of the range.
        grain: the size of a piece; which thread does which piece is not determined, and must not matter.
    """
    pool = None if total <= grain else _running()
    if pool is None or pool.workers == 0:
        return entry_at(entry)(pointers, sizes, attrs, 0, total)
    return _pool_run()(pool.control, pool.workers, entry, pointers, sizes, attrs, total, grain)


@cache
def entry_at(address: int) -> Any:  # Any: a cffi function
    """Returns the kernel entry at an address, callable with cffi arrays."""
    return ffi().cast(PROTOTYPE, address)


def piece_of(total: int, least: int) -> int:
    """Returns how much of a large range a thread takes at a time: a few pieces each, so that none waits for another.

    Pieces are whole vectors, so that which elements are left over for the scalar end of a loop does not depend on the
    number of threads.
    """
    threads = (_running().workers if _HAS_THREADS else 0) + 1
    piece = max(least, -(-total // (threads * _PIECES)))
    return -(-piece // _WHOLE) * _WHOLE


def geometry_of(
    entry: int, shape: tuple[int, ...], operands: Sequence[np.ndarray], inputs: int
) -> tuple[int, Any]:  # Any: cffi has no types
    """Returns what the strided walk of arrays that broadcast to a shape reads besides pointers, inputs first.

    Args:
        entry: the address of the kernel's entry.
        shape: what all broadcast to.
        operands: inputs and results.
        inputs: how many of them are inputs.

    Returns:
        The number of elements of the shape, and the array that `strided_source` describes.
    """
    strides = [np.broadcast_to(array, shape).strides for array in operands]
    dims, steps = collapsed(shape, strides)
    items = [array.itemsize for array in operands]
    after = [math.prod(dims[axis + 1 :]) for axis in range(len(dims))]
    dense = [int(own == [item * count for count in after]) for own, item in zip(steps, items, strict=True)]
    flat = [entry, len(operands), inputs, len(dims), *dims, *items, *[s for own in steps for s in own], *dense]
    return math.prod(shape), ffi().new("int64_t[]", flat)


def collapsed(shape: Sequence[int], strides: Sequence[Sequence[int]]) -> tuple[list[int], list[list[int]]]:
    """Returns the same walk with neighbouring dimensions joined, where every operand steps through them as one."""
    dims: list[int] = []
    steps: list[list[int]] = [[] for _ in strides]
    for axis, dim in enumerate(shape):
        if dim == 1:
            continue
        here = [own[axis] for own in strides]
        if dims and all(own[-1] == step * dim for own, step in zip(steps, here, strict=True)):
            dims[-1] *= dim
            for own, step in zip(steps, here, strict=True):
                own[-1] = step
        else:
            dims.append(dim)
            for own, step in zip(steps, here, strict=True):
                own.append(step)
    return (dims, steps) if dims else ([1], [[0] for _ in strides])
