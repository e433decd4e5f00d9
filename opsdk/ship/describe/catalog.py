"""Facts about registered ops, and about the installed packages that announce some: what `list` and reports say."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from opsdk.core.origin import shorten
from opsdk.define.op import PROVIDERS, REGISTRY, Op
from opsdk.define.opdef import OpDef
from opsdk.define.schema.binding import name_of
from opsdk.define.schema.scalars import OBJECT
from opsdk.define.schema.schema import ResidualDecl
from opsdk.ship.output.table import Column, render

UNLIMITED = "∞"
_DEEPEST = 8  # a chain of hand-written backwards longer than this is counted no further

_OPS = (Column("op"), Column("provider", drop=1), Column("kernels", drop=2), Column("order"))
_PROVIDERS = (Column("provider"), Column("entry point", drop=2), Column("ops", right=True, drop=1), Column("state"))


@dataclass(frozen=True)
class Entry:
    """One line of `opsdk list`."""

    op: str
    provider: str
    rows: tuple[str, ...]
    order: str
    where: str


@dataclass(frozen=True)
class State:
    """A provider after it was loaded.

    Attributes:
        name: the distribution.
        version: of the distribution.
        entry_point: the name of its entry point, and the module that it names.
        folder: where the distribution is installed.
        state: `ok`, `failed` or `shadowed`.
        ops: how many ops its modules define, gradient ops apart.
        reason: why it failed, or by what it is shadowed; empty where it is ok.
    """

    name: str
    version: str
    entry_point: str
    folder: str
    state: str
    ops: int
    reason: str = ""

    def __str__(self) -> str:
        return f"{self.name} {self.version}"


def names() -> list[str]:
    """Returns every registered op, gradient ops apart, sorted; no derivative is worked out for it."""
    return [op.opdef.name for op in REGISTRY if op.opdef.gradient_of is None]


def entries() -> list[Entry]:
    """Returns one entry per registered op, gradient ops apart, sorted by name."""
    owners = {provider.namespace: str(provider) for provider in PROVIDERS.announced() if not provider.shadowed_by}
    return [
        Entry(
            op=op.opdef.name,
            provider=owners.get(op.opdef.origin.module.partition(".")[0], op.opdef.schema.namespace),
            rows=rows_of(op.opdef),
            order=order_of(op.opdef),
            where=str(op.opdef.origin),
        )
        for op in REGISTRY
        if op.opdef.gradient_of is None
    ]


def table_of(found: list[Entry], width: int) -> str:
    """Returns the table of `opsdk list --table`."""
    return render(_OPS, [(e.op, e.provider, " ".join(e.rows), e.order) for e in found], width)


def rows_of(opdef: OpDef) -> tuple[str, ...]:
    """Returns the languages of an op's kernels, each once, in the order they came; `cuda` where that is the place."""
    names = [row.language if row.key.place == "cpu" else row.key.place for row in opdef.kernels]
    return tuple(dict.fromkeys(names))


def order_of(opdef: OpDef) -> str:
    """Returns how often an op can be differentiated: `none`, a number, or ∞ where its derivatives are derived."""
    count = 0
    current = opdef
    while count < _DEEPEST:
        if current.is_composite or is_derived(current):
            return UNLIMITED
        if current.grad is None:
            return str(count) if count else "none"
        current = current.grad.op.opdef
        count += 1
    return UNLIMITED


def is_derived(opdef: OpDef) -> bool:
    """Whether an op is the gradient of another that follows from an expression, as its own gradient then does."""
    return opdef.gradient_of is not None and callable(opdef.rule)


def derivative_of(opdef: OpDef) -> str:
    """Returns in words where an op's derivative comes from."""
    if opdef.grad is None:
        return "derived from the ops that it is made of" if opdef.is_composite else "none"
    gradient = opdef.grad.op.opdef
    if gradient.is_composite:
        kind = "made of registered ops"
    elif is_derived(gradient):
        kind = "derived from its expression, to any order"
    else:
        kind = "made of registered ops, with a residual" if gradient.is_of_ops else "NumPy code"
        kind += ", opaque" if gradient.grad is None else ", with a backward of its own"
    surrogate = opdef.traits.surrogate
    if callable(surrogate):
        kind += f"; the derivative of the surrogate {name_of(surrogate)}"
    elif surrogate:
        kind += "; a surrogate, declared to differ from the derivative"
    return f"{gradient.name}, {kind}"


def saves_of(opdef: OpDef) -> str:
    """Returns what the forward keeps for the backward, by name."""
    if opdef.grad is None:
        return "nothing"
    schema = opdef.schema
    names = {
        "input": [schema.input_names[i] for i in opdef.grad.saves("input")],
        "output": [schema.output_names[i] for i in opdef.grad.saves("output")],
        "residual": [_residual(schema.residuals[i]) for i in opdef.grad.saves("residual")],
    }
    parts = [f"{kind} {name}" for kind, found in names.items() for name in found]
    return ", ".join(parts) or "nothing"


def _residual(decl: ResidualDecl) -> str:
    return f"{decl.name} (an object)" if decl.kind == OBJECT else decl.name


def where(op: Op) -> str:
    """Returns `path:line` of an op's definition."""
    origin = op.opdef.origin
    return f"{shorten(origin.file)}:{origin.line}"


def load_providers() -> list[State]:
    """Imports every announced package; one that raises is reported, the others are loaded all the same."""
    announced = PROVIDERS.announced()
    failures = {p: PROVIDERS.load(p) for p in announced if not p.shadowed_by}
    modules = [op.opdef.origin.module.partition(".")[0] for op in REGISTRY if op.opdef.gradient_of is None]
    states = []
    for provider in announced:
        state, count, reason = "ok", modules.count(provider.namespace), ""
        if provider.shadowed_by:
            state, count, reason = "shadowed", 0, f"{provider.shadowed_by} comes first on sys.path"
        elif (failure := failures[provider]) is not None:
            state, reason = "failed", failure.reason
        entry_point = f"{provider.entry} = {provider.value}"
        states.append(State(provider.name, provider.version, entry_point, provider.folder, state, count, reason))
    return states


def table_of_providers(states: Sequence[State], width: int) -> str:
    """Returns the table of `opsdk list --providers`, and under it a line of reason for each that is not ok."""
    if not states:
        return "no installed package announces ops in the entry point group opsdk.ops"
    rows = [(str(s), s.entry_point, str(s.ops), s.state) for s in states]
    reasons = [f"{s} in {s.folder}: {s.state}, {s.reason}" for s in states if s.reason]
    return "\n".join([render(_PROVIDERS, rows, width), *reasons])
