"""Domains: the bounds that an op's author sets to inputs and numeric attributes."""

from __future__ import annotations

from collections.abc import Mapping
from numbers import Real
from typing import Any

from opsdk.core.errors import DefinitionError
from opsdk.define.schema.schema import OpSchema

Bounds = tuple["float | None", "float | None"]
_NUMERIC = ("int", "float")


# Any: what the author gave as `domain=`, of whatever type.
def checked_domain(schema: OpSchema, given: Any) -> dict[str, Bounds]:
    """Returns what was given as `domain=`, as a dictionary of pairs.

    Args:
        schema: the op's signature.
        given: a mapping from names of inputs and of int and float attributes to (least, greatest).

    Raises:
        DefinitionError: it is no mapping, names something else, or holds no such pair.
    """
    subject = f"op {schema.qualified_name!r}, domain"
    if not isinstance(given, Mapping):
        raise DefinitionError(
            f"{subject}: expected a mapping from names to (least, greatest), got {given!r}; "
            'write domain={"x": (0.0, None)}'
        )
    numeric = [decl.name for decl in schema.attrs if decl.type.rstrip("?") in _NUMERIC]
    known = (*schema.input_names, *numeric)
    for name, bounds in given.items():
        if name not in known:
            raise DefinitionError(
                f"{subject}: expected names of inputs or of int and float attributes, got {name!r}; "
                f"it may name {', '.join(known) or 'nothing of this op'}"
            )
        _check_bounds(f"{subject} of {name!r}", bounds)
    return {name: (low, high) for name, (low, high) in given.items()}


def _check_bounds(subject: str, bounds: Any) -> None:
    is_pair = isinstance(bounds, (tuple, list)) and len(bounds) == 2
    if not is_pair or not all(bound is None or isinstance(bound, Real) for bound in bounds):
        raise DefinitionError(
            f"{subject}: expected (least, greatest), each a number or None, got {bounds!r}; write (0.0, None)"
        )
    low, high = bounds
    if any(bound is not None and bound != bound for bound in bounds):
        raise DefinitionError(f"{subject}: expected numbers, got {bounds!r}; None stands for no bound")
    if low is not None and high is not None and low > high:
        raise DefinitionError(f"{subject}: expected least ≤ greatest, got {bounds!r}; write ({high!r}, {low!r})")


def lies_inside(value: float, bounds: Bounds) -> bool:
    """Whether a value lies within bounds, which belong to them."""
    low, high = bounds
    return (low is None or value >= low) and (high is None or value <= high)
