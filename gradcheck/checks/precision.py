"""Agreement of a short dtype with float64: a separate kernel, wrong for one dtype only, shows here."""

from __future__ import annotations

import numpy as np

from gradcheck.checks.agreement import beyond
from gradcheck.model.dtypes import Array, FloatArray, fit_gradient, match_kind, name_number
from gradcheck.model.evaluation import Point, call_forward, call_vjp
from gradcheck.model.perturb import SIGNS, perturb_inputs
from gradcheck.model.protocol import copy_inputs
from gradcheck.report import Finding

_UNITS = 64.0


def check_precision(point: Point, generator: np.random.Generator) -> list[Finding]:
    """Finds gradients that differ between the given short dtype and float64 by more than rounding explains.

    Rounding of the inputs is part of it, so the float64 gradients' reaction to a change of the inputs by units in their
    last place is conceded. Nothing is compared when either run refuses its dtype.
    """
    if not point.is_short or not point.raises_to_float64 or not point.size:
        return []
    eps = point.native_eps
    cotangent = generator.integers(4, 13, point.size) / 8.0 * generator.choice([-1.0, 1.0], point.size)
    cotangent = np.where(np.isfinite(point.center), cotangent, 0.0)
    try:
        short = _gradients(point, point.given, cotangent)
        fine = _gradients(point, point.inputs, cotangent)
        moved = [
            _gradients(point, perturb_inputs(point.inputs, eps * SIGNS, generator, point.subject), cotangent)
            for _ in range(2)
        ]
    except Exception:  # one of the dtypes is refused: nothing to compare
        return []
    findings = []
    for k in point.subject.differentiable:
        values = [fit_gradient(row[k], point.values(k).shape) for row in (short, fine, *moved) if len(row) > k]
        arrays = [value for value in values if value is not None]
        if len(arrays) == len(moved) + 2:
            findings += _compare(point, k, arrays[0], arrays[1], arrays[2:], eps)
    return findings


def _gradients(point: Point, inputs: tuple[object, ...], cotangent: FloatArray) -> tuple[Array | None, ...]:
    copies = copy_inputs(inputs)
    outputs = call_forward(point.subject, copies)
    made = call_vjp(point.subject, copies, outputs, point.split(cotangent, outputs))
    return tuple(match_kind(gradient, value) for gradient, value in zip(made, copies, strict=False))


def _compare(
    point: Point, k: int, short: FloatArray, fine: FloatArray, moved: list[FloatArray], eps: float
) -> list[Finding]:
    far = beyond(short, fine, max(eps, 2.0 * point.subject.also.accuracy / _UNITS), moved, _UNITS)
    if not far.any():
        return []
    flat = int(np.argmax(np.where(far, np.abs(short - fine), -1.0)))
    number = tuple(int(i) for i in np.unravel_index(flat, short.shape))
    name, given, wide = point.subject.names[k], point.given[k], point.inputs[k]
    assert isinstance(given, np.ndarray) and isinstance(wide, np.ndarray)
    index, part = name_number(number, given.dtype)
    message = (
        f"gradient of {name!r}: expected {given.dtype} to agree with {wide.dtype} up to rounding, "
        f"got {short[number]:.6g} for {fine[number]:.6g} at {list(index)}{part}; compare the two kernels"
    )
    return [Finding("short dtype", message, name, index, float(short[number]), float(fine[number]))]
