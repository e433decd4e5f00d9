"""Digest: a short hash over what decides what a definition computes, by which a definition that is repeated is known.

What a function computes follows from its code and from all that the code can read: globals, variables of enclosing
functions, defaults, the functions that it calls and what those read, what objects hold. All of it is read, and in doubt
too much. What cannot be read is equal to nothing, itself included, so that two definitions are never taken for one by
what was not looked at.
"""

from __future__ import annotations

import builtins
import functools
import os
import sys
from collections.abc import Hashable, Iterable
from types import (
    BuiltinFunctionType,
    CodeType,
    FunctionType,
    ModuleType,
)
from typing import Any

import numpy as np

from opsdk.core.lazy import slow
from opsdk.core.origin import PACKAGE_ROOT
from opsdk.define.identity.referents import (
    contents_of,
    is_library,
    memory_of,
    openness,
    reads_of,
    stock_name,
    with_inner,
)

UNSEEN = "unseen"  # how the text of what cannot be read begins
LATER = "not there yet"
_PLAIN = frozenset((bool, int, float, complex, str, bytes, type(None), type(Ellipsis), type(NotImplemented)))
_SETS = (set, frozenset)
_FIXED = (tuple, frozenset)
# What reads or runs what no code object names.
_OPEN_ENDED = frozenset(("__import__", "eval", "exec", "globals", "input", "locals", "open", "vars"))
# Whose instances have nothing but attributes, and what the constructor makes again.
_NATIVE = frozenset((object, tuple, list, set, frozenset, dict, str, bytes, int, float, complex, np.ndarray))
_HEAP, _IMMUTABLE = 1 << 9, 1 << 8  # Py_TPFLAGS_…: classes made by Python code are the first and not the second
_MOST = 20_000  # objects that are read for one definition, some tens of milliseconds

CACHED = type(functools.lru_cache(len))
_OWN = 16  # bytes for the dictionary of an instance and for references to it
_NOT_CODE = {
    "__annotations__", "__dict__", "__doc__", "__firstlineno__", "__module__", "__qualname__", "__static_attributes__",
    "__weakref__", "_abc_impl",
}  # fmt: skip

_Chains = frozenset[tuple[str, ...]]
_ITSELF: _Chains = frozenset({()})


# Any: functions of any signature, rules, texts, and in all that follows whatever those refer to.
def digest_of(*parts: Any) -> str:
    """Returns a short hash over texts, functions, infer rules and values. What cannot be read is equal to nothing."""
    text = "\n".join(part if isinstance(part, str) else text_of(part) for part in parts)
    digest: str = slow("hashlib").sha256(text.encode(errors="surrogatepass")).hexdigest()
    return digest[:16]


def text_of(value: Any) -> str:
    """Returns a text that is the same for two values only if they compute the same."""
    try:
        return Reader().value(value)
    except Exception as error:  # what is nested too deep, changes while it is read, or raises when it is looked at
        return unseen(type(error).__name__)


def python_of(value: Any) -> FunctionType | None:
    """Returns the Python function inside a partial, a method or a compiled Numba dispatcher."""
    while not isinstance(value, FunctionType):
        inner = getattr(value, "func", None) if isinstance(value, functools.partial) else None
        inner = inner or getattr(value, "py_func", None) or getattr(value, "__func__", None)
        if inner is None:
            return None
        value = inner
    return value


