"""Libraries, whose functions do not change while a process runs: where a name leads to is all that there is to read."""

from __future__ import annotations

import sys
from types import MethodDescriptorType, ModuleType, WrapperDescriptorType
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
