"""What `opsdk new` prints: the tree with the two lines to edit, then the next two commands."""

from __future__ import annotations

import shlex
from collections.abc import Iterable
from pathlib import Path, PurePosixPath

from opsdk.ship.package.scaffold import Package


def tree(package: Package, target: Path, *, created: bool) -> str:
    """Returns the files of a package, those to edit first.

    Args:
        package: what is listed.
        target: its folder.
        created: whether it is there, or would be.
    """
    files = list(package.files())
    edited = {
        _together(path for path in files if package.to_edit(path) == task): task for task in ("your op", "your cases")
    }
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
    if package.is_compiled:  # the build needs the opsdk that is here, and not one that pip would look for
        install = ['pip install "setuptools>=77"', 'pip install --no-build-isolation -e ".[test]"']
    commands = [f"cd {shlex.quote(str(target))}", *install, f"opsdk check {package.name}"]
    return "next:  " + "\n       ".join([" && ".join(commands[:2]), *commands[2:]])


def _together(paths: Iterable[str]) -> str:
    """Returns paths of one folder in one line."""
    first, *others = paths
    return " ".join([first, *(PurePosixPath(path).name for path in others)])
