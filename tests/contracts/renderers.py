"""Renderers: what writes a format of reports, or draws axes, beside the one module that does so for all."""

import ast
import re

from tests.contracts.imports import imports_of

# By what a text in the source looks like: what it writes, and the module that writes it.
TEXTS = {
    re.compile(r"<!doctype|<html|</body>", re.IGNORECASE): ("an HTML page", "gradcheck.show.page"),
    re.compile(r"<svg\b|^viewBox$"): ("a drawing", "gradcheck.show.svg"),
    re.compile(r"^<?(polyline|circle)\b(?! ?[.{])"): ("the lines of a chart", "gradcheck.show.axes"),
    re.compile(r"^testsuites?$|<testsuite"): ("JUnit's XML", "gradcheck.show.junit"),
}
# By package: what it writes or draws, and the module that does.
PACKAGES = {
    "xml": ("XML", "gradcheck.show.junit"),
    "matplotlib": ("axes", "gradcheck.show.axes"),
    "plotly": ("axes", "gradcheck.show.axes"),
}
NUMBERS = "gradcheck.show.render"
LABELS = "gradcheck.report"
# The floors that report; below them a label stands in the notes of an error, which cannot ask gradcheck.
REPORTING = ("gradcheck", "opsdk.verify", "opsdk.ship")


def second_renderers(modules):
    """Finds what writes a format, or draws axes, outside of the module that does it for all."""
    return [
        f"{module.path}:{line}: writes {what} once more; {home} does so for all"
        for name, module in modules.items()
        if name.startswith(REPORTING)
        for line, what, home in sorted({*_texts(module), *_packages(module, modules), *_functions(module)})
        if name != home
    ]


def _texts(module):
    ignored = _docstrings(module)
    for node in ast.walk(module.syntax):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in ignored:
            for pattern, (what, home) in TEXTS.items():
                if pattern.search(node.value):
                    yield node.lineno, what, home


def _packages(module, modules):
    for edge in imports_of(module, modules):
        if edge.base.split(".")[0] in PACKAGES:
            yield int(edge.where.rpartition(":")[2]), *PACKAGES[edge.base.split(".")[0]]


def _functions(module):
    """Yields labels of eight columns, and functions that walk over a document and write numbers as texts."""
    for node in ast.walk(module.syntax):
        if isinstance(node, ast.FormattedValue) and ast.unparse(node.format_spec or ast.Constant("")) == "f'<8'":
            yield node.lineno, "a labelled line", LABELS
        if isinstance(node, ast.FunctionDef) and {node.name, "isfinite", "repr", "float"} <= _named(node):
            yield node.lineno, "the numbers of JSON", NUMBERS


def _named(function):
    nodes = list(ast.walk(function))
    return {n.id for n in nodes if isinstance(n, ast.Name)} | {n.attr for n in nodes if isinstance(n, ast.Attribute)}


def _docstrings(module):
    return {id(node.value) for node in ast.walk(module.syntax) if isinstance(node, ast.Expr)}
