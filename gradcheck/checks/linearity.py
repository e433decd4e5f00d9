"""What vjp makes of other cotangents: zero, negative, scaled, huge, summed, sparse and whole ones, nan and inf.

It is linear in the cotangent, and does not break on what is not finite.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from gradcheck.checks.agreement import largest, largest_given
from gradcheck.checks.session import Session
from gradcheck.model.dtypes import FLOAT64_EPS, Array, FloatArray, as_float64, match_kind, name_number
from gradcheck.model.evaluation import VjpError, floating_arrays
from gradcheck.numeric.tolerance import ROUNDINGS, gradients_close
from gradcheck.report import Finding

_CHECK = "linear in the cotangent"
# Draws of what rounding leaves. Where terms cancel to 0 most draws leave nothing, and beside some cotangents none: what
# is wrong beside a few is looked at with many, of other cotangents.
_PARTS, _MANY_PARTS = 3, 64
_SAFETY = 64.0
_HUGE = 2.0**100  # about 1e30; within reach of float32, not of shorter dtypes
_SINGLE_EPS = 2.0**-23
# What a backward that iterates leaves undone; float32 on its way leaves more.
_ITERATED = 4e-9
_POWER, _POWERS = 4, 104
_LITTLE = 0.1
# What arithmetic that was not thought through raises; a refusal is a ValueError, or an exception of its own.
_ACCIDENTS = (LookupError, TypeError, AttributeError, NameError, OverflowError, ZeroDivisionError, RecursionError)


_Look = Callable[[], list[float]]


@dataclass(frozen=True)
class _Case:
    """One rule: gradients got for a derived cotangent, and those expected; `scale` is their size beside base."""

    what: str
    got: list[FloatArray]
    expected: list[FloatArray]
    scale: float


def check_linearity(session: Session) -> list[Finding]:
    """Finds gradients that are not linear in the cotangent, naming the first rule that each input breaks."""
    first = session.flat[1]
    base = _run(session, first)
    few = _rounding(session, base, _PARTS)
    looks: tuple[_Look, ...] = (lambda: few, lambda: _rounding(session, base, _MANY_PARTS))
    findings = []
    cases = _cases(session, base)
    declared = 2.0 * session.subject.also.accuracy  # of either side
    for k in session.subject.differentiable:
        for case in cases:
            steepest = _steepest(session, k)
            if not any(_holds(case, base[k], k, look()[k], steepest, session.eps, declared) for look in looks):
                if 0.0 < case.scale < 1.0 and _fades_in(session, base[k], k):
                    session.notes.append(f"gradient of {session.subject.names[k]!r}: inexact for tiny cotangents")
                    continue
                findings.append(_finding(session, k, case.what, case.got[k], case.expected[k]))
                break
    return findings


def _cases(session: Session, base: list[FloatArray]) -> list[_Case]:
    first, second = session.flat[1], session.flat[2]
    # Powers of two change no digit, so a threshold on the cotangent's size cannot hide; short dtypes overflow soon.
    large = 2.0**40 if session.eps <= FLOAT64_EPS else 2.0**4
    factors = {
        "a zero cotangent": 0.0,
        "a negated cotangent": -1.0,
        f"a cotangent {large:g} times larger": large,
        f"a cotangent {large:g} times smaller": 1.0 / large,
    }
    cases = [_scaled(session, base, *item) for item in factors.items()]
    sums = _sums(base, _run(session, second))
    cases.append(_Case("the sum of two cotangents", _run(session, first + second), sums, 1.0))
    negative, positive = _run(session, -np.abs(first)), _run(session, np.abs(first))
    cases.append(_Case("a cotangent of negative numbers", negative, [-g for g in positive], 1.0))
    sparse = np.where(np.arange(first.size) == session.seed % max(first.size, 1), first, 0.0)
    parts = {"a cotangent with one nonzero": sparse, "a cotangent of whole numbers": np.rint(2.0 * first)}
    for what, part in parts.items():
        got = _sums(_run(session, part), _run(session, first - part))
        cases.append(_Case(f"the sum of {what} and the rest", got, base, 1.0))
    if session.eps <= FLOAT64_EPS:
        cases.append(_scaled(session, base, f"a cotangent {_HUGE:g} times smaller", 1.0 / _HUGE))
    if session.eps <= _SINGLE_EPS:
        cases.append(_overflowing(_scaled(session, base, f"a cotangent {_HUGE:g} times larger", _HUGE)))
    return cases


def _scaled(session: Session, base: list[FloatArray], what: str, factor: float) -> _Case:
    return _Case(what, _run(session, factor * session.flat[1]), [factor * g for g in base], abs(factor))


def _sums(first: list[FloatArray], second: list[FloatArray]) -> list[FloatArray]:
    return [a + b if a.shape == b.shape else a for a, b in zip(first, second, strict=True)]


def _overflowing(case: _Case) -> _Case:
    """Takes what is out of range of the dtype in use as expected: an overflow is no fault."""
    pairs = zip(case.got, case.expected, strict=True)
    return replace(case, got=[np.where(np.isfinite(g), g, e) if g.shape == e.shape else g for g, e in pairs])


def _run(session: Session, flat: FloatArray) -> list[FloatArray]:
    gradients = session.gradients(session.shape_cotangents(flat))
    return [_plain(match_kind(g, value)) for g, value in zip(gradients, session.inputs, strict=False)]


def _plain(gradient: Array | None) -> FloatArray:
    if gradient is None or gradient.dtype.kind not in "fciubV":
        return np.zeros(0)
    return as_float64(gradient)


def _rounding(session: Session, base: list[FloatArray], draws: int) -> list[float]:
    """Gives the size of the terms that make up each gradient before they cancel.

    For a small part d of a cotangent v, g(v + d) - g(v) - g(d) is nothing but rounding, which is in proportion to that
    size. More draws than a few are each of a cotangent of its own.
    """
    generator = np.random.default_rng(session.seed)
    found = [0.0 for _ in base]
    for _ in range(draws):
        v, start = session.flat[1], base
        if draws > _PARTS:
            v = v * generator.uniform(0.5, 2.0, v.shape)
            start = _run(session, v)
        part = v * session.eps**0.5 * generator.integers(-8, 9, v.shape[0])
        whole, small = _run(session, v + part), _run(session, part)
        for k, (g, w, s) in enumerate(zip(start, whole, small, strict=True)):
            if g.shape == w.shape == s.shape:
                rest = np.nan_to_num(np.abs(w - g - s), nan=0.0, posinf=0.0)
                found[k] = max(found[k], float(np.max(rest, initial=0.0)) / session.eps * (_SAFETY / ROUNDINGS))
    return found


def _holds(
    case: _Case, base: FloatArray, k: int, rounding: float, steepest: float, eps: float, declared: float
) -> bool:
    got, expected = case.got[k], case.expected[k]
    if got.shape != expected.shape or got.shape != base.shape:
        return False
    finite = np.isfinite(base) & np.isfinite(expected)
    if case.scale == 0.0:
        return not np.any(got[finite])
    peak = max(float(np.max(np.abs(base[finite]), initial=0.0)), rounding) * case.scale
    if gradients_close(got[finite], expected[finite], max(eps, max(_ITERATED, declared) / ROUNDINGS), peak):
        return True
    return gradients_close(got[finite], expected[finite], eps, max(peak, steepest * case.scale))


def _steepest(session: Session, k: int) -> float:
    """Gives the gradient that would move the outputs by their own size with input `k`; its rounding may be left."""
    outputs = max(map(largest, floating_arrays(session.outputs)), default=0.0)
    return outputs * largest(session.flat[1]) / largest_given(session.inputs[k : k + 1])


def _fades_in(session: Session, base: FloatArray, k: int) -> bool:
    """Says whether gradients get worse little by little as the cotangent shrinks, rather than all at once.

    So does an iteration that ends at an absolute error; a threshold on the cotangent drops terms as a whole.
    """
    peak = largest(base)
    for power in range(_POWER, _POWERS, _POWER):
        got = _run(session, session.flat[1] * 2.0**-power)[k] * 2.0**power
        if got.shape != base.shape:
            return False
        error = float(np.max(np.abs(np.nan_to_num(got - base)), initial=0.0))
        if error > _ITERATED * peak:
            return error < _LITTLE * peak
    return False


def _finding(session: Session, k: int, what: str, got: FloatArray, expected: FloatArray) -> Finding:
    name, value = session.subject.names[k], session.inputs[k]
    assert isinstance(value, np.ndarray)
    if got.shape != expected.shape:
        message = f"gradient of {name!r}: expected shape {expected.shape} for {what}, got {got.shape}; keep it the same"
        return Finding(_CHECK, message, input=name)
    distance = np.nan_to_num(np.abs(got - expected), nan=np.inf)
    number = tuple(int(i) for i in np.unravel_index(int(np.argmax(distance)), got.shape))
    index, part = name_number(number, value.dtype)
    message = (
        f"gradient of {name!r}: expected {expected[number]:.6g} for {what}, got {got[number]:.6g} at "
        f"{list(index)}{part}; a vjp is linear in the cotangent"
    )
    return Finding(_CHECK, message, name, index, float(got[number]), float(expected[number]))


def check_nonfinite(session: Session) -> list[Finding]:
    """Finds a vjp that breaks on an infinite cotangent, and notes where a nan in a cotangent is lost on its way.

    A vjp may refuse them in words, and may guard 0 * inf with a mask that also hides a nan: both are noted, not blamed.
    Only an exception that no refusal raises, such as an index error, is a finding. Inputs are not made nan: a kernel
    that turns values into addresses might then leave its memory.
    """
    flat = session.flat[1]
    used = np.flatnonzero(flat)
    if not used.size:
        return []
    place = int(used[session.seed % used.size])
    _note_inputs(session)
    for value in (np.inf, np.nan):
        changed = flat.copy()
        changed[place] = value
        try:
            gradients = session.gradients(session.shape_cotangents(changed))
        except VjpError as error:
            if isinstance(error.__cause__, _ACCIDENTS):
                message = (
                    f"vjp: expected to accept a cotangent with {value}, got {error}; compute without cases by size"
                )
                return [Finding("nonfinite cotangent", message)]
            session.notes.append(f"vjp refuses a cotangent with {value}: {error}")
            return []
    _note_lost(session, place, gradients)
    return []


def _note_lost(session: Session, place: int, gradients: tuple[Array | None, ...]) -> None:
    """Compares with the elements that answer to this cotangent: nan times what is not zero is nan."""
    only = np.zeros_like(session.flat[1])
    only[place] = 1.0
    answers = session.gradients(session.shape_cotangents(only))
    for name, gradient, answer in zip(session.subject.names, gradients, answers, strict=True):
        if gradient is None or answer is None or gradient.shape != answer.shape:
            continue
        lost = np.isfinite(as_float64(gradient)) & (as_float64(answer) != 0)
        if lost.any():
            elements = f"{int(lost.sum())} element{'s' * (int(lost.sum()) != 1)}"
            session.notes.append(f"a nan in a cotangent does not reach {elements} of the gradient of {name!r}")


def _note_inputs(session: Session) -> None:
    """Notes that a nan among the given inputs shows in the outputs, but in no gradient."""
    given = [name for name, value in zip(session.subject.names, session.inputs, strict=True) if _nans(value)]
    count = sum(_nans(output) for output in session.outputs)
    if not given or not count:
        return
    gradients = session.gradients(session.shape_cotangents(np.ones_like(session.flat[1])))
    if not any(map(_nans, gradients)):
        outputs = f"{count} output element{'s' * (count != 1)}"
        session.notes.append(f"nan in {', '.join(given)}: forward gives nan in {outputs}, every gradient is finite")


def _nans(value: object) -> int:
    return int(np.isnan(as_float64(value)).sum()) if isinstance(value, np.ndarray) else 0
