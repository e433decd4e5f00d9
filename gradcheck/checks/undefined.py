"""Cotangents that carry nothing: of outputs declared non-differentiable, and None for an output that nobody used."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from gradcheck.checks.agreement import REPEATS, close, judge
from gradcheck.checks.session import Results, copy_arrays
from gradcheck.model.dtypes import Array, as_float64, is_continuous, resolution, same_bits
from gradcheck.model.evaluation import Point, VjpError, call_forward, call_vjp
from gradcheck.model.perturb import SIGNS, perturb_array
from gradcheck.model.protocol import copy_inputs
from gradcheck.report import Finding, Tally

_STEP = 2.0**-10
# A step below that of any quantiser, and so many units of a dtype; then more than this share of a smooth output moves.
_LEAST_STEP, _UNITS = 2.0**-20, 64.0
_MOST = 0.5


def check_declared_outputs(point: Point, tally: Tally, generator: np.random.Generator) -> list[Finding]:
    """Finds gradients that follow the cotangent of an output declared non-differentiable.

    So it finds such an output that has a slope although no reason says why none is wanted. Whether it moves at all goes
    into the notes.
    """
    tally.checks.append("nondifferentiable")
    declared = point.subject.also.nondifferentiable_outputs
    findings = []
    for position in declared:
        if is_continuous(point.outputs[position].dtype):
            tally.note(_movement(point, position, generator))
            findings += _unexplained(point, position, generator)
    outputs = call_forward(point.subject, point.vjp_inputs)
    quiet = point.split(_draw(point, generator), outputs)
    try:
        base = _pull(point, outputs, quiet)
    except VjpError:  # a finding of every other check
        return findings
    for position in declared:
        loud = list(quiet)
        loud[position] = np.array(generator.integers(1, 9, quiet[position].shape), dtype=quiet[position].dtype)
        try:
            gradients = _pull(point, outputs, loud)
        except VjpError as error:
            message = f"vjp: expected gradients, got {error}, for a cotangent of output {position}, {_DECLARED}"
            findings.append(Finding("nondifferentiable", f"{message}; leave that cotangent alone"))
            continue
        for name, before, after in zip(point.subject.names, base, gradients, strict=True):
            if _moved(before, after):
                message = f"output {position} {_DECLARED}, but the gradient of {name} changes with its cotangent"
                message += "; leave that cotangent alone, or remove the declaration"
                findings.append(Finding("nondifferentiable", message, input=name))
    return findings


_DECLARED = "declared non-differentiable"


def _unexplained(point: Point, position: int, generator: np.random.Generator) -> list[Finding]:
    """Finds an output whose elements move at the least steps that its dtype shows, as no staircase does."""
    output = point.outputs[position]
    if position in point.subject.also.reasons or not output.size:
        return []
    moving = []
    for k in point.subject.differentiable:
        value = point.inputs[k]
        assert isinstance(value, np.ndarray)
        step = max(_LEAST_STEP, _UNITS * max(resolution(value.dtype), resolution(output.dtype), point.forward_eps))
        outputs = _stepped(point, k, step, generator)
        made = outputs[position] if len(outputs) == len(point.outputs) else None
        if made is not None and made.shape == output.shape and np.mean(made != output) > _MOST:
            moving.append(point.subject.names[k])
    if not moving:
        return []
    message = (
        f"output {position}: expected derivative 0, as it is {_DECLARED}, got a slope in {', '.join(moving)}; return "
        f"its gradient, or say why there is none, as in nondifferentiable_outputs={{{position}: 'saved for vjp'}}"
    )
    return [Finding("nondifferentiable", message)]


def _stepped(point: Point, k: int, step: float, generator: np.random.Generator) -> Sequence[Array]:
    values, inputs = point.values(k), list(copy_inputs(point.inputs))
    moves = step * np.maximum(np.abs(values), step) * generator.choice([-1.0, 1.0], values.shape)
    inputs[k] = point.subject.inside(k, values + moves, inputs)
    try:
        return call_forward(point.subject, inputs)
    except Exception:  # a step may leave the domain nobody declared
        return ()


def _movement(point: Point, position: int, generator: np.random.Generator) -> str:
    subject, moving = point.subject, []
    for k in subject.differentiable:
        outputs = _stepped(point, k, _STEP, generator)
        if len(outputs) == len(point.outputs) and not same_bits(outputs[position], point.outputs[position]):
            moving.append(subject.names[k])
    what = f"moves with {', '.join(moving)}" if moving else "does not move with the inputs"
    return f"output {position}, {_DECLARED}, {what}"


def check_none_cotangents(point: Point, tally: Tally, generator: np.random.Generator) -> list[Finding]:
    """Finds a vjp for which None is not the same as a cotangent of zeros."""
    tally.checks.append("none cotangents")
    outputs = call_forward(point.subject, point.vjp_inputs)
    full = point.split(_draw(point, generator), outputs)
    count = len(outputs)
    everywhere = frozenset(range(count))
    cases = [frozenset({k}) for k in range(count)] + [everywhere - {k} for k in range(count)] + [everywhere]
    for missing in dict.fromkeys(case for case in cases if case):
        found = _judge_missing(point, outputs, full, missing, generator)
        if found:
            return found
    return []


def _judge_missing(
    point: Point,
    outputs: Sequence[Array],
    full: Sequence[Array],
    missing: frozenset[int],
    generator: np.random.Generator,
) -> list[Finding]:
    which = "every output" if len(missing) == len(full) else f"output {' and '.join(map(str, sorted(missing)))}"
    eps = point.vjp_eps
    zeros = [np.zeros_like(c) if k in missing else c for k, c in enumerate(full)]
    nones = [None if k in missing else c for k, c in enumerate(full)]
    perturbed = ([perturb_array(c, 8.0 * eps * SIGNS, generator) for c in zeros] for _ in range(REPEATS))
    try:
        right = _pull(point, outputs, zeros)
        reactions = [_pull(point, outputs, cotangents) for cotangents in perturbed]
    except VjpError:  # zeros are refused: a finding of the check of linearity
        return []
    expected = f"expected None as the cotangent of {which} to count as zeros, got"
    return judge(
        point.subject.names,
        "none cotangents",
        lambda: ((), _pull(point, outputs, nones)),
        Results((), right),
        lambda place, got, want: close(got, want, eps, [row[place] for row in reactions]),
        f"{expected} other values; leave out the terms of that output only",
        lambda function, reason: f"{function}: {expected} {reason}; test it for None",
        is_told_once=True,
    )


def _pull(point: Point, outputs: Sequence[Array], cotangents: Sequence[Array | None]) -> tuple[Array | None, ...]:
    """Runs vjp on fresh copies and keeps copies of what it gives.

    Raises:
        VjpError: the vjp raised, or gave another number of gradients than there are inputs.
    """
    found = call_vjp(point.subject, copy_inputs(point.vjp_inputs), copy_arrays(outputs), copy_arrays(cotangents))
    if len(found) != len(point.subject.names):
        raise VjpError(f"{len(found)} gradients for {len(point.subject.names)} inputs")
    return copy_arrays(found)


def _draw(point: Point, generator: np.random.Generator) -> np.ndarray[tuple[int, ...], np.dtype[np.float64]]:
    drawn = generator.integers(4, 13, point.size) / 8.0 * generator.choice([-1.0, 1.0], point.size)
    return np.where(np.isfinite(point.center), drawn, 0.0)


def _moved(before: Array | None, after: Array | None) -> bool:
    """Says whether a gradient changed; None counts as zeros, and -0.0 as 0.0."""
    if before is None or after is None:
        given = after if before is None else before
        return given is not None and bool(np.any(given))
    return before.shape != after.shape or not np.array_equal(as_float64(before), as_float64(after), equal_nan=True)
