"""Values in a written Program: attributes by their declared types, constants, and structures of names; and back.

What is read is looked at before it is used: a file may hold anything.
"""

from __future__ import annotations

import base64
import binascii
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from opsdk.core.dtype import as_dtype
from opsdk.core.errors import DTypeError, ProgramError, ShapeError
from opsdk.core.nested import each
from opsdk.core.random import Draw
from opsdk.core.spec import TensorSpec
from opsdk.define.op import Op, find_op
from opsdk.define.schema.attribute import AttrDecl
from opsdk.define.schema.scalars import CALLABLE, OBJECT, RANDOM, SPEC

# Any, in this file: values of attributes, and what JSON has.
_SHOWN = 64  # elements of a constant that is written as numbers; more are written as bytes
_MOST = 1 << 40  # bytes of one array, which no text holds


class NotWrittenError(ValueError):
    """What a file says is no value of its kind; the message says what was expected, for the reader to say where."""


def attribute(value: Any, decl: AttrDecl) -> Any:
    """Returns what stands in JSON for the value of an attribute.

    Raises:
        ProgramError: the value is code, or an object of one run.
    """
    kind = decl.type.scalar
    if kind == OBJECT:
        raise ProgramError(f"attribute {decl.name!r} is an object of one run, which no file holds")
    if kind == SPEC:
        return each(value, spec)
    if isinstance(value, (list, tuple)):
        return [_scalar(item, kind, decl.name) for item in value]
    return _scalar(value, kind, decl.name)


def _scalar(value: Any, kind: str, name: str) -> Any:
    if value is None or isinstance(value, (bool, str)):
        return value
    if kind == CALLABLE:
        if not isinstance(value, Op):
            raise ProgramError(
                f"attribute {name!r} is {getattr(value, '__qualname__', type(value).__name__)}, code, which no file "
                "holds: make it a registered op"
            )
        return value.opdef.schema.identity
    if kind == RANDOM:
        return int(value)
    if isinstance(value, np.dtype):
        return value.name
    return str(value) if isinstance(value, complex) or not math.isfinite(value) else value


def read_attribute(value: Any, decl: AttrDecl) -> Any:
    """Returns the value that stands for an attribute; its own check still has to take it.

    Raises:
        NotWrittenError: it is none.
    """
    kind = decl.type.scalar
    if kind == SPEC:
        return each(value, read_spec)
    read = _READ.get(kind, lambda one: one)
    try:
        return [_one(item, read) for item in value] if isinstance(value, list) else _one(value, read)
    except (TypeError, ValueError, OverflowError) as error:
        raise NotWrittenError(f"attribute {decl.name!r} expected {decl.type}, got {str(value)[:60]}") from error


def _one(value: Any, read: Callable[[Any], Any]) -> Any:
    return None if value is None else read(value)


_READ: dict[str, Callable[[Any], Any]] = {
    "float": lambda value: float(value) if isinstance(value, str) else value,
    "complex": lambda value: complex(value) if isinstance(value, str) else value,
    CALLABLE: lambda name: find_op(str(name)),
    RANDOM: lambda seed: Draw(seed),
}


def spec(value: TensorSpec) -> dict[str, Any]:
    """Returns what stands for a spec."""
    return {"dtype": value.dtype.name, "shape": [-1 if size is None else size for size in value.shape]}


def read_spec(value: Any) -> TensorSpec:
    """Returns the spec that a table of dtype and shape stands for.

    Raises:
        NotWrittenError: it is none.
    """
    shape = value.get("shape") if isinstance(value, dict) else None
    if not isinstance(shape, list) or len(shape) > 32 or not all(type(n) is int and -1 <= n < 2**56 for n in shape):
        raise NotWrittenError(f"a shape expected at most 32 sizes, -1 for one that is open, got {str(shape)[:60]}")
    try:
        return TensorSpec(shape, as_dtype(value.get("dtype")))
    except (DTypeError, ShapeError) as error:
        raise NotWrittenError(str(error)) from error


def array(value: np.ndarray) -> dict[str, Any]:
    """Returns what stands for a constant: its numbers where they are few, else its bytes."""
    is_plain = value.dtype.kind in "biuf" or value.dtype.name == "bfloat16"
    if value.size <= _SHOWN and is_plain and bool(np.isfinite(value).all()):
        return {**spec(TensorSpec(value.shape, value.dtype)), "numbers": value.reshape(-1).tolist()}
    data = np.ascontiguousarray(value).tobytes()
    return {**spec(TensorSpec(value.shape, value.dtype)), "base64": base64.b64encode(data).decode("ascii")}


def read_array(value: Any) -> np.ndarray:
    """Returns the array that stands for a constant.

    Raises:
        NotWrittenError: there are not as many numbers, or bytes, as its shape says.
    """
    kind = read_spec(value)
    shape, dtype = [-1 if size is None else size for size in kind.shape], kind.dtype
    count = math.prod(shape)
    if -1 in shape or math.prod(max(size, 1) for size in shape) * dtype.itemsize >= _MOST:
        raise NotWrittenError(f"a constant expected known sizes that a file can hold, got {shape}")
    try:
        if "base64" in value:
            data = base64.b64decode(value["base64"], validate=True)
            if len(data) != count * dtype.itemsize:
                raise NotWrittenError(f"a constant of {kind} expected {count * dtype.itemsize} bytes, got {len(data)}")
            return np.frombuffer(bytearray(data), dtype).reshape(shape)
        numbers = value.get("numbers")
        if not isinstance(numbers, list) or len(numbers) != count or not all(map(_is_number, numbers)):
            raise NotWrittenError(f"a constant of {kind} expected {count} numbers, got {str(numbers)[:60]}")
        return np.array(numbers, dtype).reshape(shape)
    except (binascii.Error, TypeError, OverflowError) as error:
        raise NotWrittenError(f"a constant of {kind}: {error}") from error


def _is_number(value: Any) -> bool:
    return isinstance(value, (bool, int, float))


def tree(value: Any, name_of: Callable[[Any], str | None]) -> Any:
    """Returns what stands for a structure of values: names of those that have one, plain values as they are.

    Args:
        value: lists, tuples and dictionaries of values.
        name_of: gives the name of a value, or None of one that has none.

    Raises:
        TypeError: it holds something else.
    """
    name = name_of(value)
    if name is not None:
        return {"variable": name}
    if value is None or isinstance(value, (bool, int, float, str)):
        return {"value": value}
    if isinstance(value, dict) and all(isinstance(key, str) for key in value):
        return {"dict": {key: tree(entry, name_of) for key, entry in value.items()}}
    if type(value) in (list, tuple):
        return {type(value).__name__: [tree(entry, name_of) for entry in value]}
    raise TypeError(type(value).__name__)


def read_tree(node: Any, of_name: Callable[[str], Any]) -> Any:
    """Returns the structure, with what `of_name` gives for the names.

    Raises:
        NotWrittenError: it is none.
    """
    if isinstance(node, dict) and len(node) == 1:
        ((kind, held),) = node.items()
        if kind == "variable" and isinstance(held, str):
            return of_name(held)
        if kind == "value" and (held is None or isinstance(held, (bool, int, float, str))):
            return held
        if kind == "dict" and isinstance(held, dict):
            return {key: read_tree(entry, of_name) for key, entry in held.items()}
        if kind in ("list", "tuple") and isinstance(held, list):
            made = [read_tree(entry, of_name) for entry in held]
            return made if kind == "list" else tuple(made)
    raise NotWrittenError(f"a structure of names expected variable, value, list, tuple or dict, got {str(node)[:60]}")
