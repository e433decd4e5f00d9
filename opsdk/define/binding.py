"""Binding by name: which inputs, outputs, cotangents and attributes a user's function asks for."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any

from opsdk.core.errors import BindingError
from opsdk.core.suggest import alternatives


# Any: a callable of any signature; only its parameter names matter here.
def parameters_of(function: Callable[..., Any]) -> tuple[str, ...]:
    """Returns the parameter names of a callable, in order.

    Raises:
        BindingError: the callable has no readable signature, or takes `*args` or `**kwargs`, which name nothing.
    """
    target = getattr(function, "py_func", function)  # a compiled Numba dispatcher keeps the Python function here
    try:
        parameters = inspect.signature(target).parameters.values()
    except (TypeError, ValueError) as error:
        raise BindingError(f"{function!r}: expected a readable signature, since arguments bind by name") from error
    for parameter in parameters:
        if parameter.kind is parameter.VAR_KEYWORD:
            raise BindingError(f"{_name(function)}: expected named parameters, got '**{parameter.name}'")
    return tuple(parameter.name for parameter in parameters)


def check_names(function: Callable[..., Any], names: Sequence[str], known: Sequence[str], role: str) -> None:
    """Checks that a function asks only for names that exist.

    Raises:
        BindingError: a parameter names nothing; the message lists what could have been meant.
    """
    for name in names:
        if name not in known:
            raise BindingError(
                f"{role} {_name(function)}({', '.join(names)}): nothing is called {name!r}; "
                f"there are {alternatives(name, known)}",
                details={"parameter": name, "known": tuple(known)},
            )


def _name(function: Callable[..., Any]) -> str:
    return getattr(function, "__name__", type(function).__name__)


def reorder(function: Callable[..., Any], names: Sequence[str], tensors: Sequence[str]) -> Callable[..., Any]:
    """Returns a callable that takes tensors by position in the order of `tensors` and attributes by keyword.

    The function itself is returned when its own parameters already stand so, which is the usual case.
    """
    parameters = inspect.signature(getattr(function, "py_func", function)).parameters.values()
    leading = list(names[: len(tensors)])
    free = not any(p.kind in (p.POSITIONAL_ONLY, p.VAR_POSITIONAL) for p in parameters)
    if leading == list(tensors) and (free or len(names) == len(tensors)):
        variadic = [p.name for p in parameters if p.kind is p.VAR_POSITIONAL]
        if not variadic:
            return function

        def spread(*values: Any, **attrs: Any) -> Any:
            return function(*values[:-1], *values[-1], **attrs)

        return spread

    def by_name(*values: Any, **attrs: Any) -> Any:
        bound = {**dict(zip(tensors, values, strict=True)), **attrs}
        return function(*(bound[name] for name in names))

    return by_name
