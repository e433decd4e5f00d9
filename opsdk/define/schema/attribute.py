"""Attributes: the typed, non-tensor parameters of an op, and the check of their values."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from opsdk.core.dtype import as_dtype
from opsdk.core.errors import AttributeValueError, DTypeError
from opsdk.core.fit import shown
from opsdk.core.spec import OpenSize

SCALARS = ("int", "float", "bool", "str", "complex", "dtype")
_EXAMPLES = {"int": "2", "float": "0.5", "bool": "True", "str": '"text"', "complex": "1j", "dtype": '"float32"'}
TYPE = re.compile(rf"({'|'.join(SCALARS)})(\[\])?(\?)?")


class _Required:
    """The default of an attribute that has none."""

    def __repr__(self) -> str:
        return "REQUIRED"


REQUIRED = _Required()


@dataclass(frozen=True)
class AttrDecl:
    """One attribute: a scalar type, possibly a list (`int[]`) or optional (`int?`), and its default.

    The default is Any: it is a value of the declared type, or REQUIRED.
    """

    name: str
    type: str
    default: Any = REQUIRED

    @property
    def is_required(self) -> bool:
        """Whether a call must give the attribute."""
        return self.default is REQUIRED

    def __str__(self) -> str:
        text = f"{self.type} {self.name}"
        return text if self.is_required else f"{text}={literal(self.default)}"


# Any, here and below: a value of one of the types of SCALARS, a tuple of them, or None.
def literal(value: Any) -> str:
    """Returns a default as the schema language writes it."""
    if isinstance(value, tuple):
        return "[" + ", ".join(literal(item) for item in value) + "]"
    if isinstance(value, np.dtype):
        return str(value.name)
    return repr(value)


def coerce(decl: AttrDecl, value: Any, subject: str) -> Any:
    """Returns `value` in the attribute's own type: NumPy scalars become Python's, lists become tuples.

    Raises:
        AttributeValueError: the value is not of the declared type.
        ProgramError: it is, or holds, a size that is known only when a Program runs.
    """
    scalar, is_list, is_optional = parts_of(decl.type)
    if value is None and is_optional:
        return None
    if is_list:
        is_plain = scalar == "int" and value.__class__ in (list, tuple) and set(map(type, value)) <= _INTEGERS
        if is_plain and (not value or -_END <= min(value) <= max(value) < _END):
            return tuple(value)
        if isinstance(value, (list, tuple)) or (isinstance(value, np.ndarray) and value.ndim == 1):
            items = [_scalar(scalar, item) for item in value]
            if not any(item is _BAD for item in items):  # `in` would ask a dtype whether it equals _BAD
                return tuple(items)
        elif _scalar(scalar, value) is not _BAD and scalar == "int":
            return (_scalar(scalar, value),)  # axis=1 where axes are a list, as NumPy has it
    else:
        item = _scalar(scalar, value)
        if item is not _BAD:
            return item
    for item in value if isinstance(value, (list, tuple)) else (value,):
        if isinstance(item, OpenSize):
            raise item.unknown(f"a number for {subject}, attribute {decl.name!r}")
        is_whole = isinstance(item, (int, np.integer)) and not isinstance(item, bool)
        if is_whole and scalar in _HELD and _scalar(scalar, item) is _BAD:
            raise AttributeValueError(
                f"{subject}: attribute {decl.name!r} expected {decl.type}, {_HELD[scalar]}, got {shown(item)}; pass it "
                "as an input of its own dtype",
                details={"attribute": decl.name, "got": value},
            )
    if is_list and isinstance(value, tuple):
        value = list(value)  # as a list is written, of which a call has made a tuple
    raise AttributeValueError(
        f"{subject}: attribute {decl.name!r} expected {decl.type}, got {value!r} ({type(value).__name__}); "
        f"write {decl.name}={f'[{_EXAMPLES[scalar]}]' if is_list else _EXAMPLES[scalar]} or the like",
        details={"attribute": decl.name, "got": value},
    )


# Any: attribute values, not looked at yet.
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


@cache
def parts_of(text: str) -> tuple[str, bool, bool]:
    """Returns the scalar type of an attribute's, whether it is a list of such, and whether it may be None."""
    match = TYPE.fullmatch(text)
    assert match is not None, text  # the schema was checked when it was made
    scalar, is_list, is_optional = match.groups()
    return scalar, bool(is_list), bool(is_optional)


_BAD = object()
_INTEGERS = {int}
_END = 2**63  # of int, which is 64 bits wide in every kernel
_HELD = {
    "int": "a whole number from -2**63 to 2**63 - 1",
    "float": "a number that float64 holds",
    "complex": "a number that complex128 holds",
}
_NUMBERS: dict[str, tuple[Any, tuple[type, ...]]] = {
    "float": (float, (int, float, np.integer, np.floating)),
    "complex": (complex, (int, float, complex, np.number)),
}


def _scalar(kind: str, value: Any) -> Any:
    is_bool = isinstance(value, (bool, np.bool_))
    if kind == "bool":
        return bool(value) if is_bool else _BAD
    if kind == "int":
        return int(value) if isinstance(value, (int, np.integer)) and not is_bool and -_END <= value < _END else _BAD
    if kind in _NUMBERS:
        made, kinds = _NUMBERS[kind]
        try:
            found = made(value) if isinstance(value, kinds) and not is_bool else _BAD
        except OverflowError:  # a whole number beyond all floats
            return _BAD
        return _BAD if isinstance(value, (int, np.integer)) and found != int(value) else found  # it was rounded
    if kind == "str":
        return str.__str__(value) if isinstance(value, str) else _BAD  # of an enumeration the text, not its name
    try:
        return as_dtype(value)
    except DTypeError:
        return _BAD
