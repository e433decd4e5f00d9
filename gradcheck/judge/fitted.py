"""Slopes of polynomials fitted to many values around a point, where arithmetic is so coarse that no two values tell."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from gradcheck.judge.measure import decide
from gradcheck.judge.outcome import Comparison, Outcome, Status
from gradcheck.model.dtypes import FloatArray, IntArray

# From float16 on: of eleven bits a difference of two values leaves three or four, of many values their mean leaves six.
_COARSE = 2.0**-14
# Values for one slope, so far around the point in units of the element's scale, and the degrees that have to agree.
_VALUES = 64
_REACH = 0.25
_DEGREES = (3, 5)
# What rounding leaves beside a polynomial is another number each time; what a kink leaves goes on to the next value.
_ALIKE = 0.5
# Elements that each need values of their own.
_MOST = 16
# A derivative of zero is believed where bars are this small beside output / scale.
_RESOLVABLE = 1e-3


def fit(outcome: Outcome) -> Outcome:
    """Judges elements that two values each left unsure by the slope of polynomials through many, in coarse arithmetic.

    What rounding adds is told by how far the values lie from the polynomial, and what its degree leaves out by the
    slope of one of a lower degree. Where neighbours lie beside it alike, as near a kink or of an oscillation, nothing
    is said, nor of a slope that half a unit in the last place of each output hides, as of a sum that rests.
    """
    probe, comparison = outcome.probe, outcome.comparison
    unsure = (comparison.status == Status.UNSURE) & probe.free().ravel()[comparison.elements]
    places = np.flatnonzero(unsure)[: None if outcome.owner is not None else _MOST]
    if probe.point.forward_eps < _COARSE or not places.size:
        return outcome
    elements = comparison.elements[places]
    grid = np.linspace(-1.0, 1.0, _VALUES) + outcome.generator.uniform(-1.0, 1.0, _VALUES) / _VALUES
    slopes, bar = _slopes(grid, _values(outcome, elements, _REACH * grid))
    reach = _REACH * probe.room.scale.ravel()[elements]
    sizes = np.where(np.isfinite(probe.point.center), np.abs(probe.point.center), 0.0)
    hidden = 0.5 * probe.point.forward_eps * _weighed(outcome, elements, np.abs(outcome.cotangents), sizes)
    slopes, bar = slopes / reach, np.maximum(bar, hidden) / reach
    analytic = outcome.analytic[:, elements]
    own, none = np.abs(slopes), np.zeros_like(slopes)
    local, peak = outcome.tolerance[elements], np.max(own, initial=0.0, keepdims=True)
    status, kink = np.full(elements.size, int(Status.RIGHT)), np.zeros(elements.size, dtype=np.bool_)
    allowance, shared = local.allowance(slopes, bar, own, peak), np.broadcast_to(local.shared(peak), slopes.shape)
    made = Comparison(elements, analytic, slopes, slopes, bar, allowance, none, shared, status, kink)
    decide(made, _RESOLVABLE * np.max(sizes, initial=0.0) / probe.room.scale.ravel()[elements], peak)
    outcome = outcome.saw(f"{_VALUES} values around it have a slope of {{:.4g}} ± {{:.0e}}", elements, slopes, bar)
    is_known = np.isin(comparison.elements, elements[made.status != Status.UNSURE])
    parts = Comparison.concat([comparison[np.setdiff1d(np.arange(comparison.elements.size), places)], made])
    return replace(outcome, comparison=parts[np.argsort(parts.elements)].where(is_known, comparison))


def _values(outcome: Outcome, elements: IntArray, shifts: FloatArray) -> FloatArray:
    """Gives what each cotangent weighs of the outputs, shape (values, C, E), as each element moves by itself."""
    point, k, scale = outcome.point, outcome.k, outcome.probe.room.scale
    weights = np.where(np.isfinite(point.center), outcome.cotangents, 0.0)

    def weighed(move: FloatArray) -> FloatArray:
        return _weighed(outcome, elements, weights, np.nan_to_num(point.forward_at(k, point.values(k) + move)))

    if outcome.owner is not None:
        return np.array([weighed(shift * scale) for shift in shifts])
    alone = [outcome.probe.only(int(element)) * scale for element in elements]
    return np.array([np.stack([weighed(shift * move)[:, 0] for move in alone], axis=1) for shift in shifts])


def _weighed(outcome: Outcome, elements: IntArray, weights: FloatArray, outputs: FloatArray) -> FloatArray:
    """Gives the sum that each cotangent's weights make of outputs: of those of each element, where it has its own."""
    if outcome.owner is None:
        return (weights @ outputs)[:, None]
    place = np.full(outcome.size, elements.size)
    place[elements] = np.arange(elements.size)
    return np.array([np.bincount(place[outcome.owner], row * outputs, elements.size + 1)[:-1] for row in weights])


def _slopes(grid: FloatArray, values: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Gives slopes at 0 of polynomials through values on a grid, and how far they may be off, both of shape (C, E)."""
    found, spread = [], np.zeros(values.shape[1:])
    for degree in _DEGREES:
        basis = np.vander(grid, degree + 1, increasing=True)
        inverse = np.linalg.pinv(basis)
        parts = np.tensordot(inverse, values, 1)
        rest = values - np.tensordot(basis, parts, 1)
        square = (rest**2).sum(axis=0)
        spread = np.sqrt(square / (len(grid) - degree - 1)) * np.linalg.norm(inverse[1])
        spread = np.where((rest[1:] * rest[:-1]).sum(axis=0) > _ALIKE * square, np.inf, spread)
        found.append(parts[1])
    return found[-1], np.maximum(spread, np.abs(found[1] - found[0]))
