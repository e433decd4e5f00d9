"""Grad mode: whether calls are recorded, per thread and task; context managers, decorators and a statement."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count
from typing import Any, TypeVar

from opsdk.core.blocks import decorated
from opsdk.core.current import Current
from opsdk.core.fit import as_bool

F = TypeVar("F", bound=Callable[..., Any])


OFF: set[int] = set()  # numbers of the blocks inside of which recording is off; empty, and so quick to ask, mostly
_numbers = count()


class _Off:
    """Recording switched off; its number leaves OFF with the last context that holds it."""

    def __init__(self) -> None:
        self.number = next(_numbers)
        OFF.add(self.number)

    def __del__(self, leave: Callable[[int], None] = OFF.discard) -> None:
        leave(self.number)


_OFF: Current[_Off | None] = Current("grad mode", None)


def is_grad_enabled() -> bool:
    """Whether calls on tensors are recorded in this thread, and in this task of asyncio."""
    return not OFF or _OFF.get() is None


def _state(mode: bool) -> _Off | None:
    return None if mode else _Off()


class GradMode:
    """A mode for the length of a `with` block, or of the functions that it decorates.

    Args:
        mode: whether calls are recorded.
    """

    def __init__(self, mode: bool) -> None:
        self._mode = bool(mode)

    def __enter__(self) -> None:
        _OFF.enter(self, _state(self._mode))

    def __exit__(self, *raised: object) -> None:
        _OFF.leave(self)

    def __call__(self, function: F) -> F:
        """Returns the function, run in this mode; of a generator or coroutine that it makes every step is.

        Raises:
            AttributeValueError: not a function, or one that makes an asynchronous generator.
        """
        return decorated(function, lambda: GradMode(self._mode), "grad mode")


class set_grad_enabled(GradMode):
    """Switches recording on or off: from here on as a statement, for the length of a `with` block, or of a function.

    As a statement, `set_grad_enabled(False)`, it holds in this thread until the next one.

    Args:
        mode: whether calls are recorded.

    Raises:
        AttributeValueError: the mode is not a bool.
    """

    def __init__(self, mode: bool) -> None:
        super().__init__(as_bool(mode, "set_grad_enabled: mode"))
        self._at_first: bool | None = is_grad_enabled()
        _OFF.change(_state(self._mode))

    def __enter__(self) -> None:
        self._undo()
        super().__enter__()

    def __call__(self, function: F) -> F:
        """Returns the function, run in this mode; the code around it keeps the mode that it had."""
        self._undo()
        return super().__call__(function)

    def _undo(self) -> None:
        """Takes the statement back: it is the head of a block, or decorates."""
        if self._at_first is not None:
            _OFF.change(_state(self._at_first))
            self._at_first = None


def no_grad(function: F | None = None) -> Any:
    """Switches recording off.

    Used as `with no_grad():`, `@no_grad()` or `@no_grad`, also on generator and coroutine functions.
    """
    mode = GradMode(False)
    return mode if function is None else mode(function)


def inference_mode(mode: bool | F = True) -> Any:
    """Switches recording off, as `no_grad` does; with False nothing changes. PyTorch's word."""
    if callable(mode):
        return no_grad(mode)
    return GradMode(is_grad_enabled() and not mode)


def enable_grad(function: F | None = None) -> Any:
    """Switches recording on again inside `no_grad`.

    Used as `with enable_grad():`, `@enable_grad()` or `@enable_grad`.
    """
    mode = GradMode(True)
    return mode if function is None else mode(function)