class Reader:
    """One reading. A value that occurs again, or holds itself, is a reference to where it was first met.

    Args:
        here: whether it is compared with others of this process: what cannot be read is known by its identity then,
            and what is installed does not change.
        missing: the names that count as not there yet.

    Attributes:
        missing: names that have no value yet.
        known: values that are known by their identity; they live, so that nothing else gets their ids.
    """

    def __init__(self, *, here: bool = False, missing: frozenset[Hashable] = frozenset()) -> None:
        self.missing: set[Hashable] = set()
        self.known: list[Any] = []
        self._here = here
        self._counted = missing
        self._met: dict[int, int] = {}
        self._held: list[Any] = []  # what has a number lives, so that nothing else gets its id
        self._whole: list[Any] = []  # objects that are read by what they say that they are made of, the outermost first
        self._depth = 0

    def _unread(self, what: str, value: Any) -> str:
        """Returns the text of a value that cannot be read."""
        if not self._here:
            return unseen(what)
        if self._whole:  # what was made by asking is another object each time
            value = self._whole[0]
        self.known.append(value)
        return f"{UNSEEN} {what} #{id(value)}"

    def _absent(self, what: str, *key: Any) -> str:
        """Returns the text of a name that has no value yet, and notes it."""
        self.missing.add(key)
        return f"{UNSEEN} {what}" if self._here else unseen(f"{LATER}: {what}")

    def value(self, value: Any) -> str:
        """Returns the text of a value."""
        kind = type(value)
        if kind in _PLAIN:
            return f"{kind.__name__}:{value!r}"
        if kind is CodeType:
            return self._code(value)
        if isinstance(value, np.dtype):
            return f"dtype:{value!r}"
        if isinstance(value, np.generic):
            return f"{kind.__name__}:{value.dtype!r}{_content(value)}"
        if kind in _FIXED and is_fixed(value):
            items = [self.value(item) for item in value]
            return f"{kind.__name__}[{', '.join(items if kind is tuple else sorted(items))}]"
        if id(value) in self._met:
            return f"@{self._met[id(value)]}"
        if len(self._met) > _MOST:
            return self._unread("rest", value)
        self._met[id(value)] = len(self._met)
        self._held.append(value)
        if kind in (tuple, list):
            return f"{kind.__name__}[{', '.join(map(self.value, value))}]"
        if kind in _SETS:
            told = list(map(self.value, value)) if self._here or all(map(is_fixed, value)) else [unseen("order")]
            return f"{kind.__name__}[{', '.join(sorted(told))}]"  # they lie in an order of its own in every process
        if kind is dict:
            return f"{{{', '.join(f'{self.value(key)}: {self.value(item)}' for key, item in value.items())}}}"
        if kind is np.ndarray and not value.dtype.hasobject:
            return f"array:{value.dtype!r}{value.shape}{_content(value)}"
        return self._callable(value)

    def _callable(self, value: Any) -> str:
        name = stock_name(value, installed=self._here)
        if name:
            return name
        if isinstance(value, FunctionType):
            return self._function(value)
        told = contents_of(value)
        if told is not None:
            return f"{type(value).__name__} of {self.value(told)}"
        if is_dispatcher(value):
            return f"compiled {self.value(value.py_func)}{_options(value)}"
        if isinstance(value, CACHED):
            older = "" if self._here else f" {unseen('results')}"  # of one object they are what they were
            return f"cached {self.value(value.__wrapped__)}{older}"
        if type(value).__module__.startswith("numba.np.ufunc.") and hasattr(value, "__wrapped__"):
            declared = getattr(value, "types", ()) if getattr(value, "_frozen", False) else ()  # others grow with use
            shape, unit = (getattr(value, name, None) for name in ("signature", "identity"))
            options = [_options(getattr(value, name, None)) for name in ("_dispatcher", "gufunc_builder")]
            return f"{type(value).__name__} {self.value(value.__wrapped__)}{declared}{shape}{unit}{options}"
        if isinstance(value, BuiltinFunctionType) and not isinstance(value.__self__, (ModuleType, type(None))):
            return f"method {value.__name__} of {self.value(value.__self__)}"
        if isinstance(value, type):
            return self._class(value)
        if isinstance(value, ModuleType):
            return self._module(value)
        return self._instance(value)

    def _module(self, module: ModuleType) -> str:
        """Returns the text of a module of which anything may be read: its constants, and that it is more than these."""
        name = module.__name__
        unread = self._unread(f"module {name}", module)
        held = {} if is_library(name) else {k: v for k, v in vars(module).items() if k[:2] != "__" and is_fixed(v)}
        return f"{unread}{''.join(f' {key}={self.value(held[key])}' for key in sorted(held))}"

    def _function(self, function: FunctionType) -> str:
        code = function.__code__
        parts = [self._code(code), self.value(function.__defaults__), self.value(function.__kwdefaults__)]
        parts += [f"{name}={text}" for name, text in sorted(self.surroundings(function).items())]
        if function.__dict__:
            parts.append(self.value(dict(function.__dict__)))
        return f"def({'; '.join(parts)})"

    def surroundings(self, function: FunctionType) -> dict[str, str]:
        """Returns the texts of what a function reads from outside of itself, by name."""
        code = function.__code__
        chains, names, modules = reads_of(code)
        every = frozenset(name for each in with_inner(code) for name in each.co_names)
        known = function.__globals__
        found: dict[str, str] = {}
        for name, cell in zip(code.co_freevars, function.__closure__ or (), strict=True):
            try:
                held = cell.cell_contents
            except ValueError:  # what it is given cannot be known
                found[name] = self._absent("empty", code, name)
                continue
            found[name] = (
                self._absent("empty", code, name)
                if (code, name) in self._counted
                else self.chained(held, chains.get(name, _ITSELF))
            )
        for name in names:
            key = f"global {name}"
            if name in known and (code, key) not in self._counted:
                found[key] = self.chained(known[name], chains.get(name, _ITSELF))
            elif name in _OPEN_ENDED:
                found[key] = self._unread(name, None)
            else:
                held = getattr(builtins, name, self)  # anybody may put a name there
                found[key] = self._absent(name, code, key) if held is self else self.value(held)
        for name in modules:
            found[f"import {name}"] = self._imported(name, every)
        return found

    def _imported(self, name: str, names: Iterable[str]) -> str:
        """Returns the text of a module that is imported inside a function, which may read what it names of it."""
        if is_library(name):
            return f"module {name}{''.join(sorted({openness(name, each) for each in names}))}"
        module = sys.modules.get(name)
        if module is None:
            return self._unread(f"module {name}", None)
        return self.chained(module, frozenset((each,) for each in names if hasattr(module, each)))

    def chained(self, value: Any, chains: _Chains) -> str:
        """Returns the text of what attributes, each read from the one before, lead to; of other than modules, all."""
        self._depth += 1
        try:
            if not isinstance(value, ModuleType):
                return self.value(value)
            if () in chains and not is_library(value.__name__):
                return self._module(value)
            texts = [f"module {value.__name__}"]
            for first in sorted({chain[0] for chain in chains if chain}):
                is_there = first in vars(value) or value.__name__ == "numpy"  # which loads `random` when it is named
                if is_library(value.__name__) and (value.__name__ == "opsdk" or not is_there):
                    # Loaded when it is first used, not by being looked at: of opsdk's own the name is the text before
                    # and after, since reading an expression loads them.
                    texts.append(f".{first}{openness(value.__name__, first)}")
                    continue
                held = self if (value, first) in self._counted else getattr(value, first, self)
                rest = frozenset(chain[1:] for chain in chains if chain[:1] == (first,))
                texts.append(
                    f".{first}={self._absent(first, value, first) if held is self else self.chained(held, rest)}"
                )
            return " ".join(texts)
        except Exception as error:
            if self._depth > 1 or not self._here:
                raise
            return self._unread(type(error).__name__, value)  # what raises when it is looked at
        finally:
            self._depth -= 1

    def _code(self, code: CodeType) -> str:
        counts = (code.co_argcount, code.co_posonlyargcount, code.co_kwonlyargcount, code.co_flags)
        names = (code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars)
        handlers = getattr(code, "co_exceptiontable", b"").hex()
        # Each is read by itself: they are shared or not, as the compiler likes.
        constants = [Reader(here=self._here).value(each) for each in code.co_consts]
        return f"{code.co_code.hex()}{handlers}{counts}{names}{constants}"

    def _class(self, made: type) -> str:
        bases = [self.value(base) for base in made.__bases__]
        held = [f"{name}={self.value(value)}" for name, value in sorted(vars(made).items()) if name not in _NOT_CODE]
        return f"class({bases}{self.value(type(made))}; {'; '.join(held)})"

    def _instance(self, value: Any) -> str:
        made = type(value)
        if made.__module__ == "opsdk.define.op" and hasattr(value, "opdef"):
            return f"op {value.opdef.name}" if value.opdef.is_builtin else f"op {value.opdef.name} {value.opdef.digest}"
        if made.__module__.startswith("opsdk.define."):  # a stock rule, or a user's function in its frame
            fields = {name: vars(value)[name] for name in getattr(made, "__dataclass_fields__", vars(value))}
            told = [f"{name}={self.value(held)}" for name, held in fields.items() if not name.startswith("_")]
            return f"{made.__name__}({', '.join(told)})"
        native = next(base for base in made.__mro__ if not base.__flags__ & _HEAP or base.__flags__ & _IMMUTABLE)
        parts = [self.value(made)]
        if native is np.ndarray:
            parts.append(self.value((value.shape, value.tolist()) if value.dtype.hasobject else np.asarray(value)))
        elif native is not object and native in _NATIVE:
            parts.append(self.value(native(value)))
        slots = [name for base in made.__mro__ for name in _slots(base)]
        if made.__basicsize__ > native.__basicsize__ + 8 * len(slots) + _OWN or native not in _NATIVE:
            parts.append(self._reduced(value, made))  # it holds something that its attributes do not say
        held = {name: getattr(value, name) for name in slots if hasattr(value, name)}
        held |= getattr(value, "__dict__", {})
        return f"instance {' '.join(parts)} {self.value(held)}"

    def _reduced(self, value: Any, made: type) -> str:
        """Returns the text of an object of a library's class, from what it says of itself to be copied."""
        try:
            told = value.__reduce_ex__(4) if is_library(made.__module__) else None
        except Exception:  # a lock, a file: there is nothing to say
            told = None
        if told is None:
            view = memory_of(value)
            return f"{self._unread(made.__name__, value)}{'' if view is None else f' {_content(view)}'}"
        if not isinstance(told, tuple):  # a name, of something that says nothing of what it holds
            return self._unread(made.__name__, value)
        items = [None if part is None else list(part) for part in told[3:5]]
        self._whole.append(value)
        try:
            return self.value((*told[:3], *items))
        finally:
            self._whole.pop()


