"""A framework's function in the form that the judge takes, and the arguments that it is called with."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from gradcheck.checking import check
from gradcheck.errors import UsageError
from gradcheck.model.dtypes import Array
from gradcheck.model.protocol import Forward, Vjp
from gradcheck.report import Report


@dataclass(frozen=True)
class Case:
    """What `gradcheck.check` takes.

    Args:
        forward: forward(*inputs) -> tuple of arrays.
        vjp: vjp(inputs, outputs, cotangents) -> one gradient or None per input.
        inputs: the arrays among the function's arguments, in their order.
        options: keyword arguments of `gradcheck.check` that belong to the function, such as its names and its jvp.
        notes: sentences about what cannot be judged of this function; they enter the coverage.
    """

    forward: Forward
    vjp: Vjp
    inputs: tuple[Array, ...]
    options: Mapping[str, Any] = field(default_factory=dict)  # Any: whatever check takes
    notes: tuple[str, ...] = ()

    def check(self, **options: Any) -> Report:  # Any: check reads and judges them
        """Judges the function; `options` are those of `gradcheck.check` and win over the case's own."""
        report = check(self.forward, self.vjp, self.inputs, **{**self.options, **options})
        return replace(report, coverage=replace(report.coverage, notes=(*report.coverage.notes, *self.notes)))


@dataclass(frozen=True)
class Arguments:
    """The arguments of a function: arrays that the judge varies, between values that stay as they are.

    Args:
        constants: one value per argument; None where an array goes.
        places: the positions of the arrays.
        arrays: the arrays as given.
    """

    constants: tuple[object, ...]
    places: tuple[int, ...]
    arrays: tuple[Array, ...]

    @classmethod
    def read(cls, inputs: Sequence[object], read: Callable[[object], object | None]) -> Arguments:
        """Sorts the arguments; `read` gives the array for one that is varied, and None for one that is not.

        Raises:
            UsageError: `inputs` is no sequence, or holds nothing to vary.
        """
        if not isinstance(inputs, (tuple, list)):
            raise UsageError(f"inputs: expected a tuple of arguments, got {type(inputs).__name__}; write (x,)")
        found: dict[int, Any] = {k: array for k, value in enumerate(inputs) if (array := read(value)) is not None}
        if not found:
            kinds = ", ".join(type(value).__name__ for value in inputs) or "nothing"
            raise UsageError(f"inputs: expected a tensor or an array, got {kinds}; pass the values to check at")
        constants = tuple(None if k in found else value for k, value in enumerate(inputs))
        return cls(constants, tuple(found), tuple(found.values()))

    def fill(self, values: Sequence[object]) -> list[object]:
        """Gives all arguments, with `values` where the arrays go."""
        filled = list(self.constants)
        for place, value in zip(self.places, values, strict=True):
            filled[place] = value
        return filled

    def names(self, parameters: Sequence[str]) -> list[str]:
        """Gives the arrays' names out of those of all parameters; "input 2" where the third has none."""
        return [parameters[k] if k < len(parameters) else f"input {k}" for k in self.places]


def parameter_names(function: object) -> list[str]:
    """Gives the names of the positional parameters, as far as Python knows them."""
    if not callable(function):
        return []
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return []
    return [p.name for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]


def as_tensors(result: object, kind: type | tuple[type, ...], what: str) -> tuple[Any, ...]:
    """Gives the tensors that a function returned, one or a tuple; other values beside them are left out.

    Raises:
        UsageError: there is none; dictionaries and nested tuples are not searched.
    """
    values = tuple(result) if isinstance(result, (tuple, list)) else (result,)
    tensors = tuple(value for value in values if isinstance(value, kind))
    if not tensors:
        given = ", ".join(type(value).__name__ for value in values) or "nothing"
        raise UsageError(f"fn: expected {what}, or a tuple of them, as its result, got {given}; return the tensors")
    return tensors


def first_failure(attempt: Callable[[], object]) -> str | None:
    """Says in one line why a call raises; None if it does not."""
    try:
        attempt()
    except Exception as error:  # whatever the framework raises for what it does not support
        return f"{type(error).__name__}: {error}".split("\n")[0]
    return None
