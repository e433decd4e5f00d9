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


def _range_of(project: Callable[[FloatArray], FloatArray], values: FloatArray) -> FloatArray:
    """Gives an orthonormal basis of the directions in which a projection moves at one of its values, a row each."""
    step = _STEP * max(float(np.max(np.abs(values), initial=0.0)), _STEP)
    columns = np.empty((values.size, values.size))
    for k in range(values.size):
        moved = np.zeros(values.size)
        moved[k] = step
        ahead, behind = (project(values + sign * moved.reshape(values.shape)) for sign in (1.0, -1.0))
        columns[:, k] = (ahead - behind).ravel() / (2.0 * step)
    left, sizes, _ = np.linalg.svd(columns)
    return np.asarray(left[:, sizes > _IN_TANGENT].T)
