"""OpRegistry: every op by its full name, with rules for what may replace what."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Generic, TypeVar, cast

from opsdk.core.errors import NameClashError, UnknownOpError
from opsdk.core.origin import shorten
from opsdk.core.registry import Registry
from opsdk.core.suggest import alternatives
from opsdk.define.digest import text_of
from opsdk.define.opdef import Handle, OpDef

H = TypeVar("H", bound=Handle)
_GRADIENT = "_grad"  # how the names of gradient ops end
BUILTIN = "opsdk"  # the namespace of the built-in ops, the last place where a bare name is looked up


class OpRegistry(Registry[H], Generic[H]):
    """Handles by `namespace::name`. The same name from the same file replaces; from elsewhere it clashes."""

    def admit(self, opdef: OpDef, *, replace: bool = False) -> H | None:
        """Returns the handle that already has this name and may take the definition, or None if the name is free.

        A notebook or a prompt counts as one origin; a definition that is replaced gets one line on standard error.

        Raises:
            NameClashError: the name belongs to another definition from another origin.
        """
        held = self.get(opdef.name)
        if held is None:
            return None
        old = held.opdef
        if replace or opdef.digest == old.digest:
            return held
        if old.origin.source == opdef.origin.source:
            if opdef.gradient_of is None or old.gradient_of != opdef.gradient_of:
                sys.stderr.write(f"{opdef.name} redefined ({opdef.origin} over {old.origin})\n")
            return held
        raise NameClashError(
            f"op '{opdef.schema.identity}': registered by {old.origin}, got another definition from {opdef.origin}; "
            "rename it or pass replace=True",
            because=f"they differ in: {difference(old, opdef)}",
            details={"registered": str(old.origin), "got": str(opdef.origin)},
        )

    def find(self, name: str) -> H:
        """Returns the op of a full name, of a bare name among the built-ins, or of a bare name that is unique.

        Raises:
            UnknownOpError: there is no such op, a bare name fits several, or the version is another.
        """
        bare, _, version = name.partition("@")
        held = self._find(bare)
        if version and version != str(held.opdef.schema.version):
            raise UnknownOpError(
                f"op {name!r}: expected version {version}, registered is '{held.opdef.schema.identity}', "
                f"defined at {held.opdef.origin}"
            )
        return held

    def _find(self, name: str) -> H:
        held = self._named(name) or (None if "::" in name else self._named(f"{BUILTIN}::{name}"))
        if held is not None:
            return held
        fitting = [full for full in self.names() if full.rpartition("::")[2] == name]
        if len(fitting) == 1:
            found = self.get(fitting[0])
            assert found is not None
            return found
        if fitting:
            raise UnknownOpError(f"op {name!r}: expected a name that fits one op, it fits {', '.join(fitting)}")
        raise UnknownOpError(f"op {name!r}: not registered; registered: {alternatives(name, self.names())}")

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

    @contextmanager
    def scoped(self) -> Iterator[None]:
        """Forgets, at the end of the `with` block, what was registered, redefined or given a row inside it."""
        before = [(handle, handle.opdef, tuple(handle.opdef.kernels)) for handle in self]
        with super().scoped():
            try:
                yield
            finally:
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
