"""Frontends: the runtimes, as an op sees them from below. An op asks whose values it got; it never tests a mode.

And trials: how each runtime runs a call and its gradients, so that `verify` can hold it to what bare arrays give.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from opsdk.core.current import Current
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

Through = Callable[[Apply], Apply]
_through: list[Through] = []  # what stands before the runtimes while calls are diverted; one, or none
_aside: dict[type, Callable[[OpDef, Any], Any]] = {}  # the fast paths meanwhile


def register_frontend(
    frontend: Frontend, *types: type, fast: Callable[[OpDef, Any], Any] | None = None, is_fallback: bool = False
) -> None:
    """Makes a runtime known, with the exact types of its values.

    Args:
        frontend: the runtime.
        types: the types of its values.
        fast: does what `apply` does for calls of one value without attributes, where that can be had faster.
        is_fallback: it takes the calls without any other runtime's value, such as bare arrays; the last such one does.
    """
    if is_fallback:
        _fallback[:] = [frontend]
        _PLAIN.update(types)
    else:
        if frontend not in _FRONTENDS:
            _FRONTENDS.append(frontend)
        APPLY.update(dict.fromkeys(types, _taken(frontend.apply)))
    if fast is not None:
        is_aside = _through and not is_fallback
        (_aside if is_aside else FAST_PATHS).update(dict.fromkeys(types, fast))


def divert(through: Through | None) -> None:
    """Puts what a function makes of it before each runtime's `apply`, in the place of its fast path; None undoes that.

    What stands there has the `apply` as its `__wrapped__`. Calls without values of a runtime stay as they are.
    """
    if through is None:
        for kind, apply in [*APPLY.items()]:
            APPLY[kind] = getattr(apply, "__wrapped__", apply)
        FAST_PATHS.update(_aside)
        _aside.clear()
        _through.clear()
        return
    _through[:] = [through]
    for kind in FAST_PATHS.keys() - _PLAIN:
        _aside[kind] = FAST_PATHS.pop(kind)
    for kind, apply in [*APPLY.items()]:
        APPLY[kind] = through(apply)


def _taken(apply: Apply) -> Apply:
    return _through[0](apply) if _through else apply


class Maker(Protocol):
    """Makes values of a runtime where the body of a composite makes some of nothing: numbers, constants.

    Any: the values of a runtime, and arrays.
    """

    def apply(self, opdef: OpDef, inputs: Sequence[Any], attrs: Mapping[str, Any]) -> Any:
        """Runs or records a call of an op that has no inputs."""
        ...

    def constant(self, array: Any) -> Any:
        """Returns an array as a value of the runtime."""
        ...


MAKER: Current[Maker | None] = Current("composite", None)  # of the runtime whose values the body is being run on


# Any: a function of whatever arguments and result.
def at_once(function: Callable[..., Any], *args: Any, **options: Any) -> Any:
    """Calls a function that makes values of nothing: arrays and tensors, also where a Program is being built."""
    if MAKER.get() is None:
        return function(*args, **options)
    with MAKER.held(None):
        return function(*args, **options)


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
    for value in inputs:  # a loop, since this is on the way of every call on arrays
        if value.__class__ not in _PLAIN:
            break
    else:
        return ((None if inputs else MAKER.get()) or _fallback[0]).apply(opdef, inputs, attrs)
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
    if owners and _through:
        return _taken(owners[0].apply)(opdef, inputs, attrs)
    return (owners or _fallback)[0].apply(opdef, inputs, attrs)


def dispatch(opdef: OpDef, inputs: Sequence[Any], attrs: Mapping[str, Any]) -> Any:
    """Hands a call, with one entry per input, to the runtime of its values, as a call of the op does."""
    for value in inputs:
        apply = APPLY.get(value.__class__)
        if apply is not None:
            return apply(opdef, inputs, attrs)
    return apply_slowly(opdef, inputs, attrs)


OUTPUTS = "outputs"
BACKWARD = "backward"


# Any, in this file: arrays, which this floor does not touch, and the values of a runtime.
@dataclass(frozen=True)
class Tried:
    """A call that a runtime is tried on; lists of tensors are flat in all of it.

    Args:
        opdef: the op.
        arrays: its inputs, which belong to the trial.
        asked: per input whether its gradient is compared.
        changed: per input whether the op changes it in place; one whose gradient is asked for has to be no leaf then.
        cotangents: per result its cotangent, None where it has none.
        is_partial: whether the call gives None in the place of an output, which has no cotangent then.
        apply: calls the op on values of the runtime, one per input, and gives those of its results: its outputs, then
            the inputs that it changed and that no output hands on.
    """

    opdef: OpDef
    arrays: Sequence[Any]
    asked: Sequence[bool]
    changed: Sequence[bool]
    cotangents: Sequence[Any]
    is_partial: bool
    apply: Callable[[Sequence[Any]], Sequence[Any]]


Run = Callable[[Tried], Generator[tuple[str, Sequence[Any]], None, None]]


@dataclass(frozen=True)
class Attempt:
    """One way in which a runtime runs a call.

    Args:
        run: yields arrays as they come to be: `OUTPUTS`; a check's name with the gradients of the inputs that are
            asked for, None where there is none; and `BACKWARD` with nothing where the backward begins.
        permitted: what it may raise, since an op need not take this way; the next one is tried then.
        noted: of those what is noted.
        need: what the op needs where it is, as `needs known sizes`.
        is_extra: whether the next one is tried where it succeeds, too.
    """

    run: Run
    permitted: tuple[type[Exception], ...] = ()
    noted: tuple[type[Exception], ...] = ()
    need: str = ""
    is_extra: bool = False


class Trial(Protocol):
    """How a runtime is tried.

    Attributes:
        check: the name of what is found of it, as `dynamic`.
        where: where its calls run, in a message, as `on tensors`.
        has_float32: whether a call as networks make them, in float32, is tried beside the others.
    """

    check: str
    where: str
    has_float32: bool

    def takes(self, opdef: OpDef) -> bool:
        """Whether there is anything of an op to compare."""
        ...

    def differentiates(self, opdef: OpDef) -> bool:
        """Whether gradients of an op are compared too."""
        ...

    def attempts(self, arrays: Sequence[Any]) -> Sequence[Attempt]:
        """Returns the ways to run a call of some inputs, the first one first."""
        ...


TRIALS: list[Trial] = []


def register_trial(trial: Trial) -> None:
    """Makes known how a runtime is tried; one of the same check takes the place of the earlier one."""
    TRIALS[:] = [*(known for known in TRIALS if known.check != trial.check), trial]
