"""OpRegistry: every op by its full name, with rules for what may replace what, and who provides what is not there yet.

Installed packages announce ops in the entry point group `opsdk.ops` and are loaded when an op is missed. Their metadata
is read only when an op is not found, or when somebody asks who provides what.
"""

from __future__ import annotations

import re
import sys
import threading
import traceback
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, Generic, TypeVar, cast

from opsdk.core.errors import NameClashError, OpsdkError, UnknownOpError
from opsdk.core.lazy import slow
from opsdk.core.origin import PACKAGE_ROOT, Origin, shorten
from opsdk.core.suggest import alternatives
from opsdk.define.identity.digest import text_of
from opsdk.define.opdef import BUILTIN, Handle, OpDef

H = TypeVar("H", bound=Handle)
_GRADIENT = "_grad"  # how the names of gradient ops end
GROUP = "opsdk.ops"  # of entry points
_LATE = ("opsdk.nn", "opsdk.static")  # whose built-in ops are registered when they are imported


class OpRegistry(Generic[H]):
    """Handles by `namespace::name`. The same name from the same file replaces; from elsewhere it clashes.

    Safe from any number of threads; what is decided about a name before it is put is decided under `lock`.

    Args:
        providers: the packages that are loaded when an op is not found.
    """

    def __init__(self, providers: Providers) -> None:
        self.lock = threading.RLock()
        self._entries: dict[str, H] = {}
        self._beside: list[dict[Any, Any]] = []
        self._scopes: list[list[Any]] = []  # of each block that is under way, in order, what it puts back at its end
        self._providers = providers

    def scoped_beside(self, table: dict[Any, Any]) -> dict[Any, Any]:
        """Returns a table of other names, of which `scoped` forgets what it forgets of ops."""
        self._beside.append(table)
        return table

    def get(self, name: str) -> H | None:
        """Returns the value of a name, or None."""
        return self._entries.get(name)

    def put(self, name: str, value: H) -> None:
        """Sets the value of a name."""
        with self.lock:
            self._entries = {**self._entries, name: value}  # readers keep a consistent table without locking

    def names(self) -> list[str]:
        """Returns all names, sorted."""
        return sorted(self._entries)

    def __iter__(self) -> Iterator[H]:
        entries = self._entries
        return iter([entries[name] for name in sorted(entries)])

    def __len__(self) -> int:
        return len(self._entries)

    def __contains__(self, name: object) -> bool:
        return name in self._entries

    def admit(self, opdef: OpDef, *, replace: bool = False) -> H | None:
        """Returns the handle that has this name, which may move to the definition, or None if the name is free.

        A notebook or a prompt counts as one origin; a definition that is replaced gets one line on standard error.

        Raises:
            NameClashError: the name belongs to another definition from another origin.
        """
        held = self.get(opdef.name)
        if held is None:
            return None
        old = held.opdef
        if replace or old.is_same(opdef):
            return held
        if old.owner == opdef.owner:
            if old.gradient_of != opdef.gradient_of or not callable(old.rule):  # what was derived makes way unsaid
                sys.stderr.write(f"{opdef.name} redefined ({opdef.origin} over {old.origin})\n")
            return held
        raise NameClashError(
            f"op '{opdef.schema.identity}': registered by {self._source(old.origin)}, got another definition from "
            f"{self._source(opdef.origin)}; rename it or pass replace=True",
            because=f"they differ in: {difference(old, opdef)}",
            details={"contested": opdef.name, "registered": str(old.origin), "got": str(opdef.origin)},
        )

    def holds(self, opdef: OpDef) -> bool:
        """Whether an op still has its name: one that another definition took the name from registers none any more."""
        held = self.get(opdef.name)
        return held is not None and held.opdef.kernels is opdef.kernels

    @contextmanager
    def moved(self, name: str, handle: H) -> Iterator[H]:
        """Gives a name to a handle, without the gradients of the op that had it; where the block raises, to none."""
        with self.lock:
            before = self._entries
            self.remove(name)
            self.put(name, handle)
            own = handle.opdef.rule
            while own is not None and not callable(own):
                self.put(own.op.opdef.name, cast("H", own.op))
                own = own.op.opdef.rule
            try:
                yield handle
            except BaseException:
                self._entries = before
                raise

    def remove(self, name: str) -> None:
        """Takes a name away, and those of the gradients of the op that had it; whoever holds them calls them on."""
        with self.lock:
            gone = {name}
            while more := {n for n, each in self._entries.items() if each.opdef.gradient_of in gone} - gone:
                gone |= more
            self._entries = {n: each for n, each in self._entries.items() if n not in gone}

    def find(self, name: str) -> H:
        """Returns the op of a full name, of a bare name among the built-ins, or of a bare name that is unique.

        Where none is registered, the installed packages that announce ops are loaded.

        Raises:
            UnknownOpError: there is no such op, a bare name fits several, or the version is another.
            NameClashError: two installed packages define it, or the op that it is the gradient of, differently.
        """
        bare, _, version = name.partition("@")
        held = self.held(bare)
        if held is None:
            for _ in self._providers.supply(bare):  # installed packages register it when they are loaded
                held = self.held(bare)
                if held is not None:
                    break
        if held is None:
            failures = self._providers.failures()
            remedy = "correct the name, or import what defines it"
            rest = f"packages that did not load: {failures}" if failures else remedy
            raise UnknownOpError(
                f"op {bare!r}: not registered; registered: {alternatives(bare, self.names())}; {rest}",
                help="opsdk list --providers shows every package that announces ops" if failures else "",
            )
        if version and version != str(held.opdef.schema.version):
            raise UnknownOpError(
                f"op {name!r}: expected version {version}, registered is '{held.opdef.schema.identity}', "
                f"defined at {held.opdef.origin}",
                details={"registered": held.opdef.schema.identity},
            )
        return held

    def held(self, name: str) -> H | None:
        """Returns what `find` does among the ops that are registered already; None where there is no such op.

        Raises:
            UnknownOpError: a bare name fits several.
            NameClashError: two installed packages define it differently.
        """
        held = self._named(name) or (None if "::" in name else self._named(f"{BUILTIN}::{name}"))
        if held is None:
            fitting = [full for full in self.names() if full.rpartition("::")[2] == name]
            if len(fitting) > 1:
                raise UnknownOpError(
                    f"op {name!r}: expected a name that fits one op, it fits {', '.join(fitting)}",
                    details={"fits": fitting},
                )
            held = self.get(fitting[0]) if fitting else None
        self._refuse_contested(held)
        return held

    def _refuse_contested(self, held: H | None) -> None:
        """Raises where two installed packages define an op, or the one that it is the gradient of, differently."""
        while held is not None:
            clash = self._providers.clash(held.opdef.name)
            if clash is not None:
                raise clash.with_traceback(None)
            held = None if held.opdef.gradient_of is None else self.get(held.opdef.gradient_of)

    def _named(self, name: str) -> H | None:
        """Returns the op of a full name; a derived gradient, which exists once it is asked for, is asked for."""
        held = self.get(name)
        if held is not None or not name.endswith(_GRADIENT):
            return held
        forward = self._named(name.removesuffix(_GRADIENT))
        rule = None if forward is None else forward.opdef.grad
        if rule is None or rule.op.opdef.name != name:
            return None
        return cast("H", rule.op)  # a rule's handle is of the registry's own kind

    def _source(self, origin: Origin) -> str:
        """Returns where a definition comes from, with the installed package that provides it where there is one."""
        owner = self._providers.owner(origin.module)
        return str(origin) if owner is None else f"{owner} ({origin})"

    @contextmanager
    def scoped(self) -> Iterator[None]:
        """Forgets, at the end of the `with` block, everything that was registered inside it.

        Of blocks that overlap, in several threads, the first to end forgets for those that began after it as well.
        """
        with self.lock:
            began = [self._state()]
            self._scopes.append(began)
        try:
            yield
        finally:
            with self.lock:
                self._put_back(began[0])
                at = next(i for i, one in enumerate(self._scopes) if one is began)
                for later in self._scopes[at + 1 :]:
                    later[:] = began
                del self._scopes[at]

    # Any: all entries, and what may be redefined or given a kernel.
    def _state(self) -> Any:
        rows = [(handle, handle.opdef, handle.opdef.kernels.rows) for handle in self._entries.values()]
        return self._entries, rows, [(table, dict(table)) for table in self._beside]

    def _put_back(self, state: Any) -> None:
        self._entries, before, beside = state
        for table, names in beside:
            table.clear()
            table.update(names)
        for handle, opdef, rows in before:
            if handle.opdef is not opdef:
                handle.opdef = opdef
            if opdef.kernels.rows is not rows:
                opdef.kernels.restore(rows)