def unseen(what: str) -> str:
    """Returns a text for what cannot be read, which no other text is equal to, of this process or another."""
    return f"{UNSEEN} {what} {os.urandom(8).hex()}"


def _options(compiled: Any) -> str:
    """Returns how something was compiled by Numba, its function apart."""
    told = [getattr(compiled, name, None) for name in ("targetoptions", "locals")]
    is_fixed = getattr(compiled, "_can_compile", True) is False
    return f"{told!r}{sorted(map(str, compiled.nopython_signatures)) if is_fixed else ''}"


def _content(value: Any) -> str:
    """Returns the bytes of an array or number; those of a large one as a hash."""
    data = value.tobytes()
    return str(data.hex() if len(data) <= 64 else slow("hashlib").sha256(data).hexdigest())


def is_fixed(value: Any) -> bool:
    """Whether a value is a number, a text or the like, or made of nothing else, and cannot change."""
    return type(value) in _PLAIN or (type(value) in _FIXED and all(map(is_fixed, value)))


def is_dispatcher(value: Any) -> bool:
    """Whether a value is a compiled Numba dispatcher; no object is asked for attributes that it makes up."""
    if isinstance(value, type):
        return False
    return any("py_func" in vars(base) for base in type(value).__mro__) or "py_func" in getattr(value, "__dict__", ())


def _slots(made: type) -> list[str]:
    declared = vars(made).get("__slots__", ())
    names = [declared] if isinstance(declared, str) else list(declared)
    names = [name for name in names if name not in ("__dict__", "__weakref__")]
    return [f"_{made.__name__.lstrip('_')}{name}" if name[:2] == "__" != name[-2:] else name for name in names]


def is_ours(function: Any) -> bool:
    """Whether a function stands in opsdk itself, whose definitions nobody repeats."""
    inner = python_of(function)
    return inner is not None and inner.__code__.co_filename.startswith(PACKAGE_ROOT)
