"""The derivative from a step along the imaginary axis, where finite differences drown in rounding.

The step is made by an array that carries a tiny imaginary part, and refuses every operation that would not carry it on.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from gradcheck.judge.outcome import Outcome, Status
from gradcheck.model.constraint import Domain
from gradcheck.model.dtypes import FLOAT64_EPS, Array, FloatArray, IntArray, is_floating
from gradcheck.model.protocol import copy_inputs
from gradcheck.numeric.ladder import Probe
from gradcheck.numeric.tolerance import APART, BARS, SHARP, SHARP_PEAK

# Three lengths, far apart, so that a threshold inside forward shows; the error is their square, which is nothing.
_LENGTHS = (1e-20, 1e-40, 1e-100)
# Above the least normal float64 by more than a chain of small factors takes away.
_LEAST_LENGTH = 1e-250
# Finite differences that know an element so well may confirm or refute the complex step.
_SHARP = 0.02
# So many of them let it pass an element, more let it blame one: a right gradient called wrong costs a user more.
_CONFIRMING = 3
_CONVICTING = 8
# What it has to agree with is compared twice as widely as a gradient, since both sides have bars.
_AGREEING_BARS = 2.0 * BARS
# Units in the last place that forward's real part, and the largest number met on the way, may have lost in some dozen
# operations.
_UNITS = 64.0
# The runs beside the first change every input by up to so many units. Eight times what the runs then differ by is
# conceded: two changes are few to see the worst of them.
_JITTER = 4
_SPREADS = 8.0
# A backward may lose digits where the complex step does not, so only a coarse fault is held against it.
_COARSE = 0.01
# Functions that are analytic, or choose, compare and move values by their real parts; nothing else is let through.
_UFUNCS = """
    add subtract multiply divide true_divide negative positive power float_power square sqrt reciprocal exp exp2
    expm1 log log2 log10 log1p sin cos tan arcsin arccos arctan sinh cosh tanh arcsinh arccosh arctanh matmul
    greater greater_equal less less_equal equal not_equal maximum minimum isfinite isnan isinf
"""
_FUNCTIONS = """
    sum mean prod cumsum cumprod dot inner outer tensordot einsum trace diagonal diag reshape ravel transpose
    swapaxes moveaxis expand_dims squeeze broadcast_to concatenate stack hstack vstack split take take_along_axis
    where repeat tile roll flip diff pad tril triu zeros_like ones_like full_like empty_like copy shape ndim size
    amax max amin min argmax argmin argsort sort
