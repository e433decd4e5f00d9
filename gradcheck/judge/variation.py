"""Other values of the same shapes, at which a backward that is right by luck shows its fault."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TypeAlias

import numpy as np

from gradcheck.model.dtypes import BoolArray, FloatArray, as_float64, from_float64, is_continuous
from gradcheck.model.protocol import Subject

SMALL = "small magnitudes and zeros"
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
            changed[k] = from_float64(subject.domain[k].clip(values), value)
        yield label, tuple(changed)


def _flip(values: FloatArray, generator: np.random.Generator, place: int) -> FloatArray:
    return -values


def _redraw(values: FloatArray, generator: np.random.Generator, place: int) -> FloatArray:
    return _typical(values) * generator.choice([-1.0, 1.0], values.shape) * generator.uniform(0.3, 1.7, values.shape)


def _shrink(values: FloatArray, generator: np.random.Generator, place: int) -> FloatArray:
    return values * generator.uniform(0.01, 0.1, values.shape)


def _shrink_some(values: FloatArray, generator: np.random.Generator, place: int) -> FloatArray:
    """Makes values small, and one element in four zero, others in each input."""
    turns = (np.arange(values.size).reshape(values.shape) - place) % 4
    return np.where(turns == min(1, values.size - 1), 0.0, _shrink(values, generator, place))


def _grow(values: FloatArray, generator: np.random.Generator, place: int) -> FloatArray:
    return values * generator.uniform(3.0, 8.0, values.shape)


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


def _typical(values: FloatArray) -> float:
    finite = np.abs(values[np.isfinite(values) & (values != 0)])
    return float(np.median(finite)) if finite.size else 1.0


_CHANGES: tuple[tuple[str, _Change], ...] = (
    ("signs flipped", _flip),
    ("random values", _redraw),
    (SMALL, _shrink_some),
    ("large magnitudes", _grow),
    ("repeated values", _repeat),
)
