"""Annotations of Python, read as types of attributes; an annotation may be a type or its text."""

from __future__ import annotations

import ast
import math
import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Annotated, Any, Literal

from opsdk.core.errors import SchemaError
from opsdk.define.schema.attr_type import AttrType, Range
from opsdk.define.schema.scalars import CALLABLE, SCALARS, TYPES

_LISTS = {"list", "List", "Sequence"}
_TUPLES = {"tuple", "Tuple"}
_NONE = {"None", "NoneType"}


# Any: whatever stands behind a colon or an arrow.
def text_of(annotation: Any) -> str:
    """Returns an annotation as it is written, without quotes and the names of modules that are not needed."""
    if annotation is None:
        return "None"
    text = annotation if isinstance(annotation, str) else str(annotation).replace("<class '", "").replace("'>", "")
    text = text.replace("typing.", "").strip()
    text = text[1:-1] if text[:1] in ("'", '"') and text[-1:] == text[:1] and text.count(text[0]) == 2 else text
    return re.sub(r"\b(?:np|numpy)\.dtype\b", "dtype", text)


# Any: likewise; and the names that a module has.
def attribute_type(annotation: Any, known: Mapping[str, Any] | None = None) -> AttrType | None:
    """Returns the type of the schema language that an annotation stands for, or None if it stands for none.

    Args:
        annotation: what stands behind the colon.
        known: the names that it may be written with, where it is a text: `Rate = Annotated[float, opsdk.Range(0, 1)]`.

    Raises:
        SchemaError: a range is none.
    """
    try:
        found = _read(ast.parse(text_of(annotation), mode="eval").body)
    except SyntaxError:
        return None
    if found is None and isinstance(annotation, str) and known is not None:
        try:
            meant = eval(annotation, dict(known))
        except Exception:  # a name that only a type checker knows
            return None
        return None if isinstance(meant, str) else attribute_type(meant)
    return found


def annotation_of(kind: AttrType) -> Any:
    """Returns what a Python signature says of a type."""
    made: Any = Literal.__getitem__(kind.choices) if kind.choices else TYPES[kind.scalar].python
    if kind.is_list:
        made = tuple.__class_getitem__((made, ...) if kind.length is None else (made,) * kind.length)
    if kind.range is not None:
        made = Annotated.__class_getitem__((made, kind.range))  # type: ignore[attr-defined]
    return made | None if kind.is_optional or kind.is_random else made


def _read(node: ast.AST) -> AttrType | None:
    """Returns the type that an annotation stands for; None where it stands for none."""
    name = _name(node)
    if name is not None:
        word = "dtype" if name == "dtype" else name
        return AttrType(word) if word in SCALARS else None
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return attribute_type(node.value)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr):
        return _either(node.left, node.right)
    if not isinstance(node, ast.Subscript):
        return None
    head = _name(node.value)
    items = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
    if head == "Optional":
        return _either(items[0], ast.Constant(None)) if len(items) == 1 else None
    if head == "Union":
        return _either(items[0], items[1]) if len(items) == 2 else None
    if head == "Literal":
        return _choices(items)
    if head == "Annotated":
        return _annotated(_read(items[0]), items[1:])
    if head in ("dtype", CALLABLE):
        return AttrType(head)
    if head in _LISTS:
        return _listed(_read(items[0]), None) if len(items) == 1 else None
    if head in _TUPLES:
        is_open = len(items) == 2 and isinstance(items[1], ast.Constant) and items[1].value is ...
        inner = _read(items[0])
        if is_open:
            return _listed(inner, None)
        return _listed(inner, len(items)) if all(_read(item) == inner for item in items) else None
    return None


def _name(node: ast.AST) -> str | None:
    """Returns a name without the modules in front."""
    if isinstance(node, ast.Constant) and node.value is None:
        return "None"
    return node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else None


def _either(left: ast.AST, right: ast.AST) -> AttrType | None:
    """Returns one of two types: one that may be None, a list of some length that one value stands for."""
    for one, other in ((left, right), (right, left)):
        if _name(one) in _NONE:
            found = _read(other)
            return None if found is None else replace(found, is_optional=True)
    first, second = _read(left), _read(right)
    for single, many in ((first, second), (second, first)):
        if many is not None and many.is_list and single == replace(many, is_list=False, length=None):
            return many if many.length or many.scalar == "int" else None
    return None


def _listed(inner: AttrType | None, length: int | None) -> AttrType | None:
    is_single = inner is not None and not inner.is_list and not inner.is_optional
    return replace(inner, is_list=True, length=length) if inner is not None and is_single else None


def _choices(items: list[ast.expr]) -> AttrType | None:
    try:
        values = [_value(item) for item in items]
    except ValueError:  # a name that the text of an annotation does not tell
        return None
    given = [value for value in values if value is not None]
    if not given or (len(given) < len(values) and values[-1] is not None):
        return None
    if set(given) == {True, False} and all(isinstance(value, bool) for value in given):
        return AttrType("bool", is_optional=None in values)
    return AttrType.among(given, is_optional=len(given) < len(values))


def _annotated(inner: AttrType | None, notes: list[ast.expr]) -> AttrType | None:
    """Returns a type within the ranges that stand beside it; other notes are other people's."""
    for note in notes:
        if inner is not None and isinstance(note, ast.Call) and _name(note.func) == "Range":
            named = {keyword.arg: _value(keyword.value) for keyword in note.keywords if keyword.arg is not None}
            try:
                inner = replace(inner, range=Range(*map(_value, note.args), **named))
            except (TypeError, ValueError) as error:
                if isinstance(error, SchemaError):
                    raise
                return None
    return inner


def _value(node: ast.AST) -> Any:  # Any: a literal
    """Returns the value of a literal; of `inf`, whatever module it is of, infinity.

    Raises:
        ValueError: it is none.
    """
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        return -_value(node.operand)
    return math.inf if _name(node) == "inf" else ast.literal_eval(node)
