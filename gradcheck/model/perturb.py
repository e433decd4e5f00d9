"""What is drawn: cotangents, and numbers moved by a rounding, or a little more, to see how far results move too."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TypeAlias

import numpy as np

from gradcheck.model.dtypes import Array, FloatArray, as_float64, from_float64, is_complex, is_continuous
from gradcheck.model.protocol import Subject, copy_inputs

SIGNS = np.array([-1.0, 1.0])
# Ones, which are read in messages, two of few bits and one of all 53; linearity combines three of them. Each costs a
# vjp at each point, and twice as many find no more in the bank.
_COTANGENTS = 4
# A cotangent is changed three times, as one change may hide what rounding does by chance; by up to 32 units each, since
# a single unit often cancels along with the terms.
_PERTURBATIONS = 3
_UNITS = 32
Units: TypeAlias = Sequence[float] | Array


def perturb(values: Array, units: Units, generator: np.random.Generator, *, turns: bool = False) -> Array:
    """Gives numbers, each moved by a share of itself drawn from `units`; `turns` moves complex ones across as well."""
    shares: Array = 1.0 + generator.choice(units, values.shape)
    if turns and is_complex(values.dtype):
        shares = shares + 1j * generator.choice(units, values.shape)
    return np.asarray(values * shares)


def perturb_within(values: Array, reach: float, generator: np.random.Generator) -> Array:
    """Gives numbers, each moved by any share of itself up to `reach`."""
    return np.asarray(values * (1.0 + generator.uniform(-reach, reach, values.shape)))


def perturb_array(array: Array, units: Units, generator: np.random.Generator) -> Array:
    """Gives an array of a floating or complex dtype perturbed, each part of a complex number alone."""
    return from_float64(perturb(as_float64(array), units, generator), array)


def perturb_inputs(
    inputs: Sequence[object],
    units: Units,
    generator: np.random.Generator,
    subject: Subject | None = None,
    places: Iterable[int] | None = None,
) -> tuple[object, ...]:
    """Gives copies of inputs, of which the floating ones at `places`, or all, are perturbed inside the domain."""
    moved = list(copy_inputs(inputs))
    for k in range(len(moved)) if places is None else places:
        value = moved[k]
        if isinstance(value, np.ndarray) and is_continuous(value.dtype):
            numbers = perturb(as_float64(value), units, generator)
            moved[k] = from_float64(numbers if subject is None else subject.numbers(k, numbers, moved), value)
    return tuple(moved)


def draw_cotangents(
    center: FloatArray, generator: np.random.Generator, count: int = _COTANGENTS, *, is_short: bool = False
) -> FloatArray:
    """Draws flat cotangents.

    The first is all ones, whose gradients are the easiest to read in a message. The others have random signs and
    magnitudes between 0.5 and 1.5, in eighths, which every float dtype holds exactly; the last one takes all 53 bits,
    unless an output is shorter than that: only such a cotangent shows what a linear backward rounds. Where an output is
    not finite the cotangent is zero.

    Returns:
        Shape (count, outputs).
    """
    signs = generator.choice([-1.0, 1.0], size=(count, center.size))
    drawn = signs * generator.integers(4, 13, size=(count, center.size)) / 8.0
    if count > 1 and not is_short:
        drawn[-1] = signs[-1] * generator.uniform(0.5, 1.5, center.size)
    drawn[0] = 1.0
    return np.where(np.isfinite(center), drawn, 0.0)


def perturb_cotangent(cotangent: FloatArray, eps: float, generator: np.random.Generator) -> list[FloatArray]:
    """Gives copies of a flat cotangent changed in the last few bits that resolution `eps` can hold.

    A gradient answers such a change with little more than its own rounding, even where large terms cancel in it; the
    change is of some dozen units, as one unit often cancels along with the terms.
    """
    units = eps * np.arange(-_UNITS, _UNITS + 1)
    return [perturb(cotangent, units, generator) for _ in range(_PERTURBATIONS)]
