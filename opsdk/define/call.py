"""Binding of a call: positional and keyword arguments to the inputs and attributes of a schema."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any

import numpy as np

from opsdk.core import random
from opsdk.core.dtype import KINDS, word_of
from opsdk.core.errors import ArityError, AttributeValueError, DTypeError, OpsdkError, ReturnError, ShapeError
from opsdk.core.modes import is_grad_enabled
from opsdk.core.nested import each, flat, named
from opsdk.core.origin import origin_of
from opsdk.core.random import Generator
from opsdk.core.spec import TensorSpec, shape_text
from opsdk.core.spellings import renamed
from opsdk.core.suggest import alternatives
from opsdk.define.frontend import owner_of
from opsdk.define.identity.callables import callable_text, captured
from opsdk.define.infer import STOCK, Inferred, Specs
from opsdk.define.opdef import OpDef, is_mask
from opsdk.define.schema.attr_type import AttrType
from opsdk.define.schema.attribute import AttrDecl, coerce
from opsdk.define.schema.scalars import SPEC
from opsdk.define.schema.schema import InputDecl, OpSchema, OutputDecl


def absences(opdef: OpDef) -> dict[int, tuple[None, ...]]:
    """Returns what stands for optional inputs that a call leaves out, by how many arguments it gives by position.

    Other calls go through `bind`; so do all where attributes stand between inputs, or where one argument may be the
    whole list or its only tensor.
    """
    schema = opdef.schema
    count = len(schema.inputs)
    if schema.generators or any(decl.kind == "list" for decl in schema.inputs):
        return {}
    return {given: (None,) * (count - given) for given in range(schema.required_inputs, count + 1)}


# Any: values belong to whichever runtime they come from.
def bind(opdef: OpDef, args: Sequence[Any], kwargs: Mapping[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Returns one entry per tensor input, and the attributes that were given.

    A last variadic input takes all remaining positional arguments, or one list.

    Raises:
        ArityError: too many, too few or doubled arguments, or a name that the schema does not have.
    """
    schema = opdef.schema
    count = len(schema.inputs)
    in_place = schema.required_inputs <= len(args) <= count and (
        not args or not schema.is_variadic or (len(args) == count and args[-1].__class__ is list)
    )
    if in_place and all(name in schema.attr_names for name in kwargs):
        return (*args, *[None] * (count - len(args))), dict(kwargs)  # all that there is to `concat(xs, axis=0)`
    values = dict(kwargs)
    positional = list(args)
    names = list(schema.positional)
    lists = [decl.name for decl in schema.inputs if decl.kind == "list"]
    if names and names[-1] in lists and len(positional) >= len(names):
        head = len(names) - 1
        if len(positional) > len(names) or not isinstance(positional[head], (list, tuple)):
            positional = [*positional[:head], positional[head:]]
    if len(positional) > len(names):
        remedy = _by_name(opdef, positional[len(names) :], kwargs)
        wanted = f"{len(names)} argument{'' if len(names) == 1 else 's'}"
        raise ArityError(f"{opdef.subject}: expected {wanted}, got {len(args)}{remedy}; it is {schema}")
    for name, value in zip(names, positional, strict=False):
        if name in values:
            raise ArityError(f"{opdef.subject}: expected {name!r} once, got it by position and by name")
        values[name] = value
    known = (*schema.input_names, *schema.attr_names, *_asks(opdef))
    if opdef.is_builtin:
        values = renamed(values, known)
    for name in values:
        if name not in known:
            raise ArityError(f"{opdef.subject}: nothing is called {name!r}; there are {alternatives(name, known)}")
    inputs = []
    for decl in schema.inputs:
        if decl.name not in values and decl.kind == "tensor":
            raise ArityError(f"{opdef.subject}: expected input {decl.name!r}, got no value for it; it is {schema}")
        value = values.pop(decl.name, [] if decl.kind == "list" else None)
        inputs.append(value)
    return tuple(inputs), values


