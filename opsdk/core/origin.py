"""Origin: the file and line where something was defined or used; tracebacks that end in the user's frame."""

from __future__ import annotations

import inspect
import os
import sys
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from types import CodeType, TracebackType
from typing import Any, ParamSpec, TypeVar

from opsdk.core.errors import OpsdkError
from opsdk.core.flags import FLAGS

E = TypeVar("E", bound=BaseException)
P = ParamSpec("P")
R = TypeVar("R")

# Plain strings in this file: pathlib would be a tenth of what importing opsdk adds to importing NumPy.
PACKAGE_ROOT = __file__.rpartition(f"core{os.sep}")[0]  # ends with a separator, so that opsdk_extras lies outside
_CELLS = ("<ipython-input-", "<python-input-", "<stdin")


@dataclass(frozen=True)
class Origin:
    """A place in source code; printed as `file:line`, with the current folder left out."""

    file: str
    line: int
    module: str = "__main__"

    def __str__(self) -> str:
        return f"{shorten(self.file)}:{self.line}"

    @property
    def source(self) -> str:
        """The file; one name for all cells of a session or a doctest, each of which is compiled as its own file."""
        if self.file.startswith("<doctest "):
            return self.file.partition("[")[0]
        is_cell = self.file.startswith(_CELLS) or f"{os.sep}ipykernel_" in self.file
        return "<session>" if is_cell and self.module == "__main__" else self.file


def shorten(file: str) -> str:
    """Returns a path relative to the current folder where it lies inside it."""
    try:
        return file.removeprefix(os.getcwd().rstrip(os.sep) + os.sep)  # noqa: PTH109 - see above
    except OSError:
        return file  # the current folder was deleted


# Any: a callable of any signature.
def origin_of(function: Callable[..., Any]) -> Origin:
    """Returns where a callable was defined; callables without Python code count as defined where they are used."""
    inner = getattr(function, "py_func", function)  # a compiled Numba dispatcher
    inner = getattr(inner, "func", inner)  # functools.partial
    inner = inspect.unwrap(getattr(inner, "__func__", inner))  # bound method; what functools.wraps stands before
    code = getattr(inner, "__code__", None)
    if isinstance(code, CodeType):
        return Origin(code.co_filename, code.co_firstlineno, getattr(inner, "__module__", None) or "__main__")
    return caller()


def caller() -> Origin:
    """Returns the nearest frame outside of the opsdk package: the user's line."""
    frame = sys._getframe(1)
    while frame.f_back is not None and frame.f_code.co_filename.startswith(PACKAGE_ROOT):
        frame = frame.f_back
    return Origin(frame.f_code.co_filename, frame.f_lineno, frame.f_globals.get("__name__", "__main__"))


def warn(text: str) -> None:
    """Warns, and says that it was at the user's line: the nearest frame outside of the opsdk package."""
    frame, level = sys._getframe(1), 2
    while frame.f_back is not None and frame.f_code.co_filename.startswith(PACKAGE_ROOT):
        frame, level = frame.f_back, level + 1
    warnings.warn(text, stacklevel=level)


def loading() -> Origin:
    """Returns the line that runs of the innermost module that is being loaded: what is registered now is its own.

    That is not always where a function was written: a file may call another's factory, or register one of a library.
    """
    frame = sys._getframe(1)
    while frame.f_back is not None and (
        frame.f_code.co_name != "<module>" or frame.f_code.co_filename.startswith("<")  # what is given to `exec`
    ):
        frame = frame.f_back
    return Origin(frame.f_code.co_filename, frame.f_lineno, frame.f_globals.get("__name__", "__main__"))


def registrar(origin: Origin) -> str:
    """Returns who registers something defined at a place: its file, with the one that the user's line stands in.

    Two are of one owner if both are the same: two files may register functions of a third, and a third file's function
    may register for two.
    """
    if origin.file.startswith(PACKAGE_ROOT):
        return origin.source
    by = caller().source
    return origin.source if by == origin.source else f"{origin.source} by {by}"


def trimmed(error: E) -> E:
    """Returns the error without opsdk's own frames below the caller's, unless `OPSDK_TRACEBACK=full`.

    An error of opsdk speaks about the user's call, so the frames between that call and the check that failed say
    nothing; nor do those between the call and a function of the user's, such as an infer rule, that raised. Other
    people's frames stay, in their order. What opsdk itself was handling when it found the mistake says nothing either;
    what the user was, is kept. An exception that opsdk's own code raised, and did not mean to, keeps all.
    """
    trace, kept, is_own = error.__traceback__, [], True
    while trace is not None:
        is_own = trace.tb_frame.f_code.co_filename.startswith(PACKAGE_ROOT)
        if not is_own:
            kept.append(trace)
        trace = trace.tb_next
    if FLAGS.traceback == "full" or (is_own and not isinstance(error, OpsdkError)):
        return error
    while error.__cause__ is None and (context := error.__context__) is not None and not _runs_through_others(context):
        error.__context__ = context.__context__
    for each in reversed(kept):
        trace = TracebackType(trace, each.tb_frame, each.tb_lasti, each.tb_lineno)
    return error.with_traceback(trace)


def trimming(function: Callable[P, R]) -> Callable[P, R]:
    """Makes the errors of opsdk end at the calls of a public function, and has those of the user's show no more."""

    @wraps(function)
    def trimmed_call(*args: P.args, **options: P.kwargs) -> R:
        try:
            return function(*args, **options)
        except Exception as error:
            raise trimmed(error)  # noqa: B904 - the same error, without the frames below the user's

    return trimmed_call


def _runs_through_others(error: BaseException) -> bool:
    trace = error.__traceback__
    while trace is not None:
        if not trace.tb_frame.f_code.co_filename.startswith(PACKAGE_ROOT):
            return True
        trace = trace.tb_next
    return False
