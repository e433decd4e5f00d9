"""Sameness: whether a definition that computes what another one does may be taken for it."""

from __future__ import annotations

import builtins
import functools
from types import BuiltinFunctionType, FunctionType, MethodType, ModuleType
from typing import Any

from opsdk.define.identity.code_reads import reads_of
from opsdk.define.identity.digest import is_fixed, python_of, text_of
from opsdk.define.identity.libraries import OPEN, is_library, stock_name


# Any, in this file: callables of any kind.
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
    known = getattr(python_of(old), "__globals__", None)
    return inner is None or known is inner.__globals__ or not _sees_module(inner)


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


def _sees_module(function: FunctionType) -> bool:
    """Whether a function reads globals of its module other than libraries."""
    _, names, _ = reads_of(function.__code__)
    known = function.__globals__
    found = [known[name] for name in names if name in known]
    is_open = any(name not in known and not hasattr(builtins, name) for name in names)
    return is_open or any(not isinstance(value, ModuleType) or not is_library(value.__name__) for value in found)


def reads_world(function: Any) -> bool:
    """Whether a function may read, through a library, what is no part of the program: a file, a variable, a clock."""
    return OPEN in text_of(function)
