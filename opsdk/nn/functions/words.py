"""PyTorch's words for arguments that Paddle has in other words, in one table."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from opsdk.core.errors import BindingError

# By PyTorch's word Paddle's, of which the first that a function has is meant.
WORDS = {
    "input": ("x",),
    "target": ("label", "labels"),
    "targets": ("labels",),
    "dim": ("axis",),
    "eps": ("epsilon",),
    "tau": ("temperature",),
    "logits": ("x",),
    "var": ("variance",),
    "anchor": ("input",),
    "kernel_size": ("kernel_sizes",),
    "stride": ("strides",),
    "padding": ("paddings",),
    "dilation": ("dilations",),
    "output_size": ("output_sizes",),
    "size": ("out_shape",),
    "pad": ("padding",),
    "x1": ("x",),
    "x2": ("y",),
    "unflattened_size": ("shape",),
    "input1": ("x1",),
    "input2": ("x2",),
    "target_lengths": ("label_lengths",),
    "min_val": ("min",),
    "max_val": ("max",),
    "lambd": ("threshold",),
    "start_dim": ("start_axis",),
    "end_dim": ("stop_axis",),
}
UNUSED = ("inplace", "name")  # without meaning, wherever they are given

Function = TypeVar("Function", bound=Callable[..., Any])


# Any, in this file: arguments of every kind.
def in_our_words(given: Mapping[str, Any], own: Mapping[str, Any], subject: str) -> dict[str, Any]:
    """Returns keyword arguments by the names that a function has for them.

    Args:
        given: as they were written.
        own: the function's parameters.
        subject: whose they are.

    Raises:
        BindingError: one was given in both words.
    """
    made = {}
    for name, value in given.items():
        ours = name if name in own else next((word for word in WORDS.get(name, ()) if word in own), name)
        if ours in made or (ours != name and ours in given):
            raise BindingError(f"{subject}: expected {ours} once, got it as {name} too")
        made[ours] = value
    return {name: value for name, value in made.items() if name in own or name not in UNUSED}


def in_both_words(function: Function) -> Function:
    """Makes a function take PyTorch's words beside its own, and what has no meaning here."""
    own = inspect.signature(function).parameters

    @functools.wraps(function)
    def called(*args: Any, **kwargs: Any) -> Any:
        if kwargs:
            kwargs = in_our_words(kwargs, own, function.__qualname__)
        return function(*args, **kwargs)

    return called  # type: ignore[return-value]
