"""Sizes: an op's calls with axes of other lengths, none, one and two among them, and past what a kernel has in blocks.

Axes of one length change together, as far as a sample tells that they belong together.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from gradcheck.model.perturb import perturb_within
from opsdk.define.opdef import OpDef
from opsdk.verify.inputs.calls import Call, each, flat, is_inexact
from opsdk.verify.inputs.domains import broken, domain_of, held

SMALL = (1, 0, 2)
# Beyond blocks of any power of two up to 16, and up to 128, with a remainder.
LARGER = (19, 131)
_FARTHEST = 2048  # the greatest number in a source that is taken for a length at which it does something else
_THRESHOLDS = 2
_GROUPS = 4  # lengths of a call that are changed
_MOST, _PAST = 1 << 15, 1 << 17  # elements of a call; of one past a length that a source names
_BASES = 2  # calls that are changed, each of another form


def lengths_beyond(numbers: Iterable[int]) -> tuple[int, ...]:
    """Returns lengths to try: beyond each number of a source there is one that is no multiple of it."""
    left = sorted(n for n in set(numbers) if LARGER[-1] <= n <= _FARTHEST)
    return (*LARGER, *[n + 3 for n in left[:_THRESHOLDS]])


def bases(calls: Sequence[Call]) -> list[Call]:
    """Returns the calls that are changed: of different forms, and of each that which tells the most axes apart."""
    best: dict[Any, Call] = {}
    for call in calls:
        arrays = flat(call.inputs)
        if call.invented is not None or not arrays or sum(array.size for array in arrays) > _MOST // 8:
            continue
        form = tuple(None if value is None else "" for value in call.inputs), str(sorted(call.attrs.items(), key=str))
        if form not in best or _rank(call) > _rank(best[form]):
            best[form] = call
    return sorted(best.values(), key=_rank, reverse=True)[:_BASES]


def _rank(call: Call) -> tuple[int, int, int]:
    arrays = flat(call.inputs)
    return all(array.size for array in arrays), len(lengths_of(call)), sum(value is not None for value in call.inputs)


def lengths_of(call: Call) -> list[int]:
    """Returns the lengths of axes that may change, in order: an axis of length 1 may be there to broadcast."""
    every = [length for array in flat(call.inputs) for length in array.shape if length > 1]
    return list(dict.fromkeys(every))[:_GROUPS]


def resized_calls(opdef: OpDef, calls: Sequence[Call], beyond: Sequence[int], rng: np.random.Generator) -> list[Call]:
    """Returns calls of other sizes, those first that were small; each of shapes that no other has."""
    seen = {_shapes(call) for call in calls}
    found: list[Call] = []
    for base in bases(calls):
        for change in _changes(lengths_of(base), beyond):
            most = _PAST if max(change.values()) > LARGER[-1] else _MOST
            made = resized(opdef, base, _fitting(base, change, most), rng, most)
            if made is not None and _shapes(made) not in seen:
                seen.add(_shapes(made))
                found.append(made)
    return found


def _shapes(call: Call) -> Any:
    return tuple(array.shape for array in flat(call.inputs)), str(sorted(call.attrs.items(), key=str))


def _changes(lengths: Sequence[int], beyond: Sequence[int]) -> Iterator[dict[int, int]]:
    """Yields new lengths by old ones: each alone, then all of one length."""
    for new in (*SMALL, *beyond):
        yield from ({old: new} for old in lengths if old != new)
    if len(lengths) > 1:
        yield from (dict.fromkeys(lengths, new) for new in (3, 1))


def _fitting(call: Call, change: dict[int, int], most: int) -> dict[int, int]:
    """Returns new lengths; where there were too many elements, all other axes get length 1."""
    shapes = [array.shape for array in flat(call.inputs)]
    if _count(shapes, change) <= most:
        return change
    return {old: change.get(old, 1) for shape in shapes for old in shape if old > 1}


def _count(shapes: Sequence[tuple[int, ...]], change: Mapping[int, int]) -> int:
    return sum(math.prod(change.get(old, old) for old in shape) for shape in shapes)


def resized(
    opdef: OpDef, call: Call, change: Mapping[int, int], rng: np.random.Generator, most: int = _MOST
) -> Call | None:
    """Returns a call with axes of other lengths; None where its domain has none, or it had more than `most` numbers.

    What is added repeats what is there, each number of it a little moved.
    """
    if _count([array.shape for array in flat(call.inputs)], change) > most:
        return None
    inputs = each(call.inputs, lambda array: _resized(array, change, rng))
    text = ", ".join(f"{new} for {old}" for old, new in change.items())
    made = replace(call, inputs=inputs, reason=f"lengths {text}", declared=False, extra=True)
    try:
        made = held(opdef, inside(opdef, made))
        return None if broken(opdef, made) else made
    except Exception:  # of such a shape the domain has no values
        return None


def cut(opdef: OpDef, call: Call, most: int, rng: np.random.Generator) -> Call | None:
    """Returns a call whose longest axes are halved until it has no more than `most` numbers; None as `resized`."""
    shapes = [array.shape for array in flat(call.inputs)]
    change = {length: length for shape in shapes for length in shape if length > 1}
    while _count(shapes, change) > most and max(change.values(), default=1) > 1:
        change[max(change, key=change.__getitem__)] //= 2
    return resized(opdef, call, {old: new for old, new in change.items() if new != old}, rng, most)


def _resized(array: np.ndarray, change: Mapping[int, int], rng: np.random.Generator) -> np.ndarray:
    made = array
    for axis, old in enumerate(array.shape):
        if old in change:
            made = np.take(made, np.arange(change[old]) % old, axis)
    if array.dtype.kind in "iu" and array.size:
        most = int(array.max())
        for old, new in change.items():  # positions along the axis, or lengths of parts of it, stay so
            if new <= most <= old:
                made = np.minimum(made, max(new - (most < old), 0)).astype(array.dtype)
    if is_inexact(array) and made.size > array.size:
        made = perturb_within(made, 0.25, rng).astype(array.dtype)
    return np.ascontiguousarray(made).reshape(made.shape)


def inside(opdef: OpDef, call: Call) -> Call:
    """Returns a call whose values are folded into the intervals of its domain."""
    if not opdef.traits.domain:
        return call
    inputs = list(call.inputs)
    for i, name in enumerate(opdef.schema.input_names):
        where = domain_of(opdef, name)
        if where.is_bounded:
            (inputs[i],) = each([inputs[i]], replace(where, rules=()).project)
    return replace(call, inputs=inputs)
