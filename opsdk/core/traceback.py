"""Tracebacks that end in the user's frame."""

from __future__ import annotations

from typing import TypeVar

from opsdk.core.flags import FLAGS

E = TypeVar("E", bound=BaseException)


def trimmed(error: E) -> E:
    """Returns the error without the frames below the caller's, unless `OPSDK_TRACEBACK=full`.

    An error of opsdk speaks about the user's call, so the frames between that call and the check that failed say
    nothing. Errors raised by the user's own callables are never passed through here.
    """
    return error if FLAGS.traceback == "full" else error.with_traceback(None)
