"""Current: a value that a `with` block changes for what runs inside of it, in its thread and its task of asyncio."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Generic, NamedTuple, TypeVar

from opsdk.core.errors import GraphError

T = TypeVar("T")


class _Block(NamedTuple):
    """One block of those that the code is inside of: whose it is, its value, and the block around it."""

    owner: object
    value: object
    outer: _Block | None


class Current(Generic[T]):
    """A value that `with` blocks change.

    A thread starts with the default. A task of asyncio starts with what its maker had, and what it changes is seen in
    that task alone, also while it waits. Blocks may end in another order than the reverse of the one they began in, as
    those of generators do; each takes away what it brought, wherever that is.

    Args:
        name: what it is called in messages.
        default: outside of all blocks.
    """

    def __init__(self, name: str, default: T) -> None:
        self._default = default
        self._innermost: ContextVar[_Block | None] = ContextVar(name, default=None)

    def get(self) -> T:
        """Returns the value here."""
        block = self._innermost.get()
        return self._default if block is None else block.value  # type: ignore[return-value]

    def enter(self, owner: object, value: T) -> None:
        """Begins a block."""
        self._innermost.set(_Block(owner, value, self._innermost.get()))

    def leave(self, owner: object) -> None:
        """Ends the innermost block of this owner.

        Raises:
            GraphError: there is none here.
        """
        innermost = self._innermost.get()
        left = _without(innermost, owner)
        if left is innermost:
            raise GraphError(
                f"{self._innermost.name}: a with block expected to end in the thread, or task of asyncio, that it "
                "began in, got another, as where a generator is continued elsewhere; what it changed stays there"
            )
        self._innermost.set(left)

    def change(self, value: T) -> None:
        """Changes the value for the rest of the innermost block, or of the thread or task where there is none."""
        block = self._innermost.get()
        self._innermost.set(_Block(None, value, None) if block is None else block._replace(value=value))

    @contextmanager
    def held(self, value: T) -> Iterator[None]:
        """Gives a value inside a `with` block."""
        owner = object()
        self.enter(owner, value)
        try:
            yield
        finally:
            self.leave(owner)


def _without(block: _Block | None, owner: object) -> _Block | None:
    if block is None or block.owner is owner:
        return block and block.outer
    outer = _without(block.outer, owner)
    return block if outer is block.outer else block._replace(outer=outer)
