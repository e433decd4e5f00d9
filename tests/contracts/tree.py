"""Source trees: the Python modules below a root, by dotted name, parsed."""

import ast
from dataclasses import dataclass
from functools import cache
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
PACKAGES = ("opsdk", "gradcheck", "contrib_ops")


@dataclass(frozen=True)
class Module:
    """One source file. `path` is relative to the root of its tree, with forward slashes."""

    name: str
    path: str
    source: str
    syntax: ast.Module

    @property
    def is_package(self):
        return self.path.endswith("__init__.py")

    @property
    def parts(self):
        return self.name.split(".")


def read_tree(root=REPOSITORY, packages=PACKAGES):
    """Gives {dotted name: Module} for every Python file of the packages; empty where a package does not exist."""
    read = _read_once if root == REPOSITORY else _read
    made = [read(root, file) for package in packages for file in sorted((root / package).rglob("*.py"))]
    return {module.name: module for module in made}


def forget():
    """Lets go of what was parsed of the repository: a million objects that every later garbage collection visits."""
    _read_once.cache_clear()


def _read(root, file):
    relative = file.relative_to(root)
    parts = list(relative.with_suffix("").parts)
    if parts[-1] == "__init__":
        parts.pop()
    source = file.read_text(encoding="utf-8")
    return Module(".".join(parts), relative.as_posix(), source, ast.parse(source, filename=str(file)))


_read_once = cache(_read)  # the files of the repository, which every contract reads and none changes


def plant(root, files):
    """Writes {path: source} below `root` with the missing __init__.py files, and gives the tree of what is there."""
    for path, source in files.items():
        file = root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(source, encoding="utf-8")
        for folder in file.parents:
            if folder == root:
                break
            (folder / "__init__.py").touch()
    return read_tree(root)
