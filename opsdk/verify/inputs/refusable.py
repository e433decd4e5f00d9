"""Calls near an op's own of which it may refuse some: a number outside, a length that fits no longer, nan."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from opsdk.core.nested import named
from opsdk.define.call import complete_attrs
from opsdk.define.opdef import OpDef
from opsdk.verify.inputs.calls import Call, flat, is_float, refill

_BASES = 4  # calls that are changed, each of other numbers of axes or other attributes


def refusable_calls(opdef: OpDef, calls: Sequence[Call]) -> Iterator[Call]:
    """Yields calls with one thing changed each: an integer, a float, an axis, an attribute."""
    seen: set[Any] = set()
    for call in calls:
        form = tuple(array.ndim for array in flat(call.inputs)), str(sorted(call.attrs.items(), key=str))
        if form not in seen and len(seen) < _BASES and all(array.size for array in flat(call.inputs)):
            seen.add(form)
            yield from with_other_numbers(opdef, call)
            yield from _with_other_attributes(opdef, call)
            for _, what, there in shortened(opdef, call):
                yield replace(there, reason=what)


def with_other_numbers(opdef: OpDef, call: Call) -> Iterator[Call]:
    """Yields a call with the first, and the last, number of an input outside of what it may be, or all 0 or below."""
    for k, (name, array) in enumerate(_called(opdef, call)):
        for place in dict.fromkeys((0, array.size - 1)) if array.size else ():
            for number in _outside(call, array):
                changed = array.copy()
                changed.flat[place] = number
                index = list(map(int, np.unravel_index(place, array.shape)))
                yield _changed(call, k, changed, f"{name}{index if index else ''} = {number}")
        if is_float(array):
            yield _changed(call, k, np.zeros_like(array), f"{name} all 0")
            yield _changed(call, k, -np.abs(array), f"{name} all negative")
            if array.ndim > 1 and array.size:
                singular = array.copy()
                singular[..., -1, :] = 0
                yield _changed(call, k, singular, f"{name} with a last row of 0")


def shortened(opdef: OpDef, call: Call) -> Iterator[tuple[str, str, Call]]:
    """Yields calls with an axis of one array one shorter, or of length 1; of which input, and its shape in words."""
    every = list(_called(opdef, call))
    for k, (name, array) in enumerate(every):
        beside = ", ".join(f"{n!r} of {a.shape}" for n, a in every if n != name)
        for axis, length in enumerate(array.shape):
            for new in dict.fromkeys((length - 1, 1)) if length > 1 else ():
                short = np.ascontiguousarray(np.take(array, range(new), axis))
                shapes = f"{name!r} of {short.shape}{beside and f' beside {beside}'}"
                yield name.partition("[")[0], shapes, _changed(call, k, short, call.reason)


def _called(opdef: OpDef, call: Call) -> Iterator[tuple[str, np.ndarray]]:
    """Yields the arrays of a call with their names."""
    for name, value in zip(opdef.schema.input_names, call.inputs, strict=True):
        yield from named(name, value)


def _changed(call: Call, k: int, array: np.ndarray, reason: str) -> Call:
    arrays = flat(call.inputs)
    inputs = refill(call.inputs, [*arrays[:k], array, *arrays[k + 1 :]])
    return replace(call, inputs=inputs, reason=reason, declared=False, extra=True, remade=None)


def _outside(call: Call, array: np.ndarray) -> Sequence[float | int]:
    """Returns numbers that may be none of an input: whole ones just past what they could count, or nan and inf."""
    if is_float(array):
        return (np.nan, np.inf, -np.inf)
    if array.dtype.kind not in "iu":
        return ()
    lengths = {length for other in flat(call.inputs) for length in other.shape}
    past = sorted(n for n in lengths | {n + 1 for n in lengths} if n <= np.iinfo(array.dtype).max)
    return (*(() if array.dtype.kind == "u" else (-1,)), 0, *past)


def _with_other_attributes(opdef: OpDef, call: Call) -> Iterator[Call]:
    """Yields a call with another choice of an attribute, or another whole number, below 0 or a length of the call."""
    held = complete_attrs(opdef, call.attrs)
    lengths = sorted({length for array in flat(call.inputs) for length in array.shape} - {0})
    for decl in opdef.schema.attrs:
        if decl.type.is_list:
            continue
        values = decl.type.choices or ((-1, 0, *lengths) if decl.type.scalar == "int" else ())
        for value in values:
            if value != held.get(decl.name) and (decl.type.range is None or value in decl.type.range):
                made = replace(call, attrs={**call.attrs, decl.name: value}, reason=f"{decl.name} = {value!r}")
                yield replace(made, declared=False, extra=True, remade=None)
