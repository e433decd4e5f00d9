"""Size and naming: budgets for files, functions, folders and packages, and names that say nothing.

`python -m tests.contracts.size` writes totals.txt anew, the lines that each package has.
"""

import ast
from collections import Counter
from pathlib import Path

from tests.contracts.tree import PACKAGES, REPOSITORY, read_tree

FILE_LINES = 400
FUNCTION_LINES = 60
FOLDER_FILES = 25  # more than a reader takes in at once; a prefix that files share is a folder that is missing
TOTALS = Path(__file__).with_name("totals.txt")
SLACK = 0.01  # of a total: how far a package may fall below its line before the line has to follow it down
BUILT = {".so", ".pyd", ".pyc"}  # what a build leaves beside the sources
NAMELESS = {"util", "utils", "helper", "helpers", "common", "misc"}


def long_files(modules):
    """Finds files over the ceiling."""
    return [
        f"{module.path}: {lines} lines, at most {FILE_LINES}; move its second idea to a file of its own"
        for module in modules.values()
        if (lines := _lines(module)) > FILE_LINES
    ]


def crowded_folders(root=REPOSITORY, packages=PACKAGES):
    """Finds folders below the packages that hold too many files, of whatever language."""
    files = (path for package in packages for path in (root / package).rglob("*") if path.is_file())
    counts = Counter(path.parent.relative_to(root).as_posix() for path in files if path.suffix not in BUILT)
    return [
        f"{folder}: {count} files, at most {FOLDER_FILES}; give the ideas among them folders"
        for folder, count in sorted(counts.items())
        if count > FOLDER_FILES
    ]


def totals(modules):
    """Gives the lines of Python that each top-level package has."""
    counts = Counter()
    for module in modules.values():
        counts[module.parts[0]] += _lines(module)
    return dict(counts)


def grown_packages(modules, allowed):
    """Finds packages that have more lines than the ratchet allows, and packages without a line in it."""
    return [
        f"{package}: {count} lines, at most {allowed.get(package, 0)}; write less, or raise the line in {TOTALS.name} "
        "in the commit that grows it, whose body says for what"
        for package, count in totals(modules).items()
        if count > allowed.get(package, 0)
    ]


def loose_totals(modules, allowed):
    """Finds lines of the ratchet that a package has fallen far below: what was won stays won."""
    counts = totals(modules)
    return [
        f"{package}: {counts.get(package, 0)} lines, and {TOTALS.name} allows {most}; lower it: "
        "python -m tests.contracts.size"
        for package, most in allowed.items()
        if counts.get(package, 0) < most * (1 - SLACK)
    ]


def read_totals(path=TOTALS):
    """Gives {package: lines} of the ratchet file."""
    lines = path.read_text(encoding="utf-8").splitlines()
    entries = (line.split() for line in lines if line.strip() and not line.startswith("#"))
    return {package: int(count) for package, count in entries}


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


def _main():
    """Rewrites the counts and keeps the comments above them."""
    comments = [line for line in TOTALS.read_text(encoding="utf-8").splitlines() if line.startswith("#")]
    counts = [f"{package} {count}" for package, count in totals(read_tree()).items()]
    TOTALS.write_text("\n".join([*comments, *counts, ""]), encoding="utf-8")


if __name__ == "__main__":
    _main()
