"""Libraries, whose functions do not change while a process runs: where a name leads to is all that there is to read.

Objects of their classes lead to something where their attributes do not say; what that is, is known here by class.
"""

from __future__ import annotations

import functools
import sys
import weakref
from collections.abc import Callable
from contextvars import ContextVar
from types import (
    CellType,
    GeneratorType,
    MappingProxyType,
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


def stock_name(value: Any) -> str:
    """Returns the name of a function or class that is what its library has under that name; empty for others."""
    name = held(value, "__qualname__") or held(value, "__name__")
    if not isinstance(name, str) or isinstance(value, ModuleType):
        return ""
    if isinstance(value, np.ufunc):
        known = next((each for each in ("numpy", "scipy.special") if _named(each, name) is value), "")
        return f"ufunc:{known}.{name}" if known else ""
    if isinstance(value, (MethodDescriptorType, WrapperDescriptorType)):
        return f"slot:{value.__objclass__.__qualname__}.{name}" if stock_name(value.__objclass__) else ""
    module = held(value, "__module__")
    if not isinstance(module, str) or not is_library(module) or _named(module, name) is not value:
        return ""
    return f"{type(value).__name__}:{module}.{name}{openness(module, name)}"


def _named(module: str, name: str) -> Any:
    found: Any = sys.modules.get(module)
    for part in name.split("."):
        found = getattr(found, part, None)
    return found


def installed_name(value: Any) -> str:
    """Returns the name of a function or class of an installed package that has it under that name; empty for others."""
    name, module = held(value, "__qualname__"), held(value, "__module__")
    if not isinstance(name, str) or not isinstance(module, str) or _named(module, name) is not value:
        return ""
    file = getattr(sys.modules[module], "__file__", None) or ""
    return f"installed:{module}.{name}" if "site-packages" in file or "dist-packages" in file else ""


# Any, in this file: objects of any class and what they lead to.
_BY_CLASS: dict[type, Callable[[Any], Any]] = {
    CellType: lambda cell: (cell.cell_contents,),
    ContextVar: lambda variable: (variable.get(None),),
    GeneratorType: lambda made: (made.gi_code, made.gi_frame and (made.gi_frame.f_lasti, made.gi_frame.f_locals)),
    MappingProxyType: dict,
    MethodType: lambda method: (method.__func__, method.__self__),
    classmethod: lambda method: (method.__func__,),
    functools.partial: lambda made: (made.func, made.args, made.keywords, vars(made)),
    memoryview: lambda view: (view.format, view.shape, view.tobytes()),
    np.flatiter: lambda items: (items.base, items.index),
    property: lambda made: (made.fget, made.fset, made.fdel),
    staticmethod: lambda method: (method.__func__,),
    weakref.ref: lambda reference: (reference(),),
    type({}.items()): list,
    type({}.keys()): list,
    type({}.values()): list,
}
_BY_NAME: dict[str, Callable[[Any], Any]] = {  # of classes of modules that need not be loaded
    "_ctypes._Pointer": lambda pointer: (bool(pointer) and pointer.contents,),
    "ctypes.py_object": lambda made: (bool(made) and made.value,),
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
