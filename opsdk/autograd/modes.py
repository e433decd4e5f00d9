"""Grad mode: whether calls are recorded, per thread; context managers and decorators at once."""

from __future__ import annotations

import functools
from collections.abc import Callable
from threading import get_ident
from types import TracebackType
from typing import Any, TypeVar

F = TypeVar("F", bound=Callable[..., Any])


OFF: set[int] = set()  # threads in which recording is off; empty, and so quick to ask, nearly always


def is_grad_enabled() -> bool:
    """Whether calls on tensors are recorded in this thread."""
    return not OFF or get_ident() not in OFF


def _switch(mode: bool) -> None:
    (OFF.discard if mode else OFF.add)(get_ident())


class set_grad_enabled:
    """Switches recording on or off inside a `with` block, or inside the functions it decorates."""

    def __init__(self, mode: bool) -> None:
        self._mode = bool(mode)
        self._before: dict[int, list[bool]] = {}  # by thread: one object may be entered in several at once

    def __enter__(self) -> None:
        self._before.setdefault(get_ident(), []).append(is_grad_enabled())
        _switch(self._mode)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        _switch(self._before[get_ident()].pop())

    def __call__(self, function: F) -> F:
        """Returns the function, run in this mode."""

        @functools.wraps(function)
        def run(*args: Any, **kwargs: Any) -> Any:  # Any: the function's own signature
            with set_grad_enabled(self._mode):
                return function(*args, **kwargs)

        return run  # type: ignore[return-value]


def no_grad(function: F | None = None) -> Any:
    """Switches recording off.

    Used as `with no_grad():`, `@no_grad()` or `@no_grad`.
    """
    mode = set_grad_enabled(False)
    return mode if function is None else mode(function)


def enable_grad(function: F | None = None) -> Any:
    """Switches recording on again inside `no_grad`.

    Used as `with enable_grad():`, `@enable_grad()` or `@enable_grad`.
    """
    mode = set_grad_enabled(True)
    return mode if function is None else mode(function)
