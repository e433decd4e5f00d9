"""Callables as values: what one is called, where another process finds it, and which values of a runtime it holds."""

from __future__ import annotations

import functools
import sys
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from types import FunctionType, MemberDescriptorType, MethodType, ModuleType, SimpleNamespace
from typing import Any

from opsdk.core.errors import AttributeValueError
from opsdk.core.origin import origin_of
from opsdk.define.identity.digest import CACHED, python_of
from opsdk.define.identity.referents import is_library, reads_of

_MOST = 2000  # objects that are looked at in one callable


# Any, in this file: callables of any kind and signature, and what they hold.
def callable_text(function: Callable[..., Any]) -> str:
    """Returns what a printed call shows of a callable: its name, and its line where that is not enough to find it."""
    if isinstance(function, functools.partial):
        bound = [*map(value_text, function.args), *(f"{k}={value_text(v)}" for k, v in function.keywords.items())]
        return f"partial({', '.join([callable_text(function.func), *bound])})"
    opdef = getattr(function, "opdef", None)
    if opdef is not None:
        return str(opdef.name)
    name = getattr(function, "__qualname__", None)
    if not isinstance(name, str):
        return type(function).__qualname__
    short = name.replace("<locals>.", "")
    return f"{short} at {origin_of(function)}" if "<" in name and python_of(function) else short


def value_text(value: Any) -> str:
    """Returns what a message shows of the value of an attribute: a callable by its name."""
    return callable_text(value) if callable(value) else repr(value)


def importable_name(function: Callable[..., Any], subject: str) -> str:
    """Returns the name by which another process finds a callable, `module:qualname`; of an op its own.

    Whoever writes a callable to a file asks this, since code is never written.

    Args:
        function: a callable.
        subject: who asks, for the message.

    Raises:
        AttributeValueError: nothing of that name is this callable, or its module is the program that runs: a lambda, a
            function inside of another, a partial, the method of an object, what a notebook defined.
    """
    opdef = getattr(function, "opdef", None)
    if opdef is not None and hasattr(function, "__reduce__"):
        function.__reduce__()  # which refuses an op that lost its name
        return str(opdef.name)
    module, name = getattr(function, "__module__", None), getattr(function, "__qualname__", None)
    found: Any = sys.modules.get(module) if isinstance(module, str) else None
    for part in name.split(".") if isinstance(name, str) else ():
        found = getattr(found, part, None)
    is_found = isinstance(name, str) and (found is function or (isinstance(found, MethodType) and found == function))
    if is_found and module != "__main__":
        return f"{module}:{name}"
    if isinstance(function, functools.partial):
        kind = f"a partial of {callable_text(function.func)}, of which the arguments would be lost"
    elif isinstance(getattr(function, "__self__", None), (type, ModuleType)) or not hasattr(function, "__self__"):
        kind = callable_text(function)
    else:
        kind = f"{callable_text(function)}, a method of an object, which would be lost"
    inner = python_of(function)
    raise AttributeValueError(
        f"{subject}: expected a callable that can be imported by name, got {kind}"
        f"{', of the program that runs' if is_found else ''}; define a function at the top of a module, and pass what "
        "it needs as inputs or attributes",
        at=str(origin_of(function)) if inner is not None else "",
    )


def captured(function: Any, is_value: Callable[[Any], bool]) -> Iterator[tuple[str, Any]]:
    """Yields the values of a runtime that a callable, or an object, holds or reads, with what they are called there.

    Those are variables of enclosing functions, globals that its code names, defaults, arguments of a partial, the
    object of a method with what that holds, in its attributes or `__slots__`, and the same of functions that it calls.
    Libraries are not looked into, nor are classes, what their attributes hold and what properties compute.

    Args:
        function: a callable, or an object or collection.
        is_value: whether something is a value of a runtime.
    """
    seen: set[int] = set()
    waiting: list[tuple[str, Any]] = [("", function)]
    while waiting and len(seen) < _MOST:
        name, value = waiting.pop()
        if id(value) in seen:
            continue
        seen.add(id(value))
        if is_value(value):
            yield name, value
        else:
            waiting += _held(name, value)


def _held(name: str, value: Any) -> Sequence[tuple[str, Any]]:
    """Returns what a value leads to, by name."""
    inner = getattr(value, "py_func", value) if hasattr(type(value), "py_func") else value
    if isinstance(inner, FunctionType):
        return () if is_library(inner.__module__) else list(_read(inner))
    if isinstance(value, functools.partial):
        bound = [(f"argument {i}", item) for i, item in enumerate(value.args)]
        return [("", value.func), *bound, *value.keywords.items()]
    if isinstance(value, MethodType):
        return [("", value.__func__), (name, value.__self__)]
    if isinstance(value, dict):
        return [(f"{name}[{key!r}]", item) for key, item in value.items()]
    if isinstance(value, SimpleNamespace):
        return [(f"{name}.{key}".lstrip("."), item) for key, item in vars(value).items()]
    if isinstance(value, CACHED):
        return [(name, value.__wrapped__)]
    if isinstance(value, (list, tuple, set, frozenset, deque)):
        return [(f"{name}[{i}]", item) for i, item in enumerate(value)]
    if isinstance(value, (type, ModuleType)):
        return ()
    named = getattr(type(value), "named_parameters", None)
    if callable(named):  # a layer
        return [(f"{name}.{key}".lstrip("."), item) for key, item in named(value)]
    if is_library(type(value).__module__):
        return ()
    held = {**dict(_slots(value)), **getattr(value, "__dict__", {})}
    call = getattr(type(value), "__call__", None)  # noqa: B004 - its code is looked at
    own = [(name, call)] if isinstance(call, FunctionType) else []
    return [*own, *[(f"{name}.{key}".lstrip("."), item) for key, item in held.items()]]


def _slots(value: Any) -> Iterator[tuple[str, Any]]:
    """Yields what an object holds in `__slots__`, by name."""
    for each in type(value).__mro__:
        for name, slot in vars(each).items():
            if isinstance(slot, MemberDescriptorType):
                try:
                    yield name, slot.__get__(value)
                except AttributeError:  # it has no value yet
                    continue


def _read(function: FunctionType) -> Iterator[tuple[str, Any]]:
    """Yields what a Python function reads from outside of itself, by name."""
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        try:
            yield name, cell.cell_contents
        except ValueError:  # it has no value yet
            continue
    parameters = function.__code__.co_varnames
    for position, value in enumerate(function.__defaults__ or ()):
        yield parameters[function.__code__.co_argcount - len(function.__defaults__ or ()) + position], value
    yield from (function.__kwdefaults__ or {}).items()
    chains, names, _ = reads_of(function.__code__)
    for name in names:
        value = function.__globals__.get(name)
        if not isinstance(value, ModuleType):
            yield name, value
        elif not is_library(value.__name__):
            yield from ((f"{name}.{c[0]}", getattr(value, c[0], None)) for c in chains.get(name, ()) if c)
