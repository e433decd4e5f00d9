"""once: what a process makes one of, whichever thread asks first."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from functools import wraps
from typing import TypeVar

T = TypeVar("T")


def once(make: Callable[[], T]) -> Callable[[], T]:
    """Returns a function that gives what `make` returned when it was first called, and calls it no second time.

    `functools.cache` makes one for every thread that asks before the first is there, and drops all but one of them:
    where what is made has an address, that is a pointer to nothing.
    """
    held: list[T] = []
    lock = threading.RLock()

    @wraps(make)
    def get() -> T:
        if held:
            return held[0]
        with lock:
            if not held:
                held.append(make())
        return held[0]

    def renew() -> None:
        nonlocal lock
        lock = threading.RLock()  # a thread that held it does not exist in the child

    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=renew)
    return get
