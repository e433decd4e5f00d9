"""Domains of inputs: what was declared of each, and how far its elements may move."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from gradcheck.errors import UsageError
from gradcheck.model.constraint import Domain, read_one
from gradcheck.model.dims import mismatch
from gradcheck.model.dtypes import FloatArray, as_float64, is_continuous, name_number

Reach = Literal["typical", "wide", "narrow"]

# A side with less room than this share of the other counts as closed: steps there would be lost in rounding.
_NARROW = 2.0**-20
# The first step of a ladder is an eighth of the scale, so the scale is at most eight times the room.
_FIRST_STEPS = 8
# Towards an open end it goes half of the way.
_OFF_END = 0.5


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


def read_domain(domain: object, names: tuple[str, ...]) -> tuple[Domain, ...]:
    """Gives one domain per input.

    Args:
        domain: None; one (low, high) or domain for all inputs; a sequence with one per input, or None; or a mapping
            from names. A function counts as the projection of a domain.
        names: the names of the inputs.

    Raises:
        UsageError: the domain has another form, names no input, or has low > high.
    """
    if domain is None:
        return (Domain(),) * len(names)
    if isinstance(domain, Mapping):
        for key in domain:
            if key not in names:
                raise UsageError(f"domain: expected names among {', '.join(names)}, got {key!r}; name an input")
        found = tuple(read_one(domain.get(name), name) for name in names)
    elif _is_for_all(domain):
        found = (read_one(domain, "every input"),) * len(names)
    elif not isinstance(domain, Sequence) or isinstance(domain, str) or len(domain) != len(names):
        raise UsageError(
            f"domain: expected one (low, high) or None for each of {len(names)} inputs, got {domain!r}; "
            "use None where there is no bound"
        )
    else:
        found = tuple(read_one(item, name) for item, name in zip(domain, names, strict=True))
    for one, name in zip(found, names, strict=True):
        for other in one.of:
            if other not in names and other not in one.held:
                raise UsageError(
                    f"domain of {name!r}: expected names among {', '.join(names)} beside the values, got {other!r}; "
                    "name an input"
                )
    return found


def named(names: Sequence[str], inputs: Sequence[object]) -> dict[str, object]:
    """Gives inputs by name, as domains take what stands beside an input."""
    return dict(zip(names, inputs, strict=True))


def check_inside(inputs: Sequence[object], domain: tuple[Domain, ...], names: tuple[str, ...]) -> None:
    """Checks that the given values lie in their domains; integers and bools where a rule says something of them.

    Raises:
        UsageError: an element lies outside, or values are of a shape that a rule refuses; the message has the index and
            the value.
    """
    shaped = [
        (name, where.dims, value.shape)
        for value, where, name in zip(inputs, domain, names, strict=True)
        if where.dims is not None and isinstance(value, np.ndarray)
    ]
    other = mismatch(shaped, {})
    if other is not None:
        got = next(shape for name, _, shape in shaped if name == other[0])
        raise UsageError(f"input {other[0]!r}: expected shape {other[1]}, got {got}; pass one of that shape")
    for value, where, name in zip(inputs, domain, names, strict=True):
        if not isinstance(value, np.ndarray) or not (where.rules or is_continuous(value.dtype)):
            continue
        try:
            found = where.broken(value, named(names, inputs))
        except UsageError:
            raise
        except Exception as error:
            raise UsageError(f"input {name!r}: expected values {where.name}, got {error}; widen domain") from error
        if found is None:
            continue
        number, there = found
        index, part = name_number(number, value.dtype)
        got = (as_float64(value) if is_continuous(value.dtype) else value)[number]
        nearest = f", where {there:.6g} would be right" if where.rules else ""
        raise UsageError(
            f"input {name!r}: expected values {where.name}, got {got:g} at {list(index)}{part}{nearest}; "
            "move it inside or widen domain"
        )


def measure_room(values: FloatArray, bounds: Domain, reach: Reach = "typical") -> Room:
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
    first = [_FIRST_STEPS * (_OFF_END if is_open else 1.0) for is_open in bounds.is_open]
    above, below = first[1] * (bounds.high - values), first[0] * (values - bounds.low)
    up = above >= _NARROW * np.minimum(below, wanted)
    down = below >= _NARROW * np.minimum(above, wanted)
    allowed = np.minimum(np.where(up, above, np.inf), np.where(down, below, np.inf))
    scale = 2.0 ** np.floor(np.log2(np.minimum(wanted, np.maximum(allowed, np.finfo(np.float64).tiny))))
    moves = np.isfinite(values)
    return Room(scale, (up & moves).astype(np.float64), (down & moves).astype(np.float64))


def _is_for_all(domain: object) -> bool:
    """Says whether a domain is one for all inputs: a pair of numbers, one of which may be None, or no sequence."""
    if isinstance(domain, Domain) or callable(domain):
        return True
    if not isinstance(domain, Sequence) or len(domain) != 2:
        return False
    numbers = [isinstance(end, (int, float, np.number)) for end in domain]
    return any(numbers) and all(number or end is None for number, end in zip(numbers, domain, strict=True))
