"""Many outputs gathered into few: weighed sums of random groups, whose gradients are those of the function itself."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from gradcheck.model.domain import measure_room
from gradcheck.model.dtypes import FloatArray, as_float64
from gradcheck.model.evaluation import Point
from gradcheck.model.protocol import Forward, copy_inputs, normalise_outputs
from gradcheck.numeric.columns import is_elementwise, owners

# From so many outputs on their columns, one for each output and element, take longer than forward. In
# so many groups eight outputs or more share one; signs and weights are drawn, so that faults seldom cancel.
MANY = 2048
GROUPS = 256


def gather(point: Point, generator: np.random.Generator) -> Point:
    """Gives the point with the outputs in `GROUPS` groups, each the sum of its outputs times ±0.5 to ±1.5.

    A cotangent of the groups is one of the outputs, so its gradient is judged as it stands; what an output
    contributes wrongly shows in its group. For outputs of other shapes all sums are nan.

    Returns:
        The point itself where outputs are few or complex, where one is not finite, as that has to be known of each, and
        where one element moves one output, which is cheap as it is.
    """
    if point.size < MANY or not np.isfinite(point.center).all():
        return point
    if any(output.dtype.kind == "c" for output in point.outputs):
        return point
    subject = point.subject
    for k in (*subject.differentiable, *subject.declared):
        owner = owners(point, k)
        room = measure_room(point.values(k), subject.domain[k])
        if owner is not None and is_elementwise(point, k, owner, room):
            return point
    group = generator.permutation(point.size) % GROUPS
    weight = generator.choice([-1.0, 1.0], point.size) * generator.integers(4, 13, point.size) / 8.0

    def summed(function: Forward) -> Forward:
        def sums(*inputs: Any) -> FloatArray:
            outputs = normalise_outputs(function(*inputs))
            if tuple(output.shape for output in outputs) != point.shapes:
                return np.full(GROUPS, np.nan)
            return np.asarray(np.bincount(group, point.flatten(outputs) * weight, GROUPS), dtype=np.float64)

        return sums

    def vjp(inputs: Any, _: Any, cotangents: Any) -> Any:
        outputs = normalise_outputs(subject.forward(*copy_inputs(inputs)))
        return subject.vjp(inputs, outputs, point.split(as_float64(cotangents[0])[group] * weight, outputs))

    surrogate = None if subject.also.surrogate is None else summed(subject.also.surrogate)
    also = replace(subject.also, surrogate=surrogate, nondifferentiable_outputs=(), none_cotangents=False)
    changed = replace(subject, forward=summed(subject.forward), vjp=vjp, also=also)
    gathered = Point(changed, point.given, point.label)
    gathered.forward_eps = max(gathered.forward_eps, point.forward_eps)
    return gathered
