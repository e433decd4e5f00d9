"""Which outputs carry a gradient: those of a floating or complex dtype that were not declared non-differentiable."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from gradcheck.errors import UsageError
from gradcheck.model.dtypes import Array, is_continuous
from gradcheck.model.protocol import Subject

_ROLE = "nondifferentiable_outputs"


def read_positions(positions: object) -> tuple[int, ...]:
    """Reads what the caller declared; each position counts once.

    Raises:
        UsageError: it is no collection of integers.
    """
    remedy = "write a tuple of output positions"
    if isinstance(positions, str) or not isinstance(positions, Iterable):
        raise UsageError(f"{_ROLE}: expected positions of outputs, got {positions!r}; {remedy}")
    found = tuple(positions)
    for position in found:
        if isinstance(position, bool) or not isinstance(position, (int, np.integer)):
            raise UsageError(f"{_ROLE}: expected positions of outputs, got {position!r}; {remedy}")
    return tuple(sorted({int(position) for position in found}))


def check_positions(subject: Subject, outputs: Sequence[Array]) -> None:
    """Holds the declared positions against what forward returns.

    Raises:
        UsageError: there is no output at a declared position.
    """
    for position in subject.also.nondifferentiable_outputs:
        if not 0 <= position < len(outputs):
            raise UsageError(
                f"{_ROLE}: expected positions from 0 to {len(outputs) - 1}, as forward returns {len(outputs)}, "
                f"got {position}; remove it"
            )


def carries(subject: Subject, outputs: Sequence[Array]) -> tuple[bool, ...]:
    """Says for each output whether it has a cotangent of its own; the others get `no_cotangent`."""
    declared = subject.also.nondifferentiable_outputs
    return tuple(is_continuous(output.dtype) and k not in declared for k, output in enumerate(outputs))


def no_cotangent(output: Array) -> Array:
    """Gives zeros in the shape of an output that carries no gradient: of its dtype if it could, else float64."""
    return np.zeros(output.shape, dtype=output.dtype if is_continuous(output.dtype) else np.float64)
