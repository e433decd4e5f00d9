"""Domains of inputs: what an op declares of each, as gradcheck takes it, and values brought inside or drawn there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import chain, count
from typing import Any

import numpy as np

from gradcheck.model.constraint import Domain, read_one
from gradcheck.model.dims import Known, least_lengths, mismatch, names_within
from gradcheck.model.dtypes import as_float64, is_continuous, name_number
from opsdk.core.nested import named
from opsdk.core.spec import TensorSpec, shape_text
from opsdk.define.backward import named_as
from opsdk.define.opdef import OpDef
from opsdk.verify.inputs.calls import Call, Values, each, flat


def domain_of(opdef: OpDef, name: str) -> Domain:
    """Returns the domain of an input; of all values where nothing was declared."""
    return read_one(opdef.traits.domain.get(name), name)


def ruled(opdef: OpDef) -> list[int]:
    """Returns the positions of inputs that are held to more than an interval, those that others decide about last."""
    if not opdef.traits.domain:
        return []
    names = opdef.schema.input_names
    found = [i for i, name in enumerate(names) if name in opdef.traits.domain and domain_of(opdef, name).rules]
    return sorted(found, key=lambda i: bool(domain_of(opdef, names[i]).of))


def beside(opdef: OpDef, inputs: Values, attrs: Mapping[str, Any]) -> dict[str, Any]:
    """Returns what rules may name: inputs and attributes, by name."""
    return _named(opdef, opdef.schema.input_names, inputs, attrs)


def _named(opdef: OpDef, names: Sequence[str], inputs: Values, attrs: Mapping[str, Any]) -> dict[str, Any]:
    """Returns values by name; of what a gradient op has the spec alone, an array of that shape stands for it."""
    defaults = {decl.name: decl.default for decl in opdef.schema.attrs}
    specs = {named_as(name): value for name, value in attrs.items() if isinstance(value, TensorSpec)}
    shaped = {
        name: np.broadcast_to(np.zeros((), spec.dtype), [n or 0 for n in spec.shape]) for name, spec in specs.items()
    }
    return {**defaults, **attrs, **shaped, **dict(zip(names, inputs, strict=True))}


def known_lengths(opdef: OpDef, attrs: Mapping[str, Any]) -> Known:
    """Returns the lengths that attributes are, by the name of the attribute."""
    every = {**{decl.name: decl.default for decl in opdef.schema.attrs}, **attrs}
    return {name: (value, "") for name, value in every.items() if value.__class__ is int}


def names_of(opdef: OpDef, attrs: Mapping[str, Any]) -> tuple[list[str], list[str]]:
    """Returns the names in the shapes of the op's domain, without attributes, and those that stand for several axes."""
    known, rests = known_lengths(opdef, attrs), {dims.rest for dims in opdef.shapes.values()}
    names = dict.fromkeys(name for dims in opdef.shapes.values() for name in dims.names if name not in known)
    return list(names), [name for name in names if name in rests]


def several_of(opdef: OpDef) -> list[str]:
    """Returns what stands for several axes in the shapes of the op's domain: names, and `...`."""
    rests = (dims.rest for dims in opdef.shapes.values())
    return list(dict.fromkeys(rest for rest in rests if rest is not None))