"""


def sharpen(outcome: Outcome) -> Outcome:
    """Judges elements whose error bars are too wide by the imaginary part of forward at x + i h e, divided by h.

    For an analytic function that is the derivative up to h squared, and nothing cancels in it. It is used only where
    forward accepts such an input without any operation that is not analytic, its real part is what it was, several
    lengths h and neighbouring inputs agree, and so do all elements that finite differences know sharply.
    Only real inputs are judged so, and only elements that are unsure.
    """
    point, comparison = outcome.point, outcome.comparison
    unsure = comparison.status == Status.UNSURE
    array = point.inputs[outcome.k]
    if not unsure.any() or not isinstance(array, np.ndarray) or array.dtype != np.float64 or point.is_short:
        return outcome
    if point.subject.domain[outcome.k].rules:  # no projection is analytic
        return outcome
    asked = comparison.elements[unsure]
    known = np.isin(comparison.status, (Status.RIGHT, Status.WRONG)) & ~comparison.kink
    size, blur = np.maximum(np.abs(comparison.low), np.abs(comparison.high)), comparison.floor / BARS
    sharp = known & (np.maximum(comparison.bar, blur) <= _SHARP * size).all(axis=0)
    confirming = int((sharp & comparison.numeric.any(axis=0)).sum())
    others = comparison.elements.size - int(unsure.sum())
    if confirming < min(_CONFIRMING, max(others, 2)):
        return outcome.saw(f"too few elements known sharply to confirm it: {confirming}", asked)
    measured = _measure(outcome)
    if measured is None:
        return outcome.saw("forward does not admit a complex step", asked)
    value, bar = measured
    outcome = outcome.saw("the complex step gives {:.9g} ± {:.0e}", asked, value[:, unsure], bar[:, unsure])
    outside = np.maximum(comparison.low - value, value - comparison.high)
    reach = _AGREEING_BARS * comparison.bar + comparison.floor + bar + APART * np.abs(value)
    agrees = np.asarray((outside <= reach).all(axis=0))
    if not agrees[sharp | comparison.kink].all():
        return outcome.saw("it contradicts elements known sharply", asked)
    local = outcome.tolerance[comparison.elements]
    peak = np.max(np.abs(value), initial=0.0, keepdims=True)
    allowance = local.allowance(value, bar, np.abs(value), peak) + comparison.floor
    distance = np.abs(comparison.analytic - value)
    clear = (BARS * bar <= np.maximum(SHARP * np.abs(value), SHARP_PEAK * peak)).all(axis=0)
    right = unsure & agrees & clear & (distance <= allowance).all(axis=0)
    coarse = distance > np.maximum(allowance, _COARSE * np.maximum(np.abs(value), np.abs(comparison.analytic)))
    wrong = unsure & agrees & clear & coarse.any(axis=0)
    if confirming < _CONVICTING and not (confirming == others and confirming >= 2):
        wrong[:] = False
    status = np.where(right, int(Status.RIGHT), int(Status.WRONG))
    made = replace(comparison, low=value, high=value, bar=bar, allowance=allowance, status=status)
    judged = right | wrong
    return replace(outcome, comparison=made.where(judged, comparison), by_complex_step=int(judged.sum()))


def _measure(outcome: Outcome) -> tuple[FloatArray, FloatArray] | None:
    """Gives derivatives and their bars, both of shape (C, E), or None where the function does not admit the step."""
    values, bounds = outcome.point.values(outcome.k), outcome.point.subject.domain[outcome.k]
    # One length for all elements, so that the largest imaginary part met tells the largest derivative met.
    scale = float(np.min(np.abs(values), initial=1.0, where=values != 0))
    shares = np.random.default_rng(0).integers(-_JITTER, _JITTER + 1, (len(_LENGTHS), *values.shape))
    found, peaks = [], []
    for place, length in enumerate(_LENGTHS):
        lengths = np.full(values.shape, max(length * scale, _LEAST_LENGTH))
        # What is ill-conditioned answers a change in the last places; the first run is at the point itself.
        near = values if place == 0 else _beside(values, shares[place], bounds)
        result = _run(outcome, near, lengths, place == 0)
        if result is None:
            return None
        found.append(result[0])
        peaks.append(result[1])
    table = np.array(found)
    spread = np.ptp(table, axis=0)
    value, peak = table[0], np.max(peaks, axis=0)
    largest = np.abs(outcome.cotangents).max(axis=1)[:, None]
    bar = _SPREADS * spread + _UNITS * FLOAT64_EPS * largest * peak
    return (value, bar) if np.isfinite(value + bar).all() else None


def _beside(values: FloatArray, units: IntArray, bounds: Domain) -> FloatArray:
    return bounds.fold(values * (1.0 + FLOAT64_EPS * units))


def _run(
    outcome: Outcome, values: FloatArray, lengths: FloatArray, is_center: bool
) -> tuple[FloatArray, FloatArray] | None:
    """Gives weighed derivatives, shape (C, E), and for each element the largest derivative met on the way."""
    owner, elements, cotangents = outcome.owner, outcome.comparison.elements, outcome.cotangents
    inverse = 1.0 / lengths.ravel()
    if owner is not None:
        seen = _imaginary(outcome.probe, values, lengths, is_center)
        if seen is None:
            return None
        weighed = cotangents * (seen[0] * inverse[owner])
        rows = [np.bincount(owner, weights=row, minlength=values.size)[elements] for row in weighed]
        return np.array(rows), np.full(elements.size, seen[1] / lengths.min())
    columns, peaks = [], []
    for element in elements:
        seen = _imaginary(outcome.probe, values, lengths * outcome.probe.only(element), is_center)
        if seen is None:
            return None
        columns.append(cotangents @ (seen[0] * inverse[element]))
        peaks.append(seen[1] * inverse[element])
    return np.array(columns).T, np.array(peaks)


def _imaginary(
    probe: Probe, values: FloatArray, lengths: FloatArray, is_center: bool
) -> tuple[FloatArray, float] | None:
    """Gives the imaginary parts of all floating outputs, flat, and the largest met; None where there are none."""
    point, peak = probe.point, [float(lengths.max())]
    inputs = list(copy_inputs(point.inputs))
    inputs[probe.k] = Analytic(values + 1j * lengths, peak)
    point.evaluations += 1
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")  # among them that an imaginary part is dropped
            result = point.function(*inputs)
        outputs = result if isinstance(result, (tuple, list)) else [result]
        parts = [o.parts if isinstance(o, Analytic) else np.asarray(o, np.complex128) for o in outputs]
    except Exception:  # forward takes arrays only, or is not analytic
        return None
    if tuple(part.shape for part in parts) != point.shapes:
        return None
    pairs = zip(parts, point.dtypes, strict=True)
    whole = np.concatenate([part.ravel() for part, dtype in pairs if is_floating(dtype)])
    center, size = point.center, float(np.max(np.abs(values), initial=1.0))
    rounding = _UNITS * FLOAT64_EPS * np.maximum(size, np.abs(center))
    if is_center and not (np.abs(whole.real - center) <= rounding).all():
        return None
    return whole.imag, peak[0]


class NotAnalytic(Exception):
    """The function does something to its input that may drop the imaginary part."""


# NumPy's mixin has no types; every operator it adds ends in __array_ufunc__ below.
class Analytic(np.lib.mixins.NDArrayOperatorsMixin):  # type: ignore[misc, unused-ignore]
    """A complex array in the place of a real one.

    It is no ndarray, so that nothing can turn it into one: what is not listed here raises.

    Args:
        parts: complex128.
        peak: a list of one number that all arrays of one run share: the largest imaginary part met so far.
    """

    def __init__(self, parts: Array, peak: list[float]) -> None:
        self.parts, self.peak = parts, peak
        self.shape, self.ndim, self.size, self.dtype = parts.shape, parts.ndim, parts.size, np.dtype(np.float64)

    def __array__(self, *_: object, **__: object) -> Array:
        raise NotAnalytic

    def __bool__(self) -> bool:
        raise NotAnalytic

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **kwargs: Any) -> Any:
        if ufunc.__name__ not in _UFUNCS.split() or method not in ("__call__", "reduce", "accumulate"):
            raise NotAnalytic
        return self._wrap(getattr(ufunc, method)(*_bare(inputs), **_bare(kwargs)))

    def __array_function__(self, function: Callable[..., Any], _: Any, args: Any, kwargs: Any) -> Any:
        if function.__name__ not in _FUNCTIONS.split() or not function.__module__.startswith("numpy"):
            raise NotAnalytic
        return self._wrap(function(*_bare(args), **_bare(kwargs)))

    def __getitem__(self, key: Any) -> Any:
        return self._wrap(self.parts[_bare(key)])

    def __setitem__(self, key: Any, value: Any) -> None:
        self.parts[_bare(key)] = _bare(value)

    def __len__(self) -> int:
        return len(self.parts)

    def __iter__(self) -> Iterator[Any]:
        return (self[i] for i in range(len(self)))

    @property
    def T(self) -> Any:
        """The transpose."""
        return self._wrap(self.parts.T)

    def __getattr__(self, name: str) -> Any:
        if name not in ("sum", "mean", "prod", "cumsum", "reshape", "ravel", "transpose", "max", "min", "copy", "dot"):
            raise AttributeError(name)
        method = getattr(self.parts, name)
        return lambda *args, **kwargs: self._wrap(method(*_bare(args), **_bare(kwargs)))

    def _wrap(self, result: Any) -> Any:
        if isinstance(result, (tuple, list)) and any(isinstance(part, np.ndarray) for part in result):
            return [self._wrap(part) for part in result]
        if not isinstance(result, (np.ndarray, np.generic)) or result.dtype.kind != "c":
            return result
        array = np.asarray(result)
        self.peak[0] = max(self.peak[0], float(np.max(np.abs(array.imag), initial=0.0)))
        return Analytic(array, self.peak)


def _bare(value: Any) -> Any:
    if isinstance(value, Analytic):
        return value.parts
    if isinstance(value, (tuple, list)):
        return type(value)(_bare(part) for part in value)
    if isinstance(value, dict):
        return {key: _bare(part) for key, part in value.items()}
    return value
