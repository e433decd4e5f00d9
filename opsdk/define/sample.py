"""Sample: inputs worth trying an op on, with the reason why."""

from __future__ import annotations

from typing import Any


class Sample:
    """One call of an op: its inputs, its attributes and the reason that it is there (empty, 0-d, kink, overflow …).

    Args:
        inputs: one array per tensor input, a list for a variadic one, None for an absent one.
        reason: what this call tries.
        attrs: attributes of the call.
    """

    # Any: arrays, lists of them, None; attribute values.
    def __init__(self, *inputs: Any, reason: str = "", **attrs: Any) -> None:
        self.inputs = inputs
        self.reason = reason
        self.attrs = attrs

    def __repr__(self) -> str:
        shapes = ", ".join(str(getattr(value, "shape", value)) for value in self.inputs)
        return f"Sample({shapes}; {self.reason or 'no reason given'})"
