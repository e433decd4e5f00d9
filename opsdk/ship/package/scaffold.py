"""New packages: rendered from templates in memory, then put on disk whole or not at all."""

from __future__ import annotations

import json
import os
import re
import subprocess
import tempfile
from dataclasses import dataclass
from datetime import date
from pathlib import Path, PurePosixPath

import jinja2

import opsdk
from opsdk.ship.package.kinds import LICENSES, Kind, folder
from opsdk.ship.package.name import ScaffoldError

_SUFFIX = ".j2"


@dataclass(frozen=True)
class Author:
    """Who writes the package; either may be empty."""

    name: str = ""
    email: str = ""


@dataclass(frozen=True)
class Package:
    """A package to be.

    Args:
        name: as it is imported; see `check_name`.
        kind: what it shows.
        author: of the metadata and the licence.
        license: one of `LICENSES`.
    """

    name: str
    kind: Kind
    author: Author = Author()
    license: str = LICENSES[0]

    @property
    def is_compiled(self) -> bool:
        """Whether building it takes a C compiler."""
        return "c" in self.kind.parts

    def files(self) -> dict[str, str]:
        """Returns the text of every file, by its path inside of the package's folder, in the order of the paths."""
        environment = jinja2.Environment(
            loader=jinja2.FileSystemLoader(folder()),
            undefined=jinja2.StrictUndefined,
            keep_trailing_newline=True,
            trim_blocks=True,
            lstrip_blocks=True,
        )
        environment.filters["toml"] = _toml
        rendered = {}
        for source in _sources(("base", *self.kind.parts)):
            path = PurePosixPath(*source.parts[1:]).as_posix().removesuffix(_SUFFIX).replace("__package__", self.name)
            rendered[path] = environment.get_template(source.as_posix()).render(self._values())
        return dict(sorted(rendered.items()))

    def to_edit(self, path: str) -> str:
        """Returns what a reader should change in a file; nothing where it may stay as it is."""
        head, *rest = PurePosixPath(path).parts
        if head == "tests":
            return "your cases"
        return "your op" if head == "src" and rest[-1] not in ("__init__.py", "py.typed") else ""

    def _values(self) -> dict[str, object]:
        return {
            "package": self.name,
            "distribution": self.name.replace("_", "-"),
            "kind": self.kind.name,
            "parts": self.kind.parts,
            "ops": self.kind.ops,
            "first": next(iter(self.kind.ops)),
            "author": self.author,
            "holder": self.author.name or f"the authors of {self.name}",
            "license": self.license,
            "year": date.today().year,
            "opsdk_version": opsdk.__version__,
        }


def write(package: Package, into: Path) -> Path:
    """Writes a package as a new folder, and returns the folder. It is there whole, or not there.

    Args:
        package: what to write.
        into: the folder that gets it; it has to exist.

    Raises:
        ScaffoldError: `into` is no folder or cannot be written, or something of that name is in it.
    """
    target = into / package.name
    check_place(target)
    files = package.files()
    try:
        with tempfile.TemporaryDirectory(prefix=".opsdk-new-", dir=into) as beside:
            made = Path(beside, package.name)
            for path, text in files.items():
                file = made / path
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_text(text, encoding="utf-8", newline="\n")
            os.replace(made, target)  # noqa: PTH105 - Path.replace says the same of files
    except OSError as error:
        check_place(target)  # somebody was faster
        reason = error.strerror or type(error).__name__
        raise ScaffoldError(
            f"package {package.name!r}: expected a folder that can be written, got {reason!r} in {into}; "
            "choose another with --into"
        ) from error
    return target


def check_place(target: Path) -> None:
    """Refuses a place that is taken, or whose parent is no folder.

    Raises:
        ScaffoldError: as said.
    """
    if not target.parent.is_dir():
        raise ScaffoldError(f"--into {target.parent}: expected a folder, got none of that name; make it first")
    if os.path.lexists(target):
        what = "a folder" if target.is_dir() else "a file"
        raise ScaffoldError(
            f"{target}: expected nothing of that name, got {what}; nothing is ever overwritten: take another name, or "
            "another place with --into"
        )


def author_of_git() -> Author:
    """Returns who commits here by git's settings; what git does not say is empty."""
    name, email = _git("user.name"), _git("user.email")
    return Author(name, email if re.fullmatch(r"[^@\s<>,]+@[^@\s<>,]+\.[^@\s<>,.]+", email) else "")


def _git(key: str) -> str:
    try:
        done = subprocess.run(["git", "config", "--get", key], capture_output=True, check=False, timeout=10)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return " ".join(done.stdout.decode("utf-8", errors="replace").split()) if done.returncode == 0 else ""


def _sources(parts: tuple[str, ...]) -> list[PurePosixPath]:
    """Returns the templates of files in some folders; what begins with one `_` is a part of others."""
    root = folder()
    found = [file.relative_to(root) for part in parts for file in (root / part).rglob(f"*{_SUFFIX}")]
    return [PurePosixPath(*file.parts) for file in sorted(found) if not any(map(_is_partial, file.parts))]


def _is_partial(name: str) -> bool:
    return name.startswith("_") and not name.startswith("__")


def _toml(text: str) -> str:
    """Returns a string as TOML writes it: JSON's form, in which no control character is left."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007F")
