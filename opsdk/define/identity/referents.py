"""Referents: what code and objects lead to, where their attributes do not say.

Code reads globals by name, and attributes from them at once. Functions of libraries do not change while a process runs:
where a name leads to is all that there is to read. What objects of their classes lead to is known by class.
"""

from __future__ import annotations

import dis
import functools
import re
import sys
import weakref
from collections.abc import Callable, Iterable, Iterator
from contextvars import ContextVar
from functools import lru_cache
from itertools import pairwise
from types import (
    CellType,
    CodeType,
    GeneratorType,
    GetSetDescriptorType,
    MappingProxyType,
    MemberDescriptorType,
    MethodDescriptorType,
    MethodType,
    ModuleType,
    WrapperDescriptorType,
)
from typing import Any

import numpy as np

_LIBRARIES = {
    "cffi", "gradcheck", "jax", "jaxlib", "llvmlite", "ml_dtypes", "numba", "numpy", "opsdk", "paddle", "scipy",
    "torch",
}  # fmt: skip
# Of these a name tells what is computed; what others give, and these functions, depends on files, environment and time.
_CLOSED = {
    "abc", "builtins", "cmath", "collections", "copy", "dataclasses", "enum", "fractions", "functools",
    "gradcheck", "itertools", "math", "ml_dtypes", "numba", "numbers", "numpy", "operator", "opsdk", "re", "scipy",
    "types", "typing",
}  # fmt: skip
_READERS = {"DataSource", "fromfile", "fromregex", "genfromtxt", "io", "load", "loadtxt", "memmap", "random"}
OPEN = "open to the world"
_GLOBAL = ("LOAD_GLOBAL", "LOAD_NAME")
_ATTRIBUTE = ("LOAD_ATTR", "LOAD_METHOD")
_SURROUNDING = (*_GLOBAL, "LOAD_DEREF", "LOAD_CLASSDEREF")
_NOTHING = ("EXTENDED_ARG", "CACHE", "PUSH_NULL", "NOP")
_KEPT = 8192  # code objects whose reads are kept: a function of a large library leads to some thousands of them
_MOST_BYTES = 1 << 26  # of memory that is read


def is_library(module: str | None) -> bool:
    """Whether a module is of a library, whose functions a name tells."""
    top = str(module).partition(".")[0]
    return top in _LIBRARIES or (top in sys.stdlib_module_names and top != "__main__")


def openness(module: str, name: str) -> str:
    """Returns a mark for a name of a library whose meaning is not all in the name."""
    is_closed = module.partition(".")[0].lstrip("_") in _CLOSED and name not in _READERS
    return "" if is_closed else f" {OPEN}"


def held(value: Any, name: str) -> Any:
    """Returns an attribute of any object; None where it has none, or raises whatever it likes when it is asked."""
    try:
        return getattr(value, name, None)
    except Exception:  # `__getattr__ = dict.__getitem__`
        return None


def stock_name(value: Any, *, installed: bool = False) -> str:
    """Returns the name of a function or class that is what its library has under that name; empty for others.

    With `installed` that of any package that is installed, too.
    """
    name = held(value, "__qualname__") or held(value, "__name__")
    if not isinstance(name, str) or isinstance(value, ModuleType):
        return ""
    if isinstance(value, np.ufunc):
        known = next((each for each in ("numpy", "scipy.special") if _named(each, name) is value), "")
        return f"ufunc:{known}.{name}" if known else ""
    if isinstance(value, MethodType) and _named("numpy.random", value.__name__) is value:
        return f"numpy.random.{value.__name__}"  # of NumPy's global generator, whose state each draw moves on
    if isinstance(value, (MethodDescriptorType, WrapperDescriptorType)):
        return f"slot:{value.__objclass__.__qualname__}.{name}" if stock_name(value.__objclass__) else ""
    module = held(value, "__module__")
    if not isinstance(module, str) or _named(module, name) is not value:
        return ""
    if is_library(module):
        return f"{type(value).__name__}:{module}.{name}{openness(module, name)}"
    file = (installed and getattr(sys.modules[module], "__file__", None)) or ""
    return f"installed:{module}.{name}" if "site-packages" in file or "dist-packages" in file else ""


def _named(module: str, name: str) -> Any:
    found: Any = sys.modules.get(module)
    for part in name.split("."):
        found = getattr(found, part, None)
    return found


