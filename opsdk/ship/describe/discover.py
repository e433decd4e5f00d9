"""What `opsdk list` says of providers: which installed packages announce ops, and whether each could be loaded."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from opsdk.define.op import PROVIDERS, REGISTRY
from opsdk.define.op_registry import Failure, Provider
from opsdk.ship.output.table import Column, render

COLUMNS = (Column("provider"), Column("entry point", drop=2), Column("ops", right=True, drop=1), Column("state"))


@dataclass(frozen=True)
class State:
    """A provider after it was loaded.

    Attributes:
        provider: who it is.
        state: `ok`, `failed` or `shadowed`.
        ops: how many ops its modules define, gradient ops apart.
        reason: why it failed, or by what it is shadowed; empty where it is ok.
    """

    provider: Provider
    state: str
    ops: int
    reason: str = ""

    def as_dict(self) -> dict[str, str | int]:
        """Returns it for machines."""
        provider = self.provider
        return {
            "name": provider.name,
            "version": provider.version,
            "entry_point": f"{provider.entry} = {provider.value}",
            "folder": provider.folder,
            "state": self.state,
            "ops": self.ops,
            "reason": self.reason,
        }


def load_providers() -> list[State]:
    """Imports every announced package; one that raises is reported, the others are loaded all the same."""
    announced = PROVIDERS.announced()
    failures = {p: PROVIDERS.load(p) for p in announced if not p.shadowed_by}
    return [_state(provider, failures.get(provider)) for provider in announced]


def table_of(states: Sequence[State], width: int) -> str:
    """Returns the table of `opsdk list --providers`, and under it a line of reason for each that is not ok."""
    if not states:
        return "no installed package announces ops in the entry point group opsdk.ops"
    rows = [(str(s.provider), f"{s.provider.entry} = {s.provider.value}", str(s.ops), s.state) for s in states]
    reasons = [f"{s.provider} in {s.provider.folder}: {s.state}, {s.reason}" for s in states if s.reason]
    return "\n".join([render(COLUMNS, rows, width), *reasons])


def _state(provider: Provider, failure: Failure | None) -> State:
    if provider.shadowed_by:
        return State(provider, "shadowed", 0, f"{provider.shadowed_by} comes first on sys.path")
    forward = [op.opdef for op in REGISTRY if op.opdef.gradient_of is None]
    ops = sum(opdef.origin.module.partition(".")[0] == provider.namespace for opdef in forward)
    return State(provider, "ok", ops) if failure is None else State(provider, "failed", ops, failure.reason)
