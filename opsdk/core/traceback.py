"""Tracebacks that end in the user's frame."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar

from opsdk.core.errors import OpsdkError
from opsdk.core.flags import FLAGS
from opsdk.core.origin import PACKAGE_ROOT

E = TypeVar("E", bound=BaseException)
P = ParamSpec("P")
R = TypeVar("R")


def trimmed(error: E) -> E:
    """Returns the error without the frames below the caller's, unless `OPSDK_TRACEBACK=full`.

    An error of opsdk speaks about the user's call, so the frames between that call and the check that failed say
    nothing. Where frames of the user's lie between, such as those of a backward that calls ops, all frames stay.
    """
    return error if FLAGS.traceback == "full" or _runs_through_others(error) else error.with_traceback(None)


def trimming(function: Callable[P, R]) -> Callable[P, R]:
    """Makes the errors of opsdk end at the calls of a public function; exceptions of the user's pass as they are."""

    @wraps(function)
    def trimmed_call(*args: P.args, **options: P.kwargs) -> R:
        try:
            return function(*args, **options)
        except OpsdkError as error:
            raise trimmed(error)  # noqa: B904 - the same error, without the frames below the user's

    return trimmed_call


def _runs_through_others(error: BaseException) -> bool:
    trace = error.__traceback__
    while trace is not None:
        if not trace.tb_frame.f_code.co_filename.startswith(PACKAGE_ROOT):
            return True
        trace = trace.tb_next
    return False
