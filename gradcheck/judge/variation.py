"""Other points to judge at: other values and shapes, which show what is right by luck, and many outputs in few sums."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import combinations
from typing import Any, TypeAlias

import numpy as np

from gradcheck.model.domain import measure_room, named
from gradcheck.model.dtypes import Array, BoolArray, FloatArray, IntArray, as_float64, from_float64, is_continuous
from gradcheck.model.evaluation import Point
from gradcheck.model.protocol import Forward, Subject, copy_inputs, normalise_outputs
from gradcheck.model.tangents import is_at_end
from gradcheck.numeric.columns import is_elementwise, owners

Shape: TypeAlias = tuple[int, ...]

FLIPPED = "signs flipped"
SMALL = "small magnitudes and zeros"
_LARGE = "large magnitudes"  # at the ends of a domain, where it has ends
# Wide enough to part values that the stretch repeats, narrow enough to stay near what forward accepts.
_JITTER = 0.1
# From so many outputs on their columns, one for each output and element, take longer than forward. In
# so many groups eight outputs or more share one; signs and weights are drawn, so that faults seldom cancel.
MANY = 2048
GROUPS = 256
_PAIRS = 3  # all of three inputs
# Text, because naming np.random at import time loads it.
_Change: TypeAlias = "Callable[[FloatArray, np.random.Generator, int], FloatArray]"


def vary_inputs(
    subject: Subject, inputs: Sequence[object], generator: np.random.Generator, *, zeros: bool = True
) -> Iterator[tuple[str, tuple[object, ...]]]:
    """Gives (label, inputs) pairs; shapes, dtypes and every input that is not differentiated stay as given.

    Values are moved into the declared domain. Without a domain they may leave what forward accepts; the caller then
    finds non-finite outputs or an exception and skips those points.

    Args:
        subject: what is judged.
        inputs: as given.
        generator: of all that is drawn.
        zeros: whether some of the small values are exactly zero. Where an input is what another function saved, such
            as the power beside its base, a zero may be none that ever occurs.
    """
    for label, change in _CHANGES:
        if change is _shrink_some and not zeros:
            label, change = "small magnitudes", _shrink
        changed = list(inputs)
        for k in subject.differentiable:
            value = inputs[k]
            assert isinstance(value, np.ndarray) and is_continuous(value.dtype)
            values = change(as_float64(value), generator, k)
            if k in subject.ruled:
                continue
            where = subject.domain[k]
            changed[k] = from_float64((where.pressed if label == _LARGE else where.fold)(values), value)
        for k in subject.ruled:
            made = _inside_rules(subject, k, changed, change, generator)
            if made is None:
                return
            changed[k] = made
        yield label, tuple(changed)
    for i, j in equal_pairs(subject, inputs):
        first, second = inputs[i], inputs[j]
        assert isinstance(first, np.ndarray) and isinstance(second, np.ndarray)
        if not np.array_equal(first, second):
            yield f"equal {subject.names[i]} and {subject.names[j]}", (*inputs[:j], np.array(first), *inputs[j + 1 :])


def equal_pairs(subject: Subject, inputs: Sequence[object]) -> list[tuple[int, int]]:
    """Gives the first few pairs of inputs that may be equal.

    They are floating, of one shape and dtype, the values of the first inside the second's domain.
    """
    pairs = []
    for i, j in combinations(subject.differentiable, 2):
        first, second = inputs[i], inputs[j]
        assert isinstance(first, np.ndarray) and isinstance(second, np.ndarray)
        alike = first.size and (first.shape, first.dtype) == (second.shape, second.dtype)
        where = subject.domain
        alike = alike and where[i].rules == where[j].rules and not where[i].of  # one array is held to one set
        if alike and subject.fits(j, first, inputs):
            pairs.append((i, j))
    return pairs[:_PAIRS]


def _inside_rules(
    subject: Subject, k: int, inputs: Sequence[object], change: _Change, generator: np.random.Generator
) -> Array | None:
    """Gives another value of an input that a rule holds: changed and moved inside, or drawn where it is of integers.

    None where no such value can be had, as a function may be given that knows only some.
    """
    value, where = inputs[k], subject.domain[k]
    if not isinstance(value, np.ndarray):
        return None
    beside = named(subject.names, inputs)
    try:
        if k in subject.differentiable:
            given = as_float64(value)
            values = where.numbers(change(given, generator, k), value, beside)
            if is_at_end(where, values, value, beside):  # what was outside lies there, where one side only is judged
                values = where.numbers(0.5 * (values + given), value, beside)
            return from_float64(values, value)
        made = where.draw(value.shape, value.dtype, generator, beside)
        return made if made.shape == value.shape else value
    except Exception:
        return None


def _redraw(values: FloatArray, generator: np.random.Generator, place: int) -> FloatArray:
    finite = np.abs(values[np.isfinite(values) & (values != 0)])
    typical = float(np.median(finite)) if finite.size else 1.0
    return typical * generator.choice([-1.0, 1.0], values.shape) * generator.uniform(0.3, 1.7, values.shape)


def _shrink(values: FloatArray, generator: np.random.Generator, place: int) -> FloatArray:
    return values * generator.uniform(0.01, 0.1, values.shape)


def _shrink_some(values: FloatArray, generator: np.random.Generator, place: int) -> FloatArray:
    """Makes values small, and one element in four zero, others in each input."""
    turns = (np.arange(values.size).reshape(values.shape) - place) % 4
    return np.where(turns == min(1, values.size - 1), 0.0, _shrink(values, generator, place))


def _repeat(values: FloatArray, generator: np.random.Generator, place: int) -> FloatArray:
    """Draws from the first two values; the first element stays as it is, since a cache may go by it.

    Along every axis that is long enough some line has its greatest value twice, and some line its least.
    """
    drawn = np.array(generator.choice(values.ravel()[:2], values.shape) if values.size else values)
    drawn.flat[:1] = values.flat[:1]
    for axis, length in [*enumerate(drawn.shape)] * 2 if drawn.size else ():  # one axis may undo another
        if length > 3 or (length == 3 and drawn.size > 3):  # else a line that gets one tie loses the other
            for extreme in (np.max(drawn), np.min(drawn)):
                _tie(drawn, axis, drawn == extreme)
    return drawn


def _tie(drawn: FloatArray, axis: int, is_extreme: BoolArray) -> None:
    """Repeats an extreme value in the last line along an axis, where all lines have it just once."""
    if (is_extreme.sum(axis=axis) == 1).all():
        here = np.argwhere(is_extreme)[-1]
        for step in (1, 2):
            there = here.copy()
            there[axis] = (there[axis] + step) % drawn.shape[axis]
            if there.any():  # not the first element
                drawn[tuple(there)] = drawn[tuple(here)]
                return


_CHANGES: tuple[tuple[str, _Change], ...] = (
    (FLIPPED, lambda values, generator, place: -values),
    ("random values", _redraw),
    (SMALL, _shrink_some),
    (_LARGE, lambda values, generator, place: values * generator.uniform(3.0, 8.0, values.shape)),
    ("repeated values", _repeat),
)


def resize_inputs(
    subject: Subject, inputs: Sequence[object], shapes: Sequence[Shape | None], generator: np.random.Generator
) -> tuple[object, ...] | None:
    """Gives inputs of the shapes, one per input, None for what is no array.

    Each new element has the value of the old one nearest to its relative place, so that scales, signs, order, masks
    and segments stay what they were; differentiated ones move by a few percent, inside the declared domain.

    Returns:
        None when an integer array of other length would lose what makes it an index: that its elements differ.
    """
    resized = list(inputs)
    for k in (*(k for k in range(len(resized)) if k not in subject.ruled), *subject.ruled):
        value, shape = inputs[k], shapes[k]
        if not isinstance(value, np.ndarray) or shape is None or (value.shape == shape and k not in subject.ruled):
            continue
        made = value
        if k not in subject.ruled or is_continuous(value.dtype):
            stretched = _resize_array(value, shape, generator, is_drawn=k in subject.differentiable)
            if stretched is None:
                return None
            made = stretched
        try:
            resized[k] = _held(subject, k, made, shape, resized, generator)
        except Exception:  # of such a shape there is no value inside
            return None
    return tuple(resized)


def _held(
    subject: Subject, k: int, made: Array, shape: Shape, inputs: Sequence[object], generator: np.random.Generator
) -> Array:
    """Gives what input `k` is at another size: moved inside, or drawn where a rule holds integers or bools."""
    where, beside = subject.domain[k], named(subject.names, inputs)
    if is_continuous(made.dtype):
        return from_float64(where.numbers(as_float64(made), made, beside), made)
    if not where.rules:
        return made
    drawn = where.draw(shape, made.dtype, generator, beside)
    if drawn.shape != shape:
        raise ValueError(f"no values {where.name} of shape {shape}")
    return drawn


def _resize_array(value: Array, shape: Shape, generator: np.random.Generator, *, is_drawn: bool) -> Array | None:
    if is_drawn:
        stretched = _stretch(value, shape)
        factors = generator.uniform(1.0 - _JITTER, 1.0 + _JITTER, as_float64(stretched).shape)
        return from_float64(as_float64(stretched) * factors, stretched)
    if is_continuous(value.dtype):
        return _interpolate(value, shape)
    if value.dtype.kind == "b":
        return _stretch(value, shape)
    return _resize_integers(value, shape, generator)


def _stretch(value: Array, shape: Shape) -> Array:
    for axis, length in enumerate(shape):
        value = np.take(value, _places(value.shape[axis], length), axis=axis)
    return value


def _places(old: int, new: int) -> IntArray:
    return np.asarray((np.arange(new) + 0.5) * old / max(new, 1), dtype=np.int64)


def _interpolate(value: Array, shape: Shape) -> Array:
    """Draws lines between elements, so that floating input that is not differentiated, such as knots, stays sorted."""
    for axis, length in enumerate(shape):
        old = value.shape[axis]
        if length == old:
            continue
        at = np.linspace(0.0, old - 1.0, length)
        low = np.minimum(at.astype(np.int64), max(old - 2, 0))
        share = (at - low).reshape(-1, *[1] * (value.ndim - axis - 1))
        first, second = (np.take(value, np.minimum(low + step, old - 1), axis=axis) for step in (0, 1))
        value = np.asarray(first * (1.0 - share) + second * share).astype(value.dtype)
    return value


def _resize_integers(value: Array, shape: Shape, generator: np.random.Generator) -> Array | None:
    """Stretches integers; a permutation becomes one of the new length, distinct labels become distinct labels."""
    for axis, length in enumerate(shape):
        old = value.shape[axis]
        if length == old or old < 2:
            value = np.take(value, _places(old, length), axis=axis)
            continue
        ordered = np.sort(value, axis=axis)
        if not np.asarray(np.diff(ordered, axis=axis) != 0).all():
            value = np.take(value, _places(old, length), axis=axis)
        elif np.all(np.moveaxis(ordered, axis, -1) == np.arange(old)):
            moved = np.moveaxis(value, axis, -1)
            made = np.array(np.broadcast_to(np.arange(length, dtype=value.dtype), (*moved.shape[:-1], length)))
            is_sorted = bool((ordered == value).all())
            value = np.moveaxis(made if is_sorted else generator.permuted(made, axis=-1), -1, axis)
        elif value.ndim == 1 and not _is_monotone(value) and value.min() >= 0 and length <= value.max() + 1:
            value = generator.permutation(int(value.max()) + 1)[:length].astype(value.dtype)
        else:
            return None
    return value


def _is_monotone(value: Array) -> bool:
    steps = np.diff(value)
    return bool((steps >= 0).all() or (steps <= 0).all())


def gather(point: Point, generator: np.random.Generator) -> Point:
    """Gives the point with the outputs in `GROUPS` groups, each the sum of its outputs times ±0.5 to ±1.5.

    A cotangent of the groups is one of the outputs, so its gradient is judged as it stands; what an output
    contributes wrongly shows in its group. For outputs of other shapes all sums are nan.

    Returns:
        The point itself where outputs are few or complex, where one is not finite, as that has to be known of each, and
        where one element moves one output, which is cheap as it is.
    """
    if point.size < MANY or not np.isfinite(point.center).all():
        return point
    if any(output.dtype.kind == "c" for output in point.outputs):
        return point
    subject = point.subject
    for k in (*subject.differentiable, *subject.declared):
        owner = owners(point, k)
        room = measure_room(point.values(k), subject.domain[k])
        if owner is not None and is_elementwise(point, k, owner, room):
            return point
    group = generator.permutation(point.size) % GROUPS
    weight = generator.choice([-1.0, 1.0], point.size) * generator.integers(4, 13, point.size) / 8.0

    def summed(function: Forward) -> Forward:
        def sums(*inputs: Any) -> FloatArray:
            outputs = normalise_outputs(function(*inputs))
            if tuple(output.shape for output in outputs) != point.shapes:
                return np.full(GROUPS, np.nan)
            return np.asarray(np.bincount(group, point.flatten(outputs) * weight, GROUPS), dtype=np.float64)

        return sums

    def vjp(inputs: Any, _: Any, cotangents: Any) -> Any:
        outputs = normalise_outputs(subject.forward(*copy_inputs(inputs)))
        return subject.vjp(inputs, outputs, point.split(as_float64(cotangents[0])[group] * weight, outputs))

    surrogate = None if subject.also.surrogate is None else summed(subject.also.surrogate)
    also = replace(subject.also, surrogate=surrogate, nondifferentiable_outputs=(), none_cotangents=False)
    changed = replace(subject, forward=summed(subject.forward), vjp=vjp, also=also)
    gathered = Point(changed, point.given, point.label)
    gathered.forward_eps = max(gathered.forward_eps, point.forward_eps)
    return gathered
