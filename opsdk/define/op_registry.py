"""OpRegistry: every op by its full name, with rules for what may replace what."""

from __future__ import annotations

import sys
from typing import Generic, TypeVar

from opsdk.core.errors import NameClashError, UnknownOpError
from opsdk.core.origin import shorten
from opsdk.core.registry import Registry
from opsdk.core.suggest import alternatives
from opsdk.define.opdef import Handle, OpDef

H = TypeVar("H", bound=Handle)
BUILTIN = "opsdk"  # the namespace of the built-in ops, the last place where a bare name is looked up


class OpRegistry(Registry[H], Generic[H]):
    """Handles by `namespace::name`. The same name from the same file replaces; from elsewhere it clashes."""

    def admit(self, opdef: OpDef, *, replace: bool = False) -> H | None:
        """Returns the handle that already has this name and may take the definition, or None if the name is free.

        Raises:
            NameClashError: the name belongs to another definition from another origin.
        """
        held = self.get(opdef.name)
        if held is None:
            return None
        old = held.opdef
        if replace or opdef.digest == old.digest:
            return held
        if old.origin.file == opdef.origin.file:
            if opdef.gradient_of is None:
                print(f"{opdef.name} redefined ({opdef.origin} over {old.origin})", file=sys.stderr)
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
            UnknownOpError: there is no such op, or a bare name fits several.
        """
        name = name.partition("@")[0]
        held = self.get(name) or (None if "::" in name else self.get(f"{BUILTIN}::{name}"))
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


def difference(old: OpDef, new: OpDef) -> str:
    """Returns what two definitions of one name differ in."""
    parts = []
    if str(old.schema) != str(new.schema):
        parts.append(f"schema ({old.schema} → {new.schema})")
    if old.traits != new.traits:
        parts.append("declared traits")
    return ", ".join(parts) or f"the code of the forward ({shorten(old.origin.file)}, {shorten(new.origin.file)})"
