"""OpRegistry: every op by its full name, with rules for what may replace what."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Generic, TypeVar, cast

from opsdk.core.errors import NameClashError, UnknownOpError
from opsdk.core.origin import Origin, shorten
from opsdk.core.suggest import alternatives
from opsdk.define.identity.digest import text_of
from opsdk.define.opdef import Handle, OpDef
from opsdk.define.providers import Providers

H = TypeVar("H", bound=Handle)
_GRADIENT = "_grad"  # how the names of gradient ops end
BUILTIN = "opsdk"  # the namespace of the built-in ops, the last place where a bare name is looked up


class OpRegistry(Generic[H]):
    """Handles by `namespace::name`. The same name from the same file replaces; from elsewhere it clashes.

    Safe from any number of threads; what is decided about a name before it is put is decided under `lock`.

    Args:
        providers: the packages that are loaded when an op is not found; none unless given.
    """

    def __init__(self, providers: Providers | None = None) -> None:
        self.lock = threading.RLock()
        self._entries: dict[str, H] = {}
        self._scopes: list[list[Any]] = []  # of each block that is under way, in order, what it puts back at its end
        self._providers = providers

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
        held = self.held(bare) or self._supplied(bare)
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
        while held is not None and self._providers is not None:
            clash = self._providers.clash(held.opdef.name)
            if clash is not None:
                raise clash.with_traceback(None)
            held = None if held.opdef.gradient_of is None else self.get(held.opdef.gradient_of)

    def _supplied(self, name: str) -> H:
        """Returns an op that an installed package registers when it is loaded."""
        for _ in self._providers.supply(name) if self._providers else ():
            held = self.held(name)
            if held is not None:
                return held
        failures = self._providers.failures() if self._providers else ""
        rest = f"packages that did not load: {failures}" if failures else "correct the name, or import what defines it"
        raise UnknownOpError(
            f"op {name!r}: not registered; registered: {alternatives(name, self.names())}; {rest}",
            help="opsdk list --providers shows every package that announces ops" if failures else "",
        )

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
        owner = self._providers.owner(origin.module) if self._providers else None
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

    # Any: all entries, and what may be redefined or given a row.
    def _state(self) -> Any:
        return self._entries, [(handle, handle.opdef, tuple(handle.opdef.kernels)) for handle in self]

    def _put_back(self, state: Any) -> None:
        self._entries, before = state
        for handle, opdef, rows in before:
            if handle.opdef is not opdef:
                handle.opdef = opdef
            if tuple(opdef.kernels) != rows:
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
