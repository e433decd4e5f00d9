"""Attribute values as keys, where values that compare equal are told apart: 0.0 from -0.0, [1] from [True]."""

from __future__ import annotations

from typing import Any


class _AsWritten:
    """A value as a key: it is another only if both are written alike."""

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        return repr(self) == repr(other) if other.__class__ is self.__class__ else super().__eq__(other)

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return hash(repr(self))


class _Values(_AsWritten, tuple[Any, ...]):
    """The values of a list, as a key."""

    __slots__ = ()


class _Float(_AsWritten, float):
    """A zero, as a key."""

    __slots__ = ()


class _Complex(_AsWritten, complex):
    """A complex number, as a key."""

    __slots__ = ()


# Any, in this file: attribute values, and keys of them.
def as_key(value: Any) -> Any:
    """Returns a value as a key; one that only equals itself is its own."""
    if isinstance(value, (list, tuple)):
        return _Values(map(as_key, value))
    if isinstance(value, complex):
        return _Complex(value)
    return _Float(value) if value.__class__ is float and value == 0 else value


def of_key(key: Any) -> Any:
    """Returns the value that a key stands for: of a list a tuple."""
    if key.__class__ is _Values:
        return tuple(map(of_key, key))
    return complex(key) if key.__class__ is _Complex else float(key) if key.__class__ is _Float else key
