"""Inputs of one shape: what a loop over elements counts on, and what a compiled row of a user's therefore gets."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from opsdk.core.errors import ShapeError
from opsdk.core.spec import shape_text
from opsdk.define.opdef import OpDef

# Any, in this file: arrays of NumPy or CuPy, lists of them, None.
Given = Callable[[Sequence[Any]], Sequence[Any]]


def one_shape(opdef: OpDef) -> Given | None:
    """Returns what makes the inputs of a compiled row one shape, or refuses them; None where the op's rule says more.

    Under `infer=broadcast` smaller inputs are broadcast, in memory of their own. An op that has no rule was made for
    inputs of one shape, as far as anybody can know: a row that reads another shape reads beyond its arrays. One that
    changes inputs in place and makes nothing has nothing to infer, and is left alone.
    """
    rule = opdef.infer
    if not rule.reduces_gradients and not opdef.schema.fresh_outputs:
        return None
    single = [i for i, decl in enumerate(opdef.schema.inputs) if decl.kind != "list"]
    if not getattr(rule, "one_shape", False) or len(single) < 2:
        return None

    def given(values: Sequence[Any]) -> Sequence[Any]:
        first = values[single[0]]
        for i in single:
            value = values[i]
            if value is not None and first is not None and value.shape != first.shape:
                return _broadcast(opdef, values, single) if rule.reduces_gradients else _refused(opdef, values, single)
        return values

    return given


def _broadcast(opdef: OpDef, values: Sequence[Any], single: Sequence[int]) -> Sequence[Any]:
    made = list(values)
    present = [i for i in single if values[i] is not None]
    shape = np.broadcast_shapes(*[values[i].shape for i in present])
    for i in present:
        if values[i].shape != shape:
            if i in opdef.schema.mutated_inputs:
                name, its = opdef.schema.input_names[i], shape_text(values[i].shape)
                raise ShapeError(
                    f"{opdef.subject}: input {name!r} is changed in place, expected it of the shape that all inputs "
                    f"broadcast to, {shape_text(shape)}, got {its}",
                    at=str(opdef.origin),
                )
            made[i] = np.broadcast_to(values[i], shape).copy()
    return made


def _refused(opdef: OpDef, values: Sequence[Any], single: Sequence[int]) -> Sequence[Any]:
    names = opdef.schema.input_names
    shapes = ", ".join(f"{names[i]} {shape_text(values[i].shape)}" for i in single if values[i] is not None)
    if opdef.gradient_of is not None:
        raise ShapeError(
            f"{opdef.subject}: expected cotangents of the shape of the inputs, got {shapes}; reshape what differs",
            at=str(opdef.origin),
        )
    raise ShapeError(
        f"{opdef.subject}, compiled row: expected inputs of one shape, since the op has no infer rule, got {shapes}; "
        "declare infer=opsdk.infer.broadcast, or the rule that says which shapes belong together",
        at=str(opdef.origin),
    )
