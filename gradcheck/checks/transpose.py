"""Checks of a forward-mode derivative: against vjp without any step, and against difference quotients."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from gradcheck.model.domain import measure_room
from gradcheck.model.dtypes import (
    Array,
    FloatArray,
    as_float64,
    fit_gradient,
    from_float64,
    is_complex,
    is_continuous,
    name_number,
    number_count,
)
from gradcheck.model.evaluation import Point, VjpError
from gradcheck.model.protocol import copy_inputs, normalise_outputs
from gradcheck.numeric.kinks import Kind, judge
from gradcheck.numeric.ladder import Ladder, climb, displacements, ladder_steps
from gradcheck.numeric.noise import least_noise, measure_noise
from gradcheck.numeric.slopes import differentiate
from gradcheck.numeric.tolerance import ROUNDINGS
from gradcheck.report import Finding, Tally

_DIRECTIONS = 3


def check_jvp(point: Point, tally: Tally, generator: np.random.Generator, *, beside_vjp: bool = True) -> list[Finding]:
    """Finds a jvp that contradicts the function, or vjp: <J u, v> = <u, J^T v>; each input moves alone.

    At a kink the two may follow different conventions; there neither comparison is made. Without a vjp, `beside_vjp` is
    False.
    """
    tally.checks += ["jvp value", "transpose"] if beside_vjp else ["jvp value"]
    if not np.isfinite(point.center).any():
        tally.note("jvp: not judged, as no output is finite")
        return []
    findings: list[Finding] = []
    for k in point.subject.differentiable:
        if point.values(k).size:
            findings += _check_input(point, k, tally, generator, beside_vjp)
    return findings


def _check_input(point: Point, k: int, tally: Tally, generator: np.random.Generator, beside_vjp: bool) -> list[Finding]:
    name = point.subject.names[k]
    room = measure_room(point.values(k), point.subject.domain[k])
    steps = ladder_steps(point.forward_eps)
    noise = measure_noise(point, k, room, generator)
    open_ = np.ones(point.size, dtype=np.bool_)
    for _ in range(_DIRECTIONS):
        signs = generator.choice([-1.0, 1.0], room.scale.shape) * room.up * room.down  # zero where not finite
        moves = np.stack([point.tangent(k, move) for move in displacements(room, signs)])
        try:
            pushed = _push(point, k, moves[0])
        except Exception as error:
            message = f"jvp: expected a tangent per output, got {type(error).__name__}: {error}, for input {name!r}"
            return [Finding("jvp raises", message, input=name)]
        plus, minus = climb(point, k, moves, steps)
        ladder = Ladder(steps, plus, minus, point.center, noise, least_noise(point), open_, open_)
        derivative = judge(ladder, differentiate(ladder))
        finite = np.isfinite(point.center)
        if (derivative.kind[finite] != Kind.SMOOTH).any():
            tally.note(f"jvp of {name!r}: not judged along a direction that meets a kink")
            continue
        middle, bar, pushed = (np.where(finite, part, 0.0) for part in (derivative.low, derivative.bar, pushed))
        share = max(1e-12, point.subject.also.accuracy)
        allowance = 4.0 * bar + 1e-9 * np.abs(middle) + share * np.max(np.abs(middle), initial=0.0)
        far = np.abs(pushed - middle) > np.maximum(allowance, 16.0 * point.vjp_eps * np.abs(middle))
        far |= ~np.isfinite(pushed)
        if far.any():
            worst = int(np.argmax(np.where(far, np.nan_to_num(np.abs(pushed - middle), nan=np.inf), -1.0)))
            yours, right, width = float(pushed[worst]), float(middle[worst]), float(derivative.bar[worst])
            count = f"{int(far.sum())} of {far.size} output elements"
            message = (
                f"jvp of {name!r}: wrong in {count}, worst {_place(point, worst)}: "
                f"yours {yours:.9g}, derivative {right:.9g} ± {width:.0e}"
            )
            return [Finding("jvp value", message, name, (worst,), yours, right, width)]
        found = _check_transpose(point, k, moves[0], pushed, generator) if beside_vjp else None
        if found is not None:
            return [found]
    return []


def _place(point: Point, flat: int) -> str:
    """Names an element of the outputs with a derivative, which count as one flat vector: output, index and part."""
    for position, (output, floating) in enumerate(zip(point.outputs, point.floating, strict=True)):
        size = number_count(output) if floating else 0
        if flat < size:
            numbers = np.unravel_index(flat, as_float64(output).shape)
            index, part = name_number(tuple(int(i) for i in numbers), output.dtype)
            return f"output {position}{list(index) if index else ''}{part}"
        flat -= size
    raise IndexError(flat)


def _push(point: Point, k: int, move: FloatArray) -> FloatArray:
    """Calls jvp with one moving input; gives its output tangents, flat."""
    inputs = copy_inputs(point.vjp_inputs)
    tangents: list[object] = []
    for position, value in enumerate(inputs):
        if not isinstance(value, np.ndarray):
            tangents.append(0.0)
        elif not is_continuous(value.dtype):
            tangents.append(np.zeros(value.shape))
        else:
            tangents.append(from_float64(move, value) if position == k else np.zeros_like(value))
    assert point.subject.jvp is not None
    results = normalise_outputs(point.subject.jvp(inputs, tuple(tangents)))
    shapes = [result.shape for result in results]
    if shapes != list(point.shapes):
        raise ValueError(f"tangents of shape {shapes} for outputs of shape {list(point.shapes)}")
    pairs = [(r, o) for r, o, floating in zip(results, point.outputs, point.floating, strict=True) if floating]
    for result, output in pairs:
        if is_complex(result.dtype) != is_complex(output.dtype):
            raise ValueError(f"a tangent of dtype {result.dtype} for an output of dtype {output.dtype}")
    kept = [as_float64(result).ravel() for result, _ in pairs]
    return np.concatenate(kept)


def _check_transpose(
    point: Point, k: int, move: FloatArray, pushed: FloatArray, generator: np.random.Generator
) -> Finding | None:
    """Compares <J u, v> with <u, J^T v>; both are exact up to rounding, so no step and no error bar enters."""
    cotangent = generator.choice([-1.0, 1.0], point.size) * generator.integers(4, 13, point.size) / 8.0
    finite = np.isfinite(point.center)
    cotangent = np.where(finite, cotangent, 0.0)
    try:
        gradients: Sequence[Array | None] = point.gradients(cotangent)
    except VjpError as error:
        return Finding("vjp raises", f"vjp: expected gradients, got {error}, while it was compared with jvp")
    gradient = fit_gradient(gradients[k], point.values(k).shape)
    if gradient is None:
        return None
    forward_terms, reverse_terms = pushed * cotangent, (np.where(move == 0, 0.0, gradient) * move).ravel()
    if not finite.all() and not np.isfinite(reverse_terms).all():  # zero times infinity in a sum over outputs
        return None
    forward, reverse = float(forward_terms.sum()), float(reverse_terms.sum())
    size = float(np.abs(forward_terms).sum() + np.abs(reverse_terms).sum())
    allowance = max(ROUNDINGS * point.vjp_eps, point.subject.also.accuracy) * size
    if abs(forward - reverse) <= allowance:
        return None
    name = point.subject.names[k]
    message = (
        f"jvp of {name!r}: expected <J u, v> = <u, J^T v>, got {forward:.12g} from jvp and {reverse:.12g} from vjp; "
        "one of the two is wrong"
    )
    return Finding("transpose", message, name, None, forward, reverse, allowance)
