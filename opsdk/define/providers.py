"""Providers: installed packages that announce ops in the entry point group `opsdk.ops`, loaded when one is missed.

Metadata of installed packages is read only when an op is not found, or when somebody asks who provides what.
"""

from __future__ import annotations

import re
import traceback
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from opsdk.core.errors import OpsdkError
from opsdk.core.lazy import slow
from opsdk.core.origin import PACKAGE_ROOT, shorten

GROUP = "opsdk.ops"


@dataclass(frozen=True)
class Provider:
    """One entry point of one installed distribution.

    Attributes:
        name: the distribution.
        version: of the distribution; `?` where its metadata has none.
        entry: the name of the entry point.
        value: what it names, a module whose import registers ops.
        folder: where the distribution is installed.
        shadowed_by: the same distribution, found earlier on the path; empty where this one counts.
    """

    name: str
    version: str
    entry: str
    value: str
    folder: str
    shadowed_by: str = ""

    def __str__(self) -> str:
        return f"{self.name} {self.version}"

    @property
    def module(self) -> str:
        """The module that is imported."""
        return re.split(r"[:\[\s]", self.value.strip(), maxsplit=1)[0]

    @property
    def namespace(self) -> str:
        """The top-level module that the ops are defined in."""
        return self.module.partition(".")[0]


@dataclass(frozen=True)
class Failure:
    """Why a provider did not load.

    Attributes:
        reason: type and text of what was raised, and the last line of the package's own that ran.
        clash: the error, where an op has another definition already.
    """

    reason: str
    clash: OpsdkError | None = None


class Providers:
    """All announced packages of this process; one that cannot be loaded is remembered, and the others are loaded."""

    def __init__(self) -> None:
        self._failed: dict[Provider, Failure] = {}

    def announced(self) -> list[Provider]:
        """Returns every provider that is installed, shadowed ones included: in the order of the path, then by name.

        The same version that announces the same module is one provider wherever its metadata lies: a folder may be on
        the path twice, and an editable install has metadata beside its sources and in site-packages.
        """
        metadata = slow("importlib.metadata")
        found: list[Provider] = []
        for distribution in metadata.distributions():
            for provider in _announced_by(distribution):
                first = next((known for known in found if _same(known, provider)), None)
                if first is None:
                    found.append(provider)
                elif (first.version, first.value) != (provider.version, provider.value):
                    found.append(replace(provider, shadowed_by=f"{first} in {first.folder}"))
        folders = list(dict.fromkeys(provider.folder for provider in found))
        # Within a folder the disk decides what comes first, and who loads first registers first.
        return sorted(found, key=lambda p: (folders.index(p.folder), _canonical(p.name), p.entry))

    def load(self, provider: Provider) -> Failure | None:
        """Imports a provider; returns why it failed, now or when it was tried before."""
        if provider not in self._failed:
            # Two threads may both import it: the import system makes one of them wait.
            try:
                slow("importlib.metadata").EntryPoint(provider.entry, provider.value, GROUP).load()
            except (Exception, SystemExit) as error:
                clash = error if isinstance(error, OpsdkError) and "contested" in error.details else None
                self._failed[provider] = Failure(_reason(error), clash)
        return self._failed.get(provider)

    def supply(self, name: str) -> Iterator[None]:
        """Loads packages that may define an op, and yields whenever it is worth another look.

        Those whose entry point or module is called like the op's namespace come first, together, so that it does not
        depend on their order whether they clash; then all others.
        """
        providers = [provider for provider in self.announced() if not provider.shadowed_by]
        namespace = name.rpartition("::")[0]
        likely = [provider for provider in providers if namespace in (provider.entry, provider.namespace)]
        for batch in (likely, [provider for provider in providers if provider not in likely]):
            for provider in batch:
                self.load(provider)
            if batch:
                yield

    def clash(self, name: str) -> OpsdkError | None:
        """Returns the error of an op that two packages define differently, so that neither is taken by chance."""
        for failure in self._failed.values():
            if failure.clash is not None and failure.clash.details["contested"] == name:
                return failure.clash
        return None

    def failures(self) -> str:
        """Returns the packages that could not be loaded and why, as part of a sentence; empty where there are none."""
        return ", ".join(f"{provider} ({failure.reason})" for provider, failure in self._failed.items())

    def owner(self, module: str) -> Provider | None:
        """Returns who provides a module."""
        top = module.partition(".")[0]
        return next((p for p in self.announced() if p.namespace == top and not p.shadowed_by), None)


# Any: a distribution of importlib.metadata, which is imported late.
def _announced_by(distribution: Any) -> Iterable[Provider]:
    try:
        points = [point for point in distribution.entry_points if point.group == GROUP]
    except Exception:  # metadata that nobody can read belongs to a package that announces nothing readable
        return []
    if not points:
        return []
    try:
        name, version = distribution.name, distribution.version
    except Exception:  # a folder without METADATA
        name, version = None, None
    folder = str(distribution.locate_file(""))
    return [Provider(name or point.name, version or "?", point.name, point.value, folder) for point in points]


def _same(one: Provider, other: Provider) -> bool:
    return one.entry == other.entry and _canonical(one.name) == _canonical(other.name)


def _canonical(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def _reason(error: BaseException) -> str:
    text = str(error) if isinstance(error, OpsdkError) else str(error).strip().partition("\n")[0]
    frames = traceback.extract_tb(error.__traceback__)
    own = [f for f in frames if not f.filename.startswith((PACKAGE_ROOT, "<frozen")) and "importlib" not in f.filename]
    where = f", at {shorten(own[-1].filename)}:{own[-1].lineno}" if own else ""
    return f"{type(error).__name__}: {text}{where}" if text else f"{type(error).__name__}{where}"