def complete_attrs(opdef: OpDef, attrs: Mapping[str, Any]) -> dict[str, Any]:
    """Returns all attributes: those given, checked and in their own types, and the defaults of the others.

    Raises:
        ArityError: a required attribute is missing.
        AttributeValueError: a value is not of the declared type.
    """
    complete = {}
    for decl in opdef.schema.attrs:
        if decl.name in attrs:
            value = attrs[decl.name]
            complete[decl.name] = value if is_mask(decl.name) else coerce(decl, value, opdef.subject)
        elif decl.is_required:
            raise ArityError(
                f"{opdef.subject}: expected attribute {decl.name!r} ({decl.type}), got no value for it; "
                f"it is {opdef.schema}"
            )
        else:
            complete[decl.name] = coerce(decl, None, opdef.subject) if decl.type.is_random else decl.default
    for name in [name for name in _asks(opdef) if name in attrs]:
        complete[name] = coerce(AttrDecl(name, AttrType(SPEC)), attrs[name], opdef.subject)
    return complete


def body_attrs(opdef: OpDef, attrs: Mapping[str, Any]) -> dict[str, Any]:
    """Returns all attributes that the author of a composite wrote into it, as its body takes them.

    A generator is one of its own, whose first draw is that of the call.
    """
    asks = _asks(opdef)
    complete = complete_attrs(opdef, {name: value for name, value in attrs.items() if name not in asks})
    for name in opdef.schema.generators:
        complete[name] = Generator(complete[name])
    return interpreted(opdef, complete) if opdef.schema.callables else complete


def interpreted(opdef: OpDef, attrs: Mapping[str, Any]) -> dict[str, Any]:
    """Returns attributes for the body of a composite: in place of what Numba compiled for arrays, Python functions."""
    made = dict(attrs)
    for name in opdef.schema.callables:
        if name in made:
            made[name] = _interpreted(made[name])
    return made


def _interpreted(value: Any) -> Any:
    return tuple(map(_interpreted, value)) if isinstance(value, tuple) else getattr(value, "py_func", value)


