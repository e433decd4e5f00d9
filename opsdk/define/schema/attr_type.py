"""AttrType: the type of an attribute, parsed once: a scalar or a list of such, and the values that it may have."""

from __future__ import annotations

import ast
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from opsdk.core.errors import SchemaError
from opsdk.core.suggest import nearest
from opsdk.define.schema.grammar import expected, pattern
from opsdk.define.schema.scalars import BAD, CALLABLE, END, GIVEN, RANDOM, TYPES

_SIDES = {"both": (True, True), "left": (True, False), "right": (False, True), "neither": (False, False)}
_INTEGERS = {int}


@dataclass(frozen=True)
class Range:
    """The numbers from one bound to another, which an attribute may have, or each number of a list.

    `p: Annotated[float, opsdk.Range(0, 1, inclusive="left")]` in a signature is `0 <= float < 1 p` in a schema as text.

    Args:
        low, high: the bounds; None is none.
        inclusive: which bounds belong to it: "both", "left", "right" or "neither", as in pandas.

    Raises:
        SchemaError: a bound is no number, `inclusive` something else, or nothing lies between the bounds.
    """

    low: float | None = None
    high: float | None = None
    inclusive: str = "both"

    def __post_init__(self) -> None:
        low, high = self.low, self.high
        wrong = ""
        if self.inclusive not in _SIDES:
            wrong = f"inclusive as {', '.join(map(repr, _SIDES))}, got {self.inclusive!r}"
        elif not all(bound is None or _is_number(bound) for bound in (low, high)):
            wrong = f"bounds that are numbers or None, got {low!r} and {high!r}"
        elif low is not None and high is not None and (low > high or (low == high and self.inclusive != "both")):
            wrong = f"numbers between the bounds, got none between {low!r} and {high!r}, inclusive={self.inclusive!r}"
        if wrong:
            raise SchemaError(f"Range: expected {wrong}; write opsdk.Range(0, 1, inclusive='left')")

    def __contains__(self, value: float) -> bool:
        left, right = _SIDES[self.inclusive]
        return (self.low is None or (value >= self.low and (left or value != self.low))) and (
            self.high is None or (value <= self.high and (right or value != self.high))
        )

    def __repr__(self) -> str:
        side = "" if self.inclusive == "both" else f", inclusive={self.inclusive!r}"
        return f"opsdk.Range({self.low!r}, {self.high!r}{side})"

    def around(self, kind: str) -> str:
        """Returns how the schema language writes a type within the range."""
        left, right = ("<=" if side else "<" for side in _SIDES[self.inclusive])
        if self.low is None:
            return kind if self.high is None else f"{kind} {right} {_written(self.high)}"
        if self.high is None:
            return f"{kind} {left.replace('<', '>')} {_written(self.low)}"
        return f"{_written(self.low)} {left} {kind} {right} {_written(self.high)}"

    def nearest(self, value: float, *, whole: bool) -> float | None:
        """Returns the number inside that is nearest to one outside; None beside an open bound, and of nan."""
        left, right = _SIDES[self.inclusive]
        if self.low is not None and value <= self.low:
            return self.low if left else self.low + 1 if whole else None
        if self.high is not None and value >= self.high:
            return self.high if right else self.high - 1 if whole else None
        return None  # nan

    def example(self, *, whole: bool) -> Any:  # Any: an int or a float
        """Returns a number that lies inside, the middle or one beside the only bound."""
        left, right = _SIDES[self.inclusive]
        low, high = self.low, self.high
        if whole:
            first = None if low is None else math.ceil(low) + (not left and low == math.ceil(low))
            last = None if high is None else math.floor(high) - (not right and high == math.floor(high))
            if first is not None and last is not None:
                return (first + last) // 2
            return first + 1 if first is not None else last - 1 if last is not None else 2
        if low is not None and high is not None and math.isfinite(low) and math.isfinite(high):
            return (low + high) / 2
        if low is not None and math.isfinite(low):
            return low + max(0.5, abs(low) / 2)
        return high - max(0.5, abs(high) / 2) if high is not None and math.isfinite(high) else 0.5


