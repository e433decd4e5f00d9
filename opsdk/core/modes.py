"""Grad mode: whether calls are recorded, per thread and task; context managers, decorators and a statement."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Generator
from itertools import count
from types import coroutine
from typing import Any, TypeVar

from opsdk.core.current import Current
from opsdk.core.errors import AttributeValueError
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
        if not callable(function) or inspect.isasyncgenfunction(function):
            got = f"the asynchronous generator {function.__qualname__}" if callable(function) else repr(function)
            raise AttributeValueError(
                f"grad mode: expected a function, generator function or coroutine function to decorate, got {got}; "
                "enter the mode in its body, between two awaits"
            )
        mode = self._mode
        if inspect.isgeneratorfunction(function):
            def run(*args: Any, **kwargs: Any) -> Any:  # Any: the function's own signature
                return (yield from _stepped(function(*args, **kwargs), mode))

        elif inspect.iscoroutinefunction(function):
            async def run(*args: Any, **kwargs: Any) -> Any:  # type: ignore[misc]  # it gives a coroutine
                return await _awaiting(function(*args, **kwargs), mode)

        else:
            def run(*args: Any, **kwargs: Any) -> Any:
                with GradMode(mode):
                    made = function(*args, **kwargs)
                if inspect.isgenerator(made):  # of a function that wraps one which makes it, and does not show it
                    return _stepped(made, mode)
                return _awaited(made, mode) if inspect.iscoroutine(made) else made

        return functools.wraps(function)(run)  # type: ignore[return-value]


# Any: whatever a generator takes, yields and returns.
def _stepped(generator: Any, mode: bool) -> Generator[Any, Any, Any]:
    """Runs a generator with each of its steps in a mode, and its caller's code between them in the caller's."""
    step, given = generator.send, None
    while True:
        try:
            with GradMode(mode):
                made = step(given)
        except StopIteration as end:
            return end.value
        try:
            given = yield made
            step = generator.send
        except GeneratorExit:
            with GradMode(mode):
                generator.close()
            raise
        except BaseException as error:
            step, given = generator.throw, error


async def _awaited(made: Any, mode: bool) -> Any:
    return await _awaiting(made, mode)


@coroutine
def _awaiting(made: Any, mode: bool) -> Generator[Any, Any, Any]:
    """Returns what `await` takes for a coroutine, each step of which is run in a mode."""
    return (yield from _stepped(made.__await__(), mode))


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


def enable_grad(function: F | None = None) -> Any:
    """Switches recording on again inside `no_grad`.

    Used as `with enable_grad():`, `@enable_grad()` or `@enable_grad`.
    """
    mode = GradMode(True)
    return mode if function is None else mode(function)
