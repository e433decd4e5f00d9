"""Attribute values as keys, where values that compare equal are told apart: 0.0 from -0.0, [1] from [True]."""

from __future__ import annotations

from typing import Any


# Any, in this file: attribute values, and keys of them.
class _AsWritten:
    """A value as a key: it is another only if both are written alike."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value

    def __eq__(self, other: object) -> bool:
        return repr(self) == repr(other) if isinstance(other, _AsWritten) else bool(self.value == other)

    def __hash__(self) -> int:
        return hash(repr(self.value))

    def __repr__(self) -> str:
        return repr(self.value)


def as_key(value: Any) -> Any:
    """Returns a value as a key; one that only equals itself is its own."""
    if isinstance(value, (list, tuple)):
        return _AsWritten(tuple([of_key(as_key(item)) for item in value]))
    is_zero = value.__class__ is float and value == 0
    return _AsWritten(value) if is_zero or isinstance(value, complex) else value


def of_key(key: Any) -> Any:
    """Returns the value that a key stands for: of a list a tuple."""
    return key.value if key.__class__ is _AsWritten else key
