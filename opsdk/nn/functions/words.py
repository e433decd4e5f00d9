"""Functions of nets that take PyTorch's words beside their own, each argument in one of them."""

from __future__ import annotations

import functools
import inspect
import sys
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from opsdk.autograd.tensor import Tensor
from opsdk.core.errors import BindingError, DTypeError
from opsdk.core.spellings import own_word

UNUSED = ("name",)  # without meaning, wherever it is given
# What takes `inplace=`, as in PyTorch: the last word, and by keyword alone where the functions have words of Paddle's.
_ACTIVATIONS = "celu elu hardsigmoid hardswish hardtanh leaky_relu mish relu relu6 rrelu selu silu threshold"
IN_PLACE = frozenset(_ACTIVATIONS.split())
IN_PLACE_BY_KEYWORD = frozenset({"alpha_dropout", "dropout", "dropout2d", "dropout3d"})

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
    """Makes a function take PyTorch's words beside its own, `inplace=` where PyTorch has it, and `name=`."""
    signature, name = inspect.signature(function), function.__name__
    own, subject = signature.parameters, function.__qualname__
    takes = name in IN_PLACE or name in IN_PLACE_BY_KEYWORD
    most = len(own) if name in IN_PLACE else sys.maxsize

    @functools.wraps(function)
    def called(*args: Any, **kwargs: Any) -> Any:
        if len(args) > most and "inplace" not in kwargs:
            args, kwargs = args[:-1], {**kwargs, "inplace": args[-1]}
        if kwargs:
            inplace = takes and kwargs.pop("inplace", False)
            kwargs = in_our_words(kwargs, own, subject)
            if inplace:
                return put(args[0] if args else kwargs[next(iter(own))], function(*args, **kwargs), name)
        return function(*args, **kwargs)

    if takes:
        kind = inspect.Parameter.KEYWORD_ONLY if name in IN_PLACE_BY_KEYWORD else None
        shown = [each for each in own.values() if each.kind is not inspect.Parameter.KEYWORD_ONLY]
        last = [each for each in own.values() if each.kind is inspect.Parameter.KEYWORD_ONLY]
        added = inspect.Parameter("inplace", kind or shown[-1].kind, default=False, annotation="bool")
        called.__signature__ = signature.replace(parameters=[*shown, added, *last])  # type: ignore[attr-defined]
    return called  # type: ignore[return-value]


def put(x: Any, made: Any, name: str) -> Any:
    """Puts what was computed of a tensor in its place, as `inplace=True` asks, and returns the tensor.

    Raises:
        DTypeError: it is no tensor: arrays are the caller's, and what is in a Program does not change.
        InPlaceError: as of the tensor's own methods.
    """
    if not isinstance(x, Tensor):
        raise DTypeError(
            f"{name}: inplace=True expected a tensor to change, got {type(x).__name__}; leave inplace out, and use "
            "what is returned"
        )
    return x if made is x else x._become(made, name)
