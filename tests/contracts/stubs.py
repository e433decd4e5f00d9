"""Stubs: type information for modules whose names are made from a table when they are imported.

`python -m tests.contracts.stubs` writes them anew.
"""

import importlib
import inspect
import textwrap
from pathlib import Path

from tests.contracts.tree import REPOSITORY

MODULES = ("opsdk.expr.vmath",)
_HEAD = '"""{0}\n\nWritten by `python -m tests.contracts.stubs`.\n"""\n\nfrom typing import Any\n'


def path_of(name):
    """Gives where the stub of a module lies: beside it."""
    return Path(REPOSITORY, *name.split(".")).with_suffix(".pyi")


def stub(module):
    """Gives the text of a module's stub: what its `__all__` promises, with signatures and docstrings."""
    imports, values, functions = [], [], []
    for name in module.__all__:
        value = getattr(module, name)
        home = getattr(value, "__module__", module.__name__)
        if inspect.isroutine(value) and home == module.__name__:
            functions.append(_function(name, value))
        elif inspect.isroutine(value):
            imports.append(f"from {home} import {value.__name__} as {name}\n")
        else:
            values.append(f"{name}: {type(value).__name__}\n")
    head = _HEAD.format(module.__doc__.partition("\n")[0])
    return "\n".join(filter(None, [head, "".join(sorted(imports)), "".join(values), *functions]))


def _function(name, value):
    signature = inspect.signature(value)
    parameters = [
        parameter.replace(annotation=_Written(parameter.annotation)) for parameter in signature.parameters.values()
    ]
    shown = signature.replace(parameters=parameters, return_annotation=_Written(signature.return_annotation))
    doc = textwrap.indent(inspect.getdoc(value), "    ").lstrip()
    doc += "\n    " if "\n" in doc else ""
    return f'def {name}{shown}:\n    """{doc}"""\n'


class _Written(str):
    """An annotation, as it is written in the module."""

    __slots__ = ()
    __repr__ = str.__str__


def outdated(modules=MODULES):
    """Finds stubs that are not what is written now."""
    return [
        f"{path.relative_to(REPOSITORY)}: not what {name} promises; python -m tests.contracts.stubs writes it anew"
        for name in modules
        if not (path := path_of(name)).is_file()
        or path.read_text(encoding="utf-8") != stub(importlib.import_module(name))
    ]


if __name__ == "__main__":
    for each in MODULES:
        path_of(each).write_text(stub(importlib.import_module(each)), encoding="utf-8")
