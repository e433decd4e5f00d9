"""The thread pool as native code: workers that wait for one job at a time and take pieces of it.

A job is a kernel entry and a range. The caller works too. Whoever asks while a job runs does its own work alone, so no
call ever waits for another one. A worker that finds nothing to do spins for a moment, then sleeps. The caller waits for
those that came, and not for those that wake up too late.

Why it is right, every access to the control block being sequentially consistent:
- A worker enters itself in PRESENT before it reads a field, and reads none unless it found OPEN set there. The caller
  writes the fields of a job while OPEN is not set, and takes OPEN back and waits until nobody is present before it
  returns. So nobody reads a field of a job while the next one is written; after it left, a worker touches WAITING and
  the mutex, which are no job's. One that comes late to a job may find the next one open, and joins that.
- Nobody sleeps through a wake-up. A worker enters itself in SLEEPERS and then looks at GENERATION; the caller changes
  GENERATION and then looks at SLEEPERS: one of them sees the other. The mutex is held from the look to the wait, so
  that the broadcast comes after it. WAITING and PRESENT are such a pair too, the other way round.
- A broadcast may reach a thread that waits for something later; all of them look again.

Imported only when something has to be compiled, since it imports Numba.
"""

from __future__ import annotations

import numpy as np
from numba import int32, int64, types

from opsdk.backends.native.compiler import Export
from opsdk.backends.native.intrinsics import (
    atomic_add,
    atomic_load,
    atomic_swap,
    call_entry,
    external1,
    external2,
    pause,
)
from opsdk.backends.vmath.jit import njit

# The control block: offsets in bytes. What several threads write stands on cache lines of its own.
BUSY, GENERATION, NEXT, PRESENT, SLEEPERS, WAITING = 0, 64, 128, 192, 256, 320
ENTRY, POINTERS, SIZES, ATTRS, TOTAL, GRAIN, STATUS = 384, 392, 400, 408, 416, 424, 432
MUTEX, WORK_CONDITION, DONE_CONDITION = 448, 512, 576
BYTES = 640

OPEN = 1 << 32  # in PRESENT, above the number of workers
SPINS = 8000  # about 120 µs: ops of one step follow each other faster than that, and waking up takes 50 µs

_lock, _unlock = external1("pthread_mutex_lock"), external1("pthread_mutex_unlock")
_wait, _broadcast = external2("pthread_cond_wait"), external1("pthread_cond_broadcast")


@njit(error_model="numpy", no_cfunc_wrapper=True)
def _take_pieces(control: int) -> None:
    entry, pointers = atomic_load(control + ENTRY), atomic_load(control + POINTERS)
    sizes, attrs = atomic_load(control + SIZES), atomic_load(control + ATTRS)
    total, grain = atomic_load(control + TOTAL), atomic_load(control + GRAIN)
    start = atomic_add(control + NEXT, grain)
    while start < total:
        status = call_entry(entry, pointers, sizes, attrs, start, min(start + grain, total))
        if status != 0:
            atomic_swap(control + STATUS, np.int64(status))
        start = atomic_add(control + NEXT, grain)


@njit(error_model="numpy", no_cfunc_wrapper=True)
def _workers(present: int) -> int:
    return present & np.int64(OPEN - 1)


def worker(control: int) -> int:
    """Takes part in every job, for ever."""
    seen = np.int64(0)
    while True:
        spins = 0
        while atomic_load(control + GENERATION) == seen and spins < SPINS:
            pause()
            spins += 1
        if atomic_load(control + GENERATION) == seen:
            _lock(control + MUTEX)
            atomic_add(control + SLEEPERS, np.int64(1))
            while atomic_load(control + GENERATION) == seen:
                _wait(control + WORK_CONDITION, control + MUTEX)
            atomic_add(control + SLEEPERS, np.int64(-1))
            _unlock(control + MUTEX)
        seen = atomic_load(control + GENERATION)
        if atomic_add(control + PRESENT, np.int64(1)) & OPEN:
            _take_pieces(control)
        # From here on the caller may return, and the fields may be those of the next job.
        if _workers(atomic_add(control + PRESENT, np.int64(-1))) == 1 and atomic_load(control + WAITING) != 0:
            _lock(control + MUTEX)
            _broadcast(control + DONE_CONDITION)
            _unlock(control + MUTEX)
    return np.int64(0)


def run(control: int, workers: int, entry: int, pointers: int, sizes: int, attrs: int, total: int, grain: int) -> int:
    """Runs a job with all threads, or alone where another job runs; returns the last status that was not 0."""
    if workers == 0 or atomic_swap(control + BUSY, np.int64(1)) != 0:
        return call_entry(entry, pointers, sizes, attrs, np.int64(0), total)
    atomic_swap(control + ENTRY, entry)
    atomic_swap(control + POINTERS, pointers)
    atomic_swap(control + SIZES, sizes)
    atomic_swap(control + ATTRS, attrs)
    atomic_swap(control + TOTAL, total)
    atomic_swap(control + GRAIN, grain)
    atomic_swap(control + STATUS, np.int64(0))
    atomic_swap(control + NEXT, np.int64(0))
    atomic_add(control + PRESENT, np.int64(OPEN))
    atomic_add(control + GENERATION, np.int64(1))
    if atomic_load(control + SLEEPERS) != 0:
        _lock(control + MUTEX)
        _broadcast(control + WORK_CONDITION)
        _unlock(control + MUTEX)
    _take_pieces(control)
    atomic_add(control + PRESENT, np.int64(-OPEN))
    spins = 0
    while _workers(atomic_load(control + PRESENT)) != 0 and spins < SPINS:
        pause()
        spins += 1
    if _workers(atomic_load(control + PRESENT)) != 0:
        _lock(control + MUTEX)
        atomic_swap(control + WAITING, np.int64(1))
        while _workers(atomic_load(control + PRESENT)) != 0:
            _wait(control + DONE_CONDITION, control + MUTEX)
        atomic_swap(control + WAITING, np.int64(0))
        _unlock(control + MUTEX)
    status = np.int32(atomic_load(control + STATUS))
    atomic_swap(control + BUSY, np.int64(0))
    return status


def exports() -> list[Export]:
    """Returns the two symbols of the pool."""
    return [
        Export("opsdk_pool_worker", worker, int64(int64)),
        Export("opsdk_pool_run", run, int32(*[types.int64] * 8)),
    ]
