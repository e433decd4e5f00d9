"""Inputs of one shape: what a loop over elements counts on, and what a compiled kernel of a user's therefore gets."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NoReturn

import numpy as np

from opsdk.core.errors import ShapeError
from opsdk.core.nested import named, refill
from opsdk.core.spec import shape_text
from opsdk.define.opdef import OpDef

# Any, in this file: arrays of NumPy or CuPy, lists of them, None.
Given = Callable[[Sequence[Any]], Sequence[Any]]


def one_shape(opdef: OpDef) -> Given | None:
    """Returns what makes the inputs of a compiled kernel one shape, or refuses them; None if the op's rule says more.

    The tensors in lists are inputs like all others. Under `infer=broadcast` smaller inputs are broadcast, in memory of
    their own. An op that has no rule was made for inputs of one shape, as far as anybody can know: a kernel that reads
    another shape reads beyond its arrays, whether it fills an output or changes an input in place.
    """
    rule = opdef.infer
    has_lists = any(decl.kind == "list" for decl in opdef.schema.inputs)
    if not getattr(rule, "one_shape", False) or (len(opdef.schema.inputs) < 2 and not has_lists):
        return None
    made: Callable[[OpDef, Sequence[Any]], Sequence[Any]] = _broadcast if rule.reduces_gradients else _refused

    def given(values: Sequence[Any]) -> Sequence[Any]:
        shape = None
        for value in values:
            if value is not None:
                if shape is None:
                    shape = value.shape
                elif value.shape != shape:
                    return made(opdef, values)
        return values

    def given_lists(values: Sequence[Any]) -> Sequence[Any]:
        shapes = {item.shape for _, item in _named(opdef.schema.input_names, values)}
        return values if len(shapes) < 2 else made(opdef, values)

    return given_lists if has_lists else given


def _named(names: Sequence[str], values: Sequence[Any]) -> list[tuple[str, Any]]:
    """Returns every value that is present with its name; the tensors of a list are numbered."""
    return [pair for name, value in zip(names, values, strict=True) for pair in named(name, value)]


def _broadcast(opdef: OpDef, values: Sequence[Any]) -> Sequence[Any]:
    shape = np.broadcast_shapes(*[item.shape for _, item in _named(opdef.schema.input_names, values)])
    return [
        refill(value, (_whole(opdef, i, *pair, shape) for pair in named(name, value)))
        for i, (name, value) in enumerate(zip(opdef.schema.input_names, values, strict=True))
    ]


def _whole(opdef: OpDef, position: int, name: str, array: Any, shape: tuple[int, ...]) -> Any:
    """Returns an input broadcast to a shape, in memory of its own unless it has that shape already."""
    if array.shape == shape:
        return array
    if position in opdef.schema.mutated_inputs:
        raise ShapeError(
            f"{opdef.subject}: input {name!r} is changed in place, expected it of the shape that all inputs broadcast "
            f"to, {shape_text(shape)}, got {shape_text(array.shape)}",
            at=str(opdef.origin),
        )
    return np.broadcast_to(array, shape).copy()


def check_gradients(opdef: OpDef, values: Sequence[Any], specs: Sequence[Any]) -> None:
    """Checks that the gradients that a kernel fills have the shape of what it reads, where the op has no infer rule.

    Raises:
        ShapeError: one has the shape of an input that NumPy broadcast in the forward.
    """
    rule = opdef.infer
    if opdef.gradient_of is None or rule.reduces_gradients or not getattr(rule, "one_shape", False):
        return
    given = [*_named(opdef.schema.input_names, values), *_named(opdef.schema.output_names, specs)]
    if len({item.shape for _, item in given}) > 1:
        raise ShapeError(
            f"{opdef.subject}, compiled kernel: expected gradients of the shape of the cotangents, since "
            f"{opdef.gradient_of!r} has no infer rule, got {_shapes(given)}; declare infer=opsdk.infer.broadcast, or "
            "the rule that says which shapes belong together",
            at=str(opdef.origin),
        )


def _shapes(named: Sequence[tuple[str, Any]]) -> str:
    first: dict[tuple[int, ...], str] = {}  # of each shape the first one: a list may be long
    for name, item in named:
        first.setdefault(tuple(item.shape), name)
    return ", ".join(f"{name} {shape_text(shape)}" for shape, name in first.items())


def _refused(opdef: OpDef, values: Sequence[Any]) -> NoReturn:
    shapes = _shapes(_named(opdef.schema.input_names, values))
    if opdef.gradient_of is not None:
        raise ShapeError(
            f"{opdef.subject}: expected cotangents of the shape of the inputs, got {shapes}; reshape what differs",
            at=str(opdef.origin),
        )
    raise ShapeError(
        f"{opdef.subject}, compiled kernel: expected inputs of one shape, since the op has no infer rule, "
        f"got {shapes}; declare infer=opsdk.infer.broadcast, or the rule that says which shapes belong together",
        at=str(opdef.origin),
    )
