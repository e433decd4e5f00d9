"""Sameness: whether a definition may be taken for another one, and whether what a function reads is what it was.

The first compares two definitions that compute the same. The second compares two readings of one function in one
process, by name: an expression or a compiled kernel is read again for new attributes or dtypes, and has to find what it
found. What cannot be read is known by its identity there; of what has no value yet the first one that it gets counts.
"""

from __future__ import annotations

import builtins
import functools
from collections.abc import Callable, Hashable
from types import BuiltinFunctionType, FunctionType, MethodType, ModuleType
from typing import Any

from opsdk.define.identity.digest import Reader, digest_of, is_fixed, python_of, text_of
from opsdk.define.identity.referents import OPEN, is_library, reads_of, stock_name


# Any, in this file: callables of any kind and signature.
def is_one(old: Any, new: Any) -> bool:
    """Whether of two functions of one digest the first will do for the second.

    Not where a function defines them, each time it runs; nor where they hold two objects, or read globals of two
    modules, or of two runs of one, which may be given other values later.
    """
    inner = python_of(new)
    if old is new:
        return True
    if not holds_same(old, new) or (inner is not None and "<locals>" in inner.__qualname__):
        return False
    if inner is None or getattr(python_of(old), "__globals__", None) is inner.__globals__:
        return True
    _, names, _ = reads_of(inner.__code__)
    known = {**vars(builtins), **inner.__globals__}
    own = [known[name] for name in names if name in inner.__globals__]
    return known.keys() >= names and all(isinstance(each, ModuleType) and is_library(each.__name__) for each in own)


def holds_same(old: Any, new: Any) -> bool:
    """Whether two callables of one digest hold the same objects, but for those that cannot change."""
    return all(a is b or is_fixed(a) or stock_name(a) for a, b in zip(_held(old), _held(new), strict=False))


def _held(value: Any) -> list[Any]:
    """Returns what a callable brings along: the object of a method, the arguments of a partial, an object itself."""
    if isinstance(value, functools.partial):
        return [*_held(value.func), *value.args, *value.keywords.values()]
    if isinstance(value, (MethodType, BuiltinFunctionType)):
        return [value.__self__]
    if isinstance(value, FunctionType):
        return [*(value.__defaults__ or ()), *(value.__kwdefaults__ or {}).values()]
    inner = python_of(value)
    return [value] if inner is None else _held(inner)


def reads_world(function: Any) -> bool:
    """Whether a function may read, through a library, what is no part of the program: a file, a variable, a clock."""
    return OPEN in text_of(function)


class Reads(dict[str, str]):
    """By name, hashes of what a Python function reads from outside, as far as it is there.

    Args:
        function: the function; of one that is not Python's nothing is read.
        missing: the names that count as not there yet.

    Attributes:
        missing: what had no value yet, in the function itself and in what it leads to.
        known: values that are known by their identity.
    """

    def __init__(self, function: Callable[..., Any] | None = None, missing: frozenset[Hashable] = frozenset()) -> None:
        reader = Reader(here=True, missing=missing)
        inner = None if function is None else python_of(function)
        found = {} if inner is None else reader.surroundings(inner)
        super().__init__({name: digest_of(text) for name, text in found.items()})
        self.missing = frozenset(reader.missing)
        self.known = reader.known

    def renew(self, function: Callable[..., Any]) -> None:
        """Enters what a function reads now."""
        now = Reads(function)
        self.update(now)
        self.missing, self.known = now.missing, now.known


def changed(function: Callable[..., Any], known: Reads) -> list[str]:
    """Returns the names of what a function reads that is another value than when `known` was read.

    What was not there yet, as a global that is assigned below the function, is entered into `known` when it is.
    """
    now = Reads(function, known.missing)
    others = [name for name in known.keys() | now.keys() if now.get(name) != known.get(name)]
    if not others and known.missing:
        known.renew(function)
    return sorted(name.rpartition(" ")[2] for name in others)
