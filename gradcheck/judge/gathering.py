"""Many outputs gathered into few: weighed sums of random groups, whose gradients are those of the function itself."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from gradcheck.model.carriers import carries, no_cotangent
from gradcheck.model.domain import measure_room
from gradcheck.model.dtypes import Array, FloatArray, as_float64
from gradcheck.model.evaluation import Point
from gradcheck.model.protocol import Subject, copy_inputs, normalise_outputs
from gradcheck.numeric.groups import is_elementwise, owners

# From so many outputs on their columns, one for each output and element, take longer than forward. In
# so many groups eight outputs or more share one; signs and weights are drawn, so that faults seldom cancel.
MANY = 2048
GROUPS = 256


def gather(point: Point, generator: np.random.Generator) -> Subject | None:
    """Gives the subject with the outputs in `GROUPS` groups, each the sum of its outputs times ±0.5 to ±1.5.

    A cotangent of the groups is one of the outputs, so its gradient is judged as it stands; what an output
    contributes wrongly shows in its group.

    Returns:
        None where outputs are few or complex, where one is not finite, as that has to be known of each, and where one
        element moves one output, which is cheap as it is.
    """
    if point.size < MANY or not np.isfinite(point.center).all():
        return None
    if any(output.dtype.kind == "c" for output in point.outputs):
        return None
    subject = point.subject
    for k in (*subject.differentiable, *subject.declared):
        owner = owners(point, k)
        room = measure_room(point.values(k), subject.domain[k])
        if owner is not None and is_elementwise(point, k, owner, room):
            return None
    group = generator.permutation(point.size) % GROUPS
    weight = generator.choice([-1.0, 1.0], point.size) * generator.integers(4, 13, point.size) / 8.0
    gathered = _Gathered(subject, point, group, weight)
    surrogate = gathered.surrogate if subject.also.surrogate is not None else None
    also = replace(subject.also, surrogate=surrogate, nondifferentiable_outputs=(), none_cotangents=False)
    return replace(subject, forward=gathered.forward, vjp=gathered.vjp, also=also)


class _Gathered:
    """The functions of a gathered subject.

    Args:
        subject: the subject itself.
        point: where it was gathered; for outputs of other shapes all sums are nan.
        group: of each output that carries a gradient, flat.
        weight: likewise.
    """

    def __init__(self, subject: Subject, point: Point, group: Array, weight: FloatArray) -> None:
        self.subject = subject
        self.shapes = point.shapes
        self.group = group
        self.weight = weight

    def forward(self, *inputs: Any) -> FloatArray:
        return self._sums(normalise_outputs(self.subject.forward(*inputs)))

    def surrogate(self, *inputs: Any) -> FloatArray:
        assert self.subject.also.surrogate is not None
        return self._sums(normalise_outputs(self.subject.also.surrogate(*inputs)))

    def vjp(self, inputs: Any, _: Any, cotangents: Any) -> Any:
        outputs = normalise_outputs(self.subject.forward(*copy_inputs(inputs)))
        weighed = as_float64(cotangents[0])[self.group] * self.weight
        parts, start = [], 0
        for output, wanted in zip(outputs, carries(self.subject, outputs), strict=True):
            if wanted:
                piece = weighed[start : start + output.size].reshape(output.shape)
                parts.append(np.array(piece, dtype=output.dtype))
                start += output.size
            else:
                parts.append(no_cotangent(output))
        return self.subject.vjp(inputs, outputs, tuple(parts))

    def _sums(self, outputs: Sequence[Array]) -> FloatArray:
        if tuple(output.shape for output in outputs) != self.shapes:
            return np.full(GROUPS, np.nan)
        flat = [
            as_float64(o).ravel() for o, wanted in zip(outputs, carries(self.subject, outputs), strict=True) if wanted
        ]
        return np.asarray(np.bincount(self.group, np.concatenate(flat) * self.weight, GROUPS), dtype=np.float64)