def lengths_named(opdef: OpDef, full: tuple[int, ...], attrs: Mapping[str, Any]) -> dict[str, int]:
    """Returns a length for each name in the shapes of the op's domain: attributes, then those of `full`, in turn.

    Names beyond have lengths that neither `full` nor another name has; where `K-1` were none of a length, K gets a
    greater one. A name that stands for several axes, and `...`, is given how many they are: those that the other names
    leave, one at least; none where `full` has none.
    """
    made = {name: length for name, (length, _) in known_lengths(opdef, attrs).items()}
    names, rests = names_of(opdef, attrs)
    several = several_of(opdef)
    rank = max(1, (len(full) - len(names) + len(rests)) // len(several)) if full and several else 0
    single = [one for name in names for one in (names_within(name, rank) if name in rests else [name])]
    more = (length for length in count(2) if length not in full)
    least = least_lengths(size for dims in opdef.shapes.values() for size in dims.sizes)
    drawn = {name: from_least(n, least.get(name, 0)) for name, n in zip(single, chain(full, more), strict=False)}
    return made | drawn | dict.fromkeys(several, rank)


def from_least(length: int, least: int) -> int:
    """Returns a length, as far above the least one where it is below."""
    return length if length >= least else length + least


def held(opdef: OpDef, call: Call) -> Call:
    """Returns a call whose values are moved onto what rules of the op's domain hold them to.

    Raises:
        ValueError: numbers are too large to be moved.
        Exception: whatever a rule raises of such values.
    """
    inputs, positions = list(call.inputs), ruled(opdef)
    if not positions:
        return call
    for i in positions:
        where = domain_of(opdef, opdef.schema.input_names[i])
        (inputs[i],) = each([inputs[i]], partial(_held, where, around=beside(opdef, inputs, call.attrs)))
    return replace(call, inputs=inputs)


def _held(where: Domain, array: np.ndarray, around: Mapping[str, Any]) -> np.ndarray:
    made = where.project(array, around)
    if is_continuous(made.dtype) and np.isfinite(as_float64(array)).all() > np.isfinite(as_float64(made)).all():
        raise ValueError(f"numbers too large to be made {where.name}")
    return made


def broken(opdef: OpDef, call: Call, kept: Mapping[str, Any] = {}) -> str:
    """Returns which input of a call lies outside its domain, and where; nothing if none does.

    Args:
        opdef: the op.
        call: one of it.
        kept: residuals of the call, by name, which are looked at too (any: arrays, and objects).
    """
    every = {**dict(zip(opdef.schema.input_names, call.inputs, strict=True)), **kept}
    shapes = {
        one: (opdef.shapes[name], array.shape)
        for name, value in every.items()
        for one, array in (named(name, value) if name in opdef.shapes else ())
    }
    other = mismatch([(one, dims, shape) for one, (dims, shape) in shapes.items()], known_lengths(opdef, call.attrs))
    if other is not None:
        role = "residual" if other[0] in kept else "input"
        return f"{role} {other[0]!r} of shape {other[1]} as domain= says, got {shape_text(shapes[other[0]][1])}"
    for name, value in every.items():
        if name not in opdef.traits.domain:
            continue
        role = "residual" if name in kept else "input"
        where = domain_of(opdef, name)
        for array in flat([value]):
            if not (where.rules or is_continuous(array.dtype)):
                continue
            try:
                found = where.broken(array, beside(opdef, call.inputs, call.attrs))
            except Exception as error:
                return f"{role} {name!r} to be {where.name} as domain= says, {error}"
            if found is not None:
                number, there = found
                index, part = name_number(number, array.dtype)
                right = f", where {there:.6g} would be right" if where.rules else ""
                got = f"{array[index]:.6g} at {list(index)}{part}{right}"
                return f"{role} {name!r} to be {where.name} as domain= says, got {got}"
    return ""


def wrongly_kept(opdef: OpDef, call: Call, residuals: Sequence[Any]) -> str:
    """Returns which residual of a call lies outside its domain, and where; nothing if none does.

    Args:
        opdef: the op.
        call: one of it.
        residuals: what it kept, one entry for each (any: arrays, and objects).
    """
    kept = dict(zip(opdef.schema.residual_names, residuals, strict=True))
    declared = {name: value for name, value in kept.items() if name in opdef.traits.domain}
    return broken(opdef, call, declared) if declared else ""


def bound(opdef: OpDef, names: Sequence[str], inputs: Sequence[np.ndarray], attrs: Mapping[str, Any]) -> list[Domain]:
    """Returns the domains of flat inputs, by names that begin with those of the op, with what rules name at hand."""
    values = _named(opdef, names, inputs, attrs)
    return [domain_of(opdef, name.partition("[")[0]).holding(values) for name in names]
