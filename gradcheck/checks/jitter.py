"""Inputs moved by a rounding, to see how far results move with it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from gradcheck.checks.session import Session
from gradcheck.model.dtypes import Array, as_float64, from_float64, is_continuous, widened
from gradcheck.model.protocol import copy_inputs


def jitter(
    session: Session, inputs: Sequence[object], seed: int, places: Iterable[int] | None = None
) -> tuple[object, ...]:
    """Gives copies of the inputs, those at `places`, or all, moved by one unit of rounding each way at random."""
    generator = np.random.default_rng([session.seed, seed])
    moved = list(copy_inputs(inputs))
    for k in range(len(moved)) if places is None else places:
        value = moved[k]
        if isinstance(value, np.ndarray) and is_continuous(value.dtype):
            signs = generator.choice([-1.0, 1.0], value.shape)
            moved[k] = inside(session, k, (widened(value) * (1.0 + session.eps * signs)).astype(value.dtype))
    return tuple(moved)


def inside(session: Session, k: int, value: Array) -> Array:
    """Gives values for input `k` brought into its domain."""
    return from_float64(session.subject.domain[k].clip(as_float64(value)), value)
