"""Interceptors: what stands between ops and the runtimes for the length of a `with` block, in its thread and its task.

A mode that changes what calls do, such as mixed precision, or sees them, such as anomaly detection, is an interceptor.
They form a stack. While there is one in any thread, a slow frontend stands in for the fast paths (`frontend.divert`),
and asks for the stack of its thread; once there is none the tables are what they were. So nothing that is fast ever
tests for a mode.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from functools import wraps
from itertools import count
from threading import RLock
from typing import Any, TypeVar

from opsdk.core.blocks import decorated
from opsdk.core.current import Current
from opsdk.define.frontend import Apply, dispatch, divert
from opsdk.define.opdef import OpDef

F = TypeVar("F", bound=Callable[..., Any])
Self = TypeVar("Self", bound="Interceptor")

_alive: set[int] = set()
_numbers = count()
_LOCK = RLock()  # one that a thread may take twice, since finalizers run anywhere
if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_LOCK.acquire, after_in_parent=_LOCK.release, after_in_child=_LOCK.release)


# Any, in this file: the values of a call belong to whichever runtime they come from.
class Interceptor:
    """Sees each call on values of a runtime, in place of the runtime, inside of `with`, or in what it decorates.

    The innermost one sees a call first. What it does with it (`apply`) runs with the ones around it alone: calls that
    it makes are theirs, down to the runtime, and so are those of the body of a composite which is run for it.
    """

    __slots__ = ()

    def apply(self, opdef: OpDef, inputs: Sequence[Any], attrs: Mapping[str, Any]) -> Any:
        """Serves a call; `dispatch` hands it on."""
        return dispatch(opdef, inputs, attrs)

    def function(self, function: Callable[..., Any], args: Sequence[Any]) -> Any:
        """Serves a call of a function that is one operation with a derivative of its own, as of a PyLayer.

        Args:
            function: takes the arguments, tensors and others; to call it hands it on.
            args: its arguments.
        """
        return function(*args)

    def __enter__(self: Self) -> Self:
        _STACK.enter(self, _Layer(self, _STACK.get()))
        return self

    def __exit__(self, *raised: object) -> None:
        _STACK.leave(self)

    def __call__(self, function: F) -> F:
        """Returns a function run inside of the block; of a generator or coroutine that it makes every step is."""
        return decorated(function, lambda: self, type(self).__name__)


class _Layer:
    """An interceptor on those around it; fast paths are aside for as long as a context holds one of these."""

    __slots__ = ("below", "interceptor", "number")

    def __init__(self, interceptor: Interceptor, below: _Layer | None) -> None:
        self.interceptor, self.below, self.number = interceptor, below, next(_numbers)
        with _LOCK:
            _alive.add(self.number)
            if len(_alive) == 1:
                divert(_before)

    # Any: bound here, since a finalizer may run when the module is gone.
    def __del__(self, lock: Any = _LOCK, alive: set[int] = _alive, divert: Callable[[None], None] = divert) -> None:
        with lock:
            alive.discard(self.number)
            if not alive:
                divert(None)


_STACK: Current[_Layer | None] = Current("interceptors", None)


def _before(apply: Apply) -> Apply:
    @wraps(apply)
    def intercepted(opdef: OpDef, inputs: Sequence[Any], attrs: Mapping[str, Any]) -> Any:
        layer = _STACK.get()
        if layer is None:
            return apply(opdef, inputs, attrs)
        with _STACK.held(layer.below):
            return layer.interceptor.apply(opdef, inputs, attrs)

    return intercepted


def call(function: Callable[..., Any], args: Sequence[Any]) -> Any:
    """Calls a function that is one operation with a derivative of its own, through the interceptors of this thread."""
    layer = _STACK.get()
    if layer is None:
        return function(*args)
    with _STACK.held(layer.below):
        return layer.interceptor.function(lambda *given: call(function, given), args)


def switch(kind: type[Interceptor], interceptor: Interceptor | None) -> Callable[[], None]:
    """Has an interceptor stand innermost, and none else of a kind; for the rest of the block, or the thread or task.

    Args:
        kind: those that end.
        interceptor: what begins; None to end the others alone.

    Returns:
        What undoes it.
    """
    before, layer = _STACK.get(), None
    for each in reversed([each for each in active() if not isinstance(each, kind)]):
        layer = _Layer(each, layer)
    _STACK.change(layer if interceptor is None else _Layer(interceptor, layer))
    return lambda: _STACK.change(before)


def stack() -> Any:
    """Returns the interceptors of this thread, for `restored`."""
    return _STACK.get()


def active() -> Iterator[Interceptor]:
    """Yields the interceptors of this thread, the innermost first."""
    layer = _STACK.get()
    while layer is not None:
        yield layer.interceptor
        layer = layer.below


def outside(interceptor: Interceptor) -> AbstractContextManager[None]:
    """Gives the interceptors around one, inside of a `with` block; all of them where it is not among them."""
    layer = before = _STACK.get()
    while layer is not None and layer.interceptor is not interceptor:
        layer = layer.below
    return _STACK.held(before if layer is None else layer.below)


def restored(stack: Any) -> AbstractContextManager[None]:
    """Gives the interceptors that there were at another time, inside of a `with` block."""
    return _STACK.held(stack)
