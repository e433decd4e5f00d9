"""Contents: what objects of other people's classes lead to, where their attributes do not say."""

from __future__ import annotations

import functools
import sys
import weakref
from collections.abc import Callable
from contextvars import ContextVar
from types import CellType, GeneratorType, MappingProxyType, MethodType
from typing import Any

import numpy as np

_MOST_BYTES = 1 << 26  # of memory that is read

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