def difference(old: OpDef, new: OpDef) -> str:
    """Returns what two definitions of one name differ in."""
    parts = []
    if str(old.schema) != str(new.schema):
        parts.append(f"schema ({old.schema} → {new.schema})")
    if text_of(old.traits) != text_of(new.traits):
        parts.append("declared traits")
    if text_of(old.infer) != text_of(new.infer):
        parts.append("the infer rule")
    return ", ".join(parts) or f"the code of the forward ({shorten(old.origin.file)}, {shorten(new.origin.file)})"


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
                same = (known for known in found if known.entry == provider.entry)
                first = next((each for each in same if _canonical(each.name) == _canonical(provider.name)), None)
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

        First what registers built-in ops of its own. Then, together, so that it does not depend on their order whether
        they clash, those whose entry point or module is called like the op's namespace; then all others.
        """
        namespace = name.rpartition("::")[0]
        if namespace in ("", BUILTIN):
            for module in _LATE:
                slow(module)
            yield
        providers = [provider for provider in self.announced() if not provider.shadowed_by]
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


def _canonical(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def _reason(error: BaseException) -> str:
    text = str(error) if isinstance(error, OpsdkError) else str(error).strip().partition("\n")[0]
    frames = traceback.extract_tb(error.__traceback__)
    own = [f for f in frames if not f.filename.startswith((PACKAGE_ROOT, "<frozen")) and "importlib" not in f.filename]
    where = f", at {shorten(own[-1].filename)}:{own[-1].lineno}" if own else ""
    return f"{type(error).__name__}: {text}{where}" if text else f"{type(error).__name__}{where}"
