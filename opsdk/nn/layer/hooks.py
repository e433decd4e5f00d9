"""Hooks of a layer: functions that see, and may replace, what goes in and what comes out, forward and backward."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from opsdk.core.errors import HookError
from opsdk.nn.layer.backward_hooks import Gates

# Any, in this file: a hook takes and returns whatever the layer's forward takes and returns.

Hook = Callable[..., Any]


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


HOOKS = ("_pre_hooks", "_post_hooks", "_gradient_pre_hooks", "_gradient_hooks", "_state_pre_hooks", "_state_hooks")


class Hooked:
    """The hooks of a layer: on its inputs and outputs, on their gradients, on its state on the way out."""

    _hooked: bool  # whether one was registered, ever
    _pre_hooks: LayerHooks
    _post_hooks: LayerHooks
    _gradient_pre_hooks: LayerHooks
    _gradient_hooks: LayerHooks
    _state_pre_hooks: LayerHooks
    _state_hooks: LayerHooks

    def register_forward_pre_hook(
        self, hook: Hook, *, prepend: bool = False, with_kwargs: bool = False
    ) -> LayerHookHandle:
        """Registers a function that sees what goes in: `hook(layer, inputs)`, with the inputs as a tuple.

        Args:
            hook: returns None to keep the inputs, a tuple of new ones, or one new one.
            prepend: runs before the hooks that are there.
            with_kwargs: called as `hook(layer, inputs, kwargs)`; returns None or `(inputs, kwargs)`.

        Returns:
            A handle whose `remove()` takes the hook off.

        Raises:
            HookError: the hook is not callable.
        """
        return self._add_hook("_pre_hooks", "register_forward_pre_hook", LayerHook(hook, with_kwargs), prepend)

    def register_forward_post_hook(
        self, hook: Hook, *, prepend: bool = False, with_kwargs: bool = False, always_call: bool = False
    ) -> LayerHookHandle:
        """Registers a function that sees what comes out: `hook(layer, inputs, output)`.

        Args:
            hook: returns None to keep the output, or a new one.
            prepend: runs before the hooks that are there.
            with_kwargs: called as `hook(layer, inputs, kwargs, output)`.
            always_call: runs even where the forward raised, with None for the output.

        Returns:
            A handle whose `remove()` takes the hook off.

        Raises:
            HookError: the hook is not callable.
        """
        entry = LayerHook(hook, with_kwargs, always_call)
        return self._add_hook("_post_hooks", "register_forward_post_hook", entry, prepend)

    register_forward_hook = register_forward_post_hook

    def register_full_backward_hook(self, hook: Hook, *, prepend: bool = False) -> LayerHookHandle:
        """Registers a function that sees the gradients of a call: `hook(layer, grad_inputs, grad_outputs)`.

        It runs once in each backward, when all gradients of the inputs are there; of calls on tensors.

        Args:
            hook: returns None, or gradients of the inputs to go on with; both come as tuples, None for no gradient.
            prepend: runs before the hooks that are there.

        Returns:
            A handle whose `remove()` takes the hook off, for later calls.

        Raises:
            HookError: the hook is not callable; in the backward, it returned something else than gradients.
        """
        return self._add_hook("_gradient_hooks", "register_full_backward_hook", LayerHook(hook), prepend)

    register_backward_hook = register_full_backward_hook

    def register_full_backward_pre_hook(self, hook: Hook, *, prepend: bool = False) -> LayerHookHandle:
        """Registers a function that sees the gradients of the outputs as they come: `hook(layer, grad_outputs)`.

        It returns None, or gradients in their place; the rest is as of `register_full_backward_hook`.

        Raises:
            HookError: the hook is not callable; in the backward, it returned something else than gradients.
        """
        return self._add_hook("_gradient_pre_hooks", "register_full_backward_pre_hook", LayerHook(hook), prepend)

    def _add_hook(self, store: str, subject: str, hook: LayerHook, prepend: bool) -> LayerHookHandle:
        handle = add_hook(self.__dict__[store], subject, hook, prepend)
        self.__dict__["_hooked"] = True  # and stays so: a call looks at one thing
        return handle

    def register_state_dict_hook(self, hook: Callable[[dict[str, Any]], Any]) -> LayerHookHandle:
        """Registers a function that sees `state_dict()`'s result on the way out, and may replace it."""
        return add_hook(self._state_hooks, "register_state_dict_hook", LayerHook(hook))

    def register_state_dict_pre_hook(self, hook: Callable[[Any, str, bool], Any]) -> LayerHookHandle:
        """Registers a function that runs before `state_dict` gathers: `hook(layer, prefix, keep_vars)`."""
        return add_hook(self._state_pre_hooks, "register_state_dict_pre_hook", LayerHook(hook))


def call_with_hooks(layer: Any, inputs: tuple[Any, ...], kwargs: Any) -> Any:
    """Runs a layer's forward between its hooks.

    A hook that was registered with `always_call` runs, with None for the output, even where the forward or a hook
    raised; what was raised then goes on.
    """
    ran: list[LayerHook] = []
    before, after = layer._pre_hooks, layer._post_hooks
    on_gradients = [
        [hook.call for hook in each.values()] for each in (layer._gradient_pre_hooks, layer._gradient_hooks)
    ]
    gates = Gates(layer, *on_gradients) if any(on_gradients) else None
    try:
        for hook in list(before.values()):
            inputs, kwargs = _enter(hook, layer, inputs, kwargs)
        output = layer.forward(*(inputs if gates is None else gates.enter(inputs)), **kwargs)
        for hook in list(after.values()):
            ran.append(hook)
            output = _leave(hook, layer, inputs, kwargs, output)
        return output if gates is None else gates.leave(output)
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