_BY_CLASS: dict[type, Callable[[Any], Any]] = {
    CellType: lambda cell: (cell.cell_contents,),
    ContextVar: lambda variable: (variable.get(None),),
    GetSetDescriptorType: lambda slot: slot.__name__,
    GeneratorType: lambda made: (made.gi_code, made.gi_frame and (made.gi_frame.f_lasti, dict(made.gi_frame.f_locals))),
    MappingProxyType: dict,
    MemberDescriptorType: lambda slot: slot.__name__,
    MethodType: lambda method: (method.__func__, method.__self__),
    classmethod: lambda method: (method.__func__,),
    functools.partial: lambda made: (made.func, made.args, made.keywords, vars(made)),
    memoryview: lambda view: (view.format, view.shape, view.tobytes()),
    np.flatiter: lambda items: (items.base, items.index),
    property: lambda made: (made.fget, made.fset, made.fdel),
    re.Pattern: lambda pattern: (pattern.pattern, pattern.flags),
    staticmethod: lambda method: (method.__func__,),
    weakref.ref: lambda reference: (reference(),),
    type({}.items()): list,
    type({}.keys()): list,
    type({}.values()): list,
}
_BY_NAME: dict[str, Callable[[Any], Any]] = {  # of classes of modules that need not be loaded
    "_ctypes._Pointer": lambda pointer: (bool(pointer) and pointer.contents,),
    "ctypes.py_object": lambda made: (bool(made) and made.value,),
    "numba.core.ccallback.CFunc": lambda made: (made._pyfunc, str(made._sig)),
    "numba.stencils.stencil.StencilFunc": lambda stencil: (  # it keeps beside these what it has compiled
        stencil.kernel_ir.func_id.func,
        stencil.mode,
        stencil.options,
    ),
    "numba.typed.typeddict.Dict": lambda items: (dict(items),),
    "numba.typed.typedlist.List": lambda items: (list(items),),
}


def contents_of(value: Any) -> Any:
    """Returns what there is to read of an object of a class that is known here; None of any other.

    Raises:
        ValueError: a variable of an enclosing function that has no value yet.
    """
    for base in type(value).__mro__:
        told = _BY_CLASS.get(base) or _BY_NAME.get(f"{base.__module__}.{base.__qualname__}")
        if told is not None:
            return told(value)
    return None


def memory_of(value: Any) -> memoryview | None:
    """Returns the bytes that an object of C shows, such as a structure of ctypes, a map of memory or cffi's data."""
    for view_of in (memoryview, getattr(sys.modules.get("_cffi_backend"), "buffer", memoryview)):
        try:
            view = memoryview(view_of(value))
        except (TypeError, ValueError, BufferError):
            continue
        return view if view.nbytes <= _MOST_BYTES else None
    return None


def with_inner(code: CodeType) -> Iterator[CodeType]:
    """Yields a code object and those of the functions, classes and comprehensions in it."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from with_inner(constant)


def unread(code: CodeType) -> list[str]:
    """Returns the names of the parameters that a code object never reads, nor any function in it."""
    if "locals" in code.co_names or "vars" in code.co_names:
        return []
    names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    read: set[str] = set(code.co_cellvars)
    for instruction in dis.get_instructions(code):
        if instruction.opname.startswith("LOAD_"):
            read.update(instruction.argval if isinstance(instruction.argval, tuple) else [str(instruction.argval)])
    return [name for name in names if name not in read]


def texts_of(code: CodeType) -> Iterable[str]:
    """Returns texts that may be names, as `getattr` takes them."""
    return [text for text in code.co_consts if isinstance(text, str) and text.isidentifier()]


@lru_cache(_KEPT)
def reads_of(
    code: CodeType, *, inner: bool = True
) -> tuple[dict[str, frozenset[tuple[str, ...]]], frozenset[str], tuple[str, ...]]:
    """Returns what a code object, with all that is in it unless without `inner`, reads from outside of itself.

    Returns:
        By name of a value, the attributes that are read from it at once; the names of globals and builtins; and the
        modules that it imports when it runs, as the statements name them.
    """
    chains: dict[str, set[tuple[str, ...]]] = {}
    found: set[str] = set()
    modules: list[str] = []
    for each in with_inner(code) if inner else (code,):
        name, chain = "", []
        for instruction in dis.get_instructions(each):
            read = instruction.argval  # of the operations below a name
            if instruction.opname in _GLOBAL:
                found.add(read)
            elif instruction.opname == "IMPORT_NAME":
                modules.append(read)
            if name and instruction.opname in _ATTRIBUTE:
                chain.append(read)
            elif instruction.opname not in _NOTHING:
                if name:
                    chains.setdefault(name, set()).add(tuple(chain))
                name, chain = read if instruction.opname in _SURROUNDING else "", []
    return {name: frozenset(each) for name, each in chains.items()}, frozenset(found), tuple(modules)


def added_as_a_whole(code: CodeType) -> Iterator[str]:
    """Yields the names that an operator such as `+=` binds anew in a function, and not in an element of theirs."""
    for step, following in pairwise(dis.get_instructions(code)):
        is_added = step.opname.startswith("INPLACE_") or (step.opname == "BINARY_OP" and step.argrepr.endswith("="))
        if is_added and following.opname.startswith(("STORE_FAST", "STORE_DEREF")):
            name = following.argval
            yield name[0] if isinstance(name, tuple) else str(name)  # one instruction may store and load
