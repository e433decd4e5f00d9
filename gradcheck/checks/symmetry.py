"""Symmetry of the second derivative: a check of vjp2 without any step."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from gradcheck.checks.agreement import largest_given
from gradcheck.model.domain import measure_room
from gradcheck.model.dtypes import Array, FloatArray, as_float64, is_floating
from gradcheck.model.evaluation import Point, call_forward
from gradcheck.model.perturb import perturb_array
from gradcheck.numeric.tolerance import ROUNDINGS
from gradcheck.report import Finding, Tally

if TYPE_CHECKING:
    from gradcheck.checks.second import Second

_REPEATS = 3
_UNITS = 32
_REACTIONS = 16.0
# Rounding units of numbers near one, or of the size of an input or output, that every element may have lost on the way.
_HIDDEN = 64.0


def check_symmetry(second: Second, point: Point, tally: Tally, generator: np.random.Generator) -> list[Finding]:
    """Finds a vjp2 with <v, H u> other than <u, H v>, where H is the derivative of the gradients by the inputs.

    A gradient is that of a number, <cotangent, forward>, so H is symmetric. That is not so at a kink, where each part
    may follow a convention of its own; nor is the gradient of a surrogate that of any one function. So nothing is
    compared for a surrogate, and the inputs are moved a little, off any kink.
    """
    if point.subject.also.surrogate is not None or not all(map(_is_real, second.arrays())):
        return []
    drawn = [[_draw(second.inputs[k], generator) for k in second.wanted] for _ in range(2)]
    eps = max(point.vjp_eps, point.forward_eps)
    units = eps * np.arange(-_UNITS, _UNITS + 1)
    try:
        arrays = _moved(second, point, generator)
        terms = _products(second, arrays, *drawn)
        others = [
            _products(second, [perturb_array(a, units, generator) for a in arrays], *drawn) for _ in range(_REPEATS)
        ]
        sizes = [*arrays, *call_forward(second.subject, second.split(arrays)[0])]
    except Exception:  # away from the given inputs the subject may refuse; what it does there is not judged here
        tally.note("symmetry: not judged, as forward, vjp or vjp2 raised beside the given inputs")
        return []
    tally.checks.append("symmetry")
    hidden = hidden_rounding(sizes, point)
    for pair, (first, other) in terms.items():
        values = float(first.sum()), float(other.sum())
        spread = max(abs(float(moved[pair][side].sum()) - values[side]) for moved in others for side in (0, 1))
        allowance = ROUNDINGS * eps * float(np.abs(first).sum() + np.abs(other).sum())
        allowance += _REACTIONS * spread + hidden * (first.size + other.size)
        if abs(values[0] - values[1]) > allowance:  # False where one is not finite
            return [_finding(second, pair, values, allowance)]
    return []


def hidden_rounding(values: Sequence[object], point: Point) -> float:
    """Gives what an element may have lost where numbers of the size of `values`, or of one, cancel on the way."""
    return _HIDDEN * max(point.vjp_eps, point.forward_eps) * largest_given(values)


def _products(
    second: Second, arrays: Sequence[Array], u: Sequence[Array], v: Sequence[Array]
) -> dict[tuple[int, int], tuple[FloatArray, FloatArray]]:
    """Gives, for each two inputs, the terms of <v, H u> and of <u, H v>: u moves the first, v the second."""
    made = second.forward(*arrays)

    def pull(place: int, weight: Array) -> dict[int, FloatArray]:
        weights = [weight.astype(g.dtype) if i == place else np.zeros_like(g) for i, g in enumerate(made)]
        found = second.vjp([np.array(a) for a in arrays], [np.array(g) for g in made], weights)
        by_input = dict(zip(second.subject.differentiable, found, strict=False))
        return {k: _zeros(second.inputs[k]) if by_input[k] is None else by_input[k] for k in second.wanted}

    by_u, by_v = ([pull(i, weight) for i, weight in enumerate(side)] for side in (u, v))
    return {
        (i, j): (
            (as_float64(np.asarray(by_u[i][second.wanted[j]])) * v[j]).ravel(),
            (as_float64(np.asarray(by_v[j][second.wanted[i]])) * u[i]).ravel(),
        )
        for i in range(len(made))
        for j in range(len(made))
        if i <= j
    }


def _moved(second: Second, point: Point, generator: np.random.Generator) -> list[Array]:
    """Gives the moving arrays in the dtype that vjp is judged in, the inputs moved by a share of their size."""
    moved: list[Array] = []
    for k in second.subject.differentiable:
        values, like = point.values(k), point.vjp_inputs[k]
        assert isinstance(like, np.ndarray)
        room = measure_room(values, second.subject.domain[k])
        up = np.where(room.up * room.down > 0, generator.choice([-1.0, 1.0], values.shape), room.up - room.down)
        moved.append(np.array(values + up * room.scale * generator.uniform(0.02, 0.1, values.shape), dtype=like.dtype))
    inputs = list(point.vjp_inputs)
    for k, value in zip(second.subject.differentiable, moved, strict=True):
        inputs[k] = value
    outputs = call_forward(second.subject, inputs)
    return [*moved, *(np.array(second.cotangents[j], dtype=outputs[j].dtype) for j in second.entering)]


def _draw(value: Any, generator: np.random.Generator) -> Array:
    return np.asarray(generator.choice([-1.0, 1.0], value.shape) * generator.integers(4, 13, value.shape) / 8.0)


def _zeros(value: Any) -> Array:  # Any: an array, known to be one since it has a gradient
    return np.zeros(value.shape)


def _is_real(value: object) -> bool:
    return isinstance(value, np.ndarray) and is_floating(value.dtype)


def _finding(second: Second, pair: tuple[int, int], values: tuple[float, float], allowance: float) -> Finding:
    first, other = (second.subject.names[second.wanted[place]] for place in pair)
    what = repr(first) if first == other else f"{first!r} and {other!r}"
    message = (
        f"vjp of {what}: expected a symmetric second derivative, <v, H u> = <u, H v>, got {values[0]:.12g} and "
        f"{values[1]:.12g}; vjp or vjp2 is wrong"
    )
    return Finding("symmetry", message, first, None, values[0], values[1], allowance)
