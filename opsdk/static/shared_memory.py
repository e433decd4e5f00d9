"""Shared memory: which variables of a Program are changed in place, and which may be one memory with one that is."""

from __future__ import annotations

from collections.abc import Sequence

from opsdk.static.operator import Operator


class SharedMemory:
    """Which variables are changed in place, and which may share memory with one that is."""

    def __init__(self, operators: Sequence[Operator]) -> None:
        self._changed: set[str] = set()
        self._group: dict[str, set[str]] = {}
        for operator in operators:
            schema = operator.opdef.schema
            slots = list(operator.inputs.values())
            self._changed.update(name for i in schema.mutated_inputs for name in slots[i])
            for position, names in enumerate(operator.outputs.values()):
                sources = [name for i in schema.aliased_sources(position) for name in slots[i]]
                self._join([name for name in (*names, *sources) if name] if sources else [])
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


def passed(operator: Operator) -> dict[int, tuple[str, str]]:
    """Returns, by position of a gradient that is the cotangent itself, the names of the two."""
    rule = operator.forward.grad if operator.forward is not None else None
    if rule is None or not rule.passes:
        return {}
    inputs, outputs = list(operator.inputs.values()), list(operator.outputs.values())
    arriving = {s.position: names[0] for s, names in zip(rule.sources, inputs, strict=True) if s.kind == "cotangent"}
    return {
        i: (outputs[i][0], arriving[output])
        for i, output in enumerate(rule.passes)
        if output is not None and outputs[i][0]
    }
