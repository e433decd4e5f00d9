"""Imports of a module: what it names, and when that runs."""

import ast
from dataclasses import dataclass

_TYPING = ("TYPE_CHECKING", "typing.TYPE_CHECKING")


@dataclass(frozen=True)
class Import:
    """One imported module, resolved as far as the tree knows it.

    `base` is the module as written (relative imports made absolute), `name` what was taken from it (None for a plain
    `import base`), `target` the module that is meant. `when` is "module", "deferred" (in a function), "typing" (under
    TYPE_CHECKING) or "string" (by name, through a call such as `lazy("opsdk.static")`).
    """

    importer: str
    base: str
    name: str | None
    target: str
    when: str
    where: str
    binds_root: bool = False


def imports_of(module, modules):
    """Gives every import of the module, wherever in the file it stands."""
    found = []
    _walk(module.syntax, "module", module, modules, found)
    return found


def _walk(node, when, module, modules, found):
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.Import):
            found += [_plain(alias, child, when, module, modules) for alias in child.names]
        elif isinstance(child, ast.ImportFrom):
            found += [_taken(alias, child, when, module, modules) for alias in child.names]
        elif isinstance(child, ast.If) and ast.unparse(child.test) in _TYPING:
            _walk(ast.Module(child.body, []), "typing", module, modules, found)
            _walk(ast.Module(child.orelse, []), when, module, modules, found)
        elif isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            _walk(child, "deferred", module, modules, found)
        else:
            if isinstance(child, ast.Call) and (name := _imported_by_call(child)):
                found.append(_edge(module, modules, name, None, _when_called(child, when), child))
            _walk(child, when, module, modules, found)


def _plain(alias, node, when, module, modules):
    binds_root = alias.asname is None and "." in alias.name
    return _edge(module, modules, alias.name, None, when, node, binds_root)


def _taken(alias, node, when, module, modules):
    return _edge(module, modules, _absolute(node, module), alias.name, when, node)


def _edge(module, modules, base, name, when, node, binds_root=False):
    full = f"{base}.{name}" if name else base
    target = full if full in modules else _nearest(base, modules)
    return Import(module.name, base, name, target, when, f"{module.path}:{node.lineno}", binds_root)


def _nearest(base, modules):
    """The longest known prefix: `import opsdk.core.errors.X` still counts for opsdk.core.errors."""
    parts = base.split(".")
    for end in range(len(parts), 0, -1):
        if ".".join(parts[:end]) in modules:
            return ".".join(parts[:end])
    return base


def _absolute(node, module):
    if not node.level:
        return node.module
    up = node.level - 1 if module.is_package else node.level
    anchor = module.parts[: len(module.parts) - up]
    return ".".join([*anchor, *([node.module] if node.module else [])])


def _imported_by_call(call):
    """The module that a call imports by a literal name: import_module("x"), lazy("x"), lazy_import("x") ..."""
    function = _last_name(call.func)
    if not call.args or not ("import" in function or "lazy" in function):
        return None
    first = call.args[0]
    is_name = isinstance(first, ast.Constant) and isinstance(first.value, str)
    return first.value if is_name and all(part.isidentifier() for part in first.value.split(".")) else None


def _when_called(call, when):
    """importlib's own functions count as the import statement that they replace; the house's lazy ones as strings."""
    return when if _last_name(call.func) in ("import_module", "__import__") else "string"


def _last_name(function):
    if isinstance(function, ast.Attribute):
        return function.attr
    return function.id if isinstance(function, ast.Name) else ""
