"""Stubs: type information for modules whose names are made from a table when they are imported.

`python -m tests.contracts.stubs` writes them anew.
"""

import ast
import importlib
import inspect
import re
import textwrap
from pathlib import Path

from tests.contracts.tree import REPOSITORY

MODULES = (
    "gradcheck",
    "opsdk.expr.vmath",
    "opsdk.nn",
    "opsdk.nn.functional",
    "opsdk.nn.init",
    "opsdk.nn.initializer",
    "opsdk.nn.layer.activation",
    "opsdk.nn.layer.convolution",
    "opsdk.nn.layer.normalization",
    "opsdk.nn.layer.of_functions",
    "opsdk.nn.layer.pooling",
    "opsdk.ops.functions",
    "opsdk.ops.methods",
)
_AS_IN_BASES = {"__hash__", "torch_layout"}
_HEAD = '"""{0}\n\nWritten by `python -m tests.contracts.stubs`.\n"""\n'


def path_of(name):
    """Gives where the stub of a module lies: beside it."""
    path = Path(REPOSITORY, *name.split("."))
    return path / "__init__.pyi" if path.is_dir() else path.with_suffix(".pyi")


def stub(module):
    """Gives the text of a module's stub: what its `__all__` promises, with signatures and docstrings."""
    imports, values, made, others = set(), [], [], []
    for name in module.__all__:
        value = getattr(module, name)
        is_made = inspect.isroutine(value) or inspect.isclass(value)
        if inspect.ismodule(value):
            imports.add(f"from {module.__name__} import {name} as {name}\n")
        elif not is_made:
            values.append(f"{name}: {type(value).__name__}\n")
            imports.add(_import(type(value), module))
        elif name != value.__name__:
            is_below = (inspect.isroutine(value) or inspect.isclass(value)) and value.__module__ == module.__name__
            (others if is_below else values).append(f"{name} = {value.__name__}\n")
        elif value.__module__ != module.__name__:
            imports.add(f"from {value.__module__} import {name} as {name}\n")
        elif inspect.isclass(value):
            made.append(_class(value))
            imports.add(_import(_base(value), module))
        else:
            made.append(_function(value))
    head = [_HEAD.format(module.__doc__.partition("\n")[0])]
    named = _annotated(module, made)
    homes = {f"import {home}\n" for text in made for home in re.findall(r"^    \w+ = (opsdk[.\w]+)\.\w+$", text, re.M)}
    imports.update(homes)
    head += ["".join(line for line in named if not line.startswith("from opsdk"))]
    imports.update(line for line in named if line.startswith("from opsdk"))
    return "\n".join(filter(None, [*head, "".join(sorted(imports)), "".join(values), *made, "".join(others)]))


def _annotated(module, made):
    """The imports of a module that the annotations of what is made there name."""
    heads = [line.partition("(")[2] for text in made for line in text.splitlines() if "def " in line]
    written = set(re.findall(r"\w+", " ".join(heads)))
    source = inspect.getsource(module) if hasattr(module, "__file__") else "from typing import Any"
    return [
        f"from {node.module} import {name.name}\n"
        for node in ast.parse(source).body
        if isinstance(node, ast.ImportFrom)
        for name in node.names
        if name.name in written and name.asname is None
    ]


def _import(kind, module):
    is_here = kind.__module__ in ("builtins", module.__name__)
    return "" if is_here else f"from {kind.__module__} import {kind.__name__}\n"


def _base(value):
    return next(base for base in value.__mro__[1:] if not base.__name__.startswith("_"))


def _class(value):
    base = _base(value)
    own = {name for each in value.__mro__[: value.__mro__.index(base)] for name in vars(each)}
    public = sorted(name for name in own if not name.startswith("_") or name.endswith("__"))
    methods = [(name, inspect.getattr_static(value, name)) for name in public if name not in _AS_IN_BASES]
    head = f"class {value.__name__}({base.__name__}):\n    {_docstring(value)}\n"
    made = [
        _member(method, name, value) for name, method in methods if inspect.isroutine(method) or _is_property(method)
    ]
    return "\n".join([head, *(textwrap.indent(text, "    ") for text in made)])


def _is_property(value):
    return isinstance(value, property)


def _member(value, name, owner):
    if not _is_property(value) and value.__module__ != owner.__module__:  # a function that is a method as it is
        return f"{name} = {value.__module__}.{value.__name__}\n"
    return f"@property\n{_function(value.fget, name)}" if _is_property(value) else _function(value, name)


def _function(value, name=None):
    signature = inspect.signature(value)
    parameters = [each.replace(annotation=_written(each.annotation)) for each in signature.parameters.values()]
    shown = signature.replace(parameters=parameters, return_annotation=_written(signature.return_annotation))
    return f"def {name or value.__name__}{shown}:\n    {_docstring(value) if value.__doc__ else '...'}\n"


def _docstring(value):
    lines = inspect.getdoc(value).splitlines()
    text = textwrap.indent("\n".join(textwrap.fill(line, 100) if len(line) > 105 else line for line in lines), "    ")
    text = text.lstrip()
    return f'"""{text}\n    """' if "\n" in text else f'"""{text}"""'


def _written(annotation):
    return annotation if annotation is inspect.Signature.empty else _Written(annotation)


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
