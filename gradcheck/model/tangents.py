"""Tangent spaces: the directions in which what a domain's rules hold may move, given or found from the projection."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from gradcheck.errors import UsageError
from gradcheck.model.constraint import Domain
from gradcheck.model.dtypes import Array, FloatArray, as_float64, from_float64, widened

# A singular value of the derivative of a projection is 1 at least in the tangent space, and 0 across it.
_IN_TANGENT = 0.5
_STEP = 2.0**-17
# On both sides of a member a projection moves alike but for curvature; where it does not, the set ends there.
_UNLIKE = 2.0**-4
# The derivative of a projection has as many columns as it has numbers, and is decomposed once a point.
_MOST_NUMBERS = 1000


@dataclass(frozen=True)
class Tangents:
    """The directions in which members of a set lie, at one of them."""

    project: Callable[[FloatArray], FloatArray]


def tangents_of(where: Domain, values: FloatArray, like: Array, beside: Mapping[str, object] = {}) -> Tangents | None:
    """Gives the tangent space at values inside; None where they may move in every direction.

    Args:
        where: the domain.
        values: numbers of an array of `like`'s kind.
        like: that array.
        beside: the other inputs, by name.

    Raises:
        UsageError: it has to be found from the projection, and has too many numbers.
    """
    if not where.rules:
        return None
    wide = from_float64(values, widened(like))
    if len(where.rules) == 1 and where.rules[0].tangent is not None:
        rule, others = where.rules[0], where.others(where.rules[0], beside)
        given = rule.tangent
        assert given is not None

        def project(direction: FloatArray) -> FloatArray:
            return as_float64(np.asarray(given(wide, from_float64(direction, wide), *others), dtype=wide.dtype))

        return Tangents(project)
    if values.size > _MOST_NUMBERS:
        raise UsageError(
            f"domain {where.name}: expected at most {_MOST_NUMBERS} numbers where the tangent space is found from "
            f"the projection, got {values.size}; give tangent="
        )
    basis = _range_of(lambda moved: where.numbers(moved, like, beside), values)
    if len(basis) == values.size:
        return None
    return Tangents(lambda direction: (basis.T @ (basis @ direction.ravel())).reshape(direction.shape))


def is_at_end(where: Domain, values: FloatArray, like: Array, beside: Mapping[str, object] = {}) -> bool:
    """Says whether a set, whose tangent spaces are found from its projection, ends at values inside."""
    if not where.rules or any(rule.tangent is not None for rule in where.rules):
        return False
    step = _step_at(values)
    for along in np.random.default_rng(0).uniform(-1.0, 1.0, (2, *values.shape)):
        ahead, behind = (where.numbers(values + sign * step * along, like, beside) for sign in (1.0, -1.0))
        if np.max(np.abs(ahead + behind - 2.0 * values), initial=0.0) > _UNLIKE * step:
            return True
    return False


def _step_at(values: FloatArray) -> float:
    return _STEP * max(float(np.max(np.abs(values), initial=0.0)), _STEP)


def _range_of(project: Callable[[FloatArray], FloatArray], values: FloatArray) -> FloatArray:
    """Gives an orthonormal basis of the directions in which a projection moves at one of its values, a row each.

    Where the set ends in a direction, the side counts on which it goes on.
    """
    step = _step_at(values)
    columns = np.empty((values.size, values.size))
    for k in range(values.size):
        moved = np.zeros(values.size)
        moved[k] = step
        ahead, behind = (project(values + sign * moved.reshape(values.shape)) for sign in (1.0, -1.0))
        sides = (ahead - values).ravel() / step, (values - behind).ravel() / step
        if np.max(np.abs(sides[0] - sides[1])) > _UNLIKE:
            columns[:, k] = max(sides, key=lambda side: float(np.linalg.norm(side)))
        else:
            columns[:, k] = (ahead - behind).ravel() / (2.0 * step)
    left, sizes, _ = np.linalg.svd(columns)
    return np.asarray(left[:, sizes > _IN_TANGENT].T)
