"""Tensor hooks: functions that see a gradient when it is complete, and may replace it."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterator
from itertools import count
from typing import Any

from opsdk.core.errors import HookError

# Takes the gradient, a Tensor; returns None to keep it or a Tensor of the same shape and dtype.
Hook = Callable[[Any], Any]  # Any: Tensor, which stands one module above


class Hooks:
    """Hooks of one tensor, in the order of their registration."""

    __slots__ = ("_entries", "_next")

    def __init__(self) -> None:
        self._entries: dict[int, Hook] = {}
        self._next = count().__next__  # two threads never get one number

    def add(self, hook: Hook) -> HookHandle:
        """Adds a hook.

        Raises:
            HookError: the hook is not callable.
        """
        if not callable(hook):
            raise HookError(f"register_hook: expected a callable, got {type(hook).__name__}")
        key = self._next()
        self._entries[key] = hook
        return HookHandle(self._entries, key)

    def __iter__(self) -> Iterator[Hook]:
        return iter(self._entries.copy().values())  # as they are now, whatever a hook or a thread adds

    def __bool__(self) -> bool:
        return bool(self._entries)


class Retain:
    """The hook of `retain_grads`: not called, it marks what is to be kept once the whole backward has succeeded."""

    __slots__ = ("_target",)

    def __init__(self, tensor: Any) -> None:
        self._target = weakref.ref(tensor)

    def keep(self, grad: Any) -> None:
        """Adds a gradient to `grad` of the tensor, if that is still there."""
        tensor = self._target()
        if tensor is not None:
            tensor.accumulate(grad)

    def __call__(self, grad: Any) -> None:
        """Leaves the gradient as it is."""


Kept = list[tuple[Retain, Any]]  # what is to be kept once nothing can fail any more


class HookHandle:
    """What `register_hook` returns: it takes the hook off again."""

    __slots__ = ("_entries", "_key")

    def __init__(self, entries: dict[int, Hook], key: int) -> None:
        self._entries = entries
        self._key = key

    def remove(self) -> bool:
        """Removes the hook; True the first time, False after."""
        return self._entries.pop(self._key, None) is not None


def run_hooks(hooks: Hooks, grad: Any, kept: Kept) -> Any:
    """Returns a gradient, a tensor, after its hooks.

    Args:
        hooks: in order.
        grad: the gradient.
        kept: receives the gradient as it is where `retain_grads` stands among the hooks.

    Raises:
        HookError: a hook returned something that cannot replace the gradient.
    """
    for hook in hooks:
        if hook.__class__ is Retain:
            kept.append((hook, grad))
            continue
        version = grad._version[0]
        returned = hook(grad)
        if grad._version[0] != version:
            raise HookError("tensor hook: expected its gradient untouched, it was changed in place; return a new one")
        if returned is None:
            continue
        array = getattr(returned, "_array", None)
        if array is None:
            raise HookError(f"tensor hook: expected None or a Tensor, got {type(returned).__name__}")
        if array.shape != grad._array.shape or array.dtype != grad._array.dtype:
            raise HookError(
                f"tensor hook: expected a gradient of shape {grad._array.shape} and dtype {grad._array.dtype}, "
                f"got {array.shape} and {array.dtype}"
            )
        grad = returned
    return grad