@contextmanager
def draws_taken(attrs: Mapping[str, Any], generators: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Gives the attributes of a call with the next draw of each generator in its place; a call that raises takes none.

    Args:
        attrs: those given.
        generators: by attribute the generator, None for the global one.
    """
    with ExitStack() as stack:
        taken = {name: stack.enter_context((held or random).taken()) for name, held in generators.items()}
        yield {**attrs, **taken}


def generators_of(attrs: Mapping[str, Any], names: Sequence[str]) -> dict[str, Any]:
    """Returns what a call has to draw from, by the name of the attribute: None is the global generator."""
    return {name: attrs.get(name) for name in names if _draws(attrs.get(name))}


# Any: what was given for a generator.
def _draws(value: Any) -> bool:
    return value is None or isinstance(value, Generator)


def _asks(opdef: OpDef) -> list[str]:
    """Returns the names of the specs that a gradient op may be given beside its attributes."""
    return [name for name, _ in getattr(opdef.infer, "asks", ()) if name not in opdef.schema.attr_names]


def cut_off(opdef: OpDef, inputs: Sequence[Any]) -> list[Any]:
    """Returns the inputs for the body of a composite op: gradients do not flow to those declared non-differentiable."""
    return [
        _detached(value) if decl.name in opdef.traits.nondifferentiable else value
        for decl, value in zip(opdef.schema.inputs, inputs, strict=True)
    ]


def given(
    opdef: OpDef,
    outputs: Sequence[Any],
    inputs: Sequence[Any],
    shares: Callable[[Any, Any], bool],
    is_new: Callable[[Any], bool],
) -> list[Any]:
    """Returns what the body of a composite op gave, as its schema says that it is.

    No gradient flows through outputs declared non-differentiable. An output that shares its memory with an input, or
    with another output, is a copy unless the schema says that it does; so is one that was there before the call.

    Args:
        opdef: the composite.
        outputs: what its body gave, one entry per output that is new.
        inputs: of the call.
        shares: whether two values share their memory.
        is_new: whether a value was made by the call.
    """
    held = [(i, item) for i, value in enumerate(inputs) for item in flat(value)]
    made: list[Any] = []
    fresh = iter(outputs)
    for position, decl in enumerate(opdef.schema.outputs):
        if decl.mutated:
            made.append(inputs[opdef.schema.mutated_source(position)])
            continue
        value = next(fresh)
        if opdef.gradient_of is None:
            allowed = opdef.schema.aliased_sources(position)

            def own(item: Any, allowed: tuple[int, ...] = allowed) -> Any:
                is_alias = any(i in allowed and shares(item, other) for i, other in held)
                taken = any(i not in allowed and shares(item, other) for i, other in held)
                taken = taken or not (is_alias or is_new(item))
                held.append((-1, item.clone() if taken else item))
                return held[-1][1]

            value = each(value, own)
        made.append(_detached(value) if decl.name in opdef.traits.nondifferentiable else value)
    return made


def _detached(value: Any) -> Any:
    return each(value, lambda item: item if item.stop_gradient else item.detach())


def check_captured(opdef: OpDef, attrs: Mapping[str, Any]) -> None:
    """Checks that callables hold no value that needs a gradient: gradients go to the inputs of a call alone.

    Raises:
        AttributeValueError: one does.
    """
    if not is_grad_enabled():
        return
    for name in opdef.schema.callables:
        for function in flat(attrs.get(name)):
            for of, value in captured(function, _needs_gradient):
                raise AttributeValueError(
                    f"{opdef.subject}: attribute {name!r} expected a callable that holds nothing that needs a gradient"
                    f", since none would arrive there, got {callable_text(function)}, which reads {of!r} of shape "
                    f"{tuple(value.shape)}; make that an argument of it and an input of the call, or let it hold a "
                    "detach()",
                    at=str(origin_of(function)),
                )


def _needs_gradient(value: Any) -> bool:
    return getattr(value, "stop_gradient", True) is False and owner_of(value) is not None


def check_inputs(opdef: OpDef, inputs: Sequence[Any]) -> None:
    """Checks that None stands only where an input is optional, or a list has holes, lists only where it is variadic.

    And dtypes: numbers and lists have none of their own yet; they are asked about as the arrays that they become.

    Raises:
        ArityError: an input is missing, or a tensor of a list.
        AttributeValueError: a list where one tensor is expected, or the other way round.
        DTypeError: the schema declares elements of another kind.
    """
    for decl, value in zip(opdef.schema.inputs, inputs, strict=True):
        if value is None and decl.kind != "optional":
            listed = "a list of tensors, which may hold None," if decl.holes else "a tensor,"
            raise ArityError(f"{opdef.subject}: input {decl.name!r} expected {listed} got None")
        if decl.kind == "list" and not isinstance(value, (list, tuple)):
            raise AttributeValueError(
                f"{opdef.subject}: input {decl.name!r} expected a list of tensors, got {type(value).__name__}"
            )
        if decl.kind == "list" and not decl.holes and any(item is None for item in value):
            at = next(i for i, item in enumerate(value) if item is None)
            raise ArityError(f"{opdef.subject}: input {decl.name!r} expected tensors, got None at {at}; leave it out")
        if decl.elements:
            _check_elements(opdef, decl, value)


# Any: an input, of whichever runtime.
def _check_elements(opdef: OpDef, decl: InputDecl, value: Any) -> None:
    """Checks the dtypes of an input whose elements are declared."""
    items = [(decl.name, value)] if decl.kind != "list" else [(f"{decl.name}[{i}]", v) for i, v in enumerate(value)]
    for name, item in items:
        dtype = getattr(item, "dtype", None)
        if isinstance(dtype, np.dtype) and word_of(dtype) not in decl.elements:
            raise DTypeError(
                f"{opdef.subject}: {name} expected {decl.expected_elements}, got {dtype}; "
                f"cast it to {KINDS[decl.elements[0]][1]}",
                details={"input": decl.name, "expected": decl.elements, "got": dtype},
            )


def check_shapes(schema: OpSchema, shapes: Mapping[str, Any], given: Specs, attrs: Mapping[str, Any]) -> None:
    """Checks that inputs have the lengths that `domain=` declares; a size that is not known yet may be any.

    Args:
        schema: of the op.
        shapes: what its domain says, by input: gradcheck's `Dims`.
        given: the specs of the inputs.
        attrs: those of the call; a length may be named like one.

    Raises:
        ShapeError: one has not.
    """
    known = {name: (value, "") for name, value in attrs.items() if value.__class__ is int}
    for decl, value in zip(schema.inputs, given, strict=True):
        if decl.name not in shapes:
            continue
        dims = shapes[decl.name]
        for name, spec in named(decl.name, value):
            wanted = dims.wrong(spec.shape, name, known)
            if wanted:
                raise ShapeError(
                    f"{schema.subject}: input {name!r} expected shape {wanted}, got {shape_text(spec.shape)}; pass one "
                    "of that shape",
                    details={"input": name, "expected": str(dims), "got": spec.shape},
                )


def check_outputs(opdef: OpDef, specs: Inferred, given: Specs) -> None:
    """Checks that an infer rule gives lists where the schema has lists, and dtypes of the kinds that it declares.

    What it gives for an input that is changed in place has to be what that is; of that the stock rules know nothing.

    Args:
        opdef: the op.
        specs: what the rule gave.
        given: the specs of the inputs.

    Raises:
        ReturnError: a spec for a list, or a list with something else than specs in it.
        DTypeError: another kind of elements.
        ShapeError, DTypeError: an input that is changed in place is another than the rule gives.
    """
    if opdef.schema.mutated_inputs and not isinstance(opdef.infer, STOCK):
        _check_changed(opdef, specs, given)
    for decl, spec in zip(opdef.schema.outputs, specs, strict=True) if opdef.gradient_of is None else ():
        is_list = isinstance(spec, list) and all(_is_spec(item, decl) for item in spec)
        if decl.kind == "list" and not decl.mutated and spec is not None and not is_list:
            raise ReturnError(
                f"{opdef.subject}, infer: output {decl.name!r} expected a list of specs, or None where only a run can "
                f"tell, got {spec}; correct the rule, @{opdef.schema.name}.infer",
                at=str(opdef.origin),
            )
        for item in flat(spec):
            if decl.elements and word_of(item.dtype) not in decl.elements:
                raise DTypeError(
                    f"{opdef.subject}, infer: output {decl.name!r} expected {decl.expected_elements}, which its "
                    f"schema declares, got {item.dtype}; correct the rule, @{opdef.schema.name}.infer, or the schema",
                    at=str(opdef.origin),
                )


# Any: what stands in a list of an infer rule.
def _is_spec(item: Any, decl: OutputDecl) -> bool:
    return isinstance(item, TensorSpec) or (item is None and decl.holes)


def _check_changed(opdef: OpDef, specs: Inferred, given: Specs) -> None:
    schema = opdef.schema
    error: type[OpsdkError]
    for decl, spec in zip(schema.outputs, specs, strict=True):
        if not decl.mutated:
            continue
        source = schema.mutated_source(schema.outputs.index(decl))
        pairs = zip(named(schema.input_names[source], given[source]), flat(spec), strict=False)
        for (name, got), want in pairs:
            sizes = zip(got.shape, want.shape, strict=False)
            if got.ndim != want.ndim or any(a != b and None not in (a, b) for a, b in sizes):
                expected, received, error = f"shape {shape_text(want.shape)}", shape_text(got.shape), ShapeError
            elif got.dtype != want.dtype:
                expected, received, error = str(want.dtype), str(got.dtype), DTypeError
            else:
                continue
            raise error(
                f"{opdef.subject}: input {name!r} expected {expected}, as its infer rule has {decl.name!r}, which is "
                f"what it becomes in place, got {received}; make it so, since a change in place keeps shape and dtype",
                details={"input": name, "expected": want, "got": got},
            )


def _by_name(opdef: OpDef, surplus: Sequence[Any], given: Mapping[str, Any]) -> str:
    """Returns how surplus plain values would be passed as the attributes that are still open."""
    still_open = [name for name in opdef.schema.attr_names if name not in (*given, *opdef.schema.positional)]
    plain = all(isinstance(value, (bool, int, float, str, list, tuple)) for value in surplus)
    if not plain or len(surplus) > len(still_open):
        return ""
    pairs = [f"{name}={value!r}" for name, value in zip(still_open, surplus, strict=False)]
    return f"; pass {', '.join(pairs)} by name"
