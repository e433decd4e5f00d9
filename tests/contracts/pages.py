"""Pages: the names of the packages that the text for users tells of, each of which has to exist."""

import ast
import importlib
import re

from tests.contracts.tree import REPOSITORY

PAGES = ("README.md", "docs/*.md")
_SPAN = re.compile(r"`([^`\n]+)`")
_NAME = re.compile(r"(?<![\w/.\-])(?:opsdk|gradcheck)(?:\.[A-Za-z_]\w*)+(?!\.?\w)")
_BARE = re.compile(r"^[a-z_]\w*$")
_FILES = {"opsdk.h"}  # called like names, and none


def pages():
    """Gives the pages, in order."""
    return [page for pattern in PAGES for page in sorted(REPOSITORY.glob(pattern))]


def unknown_names(text, page):
    """Finds dotted names on a page that lead nowhere, as "page:line: name".

    In a row of a table, `opsdk.abs`, `sign` stands for opsdk.abs and opsdk.sign: what follows in the same cell is
    read as if the first name's owner stood before it.
    """
    found = []
    for number, line in enumerate(text.splitlines(), start=1):
        names = [*_NAME.findall(line), *_continued(line)]
        found += [f"{page}:{number}: {name}" for name in dict.fromkeys(names) if not _exists(name)]
    return found


def _continued(line):
    if not line.startswith("|"):
        return []
    found = []
    for cell in line.split("|"):
        spans = _SPAN.findall(cell)
        if spans and _NAME.fullmatch(spans[0]):
            owner = spans[0].rpartition(".")[0]
            rest = cell.split("`", 2)[2]
            if re.fullmatch(r"[`\w, ]*", rest):  # a list of names, no prose with words in code
                found += [f"{owner}.{span}" for span in spans[1:] if _BARE.match(span)]
    return found


def _exists(name):
    if name in _FILES:
        return True
    parts = name.split(".")
    value = importlib.import_module(parts[0])
    for position, part in enumerate(parts[1:], start=1):
        try:
            value = getattr(value, part)
        except AttributeError:
            return _is_in_source(parts[:position], parts[position:])
    return True


def _is_in_source(owner, rest):
    """Whether a module defines a name; it is read, not imported, since it may need a framework that is not here."""
    file = REPOSITORY.joinpath(*owner, *rest)
    if file.with_suffix(".py").is_file() or (file / "__init__.py").is_file():
        return True
    module = REPOSITORY.joinpath(*owner, *rest[:-1]).with_suffix(".py")
    if not module.is_file():
        return False
    nodes = ast.parse(module.read_text(encoding="utf-8")).body
    return rest[-1] in {node.name for node in nodes if isinstance(node, (ast.FunctionDef, ast.ClassDef))}