@dataclass(frozen=True)
class AttrType:
    """The type of an attribute.

    Args:
        scalar: a name of `TYPES`.
        is_list: whether it is a list of such.
        length: how long that has to be; None for any length.
        is_optional: whether None is a value.
        range: what bounds its numbers.
        choices: the texts, whole numbers or floats that there are; all where there are none.

    Raises:
        SchemaError: a range of what has no order, or without a number of the type; choices of several types.
    """

    scalar: str
    is_list: bool = False
    length: int | None = None
    is_optional: bool = False
    range: Range | None = None
    choices: tuple[Any, ...] = ()  # Any: str, int or float

    def __post_init__(self) -> None:
        if self.length is not None and (not self.is_list or self.length < 1):
            raise SchemaError(f"type {self.base}: expected a length of 1 or more, got {self.length}")
        if self.is_random:
            if self.is_list:
                raise SchemaError(f"type {self.base}: expected one generator, whose draws are many")
            object.__setattr__(self, "is_optional", False)  # it may always be left out
        if self.range is None:
            return
        if not self.is_ordered:
            raise SchemaError(f"type {self}: expected int or float, or a list of them, within a range")
        own = _normal(self.range, self.base, is_whole=self.scalar == "int")
        object.__setattr__(self, "range", None if own.low is None and own.high is None else own)

    @classmethod
    def of(cls, text: str) -> AttrType:
        """Returns the type that a text of the schema language writes.

        Raises:
            SchemaError: it is none.
        """
        if text in GIVEN:
            return cls(text)
        found = pattern("range").fullmatch(text)
        if found is not None:
            given = _Parts(found)
            made = cls(given["scalar"], *given.suffix)
            return made if given["least"] + given["bound"] == "" else replace(made, range=given.range(text))
        found = pattern("choice").fullmatch(text)
        if found is None:
            raise SchemaError(f"type expected {expected()}, got {text!r}")
        given = _Parts(found)
        return cls.among(_literals(given["choices"] or given["enclosed"]), *given.suffix)

    # Any: what somebody wrote as choices.
    @classmethod
    def among(
        cls, choices: Sequence[Any], is_list: bool = False, length: int | None = None, is_optional: bool = False
    ) -> AttrType:
        """Returns the type of one of several values: texts, whole numbers, or, where one has a point, floats.

        Raises:
            SchemaError: they are of no such type together, or a number is one that kernels cannot be given.
        """
        kinds = {type(choice) for choice in choices}
        scalar = "str" if kinds == {str} else "int" if kinds == {int} else "float" if kinds <= {int, float} else ""
        listed = " | ".join(map(repr, choices))
        if not scalar:
            raise SchemaError(
                f"type {listed}: expected choices of one type, all texts or all numbers; write str or float"
            )
        made = [TYPES[scalar].convert(choice) for choice in choices]
        for choice, value in zip(choices, made, strict=True):
            if value is BAD or value != value:
                holds = TYPES[scalar].holds if value is BAD else "numbers that equal themselves"
                raise SchemaError(
                    f"type {listed}: expected choices among {scalar}, {holds}, got {choice!r}; leave it out"
                )
        return cls(scalar, is_list, length, is_optional, choices=tuple(dict.fromkeys(made)))

    @cached_property
    def base(self) -> str:
        """The type without what bounds its values, as `float`, `int[2]?`."""
        return f"{self.scalar}{self._suffix}"

    @property
    def _suffix(self) -> str:
        items = f"[{'' if self.length is None else self.length}]" if self.is_list else ""
        return f"{items}{'?' if self.is_optional else ''}"

    @property
    def is_random(self) -> bool:
        """Whether it is a generator, of whose draws a call takes one."""
        return self.scalar == RANDOM

    @property
    def is_object(self) -> bool:
        """Whether its values are no numbers or texts, but objects: generators and callables."""
        return self.is_random or self.is_callable

    @property
    def is_callable(self) -> bool:
        """Whether its values are callables."""
        return self.scalar == CALLABLE

    @cached_property
    def is_bounded(self) -> bool:
        """Whether it has fewer values than its scalar type: a range or choices."""
        return self.range is not None or bool(self.choices)

    @cached_property
    def is_ordered(self) -> bool:
        """Whether a range can bound it."""
        return TYPES[self.scalar].is_ordered and not self.choices

    @cached_property
    def is_number(self) -> bool:
        """Whether it is one int or float, which is there."""
        return self.base in ("int", "float")

    @cached_property
    def is_numeric(self) -> bool:
        """Whether it is one int or float, or None."""
        return self.scalar in ("int", "float") and not self.is_list

    @cached_property
    def _text(self) -> str:
        if self.choices:
            listed = " | ".join(map(repr, self.choices))
            return f"({listed}){self._suffix}" if self._suffix else listed
        return self.base if self.range is None else self.range.around(self.base)

    def __str__(self) -> str:
        return self._text

    # Any, in these: a value that somebody gave, and one in the type.
    def convert(self, value: Any) -> Any:
        """Returns a value in the type, or BAD: NumPy scalars become Python's, lists tuples; a range is not asked."""
        convert = TYPES[self.scalar].convert
        if not self.is_list:
            return convert(value)
        is_plain = self.scalar == "int" and value.__class__ in (list, tuple) and set(map(type, value)) <= _INTEGERS
        if is_plain and (not value or -END <= min(value) <= max(value) < END):
            return tuple(value) if self.length in (None, len(value)) else BAD
        if isinstance(value, (list, tuple)) or (isinstance(value, np.ndarray) and value.ndim == 1):
            items = tuple([convert(item) for item in value])
            is_bad = any(item is BAD for item in items)  # `in` would ask a dtype whether it equals BAD
            return BAD if is_bad or self.length not in (None, len(items)) else items
        item = convert(value)
        if item is BAD or (self.length is None and self.scalar != "int"):
            return BAD
        return (item,) * (self.length or 1)  # axis=1 where axes are a list, as NumPy has it

    def outside(self, value: Any) -> list[int]:
        """Returns the positions of what lies outside of range or choices, in a value of the type; 0 without a list."""
        if not self.is_bounded or value is None:
            return []
        within: Any = self.choices or self.range
        return [i for i, item in enumerate(value if self.is_list else (value,)) if item not in within]

    def nearest(self, value: Any) -> Any:
        """Returns what is nearest to a value outside, of a list the list with that in it; None where nothing is."""
        items = [value] if not self.is_list else list(value)
        for i in self.outside(value):
            items[i] = self._nearest(items[i])
        return None if None in items else items if self.is_list else items[0]

    def _nearest(self, item: Any) -> Any:
        if self.range is not None:
            return self.range.nearest(item, whole=self.scalar == "int")
        if isinstance(item, str):
            return nearest(item, self.choices) or self.choices[0]
        return min(self.choices, key=lambda choice: abs(choice - item))

    def sample(self) -> Any:
        """Returns a value of a type that is bounded, of a list of any length one of two."""
        item = self.choices[0] if self.choices else self.range and self.range.example(whole=self.scalar == "int")
        return (item,) * (self.length or 2) if self.is_list else item

    def example(self) -> str:
        """Returns a value, as a call writes it."""
        if self.is_bounded:
            sample = self.sample()
            return repr(list(sample)) if self.is_list else repr(sample)
        item = TYPES[self.scalar].example
        return f"[{', '.join([item] * (self.length or 1))}]" if self.is_list else item


