"""Cases: what `check` takes, as values that a command or a test can find by name."""

from __future__ import annotations

import difflib
import inspect
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import ModuleType
from typing import Any, Protocol, TypeGuard, runtime_checkable

from gradcheck.checking import check
from gradcheck.errors import UsageError
from gradcheck.model.protocol import Forward, Vjp
from gradcheck.report import Report

_PARTS = ("forward", "vjp", "inputs")
_OPTIONS = tuple(p.name for p in inspect.signature(check).parameters.values() if p.kind is p.KEYWORD_ONLY)


@runtime_checkable
class AnyCase(Protocol):
    """What can be judged: a `Case`, or what `gradcheck.subjects` makes of a framework's function."""

    @property
    def forward(self) -> Forward:
        """The function."""

    @property
    def vjp(self) -> Vjp:
        """Its vector-Jacobian product."""

    @property
    def inputs(self) -> Sequence[object]:
        """The values to judge it at."""

    @property
    def options(self) -> Mapping[str, Any]:
        """Options of `check`."""

    def check(self, **changed: Any) -> Report:
        """Judges it."""


@dataclass(frozen=True, init=False, eq=False)
class Case:
    """A function, its vjp and the inputs to judge it at.

    `python -m gradcheck file.py` finds those that a file holds at module level, alone or in lists, tuples and dicts.

    Args:
        forward: as for `check`.
        vjp: as for `check`.
        inputs: as for `check`.
        options: any keyword of `check`, such as `domain` or `seed`.

    Raises:
        UsageError: `check` has no such option.
    """

    forward: Forward
    vjp: Vjp
    inputs: Sequence[object]
    options: Mapping[str, Any]  # Any: each option of check has its own type

    def __init__(self, forward: Forward, vjp: Vjp, inputs: Sequence[object], **options: Any) -> None:
        expect_options(options, "Case")
        for name, value in zip((*_PARTS, "options"), (forward, vjp, inputs, options), strict=True):
            object.__setattr__(self, name, value)

    def check(self, **changed: Any) -> Report:
        """Judges the case.

        Args:
            changed: options of `check` that come before those of the case.

        Raises:
            UsageError: as for `check`.
        """
        return check(self.forward, self.vjp, self.inputs, **{**self.options, **changed})


def expect_options(names: Iterable[str], subject: str, *more: str) -> None:
    """Checks that `check` has options of these names.

    Args:
        names: of options.
        subject: where they were given, for the message.
        more: names that are accepted besides.

    Raises:
        UsageError: it has not; the message has the nearest name.
    """
    known = (*_OPTIONS, *more)
    for name in names:
        if name not in known:
            near = difflib.get_close_matches(name, known, n=1) or [", ".join(known)]
            raise UsageError(f"{subject}: expected options of gradcheck.check, got {name!r}; meant {near[0]}?")


def is_case(value: object) -> TypeGuard[AnyCase]:
    """Whether an object is a case already; a class or a module never is."""
    return not isinstance(value, (type, ModuleType)) and isinstance(value, AnyCase)


def case_of(value: object, subject: str) -> AnyCase:
    """Gives the case that an object is or describes.

    Args:
        value: a case; an object with the attributes forward, vjp and inputs, and any option of `check`; or a mapping
            with those keys.
        subject: what the object is called, for the message.

    Raises:
        UsageError: it is none of these.
    """
    if is_case(value):
        return value
    if isinstance(value, Mapping) and all(part in value for part in _PARTS):
        return Case(**value)
    if all(hasattr(value, part) for part in _PARTS):
        return Case(**{name: getattr(value, name) for name in (*_PARTS, *_OPTIONS) if hasattr(value, name)})
    raise UsageError(
        f"{subject}: expected a case, got {type(value).__name__}; write gradcheck.Case(forward, vjp, inputs), or give "
        "it the attributes forward, vjp and inputs"
    )
