"""Lines of Python functions, and which of them runs reached."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from types import CodeType, FrameType
from typing import Any, NamedTuple

from opsdk.define.identity.referents import is_library, with_inner
from opsdk.define.identity.uncompiled import uncompiled


class Spot(NamedTuple):
    """A place in the code of a kernel that a call may reach: a line, or one side of a choice that is made there."""

    file: str
    line: int
    side: str = ""


# Any: a callable.
def codes_of(source: Any) -> list[CodeType]:
    """Returns the code of a kernel, and of what it calls by name that Numba compiled or that stands in its module."""
    function = getattr(source, "py_func", source)
    known: dict[Any, Any] = {}
    uncompiled(function, known)
    return [each.__code__ for each in known if not is_library(each.__module__)]


# Any: a callable; one entry per input, attribute values.
def traced(
    source: Any,
    run: Callable[[Sequence[Any], Mapping[str, Any]], Any],
    calls: Iterable[tuple[Sequence[Any], Mapping[str, Any]]],
) -> dict[Spot, bool] | None:
    """Returns of the lines of a kernel's source, and of what it calls, whether a call reaches them.

    Args:
        source: a Python function, compiled or not.
        run: runs it as Python.
        calls: what that is given.
    """
    lines = Lines(codes_of(source))
    with lines.watching():
        for inputs, attrs in calls:
            run(inputs, attrs)
    return lines.reached()


class Lines:
    """The lines of some functions, and those that were reached while `watching`.

    Args:
        codes: of the functions; those inside of them count too.
    """

    def __init__(self, codes: Iterable[CodeType]) -> None:
        self._codes = {inner for code in codes for inner in with_inner(code)}
        self._entered: set[CodeType] = set()
        self._reached: set[Spot] = set()

    @contextmanager
    def watching(self) -> Iterator[None]:
        """Notes each line of the functions that a `with` block reaches, in this thread and those that begin in it."""
        before, in_threads = sys.gettrace(), threading.gettrace()
        sys.settrace(self._enter)
        threading.settrace(self._enter)  # the simulator of CUDA has a thread of Python for each of its own
        try:
            yield
        finally:
            threading.settrace(in_threads)
            sys.settrace(before)

    def reached(self) -> dict[Spot, bool] | None:
        """Returns by file and line whether code was reached, of functions that were entered; None if none was."""
        lines = {Spot(code.co_filename, line) for code in self._entered for line in _numbers(code)}
        return {line: line in self._reached for line in sorted(lines)} or None

    # Any: what a trace function gets, and gives.
    def _enter(self, frame: FrameType, event: str, argument: Any) -> Callable[..., Any] | None:
        if frame.f_code not in self._codes:
            return None
        self._entered.add(frame.f_code)
        return self._line

    def _line(self, frame: FrameType, event: str, argument: Any) -> Callable[..., Any]:
        self._reached.add(Spot(frame.f_code.co_filename, frame.f_lineno))
        return self._line


def _numbers(code: CodeType) -> Iterator[int]:
    """Yields the lines of a function that have code, without that of its name."""
    yield from (line for _, _, line in code.co_lines() if line is not None and line != code.co_firstlineno)