class _Parts:
    """What a production matched, by name; empty where there is nothing."""

    def __init__(self, found: Any) -> None:
        self._groups = {name: (text or "").strip() for name, text in found.groupdict().items()}

    def __getitem__(self, name: str) -> str:
        return self._groups[name]

    @property
    def suffix(self) -> tuple[bool, int | None, bool]:
        """Whether it is a list, of which length, and optional."""
        digits = self["items"].strip("[] \n\t")
        return bool(self["items"]), int(digits) if digits else None, bool(self["optional"])

    def range(self, text: str) -> Range:
        """Returns the range.

        Raises:
            SchemaError: it has two lower bounds, or holds nothing.
        """
        low, high = self["least"], self["bound"]
        left, right = self["below"] or "<=", self["order"] or "<="
        if right.startswith(">"):  # int >= 1
            if low:
                raise SchemaError(f"type {text!r}: expected one lower bound, got {low} and {high}")
            low, high, left, right = high, "", right.replace(">", "<"), "<="
        bounds = (read_value(low) if low else None, read_value(high) if high else None)
        return _ranging(bounds, (left == "<=", right == "<="))


def _literals(text: str) -> list[Any]:  # Any: texts and numbers
    return [read_value(found[0].strip()) for found in pattern("literal").finditer(text)]


def read_value(text: str) -> Any:  # Any: a literal of Python, or an infinite number
    """Returns the value of a literal."""
    bare = text.lstrip("+-")
    return float(text) if bare in ("inf", "nan") else ast.literal_eval(text)


def _normal(given: Range, base: str, *, is_whole: bool) -> Range:
    """Returns a range with bounds of the type's own, so that what is equal prints equally.

    Raises:
        SchemaError: a bound of whole numbers has a fraction, or there is no whole number between the bounds.
    """
    left, right = _SIDES[given.inclusive]
    bounds = [bound if bound is None else float(bound) for bound in (given.low, given.high)]
    if is_whole:
        if any(bound is not None and not bound.is_integer() for bound in bounds):
            raise SchemaError(f"type {given.around(base)}: expected bounds that are whole numbers")
        bounds = [bound if bound is None else int(bound) for bound in (given.low, given.high)]
    made = _ranging(bounds, (left or bounds[0] is None, right or bounds[1] is None))
    if is_whole and made.example(whole=True) not in made:
        raise SchemaError(f"type {given.around(base)}: expected a whole number between the bounds, there is none")
    return made


def _ranging(bounds: Sequence[float | None], sides: tuple[bool, bool]) -> Range:
    low, high = bounds
    return Range(low, high, next(word for word, both in _SIDES.items() if both == sides))


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and value == value


def _written(bound: float) -> str:
    return repr(bound).removesuffix(".0")
