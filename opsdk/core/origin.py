"""Origin: the file and line where something was defined or used."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import CodeType
from typing import Any

PACKAGE_ROOT = str(Path(__file__).resolve().parent.parent)


@dataclass(frozen=True)
class Origin:
    """A place in source code; printed as `file:line`, with the current folder left out."""

    file: str
    line: int
    module: str = "__main__"

    def __str__(self) -> str:
        return f"{shorten(self.file)}:{self.line}"


def shorten(file: str) -> str:
    """Returns a path relative to the current folder where it lies inside it."""
    try:
        return str(Path(file).relative_to(Path.cwd()))
    except (ValueError, OSError):
        return file


# Any: a callable of any signature.
def origin_of(function: Callable[..., Any]) -> Origin:
    """Returns where a callable was defined; callables without Python code count as defined where they are used."""
    inner = getattr(function, "py_func", function)  # a compiled Numba dispatcher
    inner = getattr(inner, "func", inner)  # functools.partial
    inner = getattr(inner, "__func__", inner)  # bound method
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
