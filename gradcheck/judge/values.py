"""The judgement of one input's gradient at one point: a list of steps, each of which may overrule those before it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from gradcheck.judge.complex_step import sharpen
from gradcheck.judge.far_below import judge_far_below
from gradcheck.judge.fitted import fit
from gradcheck.judge.measure import measure, measure_at_other_scales
from gradcheck.judge.outcome import Gradients, Outcome, Step
from gradcheck.judge.second_look import accept_edges, accept_ties, withdraw_degenerate, withdraw_rounding
from gradcheck.judge.together import judge_together
from gradcheck.model.domain import measure_room
from gradcheck.model.dtypes import FLOAT64_EPS, Array, FloatArray, IntArray, fit_gradient, is_continuous, resolution
from gradcheck.model.evaluation import GIVEN, Point
from gradcheck.model.perturb import draw_cotangents, perturb_cotangent
from gradcheck.numeric.columns import is_elementwise, owners
from gradcheck.numeric.ladder import Probe, ladder_steps
from gradcheck.numeric.noise import measure_noise
from gradcheck.numeric.tolerance import FLOOR, VARIED_FLOOR, Tolerance

STEPS: Mapping[str, Step] = {
    "measure": measure,
    "other scales": measure_at_other_scales,
    "fitted": fit,
    "far below": judge_far_below,
    "complex step": sharpen,
    "edges": accept_edges,
    "ties": accept_ties,
    "together": judge_together,
    "rounding": withdraw_rounding,
    "degenerate": withdraw_degenerate,
}
# Elements whose gradient is not finite that are measured beside the sampled ones: enough to name a place.
_MOST_BROKEN = 8
# Off-by-one faults live at the ends: that many elements at each end are always taken.
_ENDS = 8


@dataclass(frozen=True)
class Limits:
    """How many elements of an input are judged.

    Args:
        singly: where each element needs a ladder of its own.
        together: where all elements share one ladder, as in elementwise functions.
    """

    singly: int
    together: int


def take_gradients(point: Point, generator: np.random.Generator) -> Gradients:
    """Calls vjp for several cotangents.

    Raises:
        VjpError: the vjp raised.
    """
    is_short = max(point.vjp_eps, point.forward_eps) > FLOAT64_EPS
    cotangents = draw_cotangents(point.center, generator, is_short=is_short)
    raw = tuple(point.gradients(row) for row in cotangents)
    perturbed = [point.gradients(row) for row in perturb_cotangent(cotangents[-1], point.vjp_eps, generator)]
    return Gradients(cotangents, raw, tuple(perturbed))


def judge_input(point: Point, k: int, gradients: Gradients, limits: Limits, generator: np.random.Generator) -> Outcome:
    """Compares the gradient of input `k`, which must not be empty, with numeric derivatives.

    The limits bound how many elements are differentiated.
    """
    values = point.values(k)
    room = measure_room(values, point.subject.domain[k])
    owner = owners(point, k)
    if owner is not None and not is_elementwise(point, k, owner, room):
        owner = None
    elements = sample_elements(values.size, limits.singly if owner is None else limits.together, generator)
    analytic = _stack(gradients.raw, k, values)
    # Sums over directions leave out elements whose gradient is not finite, so that some of them need a look.
    broken = ~np.isfinite(analytic).all(axis=0) & np.isfinite(values.ravel())
    fresh = np.setdiff1d(np.flatnonzero(broken), elements)[:_MOST_BROKEN]
    elements = np.asarray(np.union1d(elements, fresh), dtype=np.int64)
    tolerance = _tolerance(point, k, gradients, analytic)
    wanted = slice(None) if owner is None else np.flatnonzero(np.isin(owner, elements))
    noise = measure_noise(point, k, room, generator, wanted)
    probe = Probe(point, k, room, noise, ladder_steps(point.forward_eps), gradients.cotangents)
    return Outcome(probe, generator, gradients, analytic, tolerance, owner, elements).after(STEPS)


def _stack(rows: Sequence[tuple[Array | None, ...]], k: int, values: FloatArray) -> FloatArray:
    fitted = [fit_gradient(row[k] if k < len(row) else None, values.shape) for row in rows]
    return np.array([np.full(values.size, np.nan) if row is None else row.ravel() for row in fitted])


def _tolerance(point: Point, k: int, gradients: Gradients, analytic: FloatArray) -> Tolerance:
    """Allows the rounding that the given dtypes and the forward function's own precision bring with them."""
    perturbed = _stack(gradients.perturbed, k, point.values(k))
    perturbed = np.max(np.abs(perturbed - analytic[-1]), axis=0, initial=0.0)
    eps = max(point.vjp_eps, point.forward_eps)
    gradient = gradients.raw[0][k]
    if point.is_short and gradient is not None and is_continuous(gradient.dtype):
        eps = max(eps, resolution(gradient.dtype))
    floor = FLOOR if point.label == GIVEN else VARIED_FLOOR
    declared = point.subject.also.accuracy * largest_element(analytic)
    return Tolerance(eps, np.nan_to_num(perturbed, nan=0.0, posinf=0.0), floor, declared)


def largest_element(gradients: FloatArray) -> float:
    """Gives the largest finite magnitude, of which a declared accuracy is a share."""
    return float(np.max(np.abs(gradients), initial=0.0, where=np.isfinite(gradients)))


def sample_elements(size: int, limit: int, generator: np.random.Generator) -> IntArray:
    """Takes all of `size` elements if `limit` allows, else the first and last eight and random ones between.

    Returns:
        Sorted flat indices, shape (min(size, limit),).
    """
    if size <= limit:
        return np.arange(size, dtype=np.int64)
    ends = min(_ENDS, max(1, limit // 4))
    middle = generator.choice(np.arange(ends, size - ends), size=max(limit - 2 * ends, 0), replace=False)
    return np.concatenate([np.arange(ends), np.sort(middle), np.arange(size - ends, size)]).astype(np.int64)
