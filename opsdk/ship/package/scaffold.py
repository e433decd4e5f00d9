"""New packages: rendered from templates in memory, put on disk whole or not at all, told with the next commands."""

from __future__ import annotations

import difflib
import json
import os
import re
import shlex
import subprocess
import tempfile
from dataclasses import dataclass
from datetime import date
from pathlib import Path, PurePosixPath

import jinja2

import opsdk
from opsdk.ship.package import DEFAULT, LICENSES
from opsdk.ship.package.name import ScaffoldError


@dataclass(frozen=True)
class Kind:
    """One kind of package.

    Args:
        name: as `--kind` takes it.
        about: what it is, in a line.
        parts: the kinds whose folders are rendered: itself, or those that it collects.
        ops: the ops of its parts by name, each with a line about it.
    """

    name: str
    about: str
    parts: tuple[str, ...]
    ops: dict[str, str]


def folder() -> Path:
    """Returns the folder of the templates: beside the modules where opsdk is installed, at the root of a checkout."""
    package = Path(opsdk.__file__).parent
    installed = package / "templates"
    return installed if installed.is_dir() else package.parent / "templates"


def kinds() -> dict[str, Kind]:
    """Returns every kind by name, in the order in which a reader should meet them."""
    described = json.loads((folder() / "kinds.json").read_text(encoding="utf-8"))
    found = {}
    for name, entry in described.items():
        parts = tuple(entry.get("of", [name]))
        ops = {op: about for part in parts for op, about in described[part]["ops"].items()}
        found[name] = Kind(name, entry["about"], parts, dict(sorted(ops.items())))
    return found


def kind_of(name: str) -> Kind:
    """Returns the kind of a name.

    Raises:
        ScaffoldError: there is none; the message has the nearest.
    """
    known = kinds()
    if name not in known:
        near = difflib.get_close_matches(name, known, n=1, cutoff=0.5)
        remedy = f"did you mean {near[0]}?" if near else f"{DEFAULT} is where to start"
        raise ScaffoldError(f"--kind: expected one of {', '.join(known)}, got {name!r}; {remedy}")
    return known[name]


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

    def files(self) -> dict[str, str]:
        """Returns the text of every file, by its path inside of the package's folder, in the order of the paths."""
        environment = jinja2.Environment(
            loader=jinja2.FileSystemLoader(folder()),
            undefined=jinja2.StrictUndefined,
            keep_trailing_newline=True,
            trim_blocks=True,
            lstrip_blocks=True,
        )
        # A string in TOML has JSON's form, in which no control character is left.
        environment.filters["toml"] = lambda text: json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007F")
        values = {
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
        rendered = {}
        for source in environment.list_templates(["j2"]):
            head, *rest = source.removesuffix(".j2").split("/")
            is_part = any(name.startswith("_") and not name.startswith("__") for name in rest)  # of other templates
            if head in ("base", *self.kind.parts) and not is_part:
                path = "/".join(rest).replace("__package__", self.name)
                rendered[path] = environment.get_template(source).render(values)
        return dict(sorted(rendered.items()))

    def to_edit(self, path: str) -> str:
        """Returns what a reader should change in a file; nothing where it may stay as it is."""
        head, *rest = PurePosixPath(path).parts
        if head == "tests":
            return "your cases"
        return "your op" if head == "src" and rest[-1] not in ("__init__.py", "py.typed") else ""


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


def tree(package: Package, target: Path, *, created: bool) -> str:
    """Returns the files of a package, those to edit first.

    Args:
        package: what is listed.
        target: its folder.
        created: whether it is there, or would be.
    """
    files = list(package.files())
    edited = {}
    for task in ("your op", "your cases"):
        first, *others = (path for path in files if package.to_edit(path) == task)
        edited[" ".join([first, *(PurePosixPath(path).name for path in others)])] = task  # of one folder, in one line
    longest = max(map(len, edited))
    return "\n".join(
        [
            f"{'created' if created else 'would create'} {target}/   ({len(files)} files, kind: {package.kind.name})",
            *(f"  {paths:<{longest}}  edit: {task}" for paths, task in edited.items()),
            *(f"  {path}" for path in files if not package.to_edit(path)),
        ]
    )


def next_commands(package: Package, target: Path) -> str:
    """Returns what to type next."""
    install = ['pip install -e ".[test]"']
    if "c" in package.kind.parts:  # the build needs the opsdk that is here, and not one that pip would look for
        install = ['pip install "setuptools>=77"', 'pip install --no-build-isolation -e ".[test]"']
    commands = [f"cd {shlex.quote(str(target))}", *install, f"opsdk check {package.name}"]
    return "next:  " + "\n       ".join([" && ".join(commands[:2]), *commands[2:]])
