"""The kinds of package that `opsdk new` makes, as the folder of templates describes them."""

from __future__ import annotations

import difflib
import json
from dataclasses import dataclass
from pathlib import Path

import opsdk
from opsdk.ship.package.name import ScaffoldError

DEFAULT = "pyfunc"
LICENSES = ("Apache-2.0", "MIT", "BSD-3-Clause")


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
