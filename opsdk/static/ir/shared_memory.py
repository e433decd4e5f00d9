"""Shared memory: which variables of a Program are changed in place, and which may be one memory with one that is.

A Program computes with values: what an operator gave stays what it was, and a view of a variable that is changed in
place is a copy in a run. Whatever would tell the two apart on the tape, where views share memory, is refused.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

from opsdk.core.errors import ProgramError
from opsdk.static.ir.operator import Operator

if TYPE_CHECKING:
    from opsdk.static.ir.variable import Variable


class SharedMemory:
    """Which variables are changed in place, and which may share memory with one that is."""

    def __init__(self, operators: Sequence[Operator]) -> None:
        self._changed: set[str] = set()
        self._group: dict[str, set[str]] = {}
        for operator in operators:
            self._changed.update(changed(operator))
            for names, sources in viewed(operator):
                self._join([*names, *sources])
            for pair in passed(operator).values():
                self._join(pair)

    def _join(self, names: Sequence[str]) -> None:
        joined = {name for known in names for name in self._group.get(known, {known})}
        for name in joined:
            self._group[name] = joined

    def is_changed(self, name: str) -> bool:
        """Whether an operator changes this variable in place."""
        return name in self._changed

    def is_exposed(self, name: str) -> bool:
        """Whether this variable would share memory with one that is changed in place."""
        return not self._changed.isdisjoint(self._group.get(name, ()))


def changed(operator: Operator) -> list[str]:
    """Returns the names of what an operator changes in place."""
    return operator.changed_arg_names


def viewed(operator: Operator) -> Iterator[tuple[list[str], list[str]]]:
    """Yields, per output that may share memory with inputs, its names and theirs."""
    schema = operator.opdef.schema
    slots = list(operator.inputs.values())
    for position, names in enumerate(operator.outputs.values()):
        sources = [name for i in schema.aliased_sources(position) for name in slots[i]]
        if sources and not schema.outputs[position].mutated:
            yield [name for name in names if name], sources


def bases(variable: Variable) -> set[str]:
    """Returns the names of what a variable is a view of, of what that is a view of, and its own."""
    found, sought = {variable.name}, {variable.name}
    for operator in reversed(variable.block.ops):
        produced = sought.intersection(operator.output_arg_names)
        if not produced:
            continue
        sought -= produced
        for names, sources in viewed(operator):
            if not produced.isdisjoint(names):
                sought.update(set(sources) - found)
                found.update(sources)
        if not sought:
            break
    return found


def check_views(operators: Sequence[Operator]) -> dict[str, tuple[str, Operator]]:
    """Checks that no operator reads a view of what was changed in place since the view was taken.

    Returns:
        What `stale_views` does.

    Raises:
        ProgramError: one does; on the tape it would see the change.
    """

    def refuse(operator: Operator, view: str, source: str, by: Operator) -> None:
        raise late(f"operator {operator.type!r}: expected {view!r}, a view", source, by, str(operator.origin))

    return stale_views(operators, refuse)


def stale_views(
    operators: Sequence[Operator], on_read: Callable[[Operator, str, str, Operator], None] | None = None
) -> dict[str, tuple[str, Operator]]:
    """Returns, by name of a view that is stale once all have run, what it is of and the operator that changed that.

    Args:
        operators: in order.
        on_read: is told of an operator that reads a stale view, of the view, its base and what changed that.
    """
    views: dict[str, set[str]] = {}  # by name of a variable what was taken of it, and of that
    stale: dict[str, tuple[str, Operator]] = {}
    for operator in operators:
        for name in operator.input_arg_names if stale else ():
            if name in stale and on_read is not None:
                on_read(operator, name, *stale[name])
        for name in operator.output_arg_names:
            stale.pop(name, None)  # it holds something else now
        for names, sources in viewed(operator):
            for held in [held for held in views.values() if not held.isdisjoint(sources)]:
                held.update(names)
            for source in sources:
                views.setdefault(source, set()).update(names)
        for name in changed(operator):
            stale.update(dict.fromkeys(views.pop(name, ()), (name, operator)))
    return stale


def late(subject: str, source: str, by: Operator, at: str) -> ProgramError:
    """Returns the error of a view that is read, or fetched, after its base was changed in place."""
    return ProgramError(
        f"{subject} of {source!r}, to be read before {by.type!r} changes {source!r} in place, got it after; take the "
        "view once more there, or a clone() before",
        at=at,
    )


def passed(operator: Operator) -> dict[int, tuple[str, str]]:
    """Returns, by position of a gradient that is the cotangent itself, the names of the two."""
    rule = operator.rule
    if rule is None or not rule.passes:
        return {}
    inputs, outputs = list(operator.inputs.values()), list(operator.outputs.values())
    arriving = {s.position: names[0] for s, names in zip(rule.sources, inputs, strict=True) if s.kind == "cotangent"}
    return {
        i: (outputs[i][0], arriving[output])
        for i, output in enumerate(rule.passes)
        if output is not None and outputs[i][0]
    }
