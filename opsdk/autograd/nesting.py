"""Nesting: backwards that run backwards, each on the stack of the one outside, until that gets short."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from contextvars import copy_context
from typing import Any, TypeVar

from opsdk.core.errors import GraphError

T = TypeVar("T")

ACTIVE: list[None] = []  # one entry per backward under way in any thread; few, and so quick to ask, nearly always
MANY = 12  # where there are more, the stack is looked at; each takes ten frames or so


def is_deep() -> bool:
    """Whether half of the stack that Python allows is in use in this thread."""
    left = sys.getrecursionlimit() // 2
    frame = sys._getframe()
    while left:
        if frame.f_back is None:
            return False
        frame, left = frame.f_back, left - 1
    return True


# Any: arguments of the function.
def elsewhere(function: Callable[..., T], *args: Any) -> T:
    """Returns what a function gives on a fresh stack: that of another thread, for which this one waits.

    Context variables, and so grad mode, are those of this thread; what the function raises is raised here.

    Raises:
        GraphError: no further thread starts.
    """
    context = copy_context()
    made: list[T] = []
    raised: list[BaseException] = []

    def work() -> None:
        try:
            made.append(context.run(function, *args))
        except BaseException as error:  # also SystemExit: it ends this thread's caller, as it would without the thread
            raised.append(error)

    thread = threading.Thread(target=work, name="opsdk-nested-backward")
    try:
        thread.start()
    except RuntimeError as error:
        raise GraphError(
            f"backward: expected fewer backwards inside of one another, got {len(ACTIVE)}, each of which waits for the "
            "next, and no further thread starts for their stack; compute the gradient in one backward"
        ) from error
    thread.join()
    if raised:
        raise raised[0]
    return made[0]
