"""Frontends: the runtimes, as an op sees them from below. An op asks whose values it got; it never tests a mode."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

from opsdk.core.errors import MixedRuntimeError
from opsdk.define.opdef import OpDef


class Frontend(Protocol):
    """One runtime: dynamic tensors, Program variables, or bare arrays.

    Any: the values of a runtime are its own business; an op only passes them on.
    """

    name: str

    def accepts(self, value: Any) -> bool:
        """Whether a value belongs to this runtime."""
        ...

    def apply(self, opdef: OpDef, inputs: Sequence[Any], attrs: Mapping[str, Any]) -> Any:
        """Runs or records one call; there is one entry per tensor input of the schema."""
        ...


Apply = Callable[[OpDef, Sequence[Any], Mapping[str, Any]], Any]

APPLY: dict[type, Apply] = {}  # exact type of a value → the apply of its runtime, so that a call finds it in one step
FAST_PATHS: dict[type, Callable[[OpDef, Any], Any]] = {}  # the same for calls of one value and no attributes
_FRONTENDS: list[Frontend] = []
_fallback: list[Frontend] = []
_PLAIN: set[type] = set()  # exact types of values that belong to the fallback, whatever else is registered


def register_frontend(
    frontend: Frontend, *types: type, fast: Callable[[OpDef, Any], Any] | None = None
) -> None:
    """Makes a runtime known, with the exact types of its values.

    Args:
        frontend: the runtime.
        types: the types of its values.
        fast: does what `apply` does for calls of one value without attributes, where that can be had faster.
    """
    if frontend not in _FRONTENDS:
        _FRONTENDS.append(frontend)
    for kind in types:
        APPLY[kind] = frontend.apply
        if fast is not None:
            FAST_PATHS[kind] = fast


def register_fallback(
    frontend: Frontend, *types: type, fast: Callable[[OpDef, Any], Any] | None = None
) -> None:
    """Makes the runtime known that takes calls without any other runtime's value: bare arrays.

    Args:
        frontend: the runtime.
        types: exact types of values that no other runtime owns.
        fast: as for `register_frontend`.
    """
    _fallback[:] = [frontend]
    _PLAIN.update(types)
    for kind in types:
        if fast is not None:
            FAST_PATHS[kind] = fast


Over = Callable[[Callable[..., Any]], Callable[..., Any]]
_over_arrays: list[Over] = []


def register_values(over_arrays: Over) -> None:
    """Makes known how a function of a runtime's values becomes one of arrays, which have methods of their own."""
    _over_arrays[:] = [over_arrays]


def over_arrays(function: Callable[..., Any]) -> Callable[..., Any]:
    """Returns a function of a runtime's values, such as a composite is, as one of arrays."""
    return _over_arrays[0](function) if _over_arrays else function


# Any: the question is what it is.
def owner_of(value: Any) -> str | None:
    """Returns the name of the runtime that a value belongs to, or None."""
    return next((frontend.name for frontend in _FRONTENDS if frontend.accepts(value)), None)


def apply_slowly(opdef: OpDef, inputs: Sequence[Any], attrs: Mapping[str, Any]) -> Any:
    """Finds the runtime of a call whose values are lists, of subclasses, or bare arrays.

    Raises:
        MixedRuntimeError: values of two runtimes in one call.
    """
    if _are_plain(inputs):
        return _fallback[0].apply(opdef, inputs, attrs)
    owners: list[Frontend] = []
    for entry in inputs:
        for value in entry if isinstance(entry, (list, tuple)) else (entry,):
            for frontend in _FRONTENDS:
                if frontend.accepts(value) and frontend not in owners:
                    owners.append(frontend)
    if len(owners) > 1:
        raise MixedRuntimeError(
            f"{opdef.subject}: expected values of one runtime, "
            f"got {' and '.join(frontend.name for frontend in owners)} in one call"
        )
    return (owners or _fallback)[0].apply(opdef, inputs, attrs)


def _are_plain(inputs: Sequence[Any]) -> bool:
    for value in inputs:  # noqa: SIM110 - a loop, since this is on the way of every call on arrays
        if value.__class__ not in _PLAIN:
            return False
    return True
