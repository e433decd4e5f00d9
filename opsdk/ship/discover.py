"""Providers: installed packages that announce their ops in the entry point group `opsdk.ops`."""

from __future__ import annotations

import importlib.metadata
from dataclasses import dataclass

GROUP = "opsdk.ops"


@dataclass(frozen=True)
class Provider:
    """One announced package, loaded or broken.

    Args:
        name: the distribution, or the entry point where that is unknown.
        version: of the distribution.
        namespace: the top-level module that was loaded.
        error: why it could not be loaded; empty when it was.
    """

    name: str
    version: str
    namespace: str
    error: str = ""


def load_providers() -> list[Provider]:
    """Imports every announced package; one that raises is reported, the others are loaded all the same."""
    found = []
    for point in importlib.metadata.entry_points(group=GROUP):
        distribution = point.dist
        name, version = (distribution.name, distribution.version) if distribution else (point.name, "?")
        try:
            point.load()
            error = ""
        except Exception as raised:
            error = f"{type(raised).__name__}: {raised}"
        found.append(Provider(name, version, point.module.partition(".")[0], error))
    return found
