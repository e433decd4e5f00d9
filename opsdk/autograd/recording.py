"""Recording: a call becomes a node, and what it gave is tied to it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

import numpy as np

from opsdk.autograd.node import Boxes, GradNode, TapePlan
from opsdk.backends.call.buffers import asked_specs, infer
from opsdk.core.dtype import is_differentiable
from opsdk.core.flags import FLAGS
from opsdk.core.origin import caller
from opsdk.define.call import complete_attrs
from opsdk.define.infer import Inferred


# Any, in this file: the values of a call are tensors, lists of them or None; attribute values.
def record(
    plan: TapePlan,
    inputs: Sequence[Any],
    attrs: Mapping[str, Any],
    outputs: Sequence[Any],
    before: Mapping[int, int] = MappingProxyType({}),
    residuals: Sequence[Any] = (),
) -> None:
    """Makes the node of a call and ties the outputs to it.

    Args:
        plan: the kind of call.
        inputs: its tensors.
        attrs: those given.
        outputs: what it gave.
        before: by id of a version counter that the call moved, what it was: an input that is not the one to be changed,
            but shares its memory, was saved as it was then.
        residuals: what its kernel gave for the backward alone.
    """
    edges: list[Any] = []
    layout: list[int | None] = []
    for value in inputs:
        is_list = value.__class__ is list
        edges += [_edge(tensor) for tensor in value] if is_list else [_edge(value)]
        layout.append(len(value) if is_list else None)
    saved: list[Any] = []
    for kind, position in plan.saves:
        if kind in ("residual", "object"):
            held = residuals[position] if kind == "residual" else attrs[plan.opdef.schema.attr_names[position]]
            saved += (held, None, 0)
            continue
        value = inputs[position] if kind == "input" else outputs[position]
        box = None if value is None else value._version if value.__class__ is not list else Boxes(value)
        count = 0 if box is None else box[0]
        if before and kind == "input" and not plan.opdef.schema.inputs[position].mutated:
            count = box.count(before) if box.__class__ is Boxes else before.get(id(box), count)
        saved += (arrays_of(value), box, count)
    node = GradNode(plan, tuple(edges), tuple(saved))
    node.attrs = {name: attrs[name] for name in attrs if name not in plan.objects} if plan.objects else attrs
    node.outputs = tuple(
        [
            _absent_spec(plan, position, i, inputs, attrs) if out is None else (out._array.shape, out._array.dtype)
            for position, value in enumerate(outputs)
            for i, out in enumerate(value if value.__class__ is list else (value,))
        ]
    )
    if plan.asks and plan.gradient is not None:
        node.specs = asked_specs(plan.gradient, [arrays_of(value) for value in inputs])
    if FLAGS.debug:
        node.used_at = str(caller())
    if any(count is not None for count in layout):
        node.layout = tuple(layout)
    spread = tuple([len(value) if value.__class__ is list else None for value in outputs])
    if any(count is not None for count in spread):
        node.spread = spread
    index = 0
    for value, stop in zip(outputs, plan.stops, strict=True):
        for out in value if value.__class__ is list else (value,):
            if out is not None and not stop and is_differentiable(out._array.dtype):
                out._stop = False
                out._edge = (node, index)
            index += 1


def placed(plan: TapePlan, inputs: Sequence[Any], attrs: Mapping[str, Any], outputs: Sequence[Any]) -> Sequence[Any]:
    """Returns gradients with a place for each tensor of a list of which nobody wanted any, as far as the rule tells."""
    decls = plan.opdef.schema.outputs
    if not any(value is None and decl.kind == "list" for value, decl in zip(outputs, decls, strict=True)):
        return outputs
    pairs = zip(outputs, _inferred(plan, inputs, attrs), strict=True)
    return [[None] * len(spec) if value is None and isinstance(spec, list) else value for value, spec in pairs]


def _absent_spec(plan: TapePlan, position: int, i: int, inputs: Sequence[Any], attrs: Mapping[str, Any]) -> Any:
    """Returns shape and dtype of a gradient that was not made, so that zeros can enter the backward in its place.

    Of a result that is not given there is none, nor of a hole: None enters.
    """
    may_lack = plan.opdef.schema.outputs[position].may_lack
    if may_lack and plan.opdef.gradient_of is None:
        return None
    spec = _inferred(plan, inputs, attrs)[position]
    spec = spec[i] if isinstance(spec, list) else spec
    return (spec.shape, spec.dtype) if spec is not None else None if may_lack else ((), np.dtype("float32"))


def _inferred(plan: TapePlan, inputs: Sequence[Any], attrs: Mapping[str, Any]) -> Inferred:
    return infer(plan.opdef, [arrays_of(value) for value in inputs], complete_attrs(plan.opdef, attrs))


def _edge(tensor: Any) -> Any:
    return None if tensor is None or tensor._stop else tensor._edge or (tensor, -1)


def arrays_of(value: Any) -> Any:
    """Returns the array of a tensor, or the list of those of several."""
    if isinstance(value, list):
        return [None if tensor is None else tensor._array for tensor in value]
    return None if value is None else value._array
