"""Perturbation: numbers moved by a rounding, or a little more, at random, to see how far results move with them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TypeAlias

import numpy as np

from gradcheck.model.domain import Bounds
from gradcheck.model.dtypes import Array, as_float64, from_float64, is_complex, is_continuous
from gradcheck.model.protocol import copy_inputs

SIGNS = np.array([-1.0, 1.0])
_OPEN = Bounds()
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


def perturb_array(array: Array, units: Units, generator: np.random.Generator, bounds: Bounds = _OPEN) -> Array:
    """Gives an array of a floating or complex dtype perturbed, each part of a complex number alone, inside bounds."""
    return from_float64(bounds.clip(perturb(as_float64(array), units, generator)), array)


def perturb_inputs(
    inputs: Sequence[object],
    units: Units,
    generator: np.random.Generator,
    domain: Sequence[Bounds] | None = None,
    places: Iterable[int] | None = None,
) -> tuple[object, ...]:
    """Gives copies of inputs, of which the floating ones at `places`, or all, are perturbed inside their domain."""
    moved = list(copy_inputs(inputs))
    for k in range(len(moved)) if places is None else places:
        value = moved[k]
        if isinstance(value, np.ndarray) and is_continuous(value.dtype):
            moved[k] = perturb_array(value, units, generator, _OPEN if domain is None else domain[k])
    return tuple(moved)
