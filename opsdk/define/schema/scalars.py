"""The scalar types of attributes: one entry each, which the grammar, the checks, signatures and the reference read."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from opsdk.core.dtype import as_dtype
from opsdk.core.errors import DTypeError
from opsdk.core.random import Draw, Generator, next_seed
from opsdk.core.spec import TensorSpec

OBJECT, SPEC = "object", "spec"  # what runtimes give gradient ops: a residual, and what an input's array was like
RANDOM = "Generator"  # whose values are draws: a call that is given a generator, or none, takes one
CALLABLE = "Callable"
BAD = object()  # what a conversion gives for a value of another type
END = 2**63  # of int, which is 64 bits wide in every kernel


# Any, in this file: values that somebody gave for an attribute, and those in the attribute's own type.
@dataclass(frozen=True)
class Scalar:
    """One type.

    Args:
        annotation: what a Python signature says.
        python: the type that this names.
        example: a value, as a message proposes it.
        convert: returns a value in the type, or BAD.
        meaning: for the reference.
        holds: which numbers it has, where there are others.
        is_ordered: whether a range can be declared.
    """

    annotation: str
    python: Any
    example: str
    convert: Callable[[Any], Any]
    meaning: str
    holds: str = ""
    is_ordered: bool = False


def _is_bool(value: Any) -> bool:
    return isinstance(value, (bool, np.bool_))


def _bool(value: Any) -> Any:
    return bool(value) if _is_bool(value) else BAD


def _int(value: Any) -> Any:
    is_whole = isinstance(value, (int, np.integer)) and not _is_bool(value)
    return int(value) if is_whole and -END <= value < END else BAD


def _number(made: Callable[[Any], Any], kinds: tuple[type, ...]) -> Callable[[Any], Any]:
    def convert(value: Any) -> Any:
        try:
            found = made(value) if isinstance(value, kinds) and not _is_bool(value) else BAD
        except OverflowError:  # a whole number beyond all floats
            return BAD
        return BAD if isinstance(value, (int, np.integer)) and found != int(value) else found  # it was rounded

    return convert


def _str(value: Any) -> Any:
    return str.__str__(value) if isinstance(value, str) else BAD  # of an enumeration the text, not its name


def _dtype(value: Any) -> Any:
    try:
        return as_dtype(value)
    except DTypeError:
        return BAD


def _callable(value: Any) -> Any:
    return value if callable(value) else BAD


def _draw(value: Any) -> Any:
    if value is None:
        return Draw(next_seed())
    return value if value.__class__ is Draw else value.peek() if isinstance(value, Generator) else BAD


def _spec(value: Any) -> Any:
    items = value if isinstance(value, list) else [value]
    return value if all(item is None or isinstance(item, TensorSpec) for item in items) else BAD


_float = _number(float, (int, float, np.integer, np.floating))
_complex = _number(complex, (int, float, complex, np.number))
SCALARS = {
    "int": Scalar("int", int, "2", _int, "a whole number", "a whole number from -2**63 to 2**63 - 1", True),
    "float": Scalar("float", float, "0.5", _float, "a number, float64 in kernels", "a number that float64 holds", True),
    "bool": Scalar("bool", bool, "True", _bool, "True or False"),
    "str": Scalar("str", str, '"text"', _str, "a text"),
    "complex": Scalar("complex", complex, "1j", _complex, "a complex number", "a number that complex128 holds"),
    "dtype": Scalar("np.dtype", np.dtype, '"float32"', _dtype, "a dtype"),
    CALLABLE: Scalar(
        CALLABLE, Callable, "opsdk.tanh", _callable, "a function, an op, or whatever else can be called"
    ),
    RANDOM: Scalar(
        "opsdk.Generator", Generator, "opsdk.Generator(0)", _draw, "random numbers; left out, the global generator"
    ),
}
# Those that only attributes of gradient ops have, which no author writes; and all.
GIVEN = {
    OBJECT: Scalar("object", object, "...", lambda value: value, "a residual"),
    SPEC: Scalar("opsdk.TensorSpec", TensorSpec, "opsdk.TensorSpec(shape, dtype)", _spec, "of an input"),
}
TYPES = {**SCALARS, **GIVEN}
