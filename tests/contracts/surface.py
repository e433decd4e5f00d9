"""Public surface: names that are promised exist, and say what they are."""

import ast
import importlib
import inspect
from types import ModuleType

from tests.contracts.tree import REPOSITORY

FACADES = (
    "opsdk",
    "opsdk.static",
    "opsdk.jit",
    "opsdk.inference",
    "opsdk.nn",
    "opsdk.optimizer",
    "opsdk.autograd",
    "gradcheck",
)
OURS = ("opsdk", "gradcheck")


def facades():
    """Gives those public modules that exist so far, imported."""
    return [importlib.import_module(name) for name in FACADES if (REPOSITORY / name.replace(".", "/")).is_dir()]


def public_names(package):
    """Gives the names in the package's __all__; none while it does not exist."""
    if not (REPOSITORY / package / "__init__.py").is_file():
        return set()
    return set(getattr(importlib.import_module(package), "__all__", ()))


def unkept_promises(module):
    """Finds names in the module's __all__ that it does not have, or has twice."""
    names = list(getattr(module, "__all__", ()))
    missing = [f"{module.__name__}.__all__: {name!r} does not exist" for name in names if not hasattr(module, name)]
    twice = sorted({name for name in names if names.count(name) > 1})
    return missing + [f"{module.__name__}.__all__: {name!r} is listed twice" for name in twice]


def undocumented(module, ours=OURS):
    """Finds public functions, classes and methods without a docstring, reachable from the module's __all__."""
    found, seen = [], set()
    _look(module, module.__name__, ours, found, seen)
    return found


def _look(owner, path, ours, found, seen):
    for name in getattr(owner, "__all__", ()):
        value = getattr(owner, name, None)
        where = f"{path}.{name}"
        if id(value) in seen:
            continue
        seen.add(id(value))
        if isinstance(value, ModuleType):
            if value.__name__.partition(".")[0] in ours:
                _look(value, where, ours, found, seen)
        elif (inspect.isclass(value) or inspect.isroutine(value)) and _home(value) in ours:
            found += [f"{problem}: no docstring" for problem in _silent(value, where)]


def _home(value):
    return (getattr(value, "__module__", None) or "").partition(".")[0]


def _silent(value, where):
    if not inspect.isclass(value):
        return [] if value.__doc__ else [where]
    found = [where] if not _own_docstring(value) else []
    for name, member in vars(value).items():
        if not name.startswith("_") and _is_method(member) and not _inherited_docstring(value, name):
            found.append(f"{where}.{name}")
    return found


def _inherited_docstring(cls, name):
    return any(vars(base)[name].__doc__ for base in cls.__mro__ if name in vars(base))


def _own_docstring(cls):
    """The class's written docstring; what dataclass and NamedTuple generate ("Point(x, y)") is none."""
    text = vars(cls).get("__doc__") or ""
    return "" if text.startswith(f"{cls.__name__}(") else text


def _is_method(member):
    return inspect.isroutine(member) or isinstance(member, property | classmethod | staticmethod)


def module_docstring_problems(modules):
    """Finds modules whose docstring is missing, or whose first line is no noun phrase with a full stop."""
    found = []
    for module in modules.values():
        first = (ast.get_docstring(module.syntax) or "").partition("\n")[0]
        if not first:
            found.append(f"{module.path}: no module docstring; say in its first line what the module gives")
        elif not first.endswith("."):
            found.append(f"{module.path}: first line of the docstring ends without a full stop: {first!r}")
        elif first.lower().startswith("this module"):
            found.append(f"{module.path}: docstring starts with 'This module'; name what it gives instead")
    return found
