"""Layer: the base of every layer and model."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from opsdk.core.dtype import DTypeLike
from opsdk.nn.layer.casting import LayerCasting
from opsdk.nn.layer.hooks import LayerHook, LayerHookHandle, LayerHooks, call_with_hooks
from opsdk.nn.layer.state import LayerState
from opsdk.nn.layer.text import layer_text

Hook = Callable[..., Any]  # Any: takes and returns what the layer's forward does


class Layer(LayerState, LayerCasting):
    """Parameters, buffers and sublayers, and a `forward` that computes with them. A model is a layer too.

    A subclass calls `super().__init__()` first, sets parameters and sublayers as attributes, and defines `forward`.

    Args:
        name_scope: start of the layer's unique name; the class's name in snake case unless given.
        dtype: of the parameters that the layer creates.

    Example:
        >>> class Double(Layer):
        ...     def forward(self, x):
        ...         return x * 2.0
        >>> Double()
        Double()
    """

    training: bool

    def __init__(self, name_scope: str | None = None, dtype: DTypeLike = "float32") -> None:
        super().__init__(name_scope, dtype)
        self._pre_hooks = LayerHooks()
        self._post_hooks = LayerHooks()

    # Any: what a layer takes and returns is its own business.
    def forward(self, *inputs: Any, **kwargs: Any) -> Any:
        """Computes the layer's output; a subclass defines it. Calling it directly bypasses the hooks."""
        raise NotImplementedError(
            f"layer {type(self).__name__}: expected a forward method, the class defines none; define forward(self, ...)"
        )

    def __call__(self, *inputs: Any, **kwargs: Any) -> Any:
        """Runs the pre hooks, `forward` and the post hooks."""
        if self._pre_hooks or self._post_hooks:
            return call_with_hooks(self, self._pre_hooks, self._post_hooks, inputs, kwargs)
        return self.forward(*inputs, **kwargs)

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
        return self._pre_hooks.add("register_forward_pre_hook", LayerHook(hook, with_kwargs), prepend)

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
        return self._post_hooks.add("register_forward_post_hook", entry, prepend)

    register_forward_hook = register_forward_post_hook

    def extra_repr(self) -> str:
        """Returns what is printed between the brackets after the class's name."""
        return ""

    def __repr__(self) -> str:
        return layer_text(self)


Module = Layer
