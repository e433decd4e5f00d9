"""Unneeded gradients: those of inputs that are absent or whole numbers, or that a call's mask leaves out.

A compiled row is given buffers for them like for others, and may leave them as the memory was; they are handed on as
None.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from opsdk.backends.call.language import Launch
from opsdk.core.dtype import is_differentiable
from opsdk.define.gradient import GradientInfer
from opsdk.define.opdef import MASK, OpDef


# Any: one entry per input, an array, a list of arrays or None; attribute values.
def unneeded(opdef: OpDef, inputs: Sequence[Any], attrs: Mapping[str, Any]) -> frozenset[int]:
    """Returns the positions of the outputs of a gradient op that nobody wants; of no other op there are any."""
    rule = opdef.infer
    if not isinstance(rule, GradientInfer):
        return frozenset()
    given = {name.removesuffix("_spec"): attrs[name] for name, _ in rule.asks if name in attrs}
    given.update(zip(opdef.schema.input_names, inputs, strict=True))
    mask = attrs.get(MASK) or ()
    return frozenset(
        i
        for i, (name, position) in enumerate(zip(rule.names, rule.positions, strict=True))
        if (name in given and _carries_none(given[name])) or (mask and position is not None and not mask[position])
    )


# Any: an array, a list of arrays, or None.
def _carries_none(value: Any) -> bool:
    return value is None or (not isinstance(value, list) and not is_differentiable(value.dtype))


# Any: as for `unneeded`.
def without_unneeded(opdef: OpDef, launch: Launch, inputs: Sequence[Any]) -> Launch:
    """Returns the launch of a compiled row with None for the gradients that nobody wants; itself where all are.

    Args:
        opdef: the op.
        launch: of the row.
        inputs: of one call of the kind that the launch serves.
    """
    rule = opdef.infer
    if not isinstance(rule, GradientInfer):
        return launch
    schema = opdef.schema
    left = {decl.name for decl, value in zip(schema.inputs, inputs, strict=True) if _carries_none(value)}
    is_masked = MASK in schema.attr_names and any(position is not None for position in rule.positions)
    if not is_masked and left.isdisjoint(rule.names) and not rule.asks:
        return launch

    def launch_wanted(*values: Any, **attrs: Any) -> Any:
        made = launch(*values, **attrs)
        left = unneeded(opdef, values, attrs)
        if not left:
            return made
        if len(rule.names) == 1:
            return None
        return tuple([None if i in left else value for i, value in enumerate(made)])

    return launch_wanted
