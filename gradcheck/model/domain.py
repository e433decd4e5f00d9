"""Bounds on inputs: where they may move, and how far from each element."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from gradcheck.errors import UsageError
from gradcheck.model.dtypes import FloatArray, as_float64, is_continuous, name_number

Reach = Literal["typical", "wide", "narrow"]

# A side with less room than this share of the other counts as closed: steps there would be lost in rounding.
_NARROW = 2.0**-20
# The first step of a ladder is an eighth of the scale, so the scale is at most eight times the room.
_FIRST_STEPS = 8


@dataclass(frozen=True)
class Bounds:
    """A closed interval that an input never leaves, nor a part of a complex one; infinite ends mean no bound."""

    low: float = -math.inf
    high: float = math.inf

    def clip(self, values: FloatArray) -> FloatArray:
        """Moves values into the interval."""
        return np.clip(values, self.low, self.high)


@dataclass(frozen=True)
class Room:
    """How far each element may move.

    Args:
        scale: power of two per element; a displacement of at most `scale` / 8 stays inside the bounds.
        up: 1.0 where the element may increase, else 0.0.
        down: 1.0 where the element may decrease, else 0.0.
    """

    scale: FloatArray
    up: FloatArray
    down: FloatArray


def read_domain(domain: object, names: tuple[str, ...]) -> tuple[Bounds, ...]:
    """Gives one interval per input.

    Args:
        domain: None; one (low, high) for all inputs; a sequence with one (low, high) or None per input; or a mapping
            from names to (low, high).
        names: the names of the inputs.

    Raises:
        UsageError: the domain has another form, names no input, or has low > high.
    """
    if domain is None:
        return (Bounds(),) * len(names)
    if isinstance(domain, Mapping):
        for key in domain:
            if key not in names:
                raise UsageError(f"domain: expected names among {', '.join(names)}, got {key!r}; name an input")
        return tuple(_bounds(domain.get(name), name) for name in names)
    if _is_interval(domain):
        return (_bounds(domain, "every input"),) * len(names)
    if not isinstance(domain, Sequence) or isinstance(domain, str) or len(domain) != len(names):
        raise UsageError(
            f"domain: expected one (low, high) or None for each of {len(names)} inputs, got {domain!r}; "
            "use None where there is no bound"
        )
    return tuple(_bounds(item, name) for item, name in zip(domain, names, strict=True))


def check_inside(inputs: Sequence[object], domain: tuple[Bounds, ...], names: tuple[str, ...]) -> None:
    """Checks that the given values respect their bounds.

    Raises:
        UsageError: an element lies outside; the message has its index and value.
    """
    for value, bounds, name in zip(inputs, domain, names, strict=True):
        if not isinstance(value, np.ndarray) or not is_continuous(value.dtype):
            continue
        values = as_float64(value)
        outside = (values < bounds.low) | (values > bounds.high)
        if outside.any():
            number = tuple(int(i) for i in np.argwhere(outside)[0])
            index, part = name_number(number, value.dtype)
            raise UsageError(
                f"input {name!r}: expected values in [{bounds.low:g}, {bounds.high:g}], "
                f"got {values[number]:g} at {list(index)}{part}; move it inside or widen domain"
            )


def measure_room(values: FloatArray, bounds: Bounds, reach: Reach = "typical") -> Room:
    """Gives the room to move of each element of `values`, which may have any shape.

    The scale of an element is, for a "typical" reach, its magnitude or the median magnitude of the array, whichever is
    larger; for a "wide" one at least 1; for a "narrow" one its magnitude alone, where that is not zero. It is a power
    of two, so that a displacement by a power-of-two share of it is exact in floating point. NaN and infinity stay.
    """
    magnitude = np.abs(values)
    finite = magnitude[np.isfinite(magnitude) & (magnitude > 0)]
    typical = float(np.median(finite)) if finite.size else 1.0
    least = {"typical": typical, "wide": max(typical, 1.0), "narrow": 0.0}[reach]
    wanted = np.maximum(magnitude, least)
    wanted = np.where(np.isfinite(wanted) & (wanted > 0), wanted, typical)
    above, below = _FIRST_STEPS * (bounds.high - values), _FIRST_STEPS * (values - bounds.low)
    up = above >= _NARROW * np.minimum(below, wanted)
    down = below >= _NARROW * np.minimum(above, wanted)
    allowed = np.minimum(np.where(up, above, np.inf), np.where(down, below, np.inf))
    scale = 2.0 ** np.floor(np.log2(np.minimum(wanted, np.maximum(allowed, np.finfo(np.float64).tiny))))
    moves = np.isfinite(values)
    return Room(scale, (up & moves).astype(np.float64), (down & moves).astype(np.float64))


def _is_interval(domain: object) -> bool:
    """Says whether a domain is one (low, high) for all inputs: its ends are numbers, one may be None."""
    if not isinstance(domain, Sequence) or len(domain) != 2:
        return False
    numbers = [isinstance(end, (int, float, np.number)) for end in domain]
    return any(numbers) and all(number or end is None for number, end in zip(numbers, domain, strict=True))


def _bounds(item: object, name: str) -> Bounds:
    if item is None:
        return Bounds()
    if isinstance(item, Sequence) and len(item) == 2:
        low = -math.inf if item[0] is None else float(item[0])
        high = math.inf if item[1] is None else float(item[1])
        if low <= high:
            return Bounds(low, high)
    raise UsageError(f"domain of {name!r}: expected (low, high) with low <= high, got {item!r}; swap or correct them")
