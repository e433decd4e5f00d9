"""Forward hooks of a layer: functions that see, and may replace, what goes in and what comes out."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
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


class LayerHookHandle:
    """What registering a hook returns: it takes the hook off again, also at the end of a `with` block."""

    def __init__(self, hooks: LayerHooks) -> None:
        self._hooks = hooks

    def remove(self) -> bool:
        """Removes the hook; True the first time, False after."""
        return self._hooks.pop(self, None) is not None

    def __enter__(self) -> LayerHookHandle:
        return self

    def __exit__(self, *exception: object) -> None:
        self.remove()


LayerHooks = OrderedDict[LayerHookHandle, LayerHook]  # of one kind, in the order in which they run


def add_hook(hooks: LayerHooks, subject: str, hook: LayerHook, prepend: bool = False) -> LayerHookHandle:
    """Adds a hook, last, or first where `prepend` says so.

    Raises:
        HookError: it is not callable.
    """
    if not callable(hook.call):
        raise HookError(f"{subject}: expected a callable, got {type(hook.call).__name__}")
    handle = LayerHookHandle(hooks)
    hooks[handle] = hook
    hooks.move_to_end(handle, last=not prepend)
    return handle


def call_with_hooks(layer: Any, before: LayerHooks, after: LayerHooks, inputs: tuple[Any, ...], kwargs: Any) -> Any:
    """Runs a layer's forward between its hooks.

    A hook that was registered with `always_call` runs, with None for the output, even where the forward or a hook
    raised; what was raised then goes on.
    """
    ran: list[LayerHook] = []
    try:
        for hook in list(before.values()):
            inputs, kwargs = _enter(hook, layer, inputs, kwargs)
        output = layer.forward(*inputs, **kwargs)
        for hook in list(after.values()):
            ran.append(hook)
            output = _leave(hook, layer, inputs, kwargs, output)
        return output
    except BaseException:
        for hook in list(after.values()):
            if hook.always_call and hook not in ran:
                _leave(hook, layer, inputs, kwargs, None)
        raise


def _enter(hook: LayerHook, layer: Any, inputs: tuple[Any, ...], kwargs: Any) -> tuple[tuple[Any, ...], Any]:
    returned = hook.call(layer, inputs, kwargs) if hook.with_kwargs else hook.call(layer, inputs)
    if returned is None:
        return inputs, kwargs
    if hook.with_kwargs:
        if not (isinstance(returned, tuple) and len(returned) == 2 and isinstance(returned[1], dict)):
            raise HookError(
                f"forward pre hook of {type(layer).__name__}: with_kwargs expected None or (inputs, kwargs), "
                f"got {type(returned).__name__}"
            )
        returned, kwargs = returned
    return returned if isinstance(returned, tuple) else (returned,), kwargs


def _leave(hook: LayerHook, layer: Any, inputs: tuple[Any, ...], kwargs: Any, output: Any) -> Any:
    given = (layer, inputs, kwargs, output) if hook.with_kwargs else (layer, inputs, output)
    returned = hook.call(*given)
    return output if returned is None else returned
