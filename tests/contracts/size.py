"""Size and naming: budgets for files and functions, and names that say nothing."""

import ast
from statistics import median

FILE_LINES = 400
MEDIAN_LINES = 150
FUNCTION_LINES = 60
NAMELESS = {"util", "utils", "helper", "helpers", "common", "misc"}


def long_files(modules):
    """Finds files over the ceiling."""
    return [
        f"{module.path}: {lines} lines, at most {FILE_LINES}; move its second idea to a file of its own"
        for module in modules.values()
        if (lines := _lines(module)) > FILE_LINES
    ]


def heavy_packages(modules):
    """Finds top-level packages whose median file is too long; empty files do not count."""
    sizes = {}
    for module in modules.values():
        if lines := _lines(module):
            sizes.setdefault(module.parts[0], []).append(lines)
    return [
        f"{package}: median file {median(lines):g} lines, at most {MEDIAN_LINES}"
        for package, lines in sizes.items()
        if median(lines) > MEDIAN_LINES
    ]


def long_functions(modules):
    """Finds functions whose body, docstring apart, is over the budget."""
    return [
        f"{module.path}:{node.lineno}: {node.name} has {lines} lines, at most {FUNCTION_LINES}; it is two functions"
        for module in modules.values()
        for node in ast.walk(module.syntax)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and (lines := _body_lines(node)) > FUNCTION_LINES
    ]


def nameless_modules(modules):
    """Finds modules and packages called utils, helpers and the like."""
    return [
        f"{module.path}: {module.parts[-1]!r} names no idea; name the idea"
        for module in modules.values()
        if module.parts[-1].strip("_") in NAMELESS
    ]


def _lines(module):
    return len(module.source.splitlines())


def _body_lines(function):
    body = function.body[1:] if ast.get_docstring(function, clean=False) is not None else function.body
    return body[-1].end_lineno - body[0].lineno + 1 if body else 0
