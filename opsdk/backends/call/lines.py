"""Lines of Python functions, and which of them runs reached."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from types import CodeType, FrameType
from typing import Any

from opsdk.define.identity.referents import is_library, with_inner
from opsdk.define.identity.uncompiled import uncompiled


# Any: a callable.
def codes_of(source: Any) -> list[CodeType]:
    """Returns the code of a kernel, and of what it calls by name that Numba compiled or that stands in its module."""
    function = getattr(source, "py_func", source)
    known: dict[Any, Any] = {}
    uncompiled(function, known)
    return [each.__code__ for each in known if not is_library(each.__module__)]


class Lines:
    """The lines of some functions, and those that were reached while `watching`.

    Args:
        codes: of the functions; those inside of them count too.
    """

    def __init__(self, codes: Iterable[CodeType]) -> None:
        self._codes = {inner for code in codes for inner in with_inner(code)}
        self._entered: set[CodeType] = set()
        self._reached: set[tuple[str, int]] = set()

    @contextmanager
    def watching(self) -> Iterator[None]:
        """Notes each line of the functions that a `with` block reaches, in this thread."""
        before = sys.gettrace()
        sys.settrace(self._enter)
        try:
            yield
        finally:
            sys.settrace(before)

    def reached(self) -> dict[tuple[str, int], bool] | None:
        """Returns by file and line whether code was reached, of functions that were entered; None if none was."""
        lines = {(code.co_filename, line) for code in self._entered for line in _numbers(code)}
        return {line: line in self._reached for line in sorted(lines)} or None

    # Any: what a trace function gets, and gives.
    def _enter(self, frame: FrameType, event: str, argument: Any) -> Callable[..., Any] | None:
        if frame.f_code not in self._codes:
            return None
        self._entered.add(frame.f_code)
        return self._line

    def _line(self, frame: FrameType, event: str, argument: Any) -> Callable[..., Any]:
        self._reached.add((frame.f_code.co_filename, frame.f_lineno))
        return self._line


def _numbers(code: CodeType) -> Iterator[int]:
    """Yields the lines of a function that have code, without that of its name."""
    yield from (line for _, _, line in code.co_lines() if line is not None and line != code.co_firstlineno)
