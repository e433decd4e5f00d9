"""Functions of nets that take PyTorch's words beside their own, each argument in one of them."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from opsdk.core.errors import BindingError
from opsdk.core.spellings import own_word

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
        ours = own_word(name, own)
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
