"""Checks of batched functions: they must give, stacked, what a loop over forward or vjp gives."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from gradcheck.checks.agreement import largest_given
from gradcheck.model.domain import measure_room
from gradcheck.model.dtypes import Array, as_float64, is_continuous
from gradcheck.model.evaluation import Point, VjpError, call_forward, call_vjp
from gradcheck.model.perturb import draw_cotangents
from gradcheck.model.protocol import copy_inputs, normalise_gradients, normalise_outputs
from gradcheck.numeric.tolerance import ROUNDINGS, gradients_close
from gradcheck.report import Finding, Tally

# Three tell a batch from a pair; one and none are where axes are dropped and reductions refuse.
_SIZES = (3, 1, 0)
# The share of a number near one, or of the largest input, against which a rounding counts where results are tiny.
_LEAST = 1.0 / 16.0


def check_batched(point: Point, tally: Tally, generator: np.random.Generator) -> list[Finding]:
    """Finds a batched forward that differs from np.stack of a loop, up to the order of summation.

    The first row has the given inputs, in the others each differentiable input is moved a little. A batch of no rows
    may be refused; that is noted.
    """
    rows = [copy_inputs(point.given), *(_moved(point, generator) for _ in range(max(_SIZES) - 1))]
    try:
        loop = [call_forward(point.subject, row) for row in rows]
    except Exception:
        rows = [copy_inputs(point.given) for _ in rows]
        loop = [call_forward(point.subject, row) for row in rows]
    if len({tuple((o.shape, o.dtype) for o in outputs) for outputs in loop}) > 1:
        tally.note("batched: not judged, as the outputs of forward change shape or dtype with the values")
        return []
    tally.checks.append("batched")
    assert point.subject.also.batched is not None
    names = {f"output {position}": None for position in range(len(loop[0]))}
    for size in _SIZES:
        stacked = tuple(_stack_inputs([row[k] for row in rows], size) for k in range(len(point.given)))
        expected = [_stack([outputs[j] for outputs in loop], size) for j in range(len(names))]
        try:
            found: Sequence[Array | None] = normalise_outputs(point.subject.also.batched(*stacked))
        except Exception as error:
            if size == 0:
                tally.note(f"batched: refuses a batch of 0, {type(error).__name__}: {error}")
                continue
            return [_raised("batched", "outputs", size, error)]
        if findings := _compare(point, "batched", names, found, expected, size):
            return findings
    return []


def check_batched_vjp(point: Point, tally: Tally, generator: np.random.Generator) -> list[Finding]:
    """Finds a vjp of stacked cotangents that differs from a loop over vjp, up to the order of summation."""
    subject = point.subject
    outputs = call_forward(subject, point.given)
    flat = draw_cotangents(point.center, generator, max(_SIZES), is_short=True)
    rows = [point.split(row, outputs) for row in flat]
    try:
        loop = [call_vjp(subject, copy_inputs(point.given), outputs, [np.array(c) for c in row]) for row in rows]
    except VjpError:
        return []  # found already
    if not all(_is_judged(gradient, k, point) for gradients in loop for k, gradient in enumerate(gradients)):
        return []  # of another shape than its input: found already
    tally.checks.append("batched_vjp")
    assert subject.also.batched_vjp is not None
    names = {f"gradient of {name!r}": name for name in subject.names}
    for size in _SIZES:
        cotangents = tuple(_stack([row[j] for row in rows], size) for j in range(len(outputs)))
        expected = [_stack_gradients([gradients[k] for gradients in loop], size) for k in range(len(names))]
        copies = tuple(np.array(output) for output in outputs)
        try:
            found = normalise_gradients(subject.also.batched_vjp(copy_inputs(point.given), copies, cotangents))
        except Exception as error:
            if size == 0:
                tally.note(f"batched_vjp: refuses a batch of 0, {type(error).__name__}: {error}")
                continue
            return [_raised("batched_vjp", "gradients", size, error)]
        if findings := _compare(point, "batched_vjp", names, found, expected, size):
            return findings
    return []


def _moved(point: Point, generator: np.random.Generator) -> tuple[object, ...]:
    """Gives inputs whose differentiable elements are moved by up to an eighth of their scale, inside their bounds."""
    inputs = list(copy_inputs(point.given))
    for k in point.subject.differentiable:
        values = point.values(k)
        room = measure_room(values, point.subject.domain[k])
        share = generator.uniform(-0.125, 0.125, values.shape)
        moved = values + np.where(share > 0, share * room.up, share * room.down) * room.scale
        inputs[k] = point.subject.inside(k, moved, inputs)
    return tuple(inputs)


def _stack_inputs(values: Sequence[object], size: int) -> object:
    arrays = [value for value in values if isinstance(value, np.ndarray)]
    return _stack(arrays, size) if arrays else values[0]


def _stack(arrays: Sequence[Array], size: int) -> Array:
    stacked: Array = np.stack(arrays)[:size].copy()
    return stacked


def _stack_gradients(gradients: Sequence[Array | None], size: int) -> Array | None:
    made = [gradient for gradient in gradients if gradient is not None]
    if not made:
        return None
    return _stack([np.zeros_like(made[0]) if gradient is None else gradient for gradient in gradients], size)


def _is_judged(gradient: Array | None, k: int, point: Point) -> bool:
    return (
        gradient is None
        or k not in point.subject.differentiable
        or gradient.shape == getattr(point.given[k], "shape", None)
    )


def _compare(
    point: Point,
    role: str,
    names: Mapping[str, str | None],
    found: Sequence[Array | None],
    expected: Sequence[Array | None],
    size: int,
) -> list[Finding]:
    """Compares what came back, by name and input concerned, with the stacked loop; None and zeros are the same."""
    if len(found) != len(names):
        message = f"{role}: expected {len(names)} arrays ({', '.join(names)}), got {len(found)}, for a batch of {size}"
        return [Finding(f"{role} count", f"{message}; return as many as for one row")]
    findings = []
    for name, got, want in zip(names, found, expected, strict=True):
        if got is None and want is not None:
            got = np.zeros_like(want)
        elif want is None and got is not None:
            want = np.zeros_like(got)
        if got is not None and want is not None:
            findings += [replace(f, input=names[name]) for f in _compare_one(point, role, name, got, want, size)]
    return findings


def _compare_one(point: Point, role: str, name: str, got: Array, want: Array, size: int) -> list[Finding]:
    subject = f"{role}, {name}"
    if got.shape != want.shape:
        message = f"{subject}: expected shape {want.shape}, one leading axis for a batch of {size}, got {got.shape}"
        return [Finding(f"{role} shape", f"{message}; stack along axis 0")]
    if got.dtype != want.dtype:
        message = f"{subject}: expected dtype {want.dtype}, as for one row, got {got.dtype}, for a batch of {size}"
        return [Finding(f"{role} dtype", f"{message}; cast it")]
    eps = max(point.native_eps, point.forward_eps)
    if role == "batched_vjp":
        eps = max(eps, 2.0 * point.subject.also.accuracy / ROUNDINGS)
    least_peak = _LEAST * largest_given(point.given)
    rows = range(size)
    if is_continuous(want.dtype):
        wrong = [b for b in rows if not gradients_close(as_float64(got[b]), as_float64(want[b]), eps, least_peak)]
    else:
        wrong = [b for b in rows if not np.array_equal(got[b], want[b])]
    if not wrong:
        return []
    index = _worst(got, want, wrong[0])
    message = (
        f"{subject}: expected what a loop gives, got {_number(got[index])} for {_number(want[index])} at "
        f"{list(index)}, in a batch of {size}; wrong at batch index {', '.join(map(str, wrong))}"
    )
    return [Finding(f"{role} value", message, index=index)]


def _worst(got: Array, want: Array, row: int) -> tuple[int, ...]:
    """Gives the index, batch axis first, of the element in a row that differs most."""
    wide = (complex if got.dtype.kind == "c" else float) if is_continuous(got.dtype) else object
    apart = got[row].astype(wide) != want[row].astype(wide)
    if wide is object:
        distance = apart.astype(np.float64)
    else:
        difference = np.abs(got[row].astype(wide) - want[row].astype(wide))
        distance = np.where(apart, np.nan_to_num(difference, nan=np.inf), -1.0)
    return (row, *(int(i) for i in np.unravel_index(int(np.argmax(distance)), distance.shape)))


def _number(value: Any) -> str:
    return f"{value:.9g}" if isinstance(value, np.inexact) else str(value)


def _raised(role: str, what: str, size: int, error: Exception) -> Finding:
    reason = f"{type(error).__name__}: {error}"
    return Finding(f"{role} raises", f"{role}: expected stacked {what}, got {reason}, for a batch of {size}")
