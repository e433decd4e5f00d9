"""AttrDecl: an attribute of an op, and the check of its values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from opsdk.core.errors import AttributeValueError, SchemaError
from opsdk.core.fit import shown
from opsdk.core.spec import OpenSize
from opsdk.define.identity.callables import value_text
from opsdk.define.schema.attr_type import AttrType, Range
from opsdk.define.schema.scalars import BAD, SPEC, TYPES


class _Required:
    """The default of an attribute that has none."""

    def __repr__(self) -> str:
        return "REQUIRED"


REQUIRED = _Required()


@dataclass(frozen=True)
class AttrDecl:
    """One attribute: its type, and its default.

    The default is Any: it is a value of the declared type, or REQUIRED.
    """

    name: str
    type: AttrType
    default: Any = REQUIRED

    def __post_init__(self) -> None:
        if self.type.is_random:
            object.__setattr__(self, "default", None)  # that is the global generator

    @property
    def is_required(self) -> bool:
        """Whether a call must give the attribute."""
        return self.default is REQUIRED

    def with_default(self, value: Any, subject: str) -> AttrDecl:
        """Returns the attribute with a default.

        Raises:
            AttributeValueError: the value is none of the type; a generator has no default but None, the global one, and
            a callable none but None, where it may be left out.
        """
        if self.type.is_random and value is not None:
            raise AttributeValueError(
                f"{subject}: default of {self.name!r} expected None, the global generator, got {value!r}"
            )
        if self.type.is_callable and value is not None:
            raise AttributeValueError(
                f"{subject}: default of {self.name!r} expected None, of Callable?, since a schema has no text for a "
                f"callable, got {value_text(value)}"
            )
        return replace(self, default=None if self.type.is_random else coerce(self, value, subject))

    def within(self, low: float | None, high: float | None, subject: str) -> AttrDecl:
        """Returns the attribute with its numbers between bounds, which belong to it.

        Args:
            low: the least value; None is no bound.
            high: the greatest.
            subject: who says so, for messages.

        Raises:
            SchemaError: its type has bounds already, no number lies between, or the default lies outside.
        """
        subject = f"{subject}, domain of {self.name!r}"
        if self.type.range is not None:
            raise SchemaError(f"{subject}: expected bounds in one place, its type has some, {self.type}")
        try:
            made = replace(self, type=replace(self.type, range=Range(low, high)))
        except SchemaError as error:
            raise SchemaError(f"{subject}: {error}") from error
        try:
            return made if self.is_required else made.with_default(self.default, subject)
        except AttributeValueError as error:
            raise SchemaError(str(error)) from error

    def __str__(self) -> str:
        text = f"{self.type} {self.name}"
        return text if self.is_required else f"{text}={literal(self.default)}"


# Any, below: a value of an attribute: of one of the types of TYPES, a tuple of them, or None; or what was given.
def literal(value: Any) -> str:
    """Returns a default as the schema language writes it."""
    if isinstance(value, tuple):
        return "[" + ", ".join(literal(item) for item in value) + "]"
    if isinstance(value, np.dtype):
        return str(value.name)
    return value_text(value)


def coerce(decl: AttrDecl, value: Any, subject: str) -> Any:
    """Returns `value` in the attribute's own type: NumPy scalars become Python's, lists become tuples.

    Raises:
        AttributeValueError: the value is not of the declared type, or lies outside of its range or choices.
        ProgramError: it is, or holds, a size that is known only when a Program runs.
    """
    kind = decl.type
    if value is None and kind.is_optional:
        return None
    made = kind.convert(value)
    if made is BAD:
        raise _refused(decl, value, subject)
    if kind.is_bounded and kind.outside(made):
        raise _outside(decl, value, made, subject)
    return made


def _outside(decl: AttrDecl, value: Any, made: Any, subject: str) -> AttributeValueError:
    """Returns the error of a value that is of the type, and not among those that it may have."""
    kind = decl.type
    at = kind.outside(made)[0]
    item, where = (made[at], f" at position {at}") if kind.is_list else (made, "")
    remedy = kind.nearest(made)
    if remedy is None and not decl.is_required:  # an open bound has no number beside it
        remedy = list(decl.default) if isinstance(decl.default, tuple) else decl.default
    write = "" if remedy is None else f"; write {decl.name}={remedy!r}"
    return AttributeValueError(
        f"{subject}: attribute {decl.name!r} expected {kind}, got {item!r}{where}{write}",
        details={"attribute": decl.name, "got": value},
    )


def _refused(decl: AttrDecl, value: Any, subject: str) -> AttributeValueError:
    """Returns the error of a value that is not of the type.

    Raises:
        ProgramError: it is, or holds, a size that is known only when a Program runs.
    """
    kind, scalar = decl.type, TYPES[decl.type.scalar]
    for item in value if isinstance(value, (list, tuple)) else (value,):
        if isinstance(item, OpenSize):
            raise item.unknown(f"a number for {subject}, attribute {decl.name!r}")
        is_whole = isinstance(item, (int, np.integer)) and not isinstance(item, bool)
        if is_whole and scalar.holds and scalar.convert(item) is BAD:
            return AttributeValueError(
                f"{subject}: attribute {decl.name!r} expected {kind}, {scalar.holds}, got {shown(item)}; pass it "
                "as an input of its own dtype",
                details={"attribute": decl.name, "got": value},
            )
    if kind.is_list and isinstance(value, tuple):
        value = list(value)  # as a list is written, of which a call has made a tuple
    remedy = f"write {decl.name}={kind.example()} or the like"
    if kind.is_list and kind.scalar == "int" and isinstance(value, list) and any(item is None for item in value):
        sizes = "None is a size that only a run can tell, as in x_spec.shape"
        remedy = f"write {decl.name}=x.shape, with the value itself: {sizes}"
    wanted = f"an {scalar.annotation}" if kind.scalar == SPEC else kind
    return AttributeValueError(
        f"{subject}: attribute {decl.name!r} expected {wanted}, got {value!r} ({type(value).__name__}); "
        f"{remedy}",
        details={"attribute": decl.name, "got": value},
    )


def freeze(attrs: dict[str, Any], lists: Sequence[str]) -> None:
    """Makes tuples of the lists and arrays among the attributes of a call: plans and nodes keep what owners may change.

    Args:
        attrs: those given, in a dict of the call's own.
        lists: names of the attributes that are lists.
    """
    for name in lists:
        value = attrs.get(name)
        if isinstance(value, list):
            attrs[name] = tuple(value)
        elif isinstance(value, np.ndarray) and value.ndim == 1:
            attrs[name] = tuple(value.tolist())
