"""What a gradient op is given, held to what its forward gives: each call of one, by hand too, before a kernel runs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from opsdk.core.dtype import is_differentiable
from opsdk.core.errors import ArityError, DTypeError, ShapeError
from opsdk.core.nested import named
from opsdk.core.spec import TensorSpec, shape_text
from opsdk.define import infer
from opsdk.define.schema.schema import OpSchema

Given = Mapping[str, "TensorSpec | list[TensorSpec] | None"]

# None and truth, which a rule tests without asking anything, are left to optional attributes and bools.
_ASKED = ("int", "float", "complex", "str", "dtype", "int[]", "float[]")


class _Unread:
    """What stands for an input or an attribute that is not read: a rule that asks it anything gives up."""

    def __getattr__(self, name: str) -> Any:
        raise LookupError(name)

    def __bool__(self) -> bool:
        raise LookupError("bool")

    def __eq__(self, other: object) -> bool:
        raise LookupError("==")

    __hash__ = None  # type: ignore[assignment]


_UNREAD = _Unread()


def check_dtypes(forward: OpSchema, schema: OpSchema, given: Given) -> None:
    """Checks that the cotangents that a gradient op is given are floating.

    Raises:
        DTypeError: one is not.
    """
    for name in [f"d{decl.name}" for decl in forward.outputs]:
        for entry, got in named(name, given.get(name)):
            if not is_differentiable(got.dtype):
                raise DTypeError(f"{schema.subject}: expected {entry} of a floating dtype, got {got.dtype}; cast it")


def check_shapes(
    forward: OpSchema,
    rule: infer.InferRule,
    schema: OpSchema,
    given: Given,
    attrs: infer.Attrs,
    *,
    asks_unread: bool = True,
) -> bool:
    """Holds cotangents, outputs and residuals to one another, and to what the forward's rule says of what is at hand.

    Args:
        forward: the signature of the forward.
        rule: its infer rule.
        schema: the signature of the gradient op.
        given: what the gradient op is given, by name.
        attrs: its attributes.
        asks_unread: whether to ask the rule where it may name what the backward does not read.

    Returns:
        Whether to do so at the next call: not after a rule that gave up, which takes time in each backward pass.

    Raises:
        ArityError, ShapeError: one of them is not what the forward gives; or what the rule raises.
    """
    for decl in forward.outputs:
        if decl.name in given and f"d{decl.name}" in given:
            _check_like(forward, schema, decl.name, f"d{decl.name}", given, given[decl.name])
    is_whole = given.keys() >= set(forward.input_names) and attrs.keys() >= set(forward.attr_names)
    one = rule.name if isinstance(rule, infer.like) else None
    if not is_whole and one not in given and not (asks_unread and _has_stand_ins(forward, given, attrs)):
        return False
    known = {name: attrs.get(name, _UNREAD) for name in forward.attr_names}
    specs: list[Any] = [given.get(name, _UNREAD) for name in forward.input_names]
    try:
        outputs = rule(forward.whole, specs, known)
    except Exception:
        if is_whole and all(name in schema.input_names for name in forward.input_names):
            raise
        return False  # of a call whose inputs are not read the forward has judged already
    for decl, wanted in zip(forward.whole.outputs, outputs, strict=True):
        for name in (decl.name, f"d{decl.name}"):
            _check_like(forward, schema, decl.name, name, given, wanted)
    return True


def _has_stand_ins(forward: OpSchema, given: Given, attrs: infer.Attrs) -> bool:
    """Whether something can stand for all that is not read: not where whether it is there may decide."""
    inputs = all(decl.kind == "tensor" for decl in forward.inputs if decl.name not in given)
    return inputs and all(decl.type.base in _ASKED for decl in forward.attrs if decl.name not in attrs)


def _check_like(
    forward: OpSchema,
    schema: OpSchema,
    output: str,
    name: str,
    given: Given,
    wanted: TensorSpec | list[TensorSpec] | None,
) -> None:
    """Checks that an output or its cotangent, where it is given, has a shape, or in a list the length and shapes.

    Raises:
        ArityError, ShapeError: it has not.
    """
    if name not in given or type(given[name]) is not type(wanted):
        return
    pairs = named(name, given[name]), named(output, wanted)
    source = f"that {forward.subject} gives it" if name == output else f"of {output}"
    if len(pairs[0]) != len(pairs[1]):
        raise ArityError(
            f"{schema.subject}: expected {name} of the length {source}, {len(pairs[1])}, got {len(pairs[0])}"
        )
    for (entry, got), (its_output, its) in zip(*pairs, strict=True):
        if its is _UNREAD:  # a rule that hands on an input says nothing of one that is not read
            continue
        pairs_of_sizes = zip(got.shape, its.shape, strict=False)
        if got.ndim != its.ndim or any(a != b and None not in (a, b) for a, b in pairs_of_sizes):
            source = source if name == output else f"of {its_output}"
            raise ShapeError(
                f"{schema.subject}: expected {entry} of the shape {source}, {shape_text(its.shape)}, "
                f"got {shape_text(got.shape)}"
            )
