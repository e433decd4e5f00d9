"""How long threads of GNU OpenMP wait awake for their next loop, decided when its library is loaded."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

_SPINS = "3000"  # some 0.1 ms; GNU's own choice, 300000, is some 10 ms
_CHOICES = ("GOMP_SPINCOUNT", "OMP_WAIT_POLICY")


@contextmanager
def short_waits() -> Iterator[None]:
    """Keeps threads that a GNU OpenMP loaded meanwhile starts from holding on to their cores between loops.

    They would take them for milliseconds from opsdk's own threads and from NumPy's. Who has set GOMP_SPINCOUNT or
    OMP_WAIT_POLICY has chosen, and a library that is loaded already keeps what it read.
    """
    if any(name in os.environ for name in _CHOICES):
        yield
        return
    os.environ["GOMP_SPINCOUNT"] = _SPINS
    try:
        yield
    finally:
        os.environ.pop("GOMP_SPINCOUNT", None)
