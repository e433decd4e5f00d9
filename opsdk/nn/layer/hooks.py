"""Forward hooks of a layer: functions that see, and may replace, what goes in and what comes out."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from opsdk.core.errors import HookError

# Any, in this file: a hook takes and returns whatever the layer's forward takes and returns.


@dataclass(frozen=True)
class LayerHook:
    """One hook and how it was registered."""

    call: Callable[..., Any]
    with_kwargs: bool = False
    always_call: bool = False


class LayerHooks:
    """Hooks of one kind, in the order in which they run."""

    def __init__(self) -> None:
        self._entries: dict[int, LayerHook] = {}
        self._next = 0

    def add(self, subject: str, hook: LayerHook, prepend: bool) -> LayerHookHandle:
        """Adds a hook, last, or first where `prepend` says so.

        Raises:
            HookError: it is not callable.
        """
        if not callable(hook.call):
            raise HookError(f"{subject}: expected a callable, got {type(hook.call).__name__}")
        key = self._next
        self._next += 1
        if prepend:
            self._entries = {key: hook, **self._entries}
        else:
            self._entries[key] = hook
        return LayerHookHandle(self, key)

    def discard(self, key: int) -> bool:
        """Removes a hook by its key; whether it was still there."""
        return self._entries.pop(key, None) is not None

    def __iter__(self) -> Iterator[LayerHook]:
        return iter(list(self._entries.values()))

    def __bool__(self) -> bool:
        return bool(self._entries)

    def __len__(self) -> int:
        return len(self._entries)


class LayerHookHandle:
    """What registering a hook returns: it takes the hook off again, also at the end of a `with` block."""

    def __init__(self, hooks: LayerHooks, key: int) -> None:
        self._hooks = hooks
        self._key = key

    def remove(self) -> bool:
        """Removes the hook; True the first time, False after."""
        return self._hooks.discard(self._key)

    def __enter__(self) -> LayerHookHandle:
        return self

    def __exit__(self, *exception: object) -> None:
        self.remove()


def call_with_hooks(layer: Any, before: LayerHooks, after: LayerHooks, inputs: tuple[Any, ...], kwargs: Any) -> Any:
    """Runs a layer's forward between its hooks.

    A hook that was registered with `always_call` runs, with None for the output, even where the forward or a hook
    raised; what was raised then goes on.
    """
    ran: list[LayerHook] = []
    try:
        for hook in before:
            inputs, kwargs = _enter(hook, layer, inputs, kwargs)
        output = layer.forward(*inputs, **kwargs)
        for hook in after:
            ran.append(hook)
            output = _leave(hook, layer, inputs, kwargs, output)
        return output
    except BaseException:
        for hook in after:
            if hook.always_call and hook not in ran:
                _leave(hook, layer, inputs, kwargs, None)
        raise


def _enter(hook: LayerHook, layer: Any, inputs: tuple[Any, ...], kwargs: Any) -> tuple[tuple[Any, ...], Any]:
    if hook.with_kwargs:
        returned = hook.call(layer, inputs, kwargs)
        if returned is None:
            return inputs, kwargs
        if not (isinstance(returned, tuple) and len(returned) == 2 and isinstance(returned[1], dict)):
            raise HookError(
                f"forward pre hook of {type(layer).__name__}: with_kwargs expected None or (inputs, kwargs), "
                f"got {type(returned).__name__}"
            )
        first, kwargs = returned
        return first if isinstance(first, tuple) else (first,), kwargs
    returned = hook.call(layer, inputs)
    if returned is None:
        return inputs, kwargs
    return returned if isinstance(returned, tuple) else (returned,), kwargs


def _leave(hook: LayerHook, layer: Any, inputs: tuple[Any, ...], kwargs: Any, output: Any) -> Any:
    given = (layer, inputs, kwargs, output) if hook.with_kwargs else (layer, inputs, output)
    returned = hook.call(*given)
    return output if returned is None else returned
