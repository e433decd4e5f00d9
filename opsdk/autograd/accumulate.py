"""Accumulation: what `backward` finds, added to `grad` of leaves that several threads may share."""

from __future__ import annotations

import os
from collections.abc import Callable
from sys import getrefcount
from threading import RLock
from typing import Any

import numpy as np

from opsdk.backends.memory.arena import is_leased

# Any, in this file: arrays of the host or of a device; tensors, which stand one module above.


class _Zero:
    """The gradient of a tensor that was cleared: zeros, made when somebody looks."""

    def __reduce__(self) -> str:
        return "ZERO"  # by name, so that in a pickle too there is only one


ZERO: Any = _Zero()


# Held for the additions of one backward, and never while a user's code runs, but for finalizers: they may run anywhere,
# so that the lock is one that a thread may take twice. A fork waits for it, since a child would wait for ever.
LOCK = RLock()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=LOCK.acquire, after_in_parent=LOCK.release, after_in_child=LOCK.release)


def _alone() -> int:
    """Returns how many references `accumulate` sees to an array that nobody else holds; interpreters differ."""
    for _, value in {0: (None, np.zeros(1))}.values():
        return getrefcount(value)
    return 0


_ALONE = _alone()


def accumulate(leaves: dict[int, tuple[Any, Any]], wrap: Callable[[Any], Any]) -> None:
    """Adds gradients to `grad` of leaves; two backwards at once add one after the other.

    A gradient that is known to be zero is not added to. Where there is one, the sum is written into the memory of what
    is added, which nobody else holds; an array that somebody was given never changes.

    Args:
        leaves: by id of a leaf the leaf and its gradient, of its shape and dtype. Of an array that nothing else refers
            to, and that is no view, the memory is taken over.
        wrap: makes a tensor of an array.
    """
    LOCK.acquire()  # not by `with`, which takes twice as long
    try:
        for leaf, value in leaves.values():
            is_own = getrefcount(value) <= _ALONE and (value.base is None or is_leased(value, ()))
            held = leaf._grad
            if held is None or held is ZERO:
                leaf._grad = wrap(value if is_own else value.copy())
            elif is_own and value.__class__ is np.ndarray and value.flags.writeable:
                leaf._grad = wrap(np.add(held._array, value, out=value))
            else:
                total = held._array + value
                leaf._grad = wrap(np.asarray(total) if isinstance(total, np.generic) else total)
    finally:
        LOCK.release()
