"""Gradients that nobody wants: those of inputs that are absent, or that the mask of a call leaves out.

A compiled row is given buffers for them like for others, and may leave them as the memory was; they are handed on as
None.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from opsdk.backends.language import Launch
from opsdk.define.gradient import GradientInfer
from opsdk.define.opdef import MASK, OpDef


# Any: one entry per input, an array, a list of arrays or None; attribute values.
def unwanted(opdef: OpDef, inputs: Sequence[Any], attrs: Mapping[str, Any]) -> frozenset[int]:
    """Returns the positions of the outputs of a gradient op that nobody wants; of no other op there are any."""
    rule = opdef.infer
    if not isinstance(rule, GradientInfer):
        return frozenset()
    given = dict(zip(opdef.schema.input_names, inputs, strict=True))
    mask = attrs.get(MASK) or ()
    return frozenset(
        i
        for i, (name, position) in enumerate(zip(rule.names, rule.positions, strict=True))
        if (name in given and given[name] is None) or (mask and position is not None and not mask[position])
    )


def without_unwanted(opdef: OpDef, launch: Launch) -> Launch:
    """Returns the launch of a compiled row with None for the gradients that nobody wants; itself where all are."""
    rule = opdef.infer
    if not isinstance(rule, GradientInfer):
        return launch
    optional = {decl.name for decl in opdef.schema.inputs if decl.kind == "optional"}
    is_masked = MASK in opdef.schema.attr_names and any(position is not None for position in rule.positions)
    if not is_masked and optional.isdisjoint(rule.names):
        return launch

    def launch_wanted(*values: Any, **attrs: Any) -> Any:
        made = launch(*values, **attrs)
        left = unwanted(opdef, values, attrs)
        if not left:
            return made
        return tuple([None if i in left else value for i, value in enumerate(made)]) if type(made) is tuple else None

    return launch_wanted
