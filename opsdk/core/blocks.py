"""What a `with` block does, done for functions that it decorates: also for each step of a generator or coroutine."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Generator
from contextlib import AbstractContextManager
from types import coroutine
from typing import Any, TypeVar

from opsdk.core.errors import AttributeValueError

F = TypeVar("F", bound=Callable[..., Any])
Block = Callable[[], AbstractContextManager[Any]]  # any: what `as` gives; each call gives a block that was not entered


# Any, in this file: whatever functions, generators and coroutines take, yield and return.
def decorated(function: F, block: Block, subject: str) -> F:
    """Returns a function run inside of a block; of a generator or coroutine that it makes every step is.

    Raises:
        AttributeValueError: not a function, or one that makes an asynchronous generator.
    """
    if not callable(function) or inspect.isasyncgenfunction(function):
        got = f"the asynchronous generator {function.__qualname__}" if callable(function) else repr(function)
        raise AttributeValueError(
            f"{subject}: expected a function, generator function or coroutine function to decorate, got {got}; "
            "enter the mode in its body, between two awaits"
        )
    if inspect.isgeneratorfunction(function):

        def run(*args: Any, **kwargs: Any) -> Any:
            return (yield from _stepped(function(*args, **kwargs), block))

    elif inspect.iscoroutinefunction(function):

        async def run(*args: Any, **kwargs: Any) -> Any:  # type: ignore[misc]  # it gives a coroutine
            return await _awaiting(function(*args, **kwargs), block)

    else:

        def run(*args: Any, **kwargs: Any) -> Any:
            with block():
                made = function(*args, **kwargs)
            if inspect.isgenerator(made):  # of a function that wraps one which makes it, and does not show it
                return _stepped(made, block)
            return _awaited(made, block) if inspect.iscoroutine(made) else made

    return functools.wraps(function)(run)  # type: ignore[return-value]


def _stepped(generator: Any, block: Block) -> Generator[Any, Any, Any]:
    """Runs a generator with each of its steps in a block, and its caller's code between them outside of it."""
    step, given = generator.send, None
    while True:
        try:
            with block():
                made = step(given)
        except StopIteration as end:
            return end.value
        try:
            given = yield made
            step = generator.send
        except GeneratorExit:
            with block():
                generator.close()
            raise
        except BaseException as error:
            step, given = generator.throw, error


async def _awaited(made: Any, block: Block) -> Any:
    return await _awaiting(made, block)


@coroutine
def _awaiting(made: Any, block: Block) -> Generator[Any, Any, Any]:
    """Returns what `await` takes for a coroutine, each step of which is run in a block."""
    return (yield from _stepped(made.__await__(), block))
