"""Sizes: an op's calls with axes of other lengths, none, one and two among them, and past what a kernel has in blocks.

Axes of one length change together, as far as a sample tells that they belong together; those of which a domain says
`K-1` with those of `K`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeAlias

import numpy as np

from gradcheck.model.dims import Length, least_lengths
from gradcheck.model.perturb import perturb_within
from opsdk.define.opdef import OpDef
from opsdk.verify.inputs.calls import Call, each, flat, is_inexact
from opsdk.verify.inputs.domains import broken, domain_of, from_least, held, known_lengths

SMALL = (1, 0, 2)
# Beyond blocks of any power of two up to 16, and up to 128, with a remainder.
LARGER = (19, 131)
_FARTHEST = 2048  # the greatest number in a source that is taken for a length at which it does something else
_THRESHOLDS = 2
_GROUPS = 4  # lengths of a call that are changed
_MOST, _PAST = 1 << 15, 1 << 17  # elements of a call; of one past a length that a source names
_BASES = 2  # calls that are changed at least, each of another form


def lengths_beyond(numbers: Iterable[int]) -> tuple[int, ...]:
    """Returns lengths to try: beyond each number of a source there is one that is no multiple of it."""
    left = sorted(n for n in set(numbers) if LARGER[-1] <= n <= _FARTHEST)
    return (*LARGER, *[n + 3 for n in left[:_THRESHOLDS]])


def bases(opdef: OpDef, calls: Sequence[Call]) -> list[Call]:
    """Returns the calls that are changed: of different forms, and of each that which tells the most axes apart.

    Whatever calls choose of flags and texts, and leave out of optional inputs, one of them does.
    """
    best: dict[Any, Call] = {}
    for call in calls:
        arrays = flat(call.inputs)
        is_meant = call.invented is None or isinstance(call.invented.value, bool)  # of a flag both values are
        if not is_meant or not arrays or sum(array.size for array in arrays) > _MOST // 8:
            continue
        form = tuple(None if value is None else "" for value in call.inputs), str(sorted(call.attrs.items(), key=str))
        if form not in best or _rank(call) > _rank(best[form]):
            best[form] = call
    ranked = sorted(best.values(), key=_rank, reverse=True)
    return covering(opdef, ranked[:_BASES], ranked)


def covering(opdef: OpDef, found: Sequence[Call], calls: Sequence[Call]) -> list[Call]:
    """Returns calls, and after them few others with which all that calls choose is chosen by one of them."""
    chosen = {id(call): _chosen(opdef, call) for call in (*found, *calls)}
    made = list(found)
    seen = {choice for call in made for choice in chosen[id(call)]}
    while calls:
        most = max(calls, key=lambda call: len(chosen[id(call)] - seen))
        if not chosen[id(most)] - seen:
            break
        made.append(most)
        seen |= chosen[id(most)]
    return made


def _chosen(opdef: OpDef, call: Call) -> set[tuple[str, object]]:
    """Returns the flags and texts of a call, and which optional inputs it has."""
    attrs = {**{decl.name: decl.default for decl in opdef.schema.attrs}, **call.attrs}
    given = zip(opdef.schema.inputs, call.inputs, strict=True)
    present = {(decl.name, value is not None) for decl, value in given if decl.kind == "optional"}
    return present | {(name, value) for name, value in attrs.items() if isinstance(value, (bool, str))}


def _rank(call: Call) -> tuple[int, int, int]:
    arrays = flat(call.inputs)
    lengths = {length for array in arrays for length in array.shape if length > 1}
    return (
        all(array.size for array in arrays),
        min(len(lengths), _GROUPS),
        sum(value is not None for value in call.inputs),
    )


# What tells axes apart that change together: the name that a domain gives their length, or that length itself.
Key: TypeAlias = "str | int"
# What an axis goes by: such a length itself, or what it is of a named one. None is for lengths that a domain fixes.
Label: TypeAlias = "Length | int | None"


def key_of(label: Length | int) -> Key:
    """Returns what tells the axes apart that change with one."""
    return label.name if isinstance(label, Length) else label


def length_at(label: Label, old: int, change: Mapping[Key, int]) -> int:
    """Returns the new length of an axis; below 0 where there is none."""
    if label is None or key_of(label) not in change:
        return old
    new = change[key_of(label)]
    return label.at(new) if isinstance(label, Length) else new


def labels_of(opdef: OpDef, call: Call) -> list[tuple[Label, ...]]:
    """Returns what each axis of the arrays of a call goes by.

    An axis of which no domain tells goes by the name of its length, where one name alone has that.
    """
    held = known_lengths(opdef, call.attrs)
    arrays = [
        (array.shape, dims and dims.axes(array.ndim))
        for name, value in zip(opdef.schema.input_names, call.inputs, strict=True)
        for dims in [opdef.shapes.get(name)]
        for array in flat(value)
    ]
    named = {
        (str(size), length): size
        for shape, axes in arrays
        for size, length in zip(axes or (), shape, strict=False)
        if isinstance(size, Length) and size.name not in held
    }
    alone: dict[int, list[Length]] = {}
    for (_, length), size in sorted(named.items(), key=lambda item: item[0]):
        alone.setdefault(length, []).append(size)

    def label(size: Label, length: int) -> Label:
        if size is None:
            names = alone.get(length, ())
            return names[0] if len(names) == 1 and length > 1 else length
        return size if isinstance(size, Length) and size.name not in held and size.solved(length) is not None else None

    return [
        tuple(label(size, length) for size, length in zip(axes or (None,) * len(shape), shape, strict=True))
        for shape, axes in arrays
    ]


def lengths_of(opdef: OpDef, call: Call) -> dict[Key, int]:
    """Returns the lengths that may change, in order, by what axes go by; one of 1 may be there to broadcast."""
    return dict([*_longer(labels_of(opdef, call), flat(call.inputs)).items()][:_GROUPS])


def resized_calls(opdef: OpDef, calls: Sequence[Call], beyond: Sequence[int], rng: np.random.Generator) -> list[Call]:
    """Returns calls of other sizes, those first that were small; each of shapes that no other has."""
    seen = {_shapes(call) for call in calls}
    found: list[Call] = []
    for base in bases(opdef, calls):
        least = least_lengths(label for axes in labels_of(opdef, base) for label in axes)
        for change in _changes(lengths_of(opdef, base), beyond, least):
            most = _PAST if max(change.values()) > LARGER[-1] else _MOST
            made = resized(opdef, base, _fitting(opdef, base, change, most), rng, most)
            if made is not None and _shapes(made) not in seen:
                seen.add(_shapes(made))
                found.append(made)
    return found


def _shapes(call: Call) -> Any:
    return tuple(array.shape for array in flat(call.inputs)), str(sorted(call.attrs.items(), key=str))


def _changes(lengths: Mapping[Key, int], beyond: Sequence[int], least: Mapping[str, int]) -> Iterator[dict[Key, int]]:
    """Yields new lengths by what axes go by: each alone, then all of one length."""
    for new in (*SMALL, *beyond):
        alone = {key: from_least(new, least.get(f"{key}", 0)) for key in lengths}
        yield from ({key: length} for key, length in alone.items() if lengths[key] != length)
    if len(lengths) > 1:
        yield from ({key: from_least(new, least.get(f"{key}", 0)) for key in lengths} for new in (3, 1))


def _fitting(opdef: OpDef, call: Call, change: dict[Key, int], most: int) -> dict[Key, int]:
    """Returns new lengths; where there were too many elements, all other axes get length 1."""
    labels, arrays = labels_of(opdef, call), flat(call.inputs)
    if _count(labels, arrays, change) <= most:
        return change
    least = least_lengths(label for axes in labels for label in axes)
    return {key: change.get(key, from_least(1, least.get(f"{key}", 0))) for key in _longer(labels, arrays)}


def _pairs(labels: Sequence[tuple[Label, ...]], arrays: Sequence[np.ndarray]) -> Iterator[tuple[Label, int]]:
    """Yields what each axis goes by, and its length."""
    for axes, array in zip(labels, arrays, strict=True):
        yield from zip(axes, array.shape, strict=True)


def _longer(labels: Sequence[tuple[Label, ...]], arrays: Sequence[np.ndarray]) -> dict[Key, int]:
    """Returns the lengths of more than 1 that may change, by what axes go by."""
    found: dict[Key, int] = {}
    for label, length in _pairs(labels, arrays):
        named = label.solved(length) if isinstance(label, Length) else length
        if label is not None and named is not None and named > 1:
            found[key_of(label)] = named
    return found


def _count(labels: Sequence[tuple[Label, ...]], arrays: Sequence[np.ndarray], change: Mapping[Key, int]) -> int:
    pairs = [zip(axes, array.shape, strict=True) for axes, array in zip(labels, arrays, strict=True)]
    return sum(math.prod(length_at(label, old, change) for label, old in axes) for axes in pairs)


def resized(
    opdef: OpDef, call: Call, change: Mapping[Key, int], rng: np.random.Generator, most: int = _MOST
) -> Call | None:
    """Returns a call with axes of other lengths; None where its domain has none, or it had more than `most` numbers.

    What is added repeats what is there, each number of it a little moved.

    Args:
        opdef: the op.
        call: one of it.
        change: new lengths by what axes go by, as `labels_of` says.
        rng: gives what is added.
        most: elements.
    """
    labels = labels_of(opdef, call)
    moves = {(old, length_at(label, old, change)) for label, old in _pairs(labels, flat(call.inputs))}
    if _count(labels, flat(call.inputs), change) > most or any(new < 0 or new > 0 == old for old, new in moves):
        return None
    left = iter(labels)
    inputs = each(call.inputs, lambda array: _resized(array, next(left), sorted(moves), change, rng))
    text = ", ".join(f"{new} for {old}" for old, new in change.items())
    made = replace(call, inputs=inputs, reason=f"lengths {text}", declared=False, extra=True)
    try:
        made = held(opdef, inside(opdef, made))
        return None if broken(opdef, made) else made
    except Exception:  # of such a shape the domain has no values
        return None


def cut(opdef: OpDef, call: Call, most: int, rng: np.random.Generator) -> Call | None:
    """Returns a call whose longest axes are halved until it has no more than `most` numbers; None as `resized`."""
    labels, arrays = labels_of(opdef, call), flat(call.inputs)
    lengths = _longer(labels, arrays)
    change = dict(lengths)
    while _count(labels, arrays, change) > most and max(change.values(), default=1) > 1:
        change[max(change, key=change.__getitem__)] //= 2
    shorter = {key: new for key, new in change.items() if new != lengths[key]}
    return resized(opdef, call, shorter, rng, most)


def _resized(
    array: np.ndarray,
    labels: tuple[Label, ...],
    moves: Iterable[tuple[int, int]],
    change: Mapping[Key, int],
    rng: np.random.Generator,
) -> np.ndarray:
    made = array
    for axis, (label, old) in enumerate(zip(labels, array.shape, strict=True)):
        new = length_at(label, old, change)
        if new != old:
            made = np.take(made, np.arange(new) % old, axis)
    if array.dtype.kind in "iu" and array.size:
        most = int(array.max())
        for old, new in moves:  # positions along the axis, or lengths of parts of it, stay so
            if new != old and new <= most <= old:
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
